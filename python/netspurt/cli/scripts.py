"""`netspurt script`: a connection's story, packet by packet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from netspurt import _core
from netspurt.cli.options import setting
from netspurt.cli.output import columns, complain, paint, print_json


def script(
    files: Annotated[
        list[Path],
        typer.Argument(help="Scripts, or folders with scripts in them.", show_default=False),
    ],
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE",
            help="Set a switch over the scripts' own, as in --set rto.min='200 ms'. "
            "May be repeated.",
        ),
    ] = None,
    profile: Annotated[
        str | None, typer.Option(help="Start from this profile instead of the scripts' own.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what came of it as JSON.")] = False,
) -> None:
    """Play scripts against the connection: 0 where all pass, 1 where one fails."""
    values = [setting(text) for text in set_ or []]
    names = [str(path) for file in files for path in _scripts(file)]
    results = [_play(name, values, profile) for name in names]
    if as_json:
        print_json([_summary(*result) for result in results])
    else:
        _describe(results)
    if any(isinstance(played, Exception) for *_, played in results):
        raise typer.Exit(2)
    if not all(isinstance(played, _core.Played) and played.ok for *_, played in results):
        raise typer.Exit(1)


Result = tuple[str, _core.Script | None, _core.Played | Exception]


def _scripts(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    found = sorted(path.glob("*.pkt"))
    if not found:
        raise ValueError(f"{path}: no script, no file called *.pkt")
    yield from found


def _play(name: str, values: list[tuple[str, str]], profile: str | None) -> Result:
    read = None
    try:
        read = _core.Script(name, Path(name).read_text(encoding="utf-8"))
        return name, read, read.play(values, profile)
    except UnicodeDecodeError:
        return name, read, ValueError(f"{name}: not a text file")
    except (ValueError, OSError) as error:
        return name, read, error


def _seconds(played: _core.Played) -> float:
    """Return how long the story lasted, in virtual time."""
    return played.story[-1][0] / 1e9 if played.story else 0.0


def _describe(results: list[Result]) -> None:
    rows = []
    for name, read, played in results:
        good = isinstance(played, _core.Played) and played.ok
        time = f"{_seconds(played):.3f} s" if isinstance(played, _core.Played) else "-"
        verdict = "ok" if good else "failed" if isinstance(played, _core.Played) else "wrong"
        rows.append((verdict, Path(name).stem, (read and read.title) or "-", time))
    for row, line in zip(rows, columns(rows, right=(3,)), strict=True):
        style = "green" if row[0] == "ok" else "red"
        typer.echo(paint(row[0], style) + line[len(row[0]) :])
    for *_, played in results:
        if isinstance(played, Exception):
            complain(played)
        elif not played.ok:
            typer.echo(f"\n{played}")


def _summary(name: str, read: _core.Script | None, played: _core.Played | Exception) -> Any:
    about = {
        "file": name,
        "title": read.title if read else None,
        "clauses": read.clauses if read else [],
    }
    if isinstance(played, Exception):
        return {**about, "ok": False, "error": str(played)}
    return {
        **about,
        "ok": played.ok,
        "seconds": _seconds(played),
        "headline": played.headline,
        "line": played.line,
        "expected": played.expected,
        "actual": played.actual,
        "differences": [
            {"field": field, "expected": expected, "sent": sent}
            for field, expected, sent in played.differences
        ],
        "story": [{"t_ns": at, "what": what} for at, what in played.story],
    }
