"""`netspurt delays surrogate`: invented recordings of delays with a given mean, spread and losses.

Such a recording is called a surrogate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netspurt.cli.options import count, one_of, span_of
from netspurt.cli.output import columns, paint, print_json, width, wrapped
from netspurt.cli.path_report import ms
from netspurt.cli.programs import AsJson
from netspurt.stored import check_free
from netspurt.wording import unknown_name

if TYPE_CHECKING:
    from netspurt.delays import Delays
    from netspurt.papers.tables import AccountRow
    from netspurt.surrogate import Lengths, Row

#: The paper whose table has the rows that a surrogate can fit.
_PAPER = "rfc889"
_STRUCTURES = ("independent", "glitches", "levels", "queue")


Structured = Annotated[
    str,
    typer.Option(
        parser=one_of(_STRUCTURES),
        metavar="NAME",
        help="How successive delays depend on each other: independent, glitches (runs of long "
        "delays that die away), levels (each holds for a while) or queue (waits in a queue whose "
        "load alternates).",
        autocompletion=lambda: [*_STRUCTURES],
    ),
]
Mean = Annotated[
    float | None,
    typer.Option(
        parser=span_of,
        metavar="TIME",
        help="The mean one-way delay of the answered probes, if there is no ROW: 250ms, or 0.25 "
        "(seconds).",
    ),
]
Spread = Annotated[
    float | None,
    typer.Option(
        metavar="X", help="The standard deviation divided by the mean, if there is no ROW."
    ),
]
Length = Annotated[
    str | None,
    typer.Option(
        metavar="RULE", help="Octets of each probe: 64, rfc889, uniform:40-256 or bursts:8."
    ),
]


def _rows(incomplete: str) -> list[str]:
    return [name for name in _surrogates().rows if name.startswith(incomplete)]


def _surrogates() -> Any:
    from netspurt.papers import read_paper
    from netspurt.papers.recordings import PaperSurrogates

    return PaperSurrogates(read_paper(_PAPER))


def surrogate(
    row: Annotated[
        str | None,
        typer.Argument(
            metavar="[ROW]",
            help="A row of RFC 889's second table, such as UCL-1, 'ISIA *' or NTA:UCL. Without a "
            "row, give --mean and --cov.",
            show_default=False,
            autocompletion=_rows,
        ),
    ] = None,
    structure: Structured = "glitches",
    seed: Annotated[
        int, typer.Option(parser=count, metavar="N", help="The seed of the random draws.")
    ] = 1,
    mean: Mean = None,
    cov: Spread = None,
    lost: Annotated[
        int | None, typer.Option(parser=count, metavar="N", help="The number of lost probes.")
    ] = None,
    burst: Annotated[
        int | None,
        typer.Option(
            parser=count,
            metavar="N",
            help="The number of consecutive losses in a burst; by default 1.",
        ),
    ] = None,
    probes: Annotated[
        int | None,
        typer.Option(parser=count, metavar="N", help="The number of probes; by default 512."),
    ] = None,
    glitches: Annotated[
        int | None,
        typer.Option(parser=count, metavar="N", help="The number of bursts of long delays."),
    ] = None,
    length: Length = None,
    out: Annotated[
        Path | None, typer.Option(help="The CSV file; by default NAME-STRUCTURE-SEED.csv.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make up a recording with a given mean, spread and number of losses, and write it as CSV.

    The same command gives the same file on every machine.
    """
    lengths = None if length is None else _lengths(length)
    fitted, printed = _fitted(row, mean, cov, lengths)
    given: dict[str, Any] = {"lost": lost, "probes": probes, "glitches": glitches, "burst": burst}
    fitted = replace(fitted, **{key: value for key, value in given.items() if value is not None})
    if glitches is not None and structure != "glitches":
        raise ValueError(
            f"--structure {structure} does not use --glitches: leave out --glitches, or write "
            "--structure glitches"
        )
    if burst is not None and not fitted.lost:
        raise ValueError("--burst needs lost probes: write --lost 1 or more, or leave out --burst")
    made = fitted.surrogate(structure, seed=seed)  # type: ignore[arg-type]
    file = made.save(check_free(out or _file(fitted.name, structure, seed), "file"))
    if as_json:
        print_json({"file": str(file), "notes": made.notes} | _told(made, fitted))
        return
    for line in _lines(made, fitted, printed):
        typer.echo(line)
    typer.echo(f"one-way delays, as in RFC 889: {file}")


def _file(name: str, structure: str, seed: int) -> Path:
    safe = "".join(c if c.isalnum() or c in ".-" else "_" for c in name)
    return Path(f"{safe}-{structure}-{seed}.csv")


def _fitted(
    row: str | None, mean: float | None, cov: float | None, lengths: Lengths | None
) -> tuple[Row, AccountRow | None]:
    """Return the row to fit, and the printed row if there is one.

    Raises
    ------
    ValueError
        If there is no row, and the mean or the spread is missing. Also if a row is given together
        with a mean or a spread, or if the row does not exist.
    """
    from netspurt.surrogate import Row

    if row is None:
        if mean is None or cov is None:
            raise ValueError(
                "no ROW: name a row of RFC 889's second table, such as UCL-1, or give --mean "
                "and --cov"
            )
        return Row(mean=mean, cov=cov, lengths=lengths or 40, name="surrogate"), None
    if mean is not None or cov is not None:
        raise ValueError(
            f"{row} has a mean and a CoV: leave out --mean and --cov, or leave out the row"
        )
    surrogates = _surrogates()
    known = surrogates.rows.get(row.replace("_", " "))
    if known is None:
        raise ValueError(unknown_name("row", row, surrogates.rows))
    return surrogates.fitted(known, lengths=lengths), known


def _lengths(text: str) -> Lengths:
    """Return the lengths of a rule in the form that `Row` needs."""
    from netspurt.probe import ProbeLengths

    rule = ProbeLengths.of(text)
    if rule.rule == "fixed":
        return rule.values[0]
    if rule.rule == "bursts":
        (each,) = rule.values
        return ((40, each), (256, each))
    if rule.rule == "uniform":
        return range(rule.values[0], rule.values[1] + 1)
    assert rule.rule == "rfc889", rule
    return (40, 256)


def _told(made: Delays, fitted: Row) -> dict[str, Any]:
    known = made.rtt_ns.compressed() / 1e9
    return {
        "probes": made.sent,
        "lost": made.lost,
        "mean_ms": float(known.mean() * 1e3),
        "cov": float(known.std() / known.mean()),
        "asked": {"mean_ms": fitted.mean * 1e3, "cov": fitted.cov, "lost": fitted.lost},
    }


def _printed_mean(made: Delays, printed: AccountRow | None) -> list[list[str]]:
    """Return a row for RFC 889's mean.

    It is the sum of the delays divided by the number of all probes, including lost ones.
    """
    if printed is None:
        return []
    mean = float(made.rtt_ns.compressed().sum()) / made.sent
    asked = f"{printed.account.mean_ms:g} ms"
    return [["mean of all probes, as in RFC 889", asked, ms(mean / 1e6)]]


def _lines(made: Delays, fitted: Row, printed: AccountRow | None) -> Iterator[str]:
    told = _told(made, fitted)
    asked = told["asked"]
    rows = [
        ["", "asked for" if printed is None else f"row {printed.key}", "made"],
        ["probes", "", str(told["probes"])],
        ["lost", str(asked["lost"]), str(told["lost"])],
        ["mean of answered probes", ms(asked["mean_ms"]), ms(told["mean_ms"])],
        *_printed_mean(made, printed),
        ["CoV", f"{asked['cov']:.2f}", f"{told['cov']:.2f}"],
    ]
    yield from columns(rows, right=(1, 2))
    for note in made.notes:
        yield from wrapped([[paint(note, "dim")]], [width(100)])
