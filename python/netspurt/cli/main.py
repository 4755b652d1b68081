"""The command: its parts, and its handling of errors.

Exit status: 0; 1 if a check failed; 2 if the input is wrong.
"""

from __future__ import annotations

import signal
import sys

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
from netspurt.cli.output import complain
from netspurt.cli.papers import app as papers_app
from netspurt.cli.sweeping import app as sweep_app

app = typer.Typer(
    name="netspurt",
    help="When should a transport send again, and what does it cost to be wrong?",
    epilog="`netspurt --install-completion` installs the shell's completion of commands and names.",
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
    try:
        app()
    except (ValueError, OSError) as error:
        complain(error)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
