"""Judging claims."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from netspurt.papers.bench import Bench
from netspurt.papers.data import Claim, PaperError, Value
from netspurt.papers.measures import measure


class Verdict(StrEnum):
    """What is said of a claim."""

    REPRODUCED = "reproduced"
    SHAPE_ONLY = "shape-only"
    CONTRADICTION = "document-contradicts-itself"
    NOT_REPRODUCED = "not-reproduced"
    NOT_CHECKABLE = "not-checkable"
    NOT_ATTEMPTED = "not-attempted"


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict.

    Attributes
    ----------
    measured
        What the runs say; `None` where they do not show what is claimed, or nothing was run.
    table
        Rows that show where the measured value comes from; the first is their heading.
    """

    claim: Claim
    verdict: Verdict
    measured: Value | None
    table: Sequence[Sequence[str]] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the verdict for programs."""
        claim = self.claim
        ran = self.verdict not in (Verdict.NOT_CHECKABLE, Verdict.NOT_ATTEMPTED)
        return {
            "id": claim.id,
            "verdict": str(self.verdict),
            "evidence": claim.evidence if ran else None,
            "expected": claim.printed,
            "threshold": claim.threshold,
            "measured": self.measured,
            "unit": claim.unit,
            "tolerance": claim.tolerance,
            "note": claim.note,
        }


def check(bench: Bench, claims: Sequence[Claim]) -> list[Judged]:
    """Judge claims by the runs of a bench."""
    return [_judge(bench, claim) for claim in claims]


def _judge(bench: Bench, claim: Claim) -> Judged:
    if not claim.measure:
        return Judged(claim, Verdict.NOT_CHECKABLE, None)
    bench.announce(claim.id)
    try:
        found = measure(claim.measure)(bench, **claim.arguments)
    except TypeError as error:
        raise PaperError(f"{claim.id}: {error}") from error
    return Judged(claim, _verdict(claim, found.value), found.value, found.table)


def _verdict(claim: Claim, measured: Value | None) -> Verdict:
    if measured is None:
        return Verdict.NOT_REPRODUCED
    agrees = comparison(claim.compare)
    if agrees(measured, claim.yardstick, claim.tolerance):
        return Verdict.REPRODUCED
    if claim.corrected is not None and agrees(measured, claim.corrected, claim.tolerance):
        return Verdict.CONTRADICTION
    return Verdict.NOT_REPRODUCED


Comparison = Callable[[Value, Value, float], bool]


def comparison(name: str) -> Comparison:
    """Return a comparison of a measured and a printed value under a tolerance.

    Raises
    ------
    PaperError
        When there is none of that name.
    """
    if name not in _COMPARISONS:
        raise PaperError(f"no comparison {name!r}: there are {', '.join(_COMPARISONS)}")
    return _COMPARISONS[name]


def _near(measured: Value, printed: Value, tolerance: float) -> bool:
    """Each number within the tolerance of its counterpart."""
    a, b = _list(measured), _list(printed)
    return len(a) == len(b) and all(abs(x - y) <= tolerance for x, y in zip(a, b, strict=True))


def _list(value: Value) -> list[float]:
    if isinstance(value, str):
        raise PaperError(f"not a number: {value!r}")
    return value if isinstance(value, list) else [value]


def _one(value: Value) -> float:
    (number,) = _list(value)
    return number


#: "Far below" is below a tenth.
_FAR = 0.1

_COMPARISONS: dict[str, Comparison] = {
    "same": lambda measured, printed, _: measured == printed,
    "near": _near,
    "at least": lambda m, p, tolerance: _one(m) >= _one(p) - tolerance,
    "at most": lambda m, p, tolerance: _one(m) <= _one(p) + tolerance,
    "below": lambda m, p, _: _one(m) < _one(p),
    "far below": lambda m, p, _: _one(m) <= _FAR * _one(p),
}
