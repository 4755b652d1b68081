"""Converts times to the scale of RFC 889, which halves round trips and timers (§2.1)."""

from __future__ import annotations

from typing import Annotated

import typer

Rfc889 = Annotated[
    bool,
    typer.Option(
        "--rfc889",
        help="Print rows like RFC 889's table, in one-way times; replies later than 30s count as "
        "lost.",
    ),
]

#: The columns of a row of RFC 889's second table.
HEADING = ("", "total s", "lost", "lost s", "rtx", "rtx s", "mean ms", "CoV", "eff")


def share_of(measure: str) -> float:
    """Return the factor that turns recorded delays into one-way delays, as in RFC 889.

    It is 1/2 for round trips, and 1 for one-way delays.
    """
    return 1.0 if measure == "one-way" else 0.5


def caption(measure: str) -> str:
    """Return the caption for RFC 889's table: its columns, and the scale of its times."""
    meaning = (
        "lost s: the waits for lost probes; rtx: spurious retransmissions, rtx s: their delays"
    )
    if measure == "one-way":
        return f"one-way delays and timers, as recorded; {meaning}"
    return (
        "one-way delays and timers: half of the round trips, as in RFC 889 §2.1; --json prints "
        f"the round trips; {meaning}"
    )
