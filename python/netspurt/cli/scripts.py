"""`netspurt script` plays scripts, which test a connection packet by packet.

A script may have lines `--fails_with`. Each of these lines gives a switch another value. With this
value, the script must fail.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from netspurt import _core
from netspurt.cli.options import setting
from netspurt.cli.output import columns, complain, paint
from netspurt.cli.programs import AsCsv, AsJson, Form
from netspurt.stored import NotTextError, bounded_text
from netspurt.wording import counted, number


def script(
    files: Annotated[
        list[Path],
        typer.Argument(help="Scripts, or folders of scripts.", show_default=False),
    ],
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE",
            help="Override a switch of the scripts, as in --set rto.min='200 ms'. May be repeated.",
        ),
    ] = None,
    profile: Annotated[
        str | None, typer.Option(help="Start from this profile instead of the scripts' own.")
    ] = None,
    prove: Annotated[
        bool,
        typer.Option(
            "--prove",
            help="Also play each script with each change in its --fails_with lines. With each of "
            "these changes the script must fail.",
        ),
    ] = False,
    as_csv: AsCsv = False,
    as_json: AsJson = False,
) -> None:
    """Play scripts against a simulated connection.

    Exits with 0 if all pass, with 1 if one fails, and with 2 if one is refused: it cannot be read,
    or needs something that the connection does not have. With --prove, also exits with 1 if a
    script still passes with one of its `fails_with` changes.
    """
    form = Form(as_json, as_csv)
    if prove and (set_ or profile):
        message = "it plays the scripts' own switches, so --set and --profile do not apply"
        raise typer.BadParameter(message, param_hint="--prove")
    values = [setting(text) for text in set_ or []]
    found = [one for file in files for one in _scripts(file)]
    results = [_play(path, label, values, profile, prove=prove) for path, label in found]
    if form.for_people:
        _describe(results)
    else:
        form.print([_summary(result) for result in results], map(_row, results))
        if as_csv:
            _complain(results)
    if any(result.verdict == "refused" for result in results):
        raise typer.Exit(2)
    if not all(result.verdict == "ok" for result in results):
        raise typer.Exit(1)


@dataclass(frozen=True)
class Result:
    """The result of a script."""

    name: str
    """The path of the script."""
    label: str
    """The script's path below the named folder, or its file's name, without the ending."""
    script: _core.Script | None = None
    played: _core.Played | None = None
    ineffective: tuple[tuple[int, str, str], ...] | None = None
    """The changes in its `--fails_with` lines that do not make the script fail. `None` without
    `--prove`, or if the script itself did not pass."""
    error: Exception | None = None

    @property
    def verdict(self) -> str:
        """The result in one word."""
        if self.played is None or not self.played.supported:
            return "refused"
        if not self.played.ok:
            return "failed"
        return "unproved" if self.ineffective else "ok"

    @property
    def seconds(self) -> float:
        """How long the script ran, in seconds of virtual time."""
        return (
            self.played.transcript[-1][0] / 1e9 if self.played and self.played.transcript else 0.0
        )


def _scripts(path: Path) -> Iterator[tuple[Path, str]]:
    """Yield the script at `path`, or all scripts in and below the folder `path`, with labels."""
    if not path.is_dir():
        yield path, path.stem
        return
    found = sorted(path.rglob("*.pkt"))
    if not found:
        raise ValueError(f"{path}: the folder contains no *.pkt file")
    for script in found:
        yield script, script.relative_to(path).with_suffix("").as_posix()


def _play(
    path: Path, label: str, values: list[tuple[str, str]], profile: str | None, *, prove: bool
) -> Result:
    name = str(path)
    read = None
    try:
        read = _core.Script(name, bounded_text(path))
        played = read.play(values, profile)
        ineffective = tuple(read.ineffective_changes()) if prove and played.ok else None
        return Result(name, label, read, played, ineffective)
    except NotTextError as error:
        return Result(name, label, read, error=ValueError(f"{name}: {error}"))
    except (ValueError, OSError) as error:
        return Result(name, label, read, error=error)


def _describe(results: list[Result]) -> None:
    rows = []
    for one in results:
        time = f"{one.seconds:.3f} s" if one.played else "-"
        rows.append((one.verdict, one.label, (one.script and one.script.title) or "-", time))
    for row, text in zip(rows, columns(rows, right=(3,)), strict=True):
        style = "green" if row[0] == "ok" else "red"
        typer.echo(paint(row[0], style) + text[len(row[0]) :])
    for one in results:
        if one.played and not one.played.ok:
            typer.echo(f"\n{one.played}")
        for line, path, value in one.ineffective or ():
            typer.echo(f"\n{one.name}:{line}: passes with {path} = {value}, too")
    _complain(results)
    if len(results) > 1:
        typer.echo(f"\n{_sum(results)}")


#: The outcomes of scripts, in words.
_ENDS = {"ok": "passed", "failed": "failed", "unproved": "unproved", "refused": "refused"}


def _sum(results: list[Result]) -> str:
    """Return the number of scripts for each outcome. `unproved` is left out if its number is 0."""
    counts = Counter(one.verdict for one in results)
    told = [
        f"{number(counts[verdict])} {word}"
        for verdict, word in _ENDS.items()
        if counts[verdict] or verdict != "unproved"
    ]
    return f"{number(len(results))} scripts: {', '.join(told)}"


def _complain(results: list[Result]) -> None:
    """Print each error once. If other scripts have the same error, print how many."""
    same: dict[str, list[Result]] = {}
    for one in results:
        if one.error:
            headline = str(one.error).partition("\n")[0]
            same.setdefault(headline.replace(one.name, "FILE"), []).append(one)
    for first, *others in same.values():
        assert first.error
        complain(first.error)
        if others:
            more = counted(len(others), "more script")
            typer.echo(f"    the same error in {more}", err=True)


def _row(one: Result) -> dict[str, Any]:
    return {
        "verdict": one.verdict,
        "script": one.label,
        "file": one.name,
        "title": one.script.title if one.script else None,
        "seconds": one.seconds if one.played else None,
        "line": one.played.line if one.played else None,
        "headline": one.played.headline if one.played else None,
    }


def _summary(one: Result) -> Any:
    about: dict[str, Any] = {
        "file": one.name,
        "title": one.script.title if one.script else None,
        "clauses": one.script.clauses if one.script else [],
    }
    played = one.played
    if played is None:
        return {**about, "ok": False, "error": str(one.error)}
    if one.ineffective is not None:
        about["ineffective_changes"] = [
            {"line": line, "path": path, "value": value} for line, path, value in one.ineffective
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
        "transcript": [{"t_ns": at, "what": what} for at, what in played.transcript],
    }
