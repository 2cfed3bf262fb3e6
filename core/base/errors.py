"""One sentence for bad input: what, where, what to do."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rapidfuzz import fuzz, process


class InputError(ValueError):
    """The user's file or argument is at fault; the message says what, where and what to do.

    Messages quote names from files, which may hold anything: what is shown is one line of bounded length that every
    terminal and page can encode.

    details : what the command line lists below it, a line each, such as every mistake of a file.
    """

    def __init__(self, message: str, details: Iterable[str] = ()) -> None:
        super().__init__(_one_line(message))
        self.details = [*map(_one_line, details)]


class NotFiniteError(InputError):
    """A score is no finite number."""


_LONGEST = 2000  # characters


def printable(text: str) -> str:
    """Without halves of characters: names of files and JSON from elsewhere hold them, but no terminal, page or database
    takes them."""
    return text.encode("utf-8", "replace").decode()


def _one_line(message: str) -> str:
    line = printable(re.sub(r"\s*[\x00-\x1f\x7f\x85\u2028\u2029]+\s*", " ", message))
    return line if len(line) <= _LONGEST else f"{line[:1500]} … {line[-400:]}"


def _alike(name: str, other: str) -> bool:
    """Whether two names that begin with the same folder are alike without it: `scenes/x` is not like `scenes/y`."""
    (folder, _, last), (other_folder, _, other_last) = name.rpartition("/"), other.rpartition("/")
    return folder != other_folder or len(last) < 2 or fuzz.ratio(last, other_last) >= 60


def unknown_name(kind: str, name: str, known: Iterable[str]) -> InputError:
    """The error for a name that is in no registry, and what was meant: what lacks a folder alone, else the nearest,
    else what begins with it in its folder; else what there is, that folder first, then what is built in."""
    folder = name.rpartition("/")[0]

    def rank(option: str) -> tuple[bool, bool, str]:
        elsewhere = bool(folder) and option.rpartition("/")[0] != folder
        return elsewhere, not option.startswith(("scenes/", "builtin/")), option

    options = sorted(set(known), key=rank)
    near = [option for option in options if option.rpartition("/")[2] == name][:3]
    if not near:
        match = process.extractOne(name, options, scorer=fuzz.ratio, score_cutoff=60)
        near = [match[0]] if match and _alike(name, match[0]) else []
    if not near and folder and len(name) > len(folder) + 2:
        near = [option for option in options if option.startswith(name)][:3]
    mark = "; " if any("," in option for option in options) else ", "
    some = mark.join(options[:12]) + (" …" if len(options) > 12 else "")
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"known: {some or 'none'}."
    return InputError(f"Unknown {kind} {name!r}; {hint}")


_REQUIREMENTS = (  # of pydantic, and in plain words
    (r"a valid integer.*", "a whole number"),
    (r"a valid number.*", "a number"),
    (r"a valid boolean.*", "true or false"),
    (r"a valid dictionary", "a mapping, name: value"),
    (r"a valid (list|string|tuple)", r"a \1"),
    (r"greater than or equal to (\S+)", r"\1 or more"),
    (r"less than or equal to (\S+)", r"\1 or less"),
    (r"greater than (\S+)", r"above \1"),
    (r"less than (\S+)", r"below \1"),
)


def _requirement(finding: str) -> str:
    """What a value must be, of pydantic's "Input should be ...", as it follows "it must be"."""
    wanted = finding.removeprefix("Input should be ")
    for pattern, plain in _REQUIREMENTS:
        wanted = re.sub(rf"^{pattern}", plain, wanted)
    return wanted
