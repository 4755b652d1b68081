"""`netspurt script`: a connection's story, packet by packet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
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
    prove: Annotated[
        bool,
        typer.Option(
            "--prove",
            help="Play each also with each of its fails_with changes, which must make it fail.",
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what came of it as JSON.")] = False,
) -> None:
    """Play scripts against the connection: 0 where all pass, 1 where one fails."""
    if prove and (set_ or profile):
        message = "its changes lie over the scripts' own switches: no --set and no --profile"
        raise typer.BadParameter(message, param_hint="--prove")
    values = [setting(text) for text in set_ or []]
    names = [str(path) for file in files for path in _scripts(file)]
    results = [_play(name, values, profile, prove=prove) for name in names]
    if as_json:
        print_json([_summary(result) for result in results])
    else:
        _describe(results)
    if any(result.error for result in results):
        raise typer.Exit(2)
    if not all(result.verdict == "ok" for result in results):
        raise typer.Exit(1)


@dataclass(frozen=True)
class Result:
    """What came of a script."""

    name: str
    script: _core.Script | None = None
    played: _core.Played | None = None
    idle: tuple[tuple[int, str, str], ...] | None = None
    """The changes that do not make it fail; `None` where none was tried."""
    error: Exception | None = None

    @property
    def verdict(self) -> str:
        """How it went, in a word."""
        if self.played is None:
            return "wrong"
        if not self.played.ok:
            return "failed"
        return "unproved" if self.idle else "ok"

    @property
    def seconds(self) -> float:
        """How long the story lasted, in virtual time."""
        return self.played.story[-1][0] / 1e9 if self.played and self.played.story else 0.0


def _scripts(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    found = sorted(path.glob("*.pkt"))
    if not found:
        raise ValueError(f"{path}: no script, no file called *.pkt")
    yield from found


def _play(name: str, values: list[tuple[str, str]], profile: str | None, *, prove: bool) -> Result:
    read = None
    try:
        read = _core.Script(name, Path(name).read_text(encoding="utf-8"))
        played = read.play(values, profile)
        idle = tuple(read.idle_changes()) if prove and played.ok else None
        return Result(name, read, played, idle)
    except UnicodeDecodeError:
        return Result(name, read, error=ValueError(f"{name}: not a text file"))
    except (ValueError, OSError) as error:
        return Result(name, read, error=error)


def _describe(results: list[Result]) -> None:
    rows = []
    for one in results:
        time = f"{one.seconds:.3f} s" if one.played else "-"
        rows.append(
            (one.verdict, Path(one.name).stem, (one.script and one.script.title) or "-", time)
        )
    for row, text in zip(rows, columns(rows, right=(3,)), strict=True):
        style = "green" if row[0] == "ok" else "red"
        typer.echo(paint(row[0], style) + text[len(row[0]) :])
    for one in results:
        if one.played and not one.played.ok:
            typer.echo(f"\n{one.played}")
        for line, path, value in one.idle or ():
            typer.echo(f"\n{one.name}:{line}: passes with {path} = {value}, too")
    _complain(results)


def _complain(results: list[Result]) -> None:
    """Tell each mistake once, and how many scripts have the same."""
    same: dict[str, list[Result]] = {}
    for one in results:
        if one.error:
            same.setdefault(str(one.error).replace(one.name, "FILE"), []).append(one)
    for first, *others in same.values():
        assert first.error
        complain(first.error)
        if others:
            typer.echo(f"    the same in {len(others)} more", err=True)


def _summary(one: Result) -> Any:
    about: dict[str, Any] = {
        "file": one.name,
        "title": one.script.title if one.script else None,
        "clauses": one.script.clauses if one.script else [],
    }
    played = one.played
    if played is None:
        return {**about, "ok": False, "error": str(one.error)}
    if one.idle is not None:
        about["idle_changes"] = [
            {"line": line, "path": path, "value": value} for line, path, value in one.idle
        ]
    return {
        **about,
        "ok": one.verdict == "ok",
        "seconds": one.seconds,
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
