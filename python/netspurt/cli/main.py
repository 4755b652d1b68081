"""The command: its parts, and its handling of errors."""

from __future__ import annotations

import io
import re
import signal
import sys
from typing import Any

import typer

from netspurt._core import __version__
from netspurt.cli import (
    comparing,
    delays,
    doctor,
    plotting,
    polling,
    probing,
    replaying,
    running,
    scripts,
    tables,
)
from netspurt.cli.live import app as live_app
from netspurt.cli.orbits import app as orbit_app
from netspurt.cli.output import complain, harmless_output
from netspurt.cli.papers import app as papers_app
from netspurt.cli.sweeping import app as sweep_app

app = typer.Typer(
    name="netspurt",
    help="When should a transport send again, and what does it cost to be wrong?",
    epilog="Exit status: 0; 1 if a check failed, a run does not count or a strict sweep met an "
    "error; 2 if the input is wrong; 130 after an interrupt, 143 after SIGTERM. `netspurt live "
    "exec` has its command's.\n\n"
    "`netspurt --install-completion` installs the shell's completion of commands and names.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
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


app.command("run")(running.run)
app.command("replay")(replaying.replay)
app.command("script")(scripts.script)
app.command("new")(running.new)
app.command("schema")(running.schema)
app.command("plot")(plotting.plot)
app.command("table")(tables.table)
app.command("probe")(probing.probe)
app.command("serve")(probing.serve)
app.command("push")(probing.push)
app.command("poll")(polling.poll)
app.command("capture")(polling.capture)
app.command("match")(polling.match)
app.command("delays")(delays.delays)
app.command("doctor")(doctor.doctor)
app.command("compare")(comparing.compare)
app.add_typer(live_app, name="live")
app.add_typer(orbit_app, name="orbit")
app.add_typer(sweep_app, name="sweep")
app.add_typer(papers_app, name="papers")


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
        status = app(standalone_mode=False)
    except _USAGE_ERROR as error:
        _complain_of_usage(error)
        sys.exit(error.exit_code)
    except (ValueError, OSError) as error:
        complain(error)
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
