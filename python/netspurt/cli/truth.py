"""`netspurt truth`: captures with known causes of retransmissions, to judge explanations.

A case is one path with one TCP and one seed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netspurt.cli.options import count
from netspurt.cli.output import columns, paint, print_json, progress
from netspurt.cli.words import App
from netspurt.wording import counted, number

if TYPE_CHECKING:
    from netspurt.truth import Collection, Score, SideScore

app = App(
    help="Make captures in which the cause of each retransmission is known, and judge explanations "
    "by them."
)

AsJson = Annotated[bool, typer.Option("--json", help="Print as JSON.")]

#: The order of causes in tables.
_CAUSES = ("rto", "go-back-n", "fast", "sack-recovery", "rack", "tlp", "syn")


@app.command()
def make(
    folder: Annotated[Path, typer.Argument(help="The folder to make.", show_default=False)],
    cases: Annotated[
        int, typer.Option(parser=count, metavar="N", help="The number of cases to run.")
    ] = 200,
    simulated: Annotated[
        bool,
        typer.Option("--simulated", help="Run simulated TCPs; by default the kernel's TCP is run."),
    ] = False,
    only: Annotated[
        str, typer.Option(metavar="PATTERN", help="A pattern of names of paths, such as `tail*`.")
    ] = "*",
    stack: Annotated[
        str, typer.Option(metavar="PATTERN", help="A pattern of names of TCPs, such as `no-sack*`.")
    ] = "*",
    seed: Annotated[
        int, typer.Option(parser=count, metavar="N", help="The seed of the random draws.")
    ] = 1,
    jobs: Annotated[
        int, typer.Option(parser=count, metavar="N", help="The number of cases that run at once.")
    ] = 1,
    as_json: AsJson = False,
) -> None:
    """Run cases and keep their captures with the true cause of each retransmission.

    A case is left out if its live run is not valid, if its captures differ from its tables, or if
    its numbers of true causes differ from the kernel's counters. Exit with 1 if no case is kept.
    """
    from netspurt.truth import cases as chosen_cases
    from netspurt.truth import make_collection

    chosen = chosen_cases(cases, live=not simulated, seed=seed, only=only, stacks=stack)
    with progress("making captures") as update:
        made = make_collection(folder, chosen, jobs=max(1, jobs), progress=update)
    if as_json:
        print_json({"folder": str(folder), **made.as_json()})
    else:
        for line in _made(made, folder):
            typer.echo(line)
    if not made.cases:
        raise typer.Exit(1)


def _made(made: Collection, folder: Path) -> Iterator[str]:
    """Yield lines with the counts of the collection that was made."""
    if made.causes:
        rows = [(cause, number(made.causes[cause])) for cause in _ordered(made.causes)]
        yield from columns([("cause", "retransmissions at the sender"), *rows], right=(1,))
        yield ""
    yield (
        f"{counted(made.cases, 'case')}, {counted(made.captures, 'capture')} with "
        f"{counted(made.retransmissions, 'retransmission')}, kept in {folder}"
    )
    if made.left_out:
        yield f"left out ({counted(len(made.left_out), 'case')}):"
        yield from (f"  {name}: {why}" for name, why in made.left_out.items())


@app.command()
def check(
    folder: Annotated[
        Path,
        typer.Argument(
            help="A folder of `netspurt truth make`, or a run folder with captures.",
            show_default=False,
        ),
    ],
    only: Annotated[
        str, typer.Option(metavar="PATTERN", help="A pattern of names of cases, such as `tails-*`.")
    ] = "*",
    wrong: Annotated[bool, typer.Option("--wrong", help="List each wrong explanation.")] = False,
    as_json: AsJson = False,
) -> None:
    """Explain each capture and compare the explanation with the truth.

    Exit with 1 if a requirement is not met. The requirements apply to captures at the sender's side
    that have TCP's options: every retransmission is found, no other packet counts as one, missing
    originals are reported, and at least 98 % of the causes of each class are right. Causes that
    only the sender's configuration distinguishes are one class.
    """
    from netspurt.captures import explain
    from netspurt.run import MANIFEST
    from netspurt.truth import check_collection, check_run, wrong_ones

    if (folder / MANIFEST).is_file():
        if only != "*":
            raise ValueError("--only does not apply to a run, which has no cases")
        score = check_run(folder, explain)
    else:
        with progress("explaining captures") as update:
            score = check_collection(folder, explain, only=only, progress=update)
    if as_json:
        print_json(score.as_json())
    else:
        for line in [*(wrong_ones(score.wrong) if wrong else []), *_report(score)]:
            typer.echo(line)
    if score.failures():
        raise typer.Exit(1)


def _report(score: Score) -> Iterator[str]:
    """Yield the counts, the matrices of causes, and how often confident answers are right."""
    for name, side in sorted(score.sides.items(), reverse=True):
        yield from _side(name, side)
    for question in ("cause", "verdict"):
        yield from _calibration(score, question)
    failures = score.failures()
    yield counted(score.captures, "capture")
    yield from (f"{paint('not met', 'red')}: {failure}" for failure in failures)
    if not failures:
        yield paint("every requirement for captures beside the sender is met", "green")


def _side(name: str, side: SideScore) -> Iterator[str]:
    yield paint(f"seen at the {name}", "bold")
    yield (
        f"{number(side.held)} retransmissions: {number(side.found)} found, "
        f"{number(side.missed)} missed, {number(side.invented)} invented"
    )
    if side.unseen_not_found or side.unseen_unknown or side.loss_not_told:
        yield (
            "retransmissions whose original is not in the capture: "
            f"{number(side.unseen_not_found)} not found, "
            f"{number(side.unseen_unknown)} of unknown cause, "
            f"{number(side.loss_not_told)} without a report of the missing original"
        )
    if side.confusion:
        yield from _confusion(side)
    if side.verdicts:
        rows = [
            (truth, *(number(n) for n in (answers.right, answers.unknown, answers.wrong)))
            for truth, answers in sorted(side.verdicts.items())
        ]
        yield from columns([("verdict", "right", "unknown", "wrong"), *rows], right=(1, 2, 3))
    yield ""


def _confusion(side: SideScore) -> Iterator[str]:
    """Yield the matrix of true causes and answers, and the right answers of each class.

    A class is a cause, or several causes that only the sender's configuration distinguishes.
    """
    said = _ordered({answer for counts in side.confusion.values() for answer in counts})
    rows = [
        (cause, *(number(side.confusion[cause][answer]) for answer in said))
        for cause in _ordered(side.confusion)
    ]
    yield from columns([("cause", *said), *rows], right=tuple(range(1, len(said) + 1)))
    counts = side.by_class()
    rows = [
        (
            name,
            *(number(n) for n in (answers.right, answers.unknown, answers.wrong)),
            f"{answers.right / answers.total:.1%}",
        )
        for name, answers in sorted(counts.items())
    ]
    yield from columns(
        [("class", "right", "unknown", "wrong", "share of right"), *rows], right=(1, 2, 3, 4)
    )


def _calibration(score: Score, question: str) -> Iterator[str]:
    found = score.calibration(question)
    if not found:
        return
    yield paint(f"confidence in the {question}", "bold")
    rows = [
        (
            f"{one.low:g} to {one.high:g}",
            number(one.count),
            f"{one.mean:.3f}",
            f"{one.share:.3f}",
            f"{one.interval[0]:.3f} to {one.interval[1]:.3f}",
        )
        for one in found
    ]
    head = ("confidence", "answers", "mean confidence", "share of right", "95 % interval")
    yield from columns([head, *rows], right=(1, 2, 3, 4))
    yield ""


def _ordered(causes: Mapping[str, Any] | set[str]) -> list[str]:
    """Return causes in the order of tables, and after them all other words."""
    known = [cause for cause in _CAUSES if cause in causes]
    return [*known, *sorted(set(causes) - set(known))]
