"""What `netspurt papers` prints."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import typer

from netspurt.cli.output import columns, number, paint, print_json, progress, rate
from netspurt.papers import Claim, Judged, Paper, PaperError, Verdict, check, read_paper, shelf
from netspurt.papers.bench import Bench
from netspurt.papers.data import Value
from netspurt.plots import View, draw, save
from netspurt.scenario import as_toml


def list_papers(*, as_json: bool) -> None:
    """Print the papers on the shelf."""
    papers = [read_paper(key) for key in shelf()]
    if as_json:
        keys = ("key", "title", "authors", "published")
        print_json([{k: getattr(p, k) for k in keys} | {"claims": len(p.claims)} for p in papers])
        return
    rows = [(p.key, str(len(p.claims)), p.title, p.published) for p in papers]
    for line in columns([("paper", "claims", "title", "published"), *rows], right=(1,)):
        typer.echo(line)


def show(key: str, *, as_json: bool) -> None:
    """Print the claims of a paper."""
    paper = read_paper(key)
    if as_json:
        rows = [{**vars(c), "arguments": dict(c.arguments)} for c in paper.claims]
        print_json({"key": paper.key, "title": paper.title, "claims": rows})
        return
    typer.echo(paint(paper.title, "bold"))
    typer.echo(f"{paper.authors}; {paper.published}; {len(paper.claims)} claims\n")
    table = [("claim", "says", "printed", "judged by")]
    for claim in paper.claims:
        judged = f"{claim.measure} ({claim.evidence})" if claim.measure else "nothing: history"
        table.append((claim.id, claim.says, _shown(claim.printed, claim.unit), judged))
    for line in columns(table):
        typer.echo(line)


def check_for_programs(papers: list[Paper]) -> None:
    """Judge papers and print the verdicts as JSON."""
    print_json([judged.as_dict() for paper in papers for judged in _judge(paper)[1]])


def check_for_people(paper: Paper, folder: Path) -> None:
    """Judge a paper, draw its pictures and print the verdicts as a table."""
    bench, verdicts = _judge(paper)
    for line in _report(paper, verdicts):
        typer.echo(line)
    for n, file in enumerate(_draw(paper, bench, folder)):
        typer.echo(f"  {'pictures:' if n == 0 else '         '} {file}")
    typer.echo("  why a verdict: netspurt papers check --explain ID\n")


def _judge(paper: Paper) -> tuple[Bench, list[Judged]]:
    with progress(f"checking {paper.key}") as update:
        done = 0
        bench = Bench(paper)

        def announce(_: str) -> None:
            nonlocal done
            done += 1
            update(min(done, len(paper.claims)), len(paper.claims))

        bench.announce = announce
        return bench, check(bench, paper.claims)


def _draw(paper: Paper, bench: Bench, folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for picture in paper.pictures:
        view = View(**picture.get("view", {}))
        file = folder / f"{picture['file']}.png"
        save(draw(bench.run(picture["run"]), picture["kind"], view), [file])
        files.append(file)
    return files


_MARKS = {
    Verdict.REPRODUCED: ("ok", "green"),
    Verdict.SHAPE_ONLY: ("~~", "yellow"),
    Verdict.CONTRADICTION: ("!!", "yellow"),
    Verdict.NOT_REPRODUCED: ("no", "bold red"),
    Verdict.NOT_CHECKABLE: ("..", "dim"),
    Verdict.NOT_ATTEMPTED: ("--", "dim"),
}

_COUNTED = {
    Verdict.REPRODUCED: "reproduced",
    Verdict.SHAPE_ONLY: "in shape only",
    Verdict.CONTRADICTION: "where the document contradicts itself",
    Verdict.NOT_REPRODUCED: "not reproduced",
    Verdict.NOT_CHECKABLE: "not checkable: history",
    Verdict.NOT_ATTEMPTED: "not attempted on this machine",
}

_WIDTH = 100
_INDENT = 4
#: How wide the column of what is claimed is.
_SAYS = 54
#: Longer lists are not spelt out in the table.
_FEW = 3


def _report(paper: Paper, verdicts: list[Judged]) -> Iterator[str]:
    heading = f"{paper.published.partition(',')[0]} - {paper.title}"
    claims = f"{len(verdicts)} claims"
    gap = " " * max(2, _WIDTH - len(heading) - len(claims))
    yield paint(heading, "bold") + gap + claims
    cells = [(_printed(judged.claim), _measured(judged)) for judged in verdicts]
    widths = [max(len(row[n]) for row in [*cells, ("printed", "measured")]) for n in range(2)]
    group = ""
    for judged, (printed, measured) in zip(verdicts, cells, strict=True):
        if judged.claim.group != group:
            group = judged.claim.group
            yield ""
            values = f"{'printed'.rjust(widths[0])}  {'measured'.rjust(widths[1])}"
            yield paint(f"  {group.ljust(_SAYS + 4)}  {values}", "dim")
        mark, style = _MARKS[judged.verdict]
        says, *more = textwrap.wrap(judged.claim.says, _SAYS)
        values = f"{printed.rjust(widths[0])}  {measured.rjust(widths[1])}"
        yield f"  {paint(mark, style)}  {says.ljust(_SAYS)}  {values}"
        yield from (" " * (_INDENT + 2) + text for text in more)
        if judged.verdict is not Verdict.REPRODUCED and judged.claim.note:
            for text in textwrap.wrap(judged.claim.note, _WIDTH - _INDENT - 2):
                yield paint(" " * (_INDENT + 2) + text, "dim")
    counts = Counter(judged.verdict for judged in verdicts)
    summary = " · ".join(f"{counts[v]} {words}" for v, words in _COUNTED.items() if counts[v])
    yield ""
    yield "  " + paint(summary, "bold")


_SIGNS = {"at least": "≥ ", "at most": "≤ ", "below": "< ", "far below": "≪ "}


def _printed(claim: Claim) -> str:
    """Return the printed value, or the bound that follows from it."""
    printed = claim.printed
    if isinstance(printed, list) and len(printed) > _FEW:
        return "as said"
    if claim.compare == "at most" and isinstance(printed, int | float):
        printed += claim.tolerance
    return _SIGNS.get(claim.compare, "") + _shown(printed, claim.unit)


def _measured(judged: Judged) -> str:
    if judged.measured is None:
        return "-"
    if isinstance(judged.measured, list) and len(judged.measured) > _FEW:
        return "the same" if judged.measured == judged.claim.printed else "see --explain"
    return _shown(judged.measured, judged.claim.unit)


def _shown(value: Value, unit: str) -> str:
    """Return a value with its unit; a time with three decimals."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        units = unit.split(", ")
        if len(units) == len(value):
            return ", ".join(_shown(v, u) for v, u in zip(value, units, strict=True))
        return f"{', '.join(number(v, 10) for v in value)} {unit}"
    if unit == "packet":
        return f"packet {number(value)}"
    if unit == "bit/s":
        return rate(value)
    return f"{value:.3f} s" if unit == "s" else f"{number(round(value, 3), 10)} {unit}".rstrip()


def explain(papers: list[Paper], claim_id: str) -> None:
    """Print how a claim got its verdict."""
    found = [(p, c) for p in papers for c in p.claims if c.id == claim_id]
    if not found:
        known = ", ".join(c.id for p in papers for c in p.claims)
        raise PaperError(f"no claim {claim_id!r}: there are {known}")
    paper, claim = found[0]
    bench = Bench(paper)
    (judged,) = check(bench, [claim])
    _, style = _MARKS[judged.verdict]
    typer.echo(f"{paint(claim.id, 'bold')}  {claim.says}")
    typer.echo(f"{paint(str(judged.verdict), style)}\n")
    rows = [
        ("printed", _shown(claim.printed, claim.unit)),
        ("agrees if", f"{claim.compare}, with a tolerance of {claim.tolerance:g}"),
    ]
    if judged.measured is not None:
        rows.append(("measured", _shown(judged.measured, claim.unit)))
    if claim.corrected is not None:
        rows.append(("corrected", _shown(claim.corrected, claim.unit)))
    if claim.measure:
        arguments = " ".join(f"{k}={v}" for k, v in claim.arguments.items())
        rows.append(("measured by", f"{claim.measure} {arguments} ({claim.evidence})"))
    named = [name for names in claim.arguments.values() for name in names.split(",")]
    rows += [(f"run {run}", _command(paper, run)) for run in named if run in paper.runs]
    for line in columns(rows):
        typer.echo(line)
    if claim.note:
        typer.echo("\n" + textwrap.fill(claim.note, _WIDTH))
    if judged.table:
        typer.echo("")
        for line in columns(judged.table):
            typer.echo("  " + line)


def _command(paper: Paper, run: str) -> str:
    """Return the command that repeats a run."""
    about = paper.runs[run]
    values = "".join(f" --set '{k}={as_toml(v)}'" for k, v in about.get("set", {}).items())
    file = paper.folder / about["scenario"]
    if file.is_relative_to(Path.cwd()):
        file = file.relative_to(Path.cwd())
    return f"netspurt run {file}{values}"
