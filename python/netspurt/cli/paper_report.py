"""The output of `netspurt papers`: claims of papers, and their verdicts.

A claim is one statement of a paper that a run can confirm.
"""

from __future__ import annotations

import difflib
import shlex
import textwrap
from collections import Counter
from collections.abc import Iterator
from os.path import normpath
from pathlib import Path
from typing import Any

import typer

from netspurt.cli.output import columns, paint, print_json, progress, width, wrapped
from netspurt.cli.programs import Form
from netspurt.papers import Claim, JudgedClaim, Paper, PaperError, Verdict, check, read_paper, shelf
from netspurt.papers.bench import Bench, NoLiveRunError
from netspurt.papers.data import Value
from netspurt.papers.registry import bound
from netspurt.scenario import as_toml
from netspurt.wording import number, rate


def list_papers(form: Form) -> None:
    """Print the list of papers."""
    papers = [read_paper(key) for key in shelf()]
    if not form.for_people:
        keys = ("key", "title", "authors", "published")
        told = [{k: getattr(p, k) for k in keys} | {"claims": len(p.claims)} for p in papers]
        form.print(told, told)
        return
    rows = [(p.key, str(len(p.claims)), p.title, p.published) for p in papers]
    for line in columns([("paper", "claims", "title", "published"), *rows], right=(1,)):
        typer.echo(line)


def show(key: str, form: Form) -> None:
    """Print the claims of a paper."""
    paper = read_paper(key)
    if not form.for_people:
        rows = [
            {
                **vars(claim),
                "arguments": dict(claim.arguments),
                "shape": None if claim.shape is None else vars(claim.shape),
            }
            for claim in paper.claims
        ]
        form.print({"key": paper.key, "title": paper.title, "claims": rows}, rows)
        return
    typer.echo(paint(paper.title, "bold"))
    typer.echo(f"{paper.authors}; {paper.published}; {len(paper.claims)} claims\n")
    for line in _claim_lines(paper):
        typer.echo(line)


def _claim_lines(paper: Paper) -> Iterator[str]:
    """Yield a table of claims. On a narrow terminal `judged by` is below the claim."""
    table = [("claim", "says", "printed", "judged by")]
    for claim in paper.claims:
        judged = f"{claim.measure} ({claim.evidence})" if claim.measure else "nothing: history"
        table.append((claim.id, claim.says, _bound(claim), judged))
    ids, _, values, measures = (max(map(len, cells)) for cells in zip(*table, strict=True))
    values = min(values, _VALUE)
    room = width() - ids - values - 4
    says = min(_SAYS + 20, room - measures - 2)
    if says >= _NARROW:
        yield from wrapped(table, (ids, says, values, measures))
        return
    for claim_id, says_it, printed, judged in table:
        yield from wrapped([(claim_id, says_it, printed)], (ids, room, values))
        yield from wrapped([("", judged)], (ids, room))


def check_for_programs(papers: list[Paper], form: Form, study: Path | None = None) -> None:
    """Judge papers and print the verdicts as JSON or CSV."""
    told = [judged.as_dict() for paper in papers for judged in _judge(paper, study)[1]]
    form.print(told, told)


def check_in_brief(paper: Paper, study: Path | None = None) -> None:
    """Judge a paper. Print how many claims have each verdict, and the claims not reproduced."""
    _, verdicts = _judge(paper, study)
    for line in _brief(paper, verdicts):
        typer.echo(line)


def _brief(paper: Paper, verdicts: list[JudgedClaim]) -> Iterator[str]:
    yield paint(f"{paper.key}: {_counts(verdicts)}", "bold")
    missed = [one for one in verdicts if one.verdict is Verdict.NOT_REPRODUCED]
    rows = [
        (one.claim.id, one.claim.says, f"printed {_printed(one.claim)}, measured {_measured(one)}")
        for one in missed
    ]
    if rows:
        ids = max(len(row[0]) for row in rows)
        room = max(width(120) - ids - 6, 2 * _NARROW)
        yield from (f"  {line}" for line in wrapped(rows, (ids, room // 2, room - room // 2)))


def _counts(verdicts: list[JudgedClaim]) -> str:
    counts = Counter(judged.verdict for judged in verdicts)
    return " · ".join(f"{counts[v]} {words}" for v, words in _COUNTED.items() if counts[v])


def check_for_people(paper: Paper, folder: Path, study: Path | None = None) -> None:
    """Judge a paper, draw its pictures and print the verdicts as a table."""
    bench, verdicts = _judge(paper, study)
    pictures = _draw(paper, bench, folder)
    for line in _report(paper, verdicts):
        typer.echo(line)
    for n, picture in enumerate(pictures):
        typer.echo(f"  {'pictures:' if n == 0 else '         '} {picture}")
    named = shlex.quote(paper.argument)
    typer.echo(f"  why a verdict: netspurt papers check {named} --explain ID")
    typer.echo(f"  the IDs:       netspurt papers show {named}\n")


def _judge(paper: Paper, study: Path | None) -> tuple[Bench, list[JudgedClaim]]:
    with progress(f"checking {paper.key}") as update:
        done = 0
        bench = Bench(paper, study=study)

        def announce(_: str) -> None:
            nonlocal done
            done += 1
            update(min(done, len(paper.claims)), len(paper.claims))

        bench.announce = announce
        return bench, check(bench, paper.claims)


def _draw(paper: Paper, bench: Bench, folder: Path) -> list[str]:
    """Draw the pictures of a paper. Return for each its file, or why it is not drawn."""
    from netspurt.papers.figures import figure
    from netspurt.plots import View, draw, save

    folder.mkdir(parents=True, exist_ok=True)
    texts = []
    for picture in paper.pictures:
        file = folder / f"{picture['file']}.png"
        try:
            if "figure" in picture:
                arguments = picture.get("arguments", {})
                bound(figure(picture["figure"]), arguments)
                drawn = figure(picture["figure"])(bench, **arguments)
            else:
                view = View(**picture.get("view", {}))
                drawn = draw(bench.run(picture["run"]), picture["kind"], view)
        except NoLiveRunError as error:
            texts.append(f"{file} is not drawn: {error}")
            continue
        save(drawn, [file])
        texts.append(str(file))
    return texts


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

_INDENT = 4
#: The maximum width of the column of claims in reports, and the maximum width of values in lists of
#: claims.
_SAYS = 54
_VALUE = 22
#: The least width of a column of text.
_NARROW = 36
#: The greatest width of a line that is easy to read.
_WIDTH = 100
#: The maximum number of values in a list that the table of verdicts prints.
_FEW = 3


def _report(paper: Paper, verdicts: list[JudgedClaim]) -> Iterator[str]:
    heading = f"{paper.published.partition(',')[0]} - {paper.title}"
    claims = f"{len(verdicts)} claims"
    gap = width(_WIDTH) - len(heading) - len(claims)
    yield paint(heading, "bold") + (" " * gap + claims if gap >= 2 else f"\n{claims}")
    cells = [(_printed(judged.claim), _measured(judged)) for judged in verdicts]
    widths = [max(len(row[n]) for row in [*cells, ("printed", "measured")]) for n in range(2)]
    wide = min(_SAYS, width() - sum(widths) - _INDENT - 6)
    group = ""
    for judged, (printed, measured) in zip(verdicts, cells, strict=True):
        if judged.claim.group != group:
            group = judged.claim.group
            yield ""
            values = f"{'printed'.rjust(widths[0])}  {'measured'.rjust(widths[1])}"
            part, *more = textwrap.wrap(group, wide + 4)
            yield paint(f"  {part.ljust(wide + 4)}  {values}", "dim")
            yield from (paint(f"  {text}", "dim") for text in more)
        mark, style = _MARKS[judged.verdict]
        says, *more = textwrap.wrap(judged.claim.says, wide)
        values = f"{printed.rjust(widths[0])}  {measured.rjust(widths[1])}"
        yield f"  {paint(mark, style)}  {says.ljust(wide)}  {values}"
        yield from (" " * (_INDENT + 2) + text for text in more)
        told = judged.verdict is not Verdict.REPRODUCED or judged.claim.threshold is not None
        if told and judged.claim.note:
            for text in textwrap.wrap(judged.claim.note, width(_WIDTH) - _INDENT - 2):
                yield paint(" " * (_INDENT + 2) + text, "dim")
    yield ""
    summary = textwrap.wrap(_counts(verdicts), width() - 2)
    yield from (paint(f"  {line}", "bold") for line in summary)


_SIGNS = {"at least": "≥ ", "at most": "≤ ", "below": "< ", "far below": "≪ "}


def _printed(claim: Claim) -> str:
    """Return the printed value with its relation, such as ≥; for a long list, return its length."""
    if isinstance(claim.printed, list) and len(claim.printed) > _FEW:
        return f"{len(claim.printed)} values"
    return _bound(claim)


def _bound(claim: Claim) -> str:
    """Return the printed value, with the sign of its relation in `_SIGNS`, such as ≥.

    A relation without a sign is left out. The relation of a threshold is also left out. A threshold
    is netspurt's own number for a claim without a number.
    """
    sign = "" if claim.threshold is not None else _SIGNS.get(claim.compare, "")
    return sign + _shown(claim.printed, claim.unit)


def _measured(judged: JudgedClaim) -> str:
    if judged.measured is None:
        return "-"
    if isinstance(judged.measured, list) and len(judged.measured) > _FEW:
        if not isinstance(judged.claim.yardstick, list):
            ends = (number(round(end(judged.measured), 3), 10) for end in (min, max))
            return f"{' to '.join(ends)} {judged.claim.unit}".rstrip()
        return "the same" if judged.measured == judged.claim.printed else "see --explain"
    return _shown(judged.measured, judged.claim.unit)


def _shown(value: Value, unit: str) -> str:
    """Return a value with its unit. A time has three decimals."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        units = unit.split(", ")
        if len(units) > 1 and len(value) % len(units) == 0:
            pairs = zip(value, units * (len(value) // len(units)), strict=True)
            return ", ".join(_shown(v, u) for v, u in pairs)
        return f"{', '.join(number(round(v, 3), 10) for v in value)} {unit}".rstrip()
    if unit == "packet":
        return f"packet {number(value)}"
    if unit == "bit/s":
        return rate(value)
    return f"{value:.3f} s" if unit == "s" else f"{number(round(value, 3), 10)} {unit}".rstrip()


def explain(
    papers: list[Paper], claim_id: str, *, as_json: bool, study: Path | None = None
) -> None:
    """Print the values and the rule that gave a claim its verdict."""
    paper, claim = _find(papers, claim_id)
    (judged,) = check(Bench(paper, study=study), [claim])
    named = [name for names in claim.arguments.values() for name in names.split(",")]
    runs = {run: _command(paper, run) for run in named if run in paper.runs}
    if as_json:
        how: dict[str, Any] = {
            "compare": claim.compare,
            "corrected": claim.corrected,
            "measure": claim.measure,
            "arguments": dict(claim.arguments),
            "runs": runs,
            "table": [list(row) for row in judged.table],
        }
        print_json(judged.as_dict() | how)
        return
    _, style = _MARKS[judged.verdict]
    typer.echo(f"{paint(claim.id, 'bold')}  {claim.says}")
    typer.echo(f"{paint(str(judged.verdict), style)}\n")
    rows = [*_explained(judged), *((f"run {run}", command) for run, command in runs.items())]
    labels = max(len(label) for label, _ in rows)
    # A command is not wrapped, because users copy it.
    for label, text in rows:
        room = len(text) if label.startswith("run ") else width() - labels - 2
        for line in wrapped([(label, text)], (labels, max(room, 1))):
            typer.echo(line)
    if claim.note:
        typer.echo("\n" + textwrap.fill(claim.note, width(_WIDTH)))
    if judged.table:
        typer.echo("")
        for line in columns(judged.table):
            typer.echo("  " + line)


def _find(papers: list[Paper], claim_id: str) -> tuple[Paper, Claim]:
    """Return the claim that `claim_id` names, and its paper. The name may lack the paper's prefix.

    Raises
    ------
    PaperError
        If no claim, or more than one, has this name.
    """
    named = [(p, c) for p in papers for c in p.claims]
    fitting = [(p, c) for p, c in named if claim_id in (c.id, c.id.removeprefix(f"{p.key}."))]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        ids = ", ".join(c.id for _, c in fitting)
        raise PaperError(f"{claim_id!r} names several claims: {ids}")
    short = {c.id.removeprefix(f"{p.key}."): c.id for p, c in named}
    near = difflib.get_close_matches(claim_id, [*short, *short.values()], n=3)
    keys = ", ".join(f"`netspurt papers show {shlex.quote(p.argument)}`" for p in papers)
    told = list(dict.fromkeys(short.get(name, name) for name in near))
    question = f": did you mean {' or '.join(told)}?" if told else ""
    raise PaperError(f"no claim is called {claim_id!r}{question} ({keys} lists them)")


def _explained(judged: JudgedClaim) -> list[tuple[str, str]]:
    """Return the values that decided the verdict, each with a label."""
    claim = judged.claim
    tolerances = claim.tolerance if isinstance(claim.tolerance, list) else [claim.tolerance]
    numbers = ", ".join(f"{each:g}" for each in tolerances)
    before = " of" if claim.compare == "factor" else ", give or take"
    tolerance = f"{before} {numbers}" if any(tolerances) else ""
    rows = [("printed", _shown(claim.printed, claim.unit))]
    if claim.threshold is None:
        rows.append(("agrees if", f"{claim.compare}{tolerance}"))
    else:
        threshold = f"{claim.compare} {_shown(claim.threshold, claim.unit)}{tolerance}"
        rows.append(("agrees if", f"{threshold}: our threshold, the paper has no number"))
    if judged.measured is not None:
        rows.append(("measured", _shown(judged.measured, claim.unit)))
    if claim.corrected is not None:
        rows.append(("corrected", _shown(claim.corrected, claim.unit)))
    if claim.measure:
        arguments = " ".join(f"{k}={v}" for k, v in claim.arguments.items())
        rows.append(("measured by", f"{claim.measure} {arguments} ({claim.evidence})"))
    return rows


def _command(paper: Paper, run: str) -> str:
    """Return the command that repeats a run."""
    about = paper.runs[run]
    folder = paper.folder
    if folder.is_relative_to(Path.cwd()):
        folder = folder.relative_to(Path.cwd())
    placed = paper.placed(about.get("set", {}), folder)
    values = [f"{k}={as_toml(v)}" for k, v in placed.items()]
    file = normpath(folder / about["scenario"])
    kernels = Bench(paper).scenario(run).kernel_flow
    words = ["netspurt", *(["live"] if kernels else []), "run", file]
    return shlex.join([*words, *(word for value in values for word in ("--set", value))])
