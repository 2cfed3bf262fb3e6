"""What was typed on the command line: an option takes effect, or is refused in one sentence."""

from __future__ import annotations

import click
from click.core import ParameterSource

from core.base.errors import InputError


def typed(name: str) -> bool:
    """Whether the user gave this parameter of the command that runs; its default does not count."""
    context = click.get_current_context(silent=True)
    source = None if context is None else context.get_parameter_source(name)
    return source not in (None, ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP)


def refuse(why: str, *names: str) -> None:
    """Raise InputError for the first of these parameters that was typed: it has no effect here.

    why : ends the sentence `--split has no effect ...`.
    """
    for name in names:
        if typed(name):
            raise InputError(f"{flag(name)} has no effect {why}; leave it out.")


def flag(name: str) -> str:
    """How a parameter is typed: `--split` of `split`."""
    for parameter in click.get_current_context().command.params:
        if parameter.name == name:
            return parameter.opts[0]
    raise AssertionError(name)


def the_benchmark(argument: str | None, option: str | None) -> str | None:
    """The benchmark that was named, first without a flag (`crossmatch ttm winoground`) or by --benchmark."""
    if argument is not None and option is not None:
        raise InputError(
            f"The benchmark is named twice, {argument!r} and --benchmark {option}; leave one of them out."
        )
    return argument or option


def need_benchmark(argument: str | None, option: str | None) -> str:
    """As `the_benchmark`, where there must be one."""
    found = the_benchmark(argument, option)
    if found is None:
        name = click.get_current_context().info_name
        raise InputError(
            f"Name a benchmark, such as `crossmatch {name} scenes/swap` (see `list benchmarks`)."
        )
    return found
