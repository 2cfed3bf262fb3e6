"""A sweep's YAML file as plain data: bounded, nothing in it is run, and numbers are what they look like."""

from __future__ import annotations

import re
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from core.base.errors import InputError

# Bytes of a file: more would take seconds to read, and lists far more than a sweep may have.
_LARGEST = 1 << 18


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader, but 1e-5 is a number, a key given twice is an error, and aliases are refused.

    YAML 1.1, which PyYAML reads, takes 1e-5 for text (it wants 1.0e-5); YAML 1.2 does not. Of a key given twice
    PyYAML keeps the last in silence. Aliases let a short file stand for a huge one.
    """

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.MarkedYAMLError(
                problem="aliases (*name) are not read", problem_mark=self.peek_event().start_mark
            )
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key_node, _ in node.value:
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else str(key_node)
            if key in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"the key {key!r} is there twice", problem_mark=key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?[0-9][0-9_]*(\.[0-9_]*)?[eE][-+]?[0-9]+$"),
    list("-+0123456789"),
)


def read_mapping(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file. Raises InputError, with the line, where it is not one."""
    try:
        with open(path, "rb") as file:
            data = file.read(_LARGEST + 1)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); give a sweep's YAML file.") from None
    if len(data) > _LARGEST:
        raise InputError(
            f"{path} is larger than {_LARGEST >> 10} KiB; it may list names and settings, no more."
        )
    return parse_mapping(data, str(path))


def parse_mapping(data: bytes | str, name: str) -> dict[str, Any]:
    """As `read_mapping`, of a file's content; `name` is what errors call it."""
    try:
        content = yaml.load(data, Loader=_Loader)  # a SafeLoader
    except yaml.MarkedYAMLError as error:
        line = "" if error.problem_mark is None else f", line {error.problem_mark.line + 1}"
        raise InputError(f"{name}{line}: {error.problem}; fix the YAML.") from None
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError) as error:
        first = str(error).strip().splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{name} is not readable YAML ({first}); fix it.") from None
    if not isinstance(content, dict) or not all(isinstance(key, str) for key in content):
        raise InputError(f"{name} must be a mapping with keys such as kind, models and benchmarks.")
    return content
