"""Options of commands: shared ones, their help under heads, and what was given takes effect or is refused."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from copy import copy
from dataclasses import fields
from typing import Annotated, Any, get_args, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from core.base.errors import InputError, unknown_name
from core.cli._files import _is_file_and_no_benchmark
from core.cli._usage_errors import refuse_repeated, usage_errors

_running: ContextVar[Any] = ContextVar("running", default=None)  # the context of the command that runs


def _plain_flags(parameters: list[Any]) -> list[Any]:
    """Parameters whose flags take no value, in their help too: Typer writes `<bool>` beside them."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters


class _PlainHelp:
    """What a command and a group of commands share: what is typed wrong gets one sentence, and in their help flags
    have no value and the example is one line."""

    epilog: str | None

    def get_params(self, ctx: Any) -> list[Any]:
        return _plain_flags(super().get_params(ctx))  # type: ignore[misc]

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """As Typer's. Raises InputError for a word that the command cannot use."""
        with usage_errors(info_name, parent, self):
            return super().make_context(info_name, args, parent, **extra)  # type: ignore[misc]

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """As Typer's. Raises InputError for an option of one value that is given several: the last would count."""
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))  # type: ignore[attr-defined]
        refuse_repeated(ctx, order)
        return super().parse_args(ctx, args)  # type: ignore[misc]

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """The example, in one line however narrow the terminal: it is there to be copied."""
        if self.epilog:
            own, called = (f"crossmatch {name} " for name in (getattr(self, "name", ""), ctx.info_name))
            formatter.write(f"\n  {self.epilog.replace(own, called)}\n")


class Group(_PlainHelp, TyperGroup):
    """A group of commands; its help says what a command does in whole sentences.

    sections : heads of the list of commands, and what stands below each; all below one where it is empty. meant : words
    that are no command, and the command that does what they say. also : second names of commands, which are
    listed below them.
    """

    sections: Mapping[str, Sequence[str]] = {}
    meant: Mapping[str, str] = {}
    also: Mapping[str, str] = {}

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """As Typer's; `help`, which is no command, before other words is `--help` behind them."""
        if args[:1] == ["help"]:
            args = [*(word for word in args[1:] if word != "--help"), "--help"]
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """As Typer's. Raises InputError for a command that is not there."""
        called, args = args[:1], [*(self.also.get(name, name) for name in args[:1]), *args[1:]]
        known = self.list_commands(ctx)
        if args and args[0] not in known:
            if (meant := self.meant.get(args[0].lower())) is not None:
                does = getattr(self.get_command(ctx, meant), "help", "").partition(". ")[0].rstrip(".")
                raise InputError(
                    f"Unknown command {args[0]!r}; did you mean {meant!r}? It does this: {does}."
                )
            within = f" of `crossmatch {ctx.info_name}`" if ctx.parent is not None else ""
            raise unknown_name(f"command{within}", args[0], known)
        name, command, rest = super().resolve_command(ctx, args)
        # Its help says how it was called.
        return called[0] if name in self.also.values() else name, command, rest

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        names = self.list_commands(ctx)
        helps = {name: inspect.cleandoc(getattr(self.get_command(ctx, name), "help", "")) for name in names}
        for second, name in self.also.items():
            helps[second] = f"The same command as {name}."
        width = max(map(len, names))  # of all: the sections stand below each other
        for head, below in (self.sections or {"Commands": names}).items():
            listed = [
                each for name in below for each in (name, *(s for s, n in self.also.items() if n == name))
            ]
            with formatter.section(head):
                formatter.write_dl([(name.ljust(width), helps[name]) for name in listed])


class _Command(_PlainHelp, TyperCommand):
    """A command that knows, while it runs, which of its parameters were given; its help as that of `Group`."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments, then options: those of `takes` under their heads, the others under "Options"."""
        rows: dict[str, list[tuple[str, str]]] = {"Arguments": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                argument = parameter.param_type_name == "argument"
                head = "Arguments" if argument else getattr(parameter, "rich_help_panel", None) or "Options"
                rows.setdefault(head, []).append(record)
        for head, records in rows.items():
            if records:
                with formatter.section(head):
                    formatter.write_dl(records)

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


def takes(*parts: type | None) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A command with the fields of these dataclasses as options, under the class's `head`; None: its own are here.

    It is called with all of them by name; those that it does not name itself arrive in its `**` parameter.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        def run(**given: Any) -> None:
            command(**given)

        return signed(run, command, *parts)

    return decorate


def signed(
    run: Callable[..., None], command: Callable[..., None], *parts: type | None
) -> Callable[..., None]:
    """`run` under the command's name, with the parameters of the command and of these dataclasses, as in `takes`."""
    own = [p for p in inspect.signature(command).parameters.values() if p.kind is not p.VAR_KEYWORD]
    hints = get_type_hints(command, include_extras=True)
    found = []
    for part in parts:
        if part is None:
            found += [p.replace(kind=p.KEYWORD_ONLY, annotation=hints[p.name]) for p in own]
            continue
        theirs, head = get_type_hints(part, include_extras=True), getattr(part, "head", None)
        for field in fields(part):
            hint = _under(head, theirs[field.name])
            found.append(
                inspect.Parameter(
                    field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hint
                )
            )
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__signature__ = inspect.Signature(found)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in found}
    return run


def _under(head: str | None, hint: Any) -> Any:
    """The annotation of an option, shown under this head."""
    if head is None:
        return hint
    kind, info = get_args(hint)
    info = copy(info)  # other commands have it under no head
    info.rich_help_panel = head
    return Annotated[kind, info]


def was_given(name: str) -> bool:
    """Whether the user gave this parameter of the command that runs; its default does not count."""
    context = _running.get()
    source = None if context is None else context.get_parameter_source(name)
    return source is not None and not source.name.startswith("DEFAULT")


def refuse_unused(why: str, *names: str) -> None:
    """Raise InputError for the first of these parameters that was given: it has no effect here.

    why : ends the sentence `--split has no effect ...`; it names a file that was given first, in place of the option
    for it that nobody typed.
    """
    for name in filter(was_given, names):
        context = _running.get()
        option = next(p for p in context.command.params if p.name == name)
        off = option.secondary_opts if context.params.get(name) is False else []
        flag = (off or option.opts)[0]
        if option.param_type_name == "argument":  # has no flag: what was typed
            flag = context.params[name]
        raise InputError(f"{flag} has no effect {_as_typed(why)}; leave it out.")


def _as_typed(why: str) -> str:
    """`with --scores` as `with s.csv, a file of scores` where the command was given the file without the option."""
    context = _running.get()
    arguments = (p.name for p in context.command.params if p.param_type_name == "argument")
    files = [str(value) for name in arguments if (value := context.params.get(name)) is not None]
    for kind in ("scores", "embeddings"):
        typed = next(filter(_is_file_and_no_benchmark, files), None)
        if why == f"with --{kind}" and not was_given(kind) and typed is not None:
            return f"with {typed}, a file of {kind}"
    return why


def benchmark_argument(argument: str | None, option: str | None) -> str | None:
    """The benchmark, given first without a flag (`crossmatch ttm winoground`) or by --benchmark."""
    if argument is not None and option is not None:
        raise InputError(
            f"The benchmark is named twice, {argument!r} and --benchmark {option}; leave one of them out."
        )
    return argument or option


def _benchmarks_argument(argument: str | None, option: Sequence[str] | None) -> list[str] | None:
    """As `benchmark_argument`, of a command that takes several by --benchmark; a file belongs to --scores there."""
    if argument is not None and _is_file_and_no_benchmark(argument):
        raise InputError(f"This command takes no file by itself; write --scores before {argument}.")
    if argument is not None and option:
        raise InputError(
            f"The benchmark is named twice, {argument!r} and --benchmark {option[0]}; leave one of them out, or write "
            "--benchmark before each of several."
        )
    return [*(option or ())] or (None if argument is None else [argument])


def require_benchmark(argument: str | None, option: str | None) -> str:
    """As `benchmark_argument`, where there must be one."""
    benchmark = benchmark_argument(argument, option)
    if benchmark is None:
        raise InputError("Name a benchmark first, or with --benchmark (see `crossmatch list benchmarks`).")
    return benchmark
