"""Captures whose retransmissions are known, and scores for explanations of captures.

`make_collection` runs many cases, on the kernel's TCP or simulated. It keeps their captures with
the cause and the verdict of each retransmission. `check_collection` explains the captures and
compares the explanations with these causes and verdicts. `check_run` does the same for the captures
of a run, with the run's own tables.
"""

from netspurt.truth.cases import Case, TruthError, cases
from netspurt.truth.checking import check_collection, check_run
from netspurt.truth.making import Collection, make_collection
from netspurt.truth.scoring import Score, SideScore, wrong_ones

__all__ = [
    "Case",
    "Collection",
    "Score",
    "SideScore",
    "TruthError",
    "cases",
    "check_collection",
    "check_run",
    "make_collection",
    "wrong_ones",
]
