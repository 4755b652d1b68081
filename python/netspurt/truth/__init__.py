"""Captures whose retransmissions are known, and how right explanations of captures are.

`make_collection` runs many cases, on the kernel's TCP or simulated, and keeps their captures
beside the cause and the verdict of each retransmission. `check_collection` compares those
with what an explanation of the captures says.
"""

from netspurt.truth.cases import Case, TruthError, cases
from netspurt.truth.checking import check_collection
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
    "make_collection",
    "wrong_ones",
]
