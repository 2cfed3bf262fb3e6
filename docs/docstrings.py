"""Docstrings as the site shows them, for mkdocstrings: the project's own form (`name : what it is`) as Markdown lists.

Read by Griffe from the source; nothing is imported.
"""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

_HEAD = re.compile(r"^(Parameters|Returns|Raises|Yields|Examples)\n-+\n", re.M)
_ENTRY = re.compile(r"( *)(\S.*?) : (.+)")


class Docstrings(Extension):
    """Turns every docstring of the public face to Markdown."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring and obj.path.startswith("crossmatch"):
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(text: str) -> str:
    """A docstring with its sections under bold heads, entries as lists, and examples as code."""
    first, *rest = _HEAD.split(text)
    parts = [first.strip()]
    for head, body in zip(rest[::2], rest[1::2], strict=True):
        body, *after = re.split(r"^(?=Source: )", body, maxsplit=1, flags=re.M)
        shown = f"```pycon\n{body.strip()}\n```" if head == "Examples" else _entries(body)
        parts += [f"**{head}**", shown, *(part.strip() for part in after)]
    return "\n\n".join(parts)


def _entries(body: str) -> str:
    """`name : text` as items, nested by their indent; other lines go on with what stands before them."""
    lines: list[str] = []
    nested = 0  # of free text before the entries, which stand one level deeper
    for line in body.strip("\n").split("\n"):
        found = _ENTRY.fullmatch(line)
        if found:
            indent = " " * max(0, len(found[1]) - nested)
            name = f"`{found[2]}`" if re.fullmatch(r"[\w, ().\"]+", found[2]) else found[2]
            lines.append(f"{indent}- {name}: {found[3]}")
        elif not lines and line.strip():
            nested = 4
            lines += [line.strip(), ""]
        elif line.strip() and lines[-1] == "" and len(lines) == 2:
            lines[0] += f" {line.strip()}"
        elif line.strip():
            lines[-1] += f" {line.strip()}"
    return "\n".join(lines)
