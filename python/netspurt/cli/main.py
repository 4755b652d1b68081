"""The command: its parts, and its handling of errors."""

from __future__ import annotations

import io
import os
import re
import signal
import sys
import traceback
from typing import Any

import typer

from netspurt._core import __version__
from netspurt.algorithms import AlgorithmError
from netspurt.cli import (
    comparing,
    delays,
    doctor,
    explaining,
    fragments,
    plotting,
    polling,
    probing,
    replaying,
    running,
    scripts,
    shipped,
    sites,
    tables,
    timelining,
)
from netspurt.cli.live import app as live_app
from netspurt.cli.orbits import app as orbit_app
from netspurt.cli.output import complain, harmless_output
from netspurt.cli.papers import app as papers_app
from netspurt.cli.sweeping import app as sweep_app
from netspurt.cli.truth import app as truth_app
from netspurt.cli.words import App

app = App(
    name="netspurt",
    help="When should a transport send again, and what does it cost to be wrong?",
    epilog="Exit status: 0; 1 if a check failed, a run does not count or a strict sweep met an "
    "error; 2 if the input is wrong; 130 after an interrupt, 143 after SIGTERM. `netspurt live "
    "exec` has its command's.\n\n"
    "`netspurt --install-completion` installs the shell's completion of commands and names.",
    pretty_exceptions_enable=False,
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"netspurt {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version and exit."
    ),
) -> None:
    del version


#: The commands, by what one wants to do.
_COMMANDS: dict[str, dict[str, Any]] = {
    "Simulate and look": {
        "new": running.new,
        "scenarios": shipped.scenarios,
        "run": running.run,
        "sweep": sweep_app,
        "plot": plotting.plot,
        "table": tables.table,
        "compare": comparing.compare,
    },
    "Choose a timer for recorded delays": {
        "delays": delays.app,
        "replay": replaying.replay,
    },
    "Make links that move": {"orbit": orbit_app, "timeline": timelining.timeline},
    "Explain captures": {"explain": explaining.explain},
    "Use real paths and the kernel's TCP": {
        "live": live_app,
        "probe": probing.probe,
        "serve": probing.serve,
        "push": probing.push,
        "poll": polling.poll,
        "capture": polling.capture,
        "match": polling.match,
        "sites": sites.sites,
        "fragments": fragments.fragments,
    },
    "Check": {
        "papers": papers_app,
        "truth": truth_app,
        "script": scripts.script,
        "doctor": doctor.doctor,
        "schema": running.schema,
    },
}

for _panel, _commands in _COMMANDS.items():
    for _name, _command in _commands.items():
        if isinstance(_command, App):
            app.add_typer(_command, name=_name, rich_help_panel=_panel)
        else:
            app.command(_name, rich_help_panel=_panel)(_command)


def main() -> None:
    """Run the command."""
    # A reader that stops early is no error: `netspurt schema | head -1` ends quietly.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # SIGTERM ends the command like an interrupt: unfinished files are removed.
    signal.signal(signal.SIGTERM, lambda _signal, _frame: sys.exit(128 + signal.SIGTERM))
    with harmless_output():
        _run()


def _run() -> None:
    try:
        status = app(prog_name="netspurt", standalone_mode=False)
    except _USAGE_ERROR as error:
        _complain_of_usage(error)
        sys.exit(error.exit_code)
    except (ValueError, OSError) as error:
        complain(error)
        if isinstance(error, AlgorithmError) and os.environ.get("NETSPURT_TRACEBACK"):
            traceback.print_exception(error.__cause__)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    if status:
        sys.exit(status)


#: What all errors in the words of a command are; typer has no public name for it.
_USAGE_ERROR: Any = typer.BadParameter.__mro__[1]


def _complain_of_usage(error: Any) -> None:
    """Print how the command is used and the error, which is spelt as all others are."""
    told = io.StringIO()
    error.show(file=told)
    text = re.sub("^Error: ", "error: ", told.getvalue(), count=1, flags=re.MULTILINE)
    sys.stderr.write(text)
