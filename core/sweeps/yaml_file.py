"""A sweep's YAML file as plain data: bounded, nothing in it is run, and numbers are what they look like."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from core.base.errors import InputError, unknown_name

LARGEST = (
    1 << 18
)  # bytes of a file: more would take seconds to read, and lists far more than a sweep may have


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
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); give a sweep's YAML file.") from None
    if len(data) > LARGEST:
        raise InputError(
            f"{path} is larger than {LARGEST >> 10} KiB; a sweep's file lists names and settings."
        )
    return parse_mapping(data, str(path))


def parse_mapping(data: bytes | str, name: str) -> dict[str, Any]:
    """As `read_mapping`, of a file's content; `name` is what errors call it."""
    try:
        found = yaml.load(data, Loader=_Loader)  # a SafeLoader
    except yaml.MarkedYAMLError as error:
        line = "" if error.problem_mark is None else f", line {error.problem_mark.line + 1}"
        raise InputError(f"{name}{line}: {error.problem}; fix the YAML.") from None
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError) as error:
        first = str(error).strip().splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{name} is not readable YAML ({first}); fix it.") from None
    if not isinstance(found, dict) or not all(isinstance(key, str) for key in found):
        raise InputError(f"{name} must be a mapping with keys such as kind, models and benchmarks.")
    return found


def check_keys(found: Mapping[Any, Any], known: Iterable[str], where: str) -> None:
    """Raise InputError for the first key that is not known, with the nearest one that is."""
    options = list(known)
    for key in found:
        if key not in options:
            raise unknown_name(f"key in {where}:", str(key), options)


def text(value: Any, key: str, where: str) -> str:
    """A text that is not empty."""
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{where}: {key} is {value!r}; it must be a name.")
    return value.strip()


def texts(value: Any, key: str, where: str) -> list[str]:
    """One name or a list of different names."""
    found = [text(each, key, where) for each in (value if isinstance(value, list) else [value])]
    if not found:
        raise InputError(f"{where}: {key} is empty; name at least one.")
    twice, count = Counter(found).most_common(1)[0]
    if count > 1:
        raise InputError(f"{where}: {key} names {twice!r} twice; leave one out.")
    return found


def number(value: Any, key: str, where: str, least: float, whole: bool = False) -> float:
    """A number, `least` or more."""
    fits = isinstance(value, int) or (isinstance(value, float) and not whole and value < float("inf"))
    if isinstance(value, bool) or not fits or value < least:
        raise InputError(
            f"{where}: {key} is {value!r}; it must be a {'whole ' * whole}number, {least} or more."
        )
    return value
