"""The command `netspurt`: its parts, and its handling of errors."""

from __future__ import annotations

import io
import os
import re
import signal
import sys
from collections.abc import Callable, Sequence
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from netspurt.cli.output import complain, harmless_output, open_streams, print_version, was_cut

if TYPE_CHECKING:
    from netspurt.cli.words import App


def _simulating() -> list[Any]:
    from netspurt.cli import (
        comparing,
        plotting,
        qlogging,
        reporting,
        running,
        shipped,
        sweeping,
        tables,
    )

    looking = [plotting.plot, tables.table, qlogging.qlog, comparing.compare, reporting.report]
    return [running.new, shipped.scenarios, running.run, sweeping.app, *looking]


def _choosing() -> list[Any]:
    from netspurt.cli import delays, replaying

    return [delays.app, replaying.replay]


def _moving() -> list[Any]:
    from netspurt.cli import orbits, timelining

    return [orbits.app, timelining.timeline]


def _explaining() -> list[Any]:
    from netspurt.cli import explaining

    return [explaining.explain]


def _using_paths() -> list[Any]:
    from netspurt.cli import fragments, live, polling, probing, sites

    polls = [polling.poll, polling.capture, polling.match]
    probes = [probing.probe, probing.serve, probing.push]
    return [live.app, *probes, *polls, sites.sites, fragments.fragments]


def _checking() -> list[Any]:
    from netspurt.cli import doctor, papers, running, scripts, truth

    return [papers.app, truth.app, scripts.script, doctor.doctor, running.schema]


#: The commands by task, and for each task the function that imports its commands.
_COMMANDS: dict[str, tuple[str, Callable[[], list[Any]]]] = {
    "Simulate and look": ("new scenarios run sweep plot table qlog compare report", _simulating),
    "Choose a timer for recorded delays": ("delays replay", _choosing),
    "Make links that move": ("orbit timeline", _moving),
    "Explain captures": ("explain", _explaining),
    "Use real paths and the kernel's TCP": (
        "live probe serve push poll capture match sites fragments",
        _using_paths,
    ),
    "Check": ("papers truth script doctor schema", _checking),
}


def _known() -> set[str]:
    """Return the names of all commands."""
    return {name for names, _ in _COMMANDS.values() for name in names.split()}


def _refuse_file(word: str) -> None:
    """If `word` is a file or folder that a command takes, raise an error that names the command."""
    from pathlib import Path

    from netspurt.cli.hints import command_for

    if Path(word).exists() and (told := command_for(Path(word))):
        raise ValueError(f"the first word must be a command; {told}")


def _refuse_subcommand(word: str) -> None:
    """If `word` is a command of a group, raise an error that names the group."""
    import typer

    commands: dict[str, Any] = vars(typer.main.get_command(application()))["commands"]
    within = [
        f"`netspurt {name} {word}`"
        for name, command in commands.items()
        if word in getattr(command, "commands", {})
    ]
    if within:
        raise ValueError(f"{word} is a command of a group: {' or '.join(within)}")


def application(words: Sequence[str] = ()) -> App:
    """Return the command with all subcommands, or only with the subcommand that `words` names.

    Loading the imports and options of all subcommands would take longer than many commands take.
    """
    from netspurt.cli.words import STATUSES, App, root

    statuses = " ".join(f"{number}: {meaning}." for number, meaning in STATUSES.items())
    app = App(
        name="netspurt",
        help="When should a transport retransmit, and what does it cost to be wrong?",
        epilog=f"Exit status: {statuses} `netspurt live exec` exits with its command's status.\n\n"
        "`netspurt --install-completion` installs the shell's completion of commands and names.",
        pretty_exceptions_enable=False,
    )
    app.callback()(root)
    known = _known()
    wanted = known.intersection(words[:1]) or known
    for panel, (names, commands) in _COMMANDS.items():
        if wanted.isdisjoint(names.split()):
            continue
        for name, command in zip(names.split(), commands(), strict=True):
            if name not in wanted:
                continue
            if isinstance(command, App):
                app.add_typer(command, name=name, rich_help_panel=panel)
            else:
                app.command(name, rich_help_panel=panel)(command)
    return app


def _print_traceback(error: BaseException) -> None:
    """Print the traceback of an error in an algorithm that the user wrote."""
    import traceback

    from netspurt.algorithms import AlgorithmError

    if isinstance(error, AlgorithmError):
        traceback.print_exception(error.__cause__)


def _raise_again(ignored: sys.UnraisableHookArgs) -> None:
    """Raise an ignored interrupt again, and print other ignored errors.

    Python ignores an error in a callback, for example in a callback of the module `importlib`.
    """
    error = ignored.exc_value
    if not isinstance(error, KeyboardInterrupt | SystemExit):
        sys.__unraisablehook__(ignored)
        return

    def leave(_signal: int, _frame: object) -> None:
        raise error

    signal.signal(signal.SIGALRM, leave)
    # This time is long enough for the callback to end.
    signal.setitimer(signal.ITIMER_REAL, 0.01)


def main() -> None:
    """Run the command."""
    sys.unraisablehook = _raise_again
    # It is not an error if the reader of the output stops early: `netspurt schema | head -1`.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # SIGTERM ends the command like an interrupt: unfinished files are removed.
    signal.signal(signal.SIGTERM, lambda _signal, _frame: sys.exit(128 + signal.SIGTERM))
    open_streams()
    with harmless_output():
        _run()


def _run() -> None:
    try:
        # A variable of the command's own context says whether a capture was not read to its end.
        status = copy_context().run(_carry_out, sys.argv[1:])
    except (ValueError, OSError) as error:
        complain(error)
        if os.environ.get("NETSPURT_TRACEBACK"):
            _print_traceback(error)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    except RuntimeError as error:
        # Python 3.11 wraps an interrupt in a RuntimeError if it comes during a `__set_name__`.
        if not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        sys.exit(130)
    if status:
        sys.exit(status)


def _carry_out(words: list[str]) -> int | None:
    """Carry out a command; return its exit status."""
    from netspurt.cli.plain_words import explain_words

    if words == ["--version"]:
        # For `--version`, typer would load the options of all commands first, which takes long.
        print_version()
        return None
    if words[:1] == ["explain"] and (given := explain_words(words[1:])):
        from netspurt.cli.explain_files import explain_files

        return explain_files(**given)
    from netspurt.cli.words import usage_error

    if words and not words[0].startswith("-") and words[0] not in _known():
        _refuse_file(words[0])
        _refuse_subcommand(words[0])
    try:
        status: int | None = application(words)(prog_name="netspurt", standalone_mode=False)
    except usage_error() as error:
        _complain_of_usage(error)
        sys.exit(error.exit_code)
    return status or int(was_cut())


def _complain_of_usage(error: Any) -> None:
    """Print the usage of the command, and the error in the style of all errors."""
    told = io.StringIO()
    error.show(file=told)
    text = re.sub("^Error: ", "error: ", told.getvalue(), count=1, flags=re.MULTILINE)
    if error.ctx is not None and error.ctx.command.hidden:
        # The command is the default of its group, and no help lists its name.
        path = error.ctx.command_path
        text = text.replace(f"Try '{path} ", f"Try '{path.rsplit(' ', maxsplit=1)[0]} ", 1)
    sys.stderr.write(text)
