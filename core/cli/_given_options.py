"""What the user gave on the command line: an option takes effect, or is refused in one sentence."""

from __future__ import annotations

import inspect
from contextvars import ContextVar
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from core.base.errors import InputError

_running: ContextVar[Any] = ContextVar("running", default=None)  # the context of the command that runs


def _plain_flags(parameters: list[Any]) -> list[Any]:
    """Parameters whose flags take no value, in their help too: Typer writes `<bool>` beside them."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters


class Group(TyperGroup):
    """A group of commands; its help shows flags without a value, and what a command does in whole sentences."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _plain_flags(super().get_params(ctx))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        helps = {name: getattr(self.get_command(ctx, name), "help", "") for name in self.list_commands(ctx)}
        with formatter.section("Commands"):
            formatter.write_dl([(name, inspect.cleandoc(text)) for name, text in helps.items()])


class _Command(TyperCommand):
    """A command that knows, while it runs, which of its parameters were given; its help as that of `Group`."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _plain_flags(super().get_params(ctx))

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """The example, in one line however narrow the terminal: it is there to be copied."""
        if self.epilog:
            formatter.write(f"\n  {self.epilog}\n")

    def invoke(self, ctx: Any) -> Any:
        before = _running.set(ctx)
        try:
            return super().invoke(ctx)
        finally:
            _running.reset(before)


class App(typer.Typer):
    """Commands that may ask what was given (`was_given`, `refuse_unused`). No group of them offers to complete: the
    shell completes `crossmatch` alone. Their help is plain text: at 80 columns Typer's boxes cut long names."""

    def __init__(self, **options: Any) -> None:
        plain = {"add_completion": False, "rich_markup_mode": None}
        super().__init__(**{"cls": Group, **plain, **options})

    def command(self, *given: Any, **more: Any) -> Any:
        """As Typer's."""
        return super().command(*given, **{"cls": _Command, **more})


def was_given(name: str) -> bool:
    """Whether the user gave this parameter of the command that runs; its default does not count."""
    context = _running.get()
    source = None if context is None else context.get_parameter_source(name)
    return source is not None and not source.name.startswith("DEFAULT")


def refuse_unused(why: str, *names: str) -> None:
    """Raise InputError for the first of these parameters that was given: it has no effect here.

    why : ends the sentence `--split has no effect ...`.
    """
    for name in filter(was_given, names):
        flag = next(p.opts[0] for p in _running.get().command.params if p.name == name)
        raise InputError(f"{flag} has no effect {why}; leave it out.")


def benchmark_argument(argument: str | None, option: str | None) -> str | None:
    """The benchmark, given first without a flag (`crossmatch ttm winoground`) or by --benchmark."""
    if argument is not None and option is not None:
        raise InputError(
            f"The benchmark is named twice, {argument!r} and --benchmark {option}; leave one of them out."
        )
    return argument or option


def require_benchmark(argument: str | None, option: str | None) -> str:
    """As `benchmark_argument`, where there must be one."""
    benchmark = benchmark_argument(argument, option)
    if benchmark is None:
        raise InputError("Name a benchmark first, or with --benchmark (see `crossmatch list benchmarks`).")
    return benchmark
