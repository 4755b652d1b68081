"""Commands and groups of commands.

Their help has whole sentences, and names values by words such as `PATH`, not by types of Python.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup

from netspurt.cli.output import print_version

#: The settings of all commands: the names of the help option, and the maximum width of help texts
#: in columns.
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

#: The meanings of the exit statuses. `netspurt live exec` exits with the status of its command.
STATUSES = {
    0: "done",
    1: "a check failed, a live run is not valid, a capture was not read to its end, a strict sweep "
    "met an error, or nothing matched or answered",
    2: "an option, a file or a value is wrong, and the message says how to correct it",
    130: "ended by an interrupt; but a measurement that an interrupt stops, such as probe, prints "
    "its results and exits with 0 or 1",
    143: "ended by SIGTERM",
}

#: The placeholder for each type of an option's value. An option may name another placeholder.
_PLACEHOLDERS = (("Path", "PATH"), ("int", "N"), ("float", "NUMBER"), ("str", "NAME"))


def usage_error() -> Any:
    """Return the class of all errors of usage. Typer has no public name for it."""
    return typer.BadParameter.__mro__[1]


def _version(asked: bool) -> None:
    if asked:
        print_version()
        raise typer.Exit


def root(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version and exit."
    ),
) -> None:
    """Read the options that come before the command's name."""
    del version


class Command(TyperCommand):
    """A command. The module's docstring says how its help is written."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        for one in self.params:
            _name(one)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments. An option with the placeholder `[=WORD]` may lack a value."""
        alone = {
            name for one in self.params if str(one.metavar).startswith("[=") for name in one.opts
        }
        return super().parse_args(ctx, [f"{one}=" if one in alone else one for one in args])

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ARG002 - typer's
        """Return the words of the usage line: arguments in capitals, optional ones in brackets."""
        pieces = [self.options_metavar or ""]
        for one in self.params:
            if isinstance(one, TyperArgument):
                more = "..." if one.nargs != 1 and not str(one.metavar).endswith("...") else ""
                pieces.append(f"{one.metavar}{more}" if one.required else f"[{one.metavar}]{more}")
        return pieces

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        """Write the usage line.

        A hidden command is the default of its group. The usage line leaves out its name.
        """
        path = ctx.command_path
        words = path.rsplit(" ", maxsplit=1)[0] if self.hidden else path
        formatter.write_usage(words, " ".join(self.collect_usage_pieces(ctx)))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options, without the names of their Python types."""
        kinds: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for one in self.get_params(ctx):
            record = one.get_help_record(ctx)
            if record is not None:
                kind = "Arguments" if isinstance(one, TyperArgument) else "Options"
                name = re.sub(r" <([^<>]*[|][^<>]*)>$", r" \1", record[0])
                kinds[kind].append((re.sub(r" <[^<>]*>$", "", name), record[1]))
        for kind, rows in kinds.items():
            if rows:
                with formatter.section(kind):
                    formatter.write_dl(rows)


def _name(one: Any) -> None:
    """Give a parameter a placeholder for its value, if it has none.

    Flags and options with a choice of words get none.
    """
    if one.metavar is not None:
        return
    if isinstance(one, TyperArgument):
        one.metavar = one.name.upper()
    elif not one.is_flag and not one.type_descriptor.is_choice:
        kind = one.bare_type()
        one.metavar = next((word for name, word in _PLACEHOLDERS if name in kind), "VALUE")


class CommandGroup(TyperGroup):
    """A group of commands. Its help lists them by task, each with its first sentence."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands in sections, one for each task. Typer calls a section a panel."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command: Any = self.get_command(ctx, name)
            if not command.hidden:
                panel = command.rich_help_panel
                told = first_sentence(command.short_help or command.help or "")
                panels.setdefault(panel if isinstance(panel, str) else "Commands", [])
                panels[panel if isinstance(panel, str) else "Commands"].append((name, told))
        longest = max((len(name) for rows in panels.values() for name, _ in rows), default=0)
        for panel, rows in panels.items():
            with formatter.section(panel):
                formatter.write_dl([(name.ljust(longest), told) for name, told in rows])


def first_sentence(text: str) -> str:
    """Return the first sentence of a text, in one line.

    Examples
    --------
    >>> first_sentence("Play scripts by name. Exit with 0.")
    'Play scripts by name.'
    """
    line = " ".join(text.split("\n\n", maxsplit=1)[0].split())
    return re.split(r"(?<=[.?!]) (?=[A-Z])", line, maxsplit=1)[0]


class App(typer.Typer):
    """A group whose commands and groups are of the classes `Command` and `CommandGroup`."""

    def __init__(self, **options: Any) -> None:
        context = {"context_settings": CONTEXT, "rich_markup_mode": None, "cls": CommandGroup}
        super().__init__(**{**context, "no_args_is_help": True, **options})

    def command(self, name: str | None = None, **options: Any) -> Callable[[Any], Any]:
        """Return a decorator that adds a command."""
        return super().command(name, **{"cls": Command, **options})
