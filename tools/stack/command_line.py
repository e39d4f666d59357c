"""What the command lines of the tools share: how they say who they are, and how they end."""

import shlex
import subprocess
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from difflib import get_close_matches
from importlib import import_module
from itertools import islice
from types import MappingProxyType
from typing import override

import click
from click.core import ParameterSource

from stack import VERSION
from stack.console import people
from stack.errors import ExitCode

_EXIT_CODES = {
    ExitCode.DONE: "done",
    ExitCode.FAILED: "failed",
    ExitCode.USAGE: "usage",
    ExitCode.INTERRUPTED: "interrupted",
}


class Tool(click.Group):
    """A command line that knows ``--version``, and ``--color`` before and after its commands.

    Args:
        commands_in: Where commands are that are imported when they are needed, such as
            ``package.module:function``, by their names.
    """

    def __init__(
        self,
        *arguments: object,
        commands_in: Mapping[str, str] = MappingProxyType({}),
        **attributes: object,
    ) -> None:
        super().__init__(*arguments, **attributes)  # type: ignore[arg-type] # click's own, handed on
        self._commands_in = commands_in
        self.params += [_version_option(), _color_option()]

    @override
    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        cmd.params.append(_color_option(hidden=True))
        super().add_command(cmd, name)

    @override
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        place = self._commands_in.get(cmd_name)
        if place is not None and cmd_name not in self.commands:
            module, _, function = place.partition(":")
            self.add_command(getattr(import_module(module), function))
        return super().get_command(ctx, cmd_name)

    @override
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        is_option = name.startswith("-")
        if not (is_option or ctx.resilient_parsing) and self.get_command(ctx, name) is None:
            # click looks for the nearest among those alone that were imported already.
            near = map(repr, get_close_matches(name, self.list_commands(ctx)))
            hint = " or ".join(near)
            raise click.UsageError(
                f"No such command {name!r}.{f' Did you mean {hint}?' if hint else ''}", ctx
            )
        return super().resolve_command(ctx, args)

    @override
    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*self._commands_in, *(n for n in self.commands if n not in self._commands_in)]

    @override
    def invoke(self, ctx: click.Context) -> object:
        words = tuple(ctx.args)
        try:
            return super().invoke(ctx)
        except click.NoSuchOption as error:
            known = {name for option in self.params for name in option.opts}
            if error.option_name not in known.intersection(_PLACE):
                raise
            before, after = _parted(known.intersection(_PLACE), words)
            rest = shlex.join((*before, ctx.invoked_subcommand or "", *after))
            raise click.UsageError(
                f"{error.option_name} goes before the command: {typed(f'{ctx.info_name} {rest}')}",
                error.ctx,
            ) from error

    def all_commands(self) -> dict[str, click.Command]:
        """Every command by its name."""
        context = click.Context(self)
        found = {name: self.get_command(context, name) for name in self.list_commands(context)}
        return {name: command for name, command in found.items() if command is not None}

    @override
    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(
                [(n, summary(command)) for n, command in self.all_commands().items()]
            )


def json_option[**P, R](command: Callable[P, R]) -> Callable[P, R]:
    """Give a command the option ``--json``."""
    return click.option("--json", "as_json", is_flag=True, help="Write JSON to standard output.")(
        command
    )


def summary(command: click.Command) -> str:
    """The first sentence of a command's help, whole."""
    return command.get_short_help_str(limit=1000)


def epilog(*examples: str, **exit_codes: str) -> str:
    """The end of a command's help: examples of its use, and its exit codes.

    Args:
        examples: Lines as a person types them; one may go on below after a backslash.
        exit_codes: What a code means that not every command has, by its name in ``ExitCode``.
    """
    own = {ExitCode[name.upper()]: meaning for name, meaning in exit_codes.items()}
    codes = sorted({**_EXIT_CODES, **own}.items())
    listed = ", ".join(f"{code:d} {meaning}" for code, meaning in codes)
    # click takes the \b for: keep these lines.
    lines = "\n".join(["\b", "Examples:", *(f"  {example}" for example in examples)])
    return f"{lines}\n\nExit codes: {listed}."


def examples_of(command: click.Command) -> tuple[str, ...]:
    """The examples in a command's help, each as one line."""
    block = (command.epilog or "").partition("\n\n")[0].replace("\\\n", "")
    return tuple(line.removeprefix("  ") for line in block.splitlines() if line.startswith("  "))


# The options by which a tool knows what it is about; what one is told, the next has to be told too.
_PLACE = ("--repo", "--series", "--main")


def typed(command: str, late: Container[str] = ()) -> str:
    """A command as a person types it next, with the options of this run that say where it works.

    Args:
        command: The command, such as ``merge_series sync --continue``.
        late: Those of the options that stand behind it, not behind the tool.
    """
    tool, _, rest = command.partition(" ")
    early = [part for option in _place() if option[0] not in late for part in option]
    after = [part for option in _place() if option[0] in late for part in option]
    return " ".join((tool, *early, rest, *after))


def _place() -> Iterator[tuple[str, str]]:
    context = click.get_current_context(silent=True)
    contexts: list[click.Context] = []
    while context is not None:
        contexts.insert(0, context)
        context = context.parent
    for context in contexts:
        for option in context.command.params:
            name = option.name or ""
            if option.opts[0] in _PLACE and (
                context.get_parameter_source(name) is ParameterSource.COMMANDLINE
            ):
                yield option.opts[0], shlex.quote(str(context.params[name]))


def _parted(names: Container[str], words: Iterable[str]) -> tuple[list[str], list[str]]:
    """The words of a command line that are some options with their values, and the rest."""
    options: list[str] = []
    others: list[str] = []
    left = iter(words)
    for word in left:
        name, has_value, _ = word.partition("=")
        if name in names:
            options += (word,) if has_value else (word, *islice(left, 1))
        else:
            others.append(word)
    return options, others


def _version_option() -> click.Option:
    return click.Option(
        ["--version"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_say_version,
        help="Show the versions of the tools and of git, and exit.",
    )


def _say_version(context: click.Context, _: click.Parameter, is_asked: bool) -> None:  # noqa: FBT001 - click's
    if not is_asked or context.resilient_parsing:
        return
    try:
        answer = subprocess.run(["git", "version"], check=True, capture_output=True, text=True)
        git = answer.stdout.strip().replace("git version", "git")
    except (OSError, subprocess.CalledProcessError):
        git = "no git that runs"
    click.echo(f"{context.find_root().info_name} {VERSION}, {git}")
    context.exit()


def _color_option(*, hidden: bool = False) -> click.Option:
    return click.Option(
        ["--color"],
        type=click.Choice(["auto", "always", "never"]),
        is_eager=True,
        expose_value=False,
        callback=_set_color,
        hidden=hidden,
        help="When to colour; auto, the default, on a terminal unless NO_COLOR is set, and "
        "wherever FORCE_COLOR is.",
    )


def _set_color(context: click.Context, _: click.Parameter, when: str | None) -> None:
    if when is not None and not context.resilient_parsing:
        people.when = when  # type: ignore[assignment] # one of the choices
