"""What is typed wrong, as one sentence: what, where, what to do. Typer prints four lines, of which two are no help."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import typer

from core import datasets
from core.base.errors import InputError, _requirement
from core.cli._files import _is_file_and_no_benchmark

_UsageError: Any = typer.BadParameter.__base__  # of Typer's own copy of Click, which has no public name


# What other tools call an option: spelling alone took `--limit` for `--split`.
_ELSEWHERE = {"--limit": "--groups", "--max-samples": "--groups", "--num-samples": "--groups"}
_TAKE_FILES = {"results", "files", "a"}  # arguments of commands that take such files without an option


@contextmanager
def usage_errors(name: str | None, parent: Any, command: Any) -> Iterator[None]:
    """Raises InputError for what Typer finds wrong in the words after a command.

    name, parent : how the command was called, and the context of the group that it is in. command : its parameters, and
    the example at the end of its help.
    """
    try:
        yield
    except _UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # no mistake: the help is shown
            raise
        raise InputError(_sentence(error, _command_words(name, parent), command)) from None


def refuse_repeated(context: Any, given: Sequence[Any]) -> None:
    """Raises InputError for an option that takes one value and is given several: the last alone would count.

    given : the parameters of the command in the order of its words, one for each time.
    """
    for parameter, count in Counter(given).items():
        if count > 1 and parameter.param_type_name == "option" and not parameter.multiple:
            times, one = ("twice", "one") if count == 2 else (f"{count} times", "all but one")
            raise InputError(
                f"{_called(parameter)} is given {times}, and {_command_words(context.info_name, context.parent)} takes "
                f"it once; leave {one} out, or run the command once for each."
            )


def _command_words(name: str | None, parent: Any) -> str:
    """How a command is called, in backticks."""
    return f"`{' '.join(['crossmatch', *([] if parent is None else [*_names(parent), name or ''])])}`"


def _names(context: Any) -> list[str]:
    """The names of groups of commands from the outermost on, without the program's own."""
    return [] if context.parent is None else [*_names(context.parent), context.info_name]


def _sentence(error: Any, called: str, command: Any) -> str:
    kind = type(error).__name__
    if kind == "NoSuchOption":
        if error.option_name in ("--scores", "--embeddings") and _TAKE_FILES & {
            p.name for p in command.params
        }:
            return (
                f"{called} takes files of scores or embeddings by themselves; leave {error.option_name} out."
            )
        known = [each for parameter in command.params for each in parameter.opts if each.startswith("--")]
        meant = [each for each in known if each == _ELSEWHERE.get(error.option_name)]
        near = meant or get_close_matches(error.option_name, known, 1, 0.7)
        hint = f"did you mean {near[0]}?" if near else f"`{called[1:-1]} --help` lists what it has."
        return f"{called} has no option {error.option_name}; {hint}"
    if kind == "BadOptionUsage":
        return _without_its_value(error, command)
    if kind == "MissingParameter":
        return f"{called} needs {_called(error.param)}{_as_in(command)}."
    if kind == "BadParameter":
        return f"{_called(error.param)} {_wrong(error)}."
    surplus = re.search(
        r"unexpected extra arguments? \((.*)\)|unexpected extra argument\(s\) \((.*)\)", error.message
    )
    if surplus:
        options = [
            flag for flag in ("--scores", "--embeddings") if any(flag in each.opts for each in command.params)
        ]
        if options and Path(surplus[1] or surplus[2]).is_file():
            first = error.ctx.params.get("name")
            takes_one = any(p.name == "name" and "FILE" in (p.metavar or "") for p in command.params)
            if takes_one and _is_file_and_no_benchmark(first):
                return _of_two_files(called, first, surplus[1] or surplus[2], command)
            named = " or ".join(options)
            return f"{called} takes no file by itself; write {named} before {surplus[1] or surplus[2]}."
        word = (surplus[1] or surplus[2]).split()[0]
        if any("--benchmark" in each.opts for each in command.params) and word in datasets.names(None):
            return f"{called} takes the benchmark as an option; write --benchmark {word}."
        return f"{called} has no use for {(surplus[1] or surplus[2])!r}; leave it out, or quote what belongs together."
    return f"{called}: {error.message}"


def _of_two_files(called: str, first: str, second: str, command: Any) -> str:
    """Two files where one can be named without its option."""
    if any("--prior" in each.opts for each in command.params):
        pair = shlex.join([*called[1:-1].split(), first, "--prior", second])
        return f"{called} takes one file by itself; write `{pair}`."
    if command.name == "evaluate":
        pair = shlex.join(["crossmatch", "compare", first, second])
        return f"{called} takes one file; two are compared by `{pair}`."
    return f"{called} takes one file; leave {first} or {second} out, or run the command once for each."


def _as_in(command: Any) -> str:
    """The example at the end of a command's help, behind what the command needs."""
    example = re.search(r"crossmatch .*", command.epilog or "")
    return f"; as in `{example[0]}`" if example else ""


def _called(parameter: Any) -> str:
    """`--split`, and an argument in capitals, as the first line of the help has it."""
    if parameter.param_type_name == "option":
        return max(parameter.opts, key=len)
    return (parameter.metavar or parameter.name).upper()


def _without_its_value(error: Any, command: Any) -> str:
    """An option without the values that it needs, or a flag with one."""
    flag = error.option_name
    if "does not take a value" in error.message:
        return f"{flag} takes no value; leave out the = and what follows it."
    option = next((each for each in command.params if flag in each.opts), None)
    count = 1 if option is None else option.nargs
    many = "a value" if count == 1 else f"{count} values"
    if option is not None and option.required:  # the command would ask for it again
        return f"{flag} needs {many} after it{_as_in(command)}."
    return f"{flag} needs {many} after it; give {'it' if count == 1 else 'them'}, or leave {flag} out."


def _wrong(error: Any) -> str:
    """What was given, and what it must be: both as pydantic, which reads the values for Typer, found them."""
    found = getattr(error.__cause__, "errors", None)
    if found is None:
        return f"is wrong ({error.message.rstrip('.')}); change it"
    first = found()[0]
    given = first["input"]
    shown = given if re.fullmatch(r"[-+]?\d+(\.\d+)?", str(given)) else repr(given)
    return f"is {shown}; it must be {_requirement(first['msg'])}"
