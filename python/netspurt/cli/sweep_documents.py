"""Results of a sweep for programs: documents for JSON, and rows for CSV.

A sweep varies settings of a scenario. Each of these settings is an axis. A case is one combination
of values, with one seed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from netspurt.analysis.bootstrap import Interval
    from netspurt.analysis.cases import GroupComparison, Summary


def of_summary(row: Summary, measure: str, names: Sequence[str]) -> dict[str, Any]:
    """Return the summary of a group of cases as a document."""
    return {
        "group": dict(zip(names, row.labels, strict=True)),
        "measure": measure,
        "cases": row.cases,
        "without": row.without,
        **_interval_document(row.mean),
        "median": _or_none(row.median),
        "percentiles": {f"{p:.15g}": _or_none(v) for p, v in row.percentiles.items()},
    }


def of_comparison(
    row: GroupComparison, measure: str, names: Sequence[str], axis: str
) -> dict[str, Any]:
    """Return the comparison of two groups of cases as a document."""
    return {
        "group": dict(zip(names, row.labels, strict=True)),
        "measure": measure,
        "axis": axis,
        "label": row.label,
        "baseline": row.baseline,
        "cases": row.pairs,
        "without": row.without,
        **_interval_document(row.difference),
        "verdict": row.verdict,
    }


def flat(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of a document for CSV. Each axis is a column with the axis's name."""
    return {**document["group"], **{k: v for k, v in document.items() if k != "group"}}


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value


def _interval_document(interval: Interval) -> dict[str, float | None]:
    return {name: _or_none(getattr(interval, name)) for name in ("value", "low", "high")}
