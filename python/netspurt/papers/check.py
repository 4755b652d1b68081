"""Judges the claims of papers.

A claim is one statement of a paper, with a printed value. A measure is a function that returns the
value from runs. The verdict says whether the two values agree. A measured number that was computed
from rounded or random numbers has a band: the range of its possible values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from netspurt._core import ScenarioError
from netspurt.algorithms import AlgorithmError

# These modules are imported because they register measures.
from netspurt.papers import (  # noqa: F401
    choices,
    crossing,
    echoing,
    fragmenting,
    measures,
    over_contacts,
    over_runs,
    over_starts,
    printed_gains,
    printed_tables,
    probing,
    stop_and_wait,
    super_fast,
    surrogates,
    web_traffic,
)
from netspurt.papers.bench import Bench, NoLiveRunError
from netspurt.papers.data import Claim, PaperError, Tolerance, Value
from netspurt.papers.registry import UNITS, Band, Measured, bound, measure
from netspurt.wording import unknown_name


class Verdict(StrEnum):
    """The verdict on a claim.

    Attributes
    ----------
    REPRODUCED
        The measured value agrees with the printed value.
    CONTRADICTION
        The measured value agrees only with the corrected value, because the paper contradicts
        itself.
    SHAPE_ONLY
        The measured value agrees only with the claim's `shape`.
    NOT_REPRODUCED
        The measured value agrees neither with the printed or corrected value nor with the claim's
        `shape`, or the claimed event does not occur.
    NOT_CHECKABLE
        The claim has no measure.
    NOT_ATTEMPTED
        The machine cannot make the run.
    """

    REPRODUCED = "reproduced"
    SHAPE_ONLY = "shape-only"
    CONTRADICTION = "document-contradicts-itself"
    NOT_REPRODUCED = "not-reproduced"
    NOT_CHECKABLE = "not-checkable"
    NOT_ATTEMPTED = "not-attempted"


@dataclass(frozen=True)
class JudgedClaim:
    """A claim with its verdict.

    Attributes
    ----------
    claim, verdict
        The claim, and the verdict on it.
    measured
        The value from the runs. `None` if the runs do not show the claimed event, or nothing was
        run.
    table
        Rows that show how the measured value was found; the first row is the heading.
    bands
        The range of each measured number, if the number was computed from rounded or random
        numbers.
    """

    claim: Claim
    verdict: Verdict
    measured: Value | None
    table: Sequence[Sequence[str]] = ()
    bands: Sequence[Band] | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the claim and its verdict as values for JSON."""
        claim = self.claim
        has_verdict = self.verdict not in (Verdict.NOT_CHECKABLE, Verdict.NOT_ATTEMPTED)
        return {
            "id": claim.id,
            "verdict": str(self.verdict),
            "evidence": claim.evidence if has_verdict else None,
            "expected": claim.printed,
            "threshold": claim.threshold,
            "measured": self.measured,
            "unit": claim.unit,
            "corrected": claim.corrected,
            "bands": None if self.bands is None else [list(band) for band in self.bands],
            "tolerance": claim.tolerance,
            "note": claim.note,
        }


def check(bench: Bench, claims: Sequence[Claim]) -> list[JudgedClaim]:
    """Judge claims by the runs of a bench, and return the claims with their verdicts.

    Raises
    ------
    PaperError
        If a claim has a mistake. Mistakes that are visible without a run are found before any run.
    """
    for claim in claims:
        try:
            _verify(claim)
        except PaperError as error:
            raise PaperError(f"{claim.id}: {error}") from error
    return [_judge(bench, claim) for claim in claims]


def _verify(claim: Claim) -> None:
    """Raise an error if a claim has a mistake that is visible without a run."""
    if claim.shape is not None:
        comparison(claim.shape.compare)
    if not claim.measure:
        return
    bound(measure(claim.measure), claim.arguments)
    comparison(claim.compare)
    unit = UNITS.get(claim.measure, claim.unit)
    if claim.unit != unit:
        named = f"the unit is {claim.unit!r}" if claim.unit else "the claim has no unit"
        raise PaperError(
            f"{named}, and the measure {claim.measure} gives {unit}: write the values and the "
            f"tolerance of the claim in {unit}"
        )
    if claim.compare == _SAME:
        return
    for value in (claim.yardstick, claim.corrected):
        _list(0 if value is None else value)
    if isinstance(claim.tolerance, list) and len(claim.tolerance) != len(_list(claim.yardstick)):
        raise PaperError(
            f"tolerance {claim.tolerance}: write one number, or a number for each of the claim's "
            f"values {claim.yardstick}"
        )
    if claim.compare == _FACTOR and min(_list(claim.tolerance)) < 1:
        raise PaperError(f"tolerance {claim.tolerance}: write a factor that is not below 1")


def _judge(bench: Bench, claim: Claim) -> JudgedClaim:
    if not claim.measure:
        return JudgedClaim(claim, Verdict.NOT_CHECKABLE, None)
    bench.announce(claim.id)
    words = " ".join(f"{name}={value}" for name, value in claim.arguments.items())
    place = f"{claim.id}, measured by {claim.measure} {words}".rstrip()
    try:
        result = measure(claim.measure)(bench, **claim.arguments)
        verdict = _verdict(claim, result)
    except NoLiveRunError as error:
        with_reason = replace(claim, note=f"not run: {error}")
        return JudgedClaim(with_reason, Verdict.NOT_ATTEMPTED, None)
    except IndexError:
        # Measures read the rows of events without checking that there are rows.
        with_reason = replace(claim, note="the runs have no row that the measure needs")
        return JudgedClaim(with_reason, Verdict.NOT_REPRODUCED, None)
    except (ScenarioError, AlgorithmError):
        # These errors already name a place in a file, so nothing is added.
        raise
    except KeyError as error:
        raise PaperError(f"{place}: nothing is called {error}") from error
    except ValueError as error:
        raise PaperError(f"{place}: {error}") from error
    return JudgedClaim(claim, verdict, result.value, result.table, result.bands)


def _verdict(claim: Claim, result: Measured) -> Verdict:
    measured = result.value
    if measured is None:
        return Verdict.NOT_REPRODUCED
    agrees = comparison(claim.compare)
    if claim.compare == _IN_BAND:
        if _within(claim.yardstick, result.bands):
            return Verdict.REPRODUCED
    elif agrees(measured, claim.yardstick, claim.tolerance):
        return Verdict.REPRODUCED
    if claim.corrected is not None and agrees(measured, claim.corrected, claim.tolerance):
        return Verdict.CONTRADICTION
    if claim.shape is not None and comparison(claim.shape.compare)(measured, claim.shape.value, 0):
        return Verdict.SHAPE_ONLY
    return Verdict.NOT_REPRODUCED


def _within(printed: Value, bands: Sequence[Band] | None) -> bool:
    """Return whether each printed number is in its band."""
    if bands is None:
        raise PaperError("the measure has no bands to compare with")
    numbers = _list(printed)
    return len(numbers) == len(bands) and all(
        low <= number <= high for number, (low, high) in zip(numbers, bands, strict=True)
    )


Comparison = Callable[[Value, Value, Tolerance], bool]


def comparison(name: str) -> Comparison:
    """Return a comparison of a measured and a printed value under a tolerance.

    Raises
    ------
    PaperError
        If no comparison has this name.
    """
    if name not in _COMPARISONS:
        raise PaperError(unknown_name("comparison", name, _COMPARISONS))
    return _COMPARISONS[name]


def _list(value: Value) -> list[float]:
    if isinstance(value, str):
        raise PaperError(f"{value!r} is not a number: compare it with `{_SAME}`")
    return value if isinstance(value, list) else [value]


def _each(relation: Callable[[float, float, float], bool]) -> Comparison:
    """Return the comparison that holds if a relation holds for each number.

    The relation takes a measured number, the printed number, and the tolerance.
    """

    def holds(measured: Value, printed: Value, tolerance: Tolerance) -> bool:
        a = _list(measured)
        b, c = (
            each if isinstance(each, list) else _list(each) * len(a)
            for each in (printed, tolerance)
        )
        return len(a) == len(b) == len(c) and all(map(relation, a, b, c))

    return holds


def _limit(tolerance: float, printed: float) -> float:
    """Return a tolerance, plus an allowance for rounding errors in differences from `printed`."""
    return tolerance * (1 + 1e-9) + 4 * math.ulp(printed)


#: The name of the comparison of values of every type.
_SAME = "same"

#: "Far below" means at most this share of the printed value.
_FAR = 0.1

#: The name of the comparison that checks whether each printed number is in its band.
_IN_BAND = "in band"

#: The name of the comparison whose tolerance is a factor.
_FACTOR = "factor"

_COMPARISONS: dict[str, Comparison] = {
    _SAME: lambda measured, printed, _: measured == printed,
    "near": _each(lambda x, y, tolerance: abs(x - y) <= _limit(tolerance, y)),
    "within": _each(lambda x, y, share: abs(x - y) <= _limit(share * abs(y), y)),
    _FACTOR: _each(lambda x, y, factor: y / factor <= x <= y * factor),
    "at least": _each(lambda x, y, tolerance: x >= y - _limit(tolerance, y)),
    "at most": _each(lambda x, y, tolerance: x <= y + _limit(tolerance, y)),
    "above": _each(lambda x, y, _: x > y),
    "below": _each(lambda x, y, _: x < y),
    "far below": _each(lambda x, y, _: x <= _FAR * y),
    # `_within` compares printed values with the bands. Corrected values have no bands, so this
    # function compares them as numbers.
    _IN_BAND: _each(lambda x, y, tolerance: abs(x - y) <= _limit(tolerance, y)),
}
