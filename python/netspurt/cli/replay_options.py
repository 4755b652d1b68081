"""The options of `netspurt replay`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from netspurt import quantities
from netspurt.cli import completing
from netspurt.cli.options import READ_AS, one_of
from netspurt.picture_files import ENDINGS

_ORDERS = ("sequence", "causal")
_KINDS = tuple(ending[1:] for ending in ENDINGS)


def _price(text: object) -> object:
    """Read a price: a time with its unit, or 0."""
    if not isinstance(text, str):
        return text
    try:
        plain = float(text)
    except ValueError:
        plain = math.nan
    if plain == 0:
        return 0.0
    if 0 < plain < math.inf:
        raise typer.BadParameter(f"{text!r} has no unit: write {text}ms or {text}s")
    try:
        seconds = quantities.seconds(text)
    except ValueError:
        seconds = math.nan
    if not seconds <= 1e6:
        raise typer.BadParameter(
            f"{text!r} is not a price: write a time of waiting up to 1000000s, such as 200ms"
        )
    return seconds


def _share(text: object) -> object:
    """Read a share: 0.01 or 1%."""
    if not isinstance(text, str):
        return text
    number = text.strip()
    try:
        share = float(number.removesuffix("%")) / (100 if number.endswith("%") else 1)
    except ValueError:
        share = math.nan
    if not 0 <= share <= 1:
        raise typer.BadParameter(f"{text!r} is not a share of packets, such as 1% or 0.01")
    if share == 1 and not number.endswith("%"):
        raise typer.BadParameter(f"{text!r} would be all packets: write 1%, or 100%")
    return share


Files = Annotated[
    list[Path],
    typer.Argument(
        help="Recordings, folders of them, or - for the standard input: see `netspurt delays`.",
        show_default=False,
    ),
]
Estimators = Annotated[
    list[str] | None,
    typer.Option(
        "--estimator",
        "-e",
        metavar="NAME[:KEY=VALUE,...]",
        help="A timer for recordings of delays: a name, and the constants that differ from the "
        "published ones, as in mills:g=3 or linux:rto_min=50ms. A range makes a grid: "
        "mills:g=1.5..3/16 has 16 values from 1.5 to 3. May be repeated.",
        autocompletion=completing.estimators,
    ),
]
Order = Annotated[
    str | None,
    typer.Option(
        parser=one_of(_ORDERS),
        metavar="ORDER",
        help="When a timer learns of a reply. causal: when the reply arrives. sequence: before the "
        "next probe, as with one probe in flight (RFC 889). The default depends on the recording.",
    ),
]
Clock = Annotated[
    str, typer.Option(help="The host's clock: exact, linux-hz250, or a tick such as '10 ms'.")
]
Told = Annotated[
    bool, typer.Option("--told", help="Tell the timers of their timeouts, so that they back off.")
]
ReadAs = Annotated[str | None, typer.Option("--format", help=READ_AS)]
Cost = Annotated[
    float | None,
    typer.Option(
        "--cost",
        parser=_price,
        metavar="TIME",
        help="The price of one spurious retransmission, as a waiting time: 200ms or 0.2s. By "
        "default five times the median round trip: after a timeout cwnd is one segment, and slow "
        "start needs five round trips to reach 32 segments. If the delays are one-way, twice the "
        "median delay counts as the median round trip.",
    ),
]
Loss = Annotated[
    float | None,
    typer.Option(
        "--loss",
        parser=_share,
        metavar="SHARE",
        help="The expected share of lost packets: 1% or 0.01. By default the recorded share.",
    ),
]
Tune = Annotated[
    bool,
    typer.Option(
        "--tune",
        help="Compute constants from the recording, and recommend the computed timer if it costs "
        "less. By default netspurt does this only if no timer suits.",
    ),
]
Pool = Annotated[
    bool, typer.Option("--pool", help="Recommend one timer for all recordings together.")
]
Every = Annotated[
    bool,
    typer.Option(
        "--all",
        help="Print every setting of the grids, and name the best. With --rfc889, print a table "
        "for each setting, with a row for each recording.",
    ),
]
Details = Annotated[
    bool,
    typer.Option(
        "--details",
        help="Print all reasons for the recommendation, what was assumed, percentiles of the "
        "waits, and how to set a timer.",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(help="A new folder for pictures and for replay.parquet with all numbers."),
]
Pictures = Annotated[
    list[str] | None,
    typer.Option(
        "--pictures",
        parser=one_of(_KINDS),
        metavar="KIND",
        help="The format of the pictures of --out: png, svg or pdf; by default png and svg. May be "
        "repeated.",
    ),
]
Versus = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Compare the efficiency of each timer with the efficiency of this timer.",
        autocompletion=completing.estimators,
    ),
]
