"""Groups the cases of a sweep by their labels, and says whether all runs of a group are equal.

A case is one run of the sweep, and an axis is a setting that the sweep varies. A label is the value
of an axis in one case, or a value of another column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from netspurt import _core
from netspurt.quantities import positions

Columns = Mapping[str, NDArray[np.generic]]

#: Columns that differ even between equal runs.
_ALWAYS_DIFFERENT = ("case", "seed", "repeat")


def measures(cases: Columns) -> list[str]:
    """Return the names of the columns that have numbers."""
    return [name for name, column in cases.items() if column.dtype.kind in "iuf"]


def label_text(label: object) -> str:
    """Return a label as text.

    If some labels of a column are not numbers, the column has all its labels in this form.

    Examples
    --------
    >>> label_text(1.0), label_text(1e-7), label_text("4 segments")
    ('1', '0.0000001', '4 segments')
    """
    if not isinstance(label, float) or not np.isfinite(label):
        return str(label)
    return format(Decimal(repr(label)), "f").removesuffix(".0")


def labels_of(cases: Columns, name: str, order: Mapping[str, Sequence[object]]) -> list[str]:
    """Return the labels of an axis in order; for another column, return its values.

    Numbers, and quantities of one kind, are in the order of their size.

    Raises
    ------
    ValueError
        If there is no such column, or if the column is a measure with fractions.
    """
    if name in order:
        return [label_text(label) for label in order[name]]
    # The column of an axis that draws its values may have fractions.
    kinds = "iuU" if name in _core.SWEEP_COLUMNS else "iuUf"
    if name not in cases or cases[name].dtype.kind not in kinds:
        raise ValueError(not_varied(name, order))
    values = np.unique(np.ma.compressed(cases[name])).tolist()
    labels = [label_text(value) for value in values]
    if not values or not isinstance(values[0], str) or (sizes := positions(labels)) is None:
        return labels
    return [label for _, label in sorted(zip(sizes, labels, strict=True))]


def not_varied(name: str, order: Mapping[str, Sequence[object]]) -> str:
    """Return the error text for an axis that a sweep does not have."""
    axes = f"the axes are {', '.join(order)}" if order else "the sweep has no axes"
    return f"there is no axis {name!r}: {axes}"


def places_of(cases: Columns, name: str, labels: Sequence[str]) -> NDArray[np.intp]:
    """Return the index of each case's label in `labels`; -1 for other labels and missing values."""
    values, inverse = np.unique(np.ma.getdata(cases[name]), return_inverse=True)
    place = {label: n for n, label in enumerate(labels)}
    if values.dtype.kind == "f":
        numbers = {float(label): n for label, n in place.items()}
        found = [numbers.get(value, -1) for value in values.tolist()]
    else:
        found = [place.get(label_text(value), -1) for value in values.tolist()]
    places: NDArray[np.intp] = np.array(found, dtype=np.intp)[inverse.reshape(-1)]
    places[np.ma.getmaskarray(cases[name])] = -1
    return places


def groups(
    cases: Columns, by: Sequence[str], order: Mapping[str, Sequence[object]]
) -> list[tuple[tuple[str, ...], NDArray[np.intp]]]:
    """Return the labels and the rows of each group, in the order of the labels.

    Axes, and all other columns of whole numbers or texts, can form groups. Rows without a value are
    a group with the label `-`.

    Raises
    ------
    ValueError
        If there is no such column, or if a column in the list `by` is a measure with fractions.
    """
    if not by:
        return [((), np.arange(len(cases["case"])))]
    labels = {name: labels_of(cases, name, order) for name in by}
    keys = np.stack([places_of(cases, name, labels[name]) for name in by], axis=1)
    unique, inverse = np.unique(keys, axis=0, return_inverse=True)
    rows = np.argsort(inverse.reshape(-1), kind="stable")
    ends = np.cumsum(np.bincount(inverse.reshape(-1), minlength=len(unique)))[:-1]
    named = {name: [*labels[name], "-"] for name in by}  # place -1 selects the last label
    names = [tuple(named[n][int(k)] for n, k in zip(by, key, strict=True)) for key in unique]
    return list(zip(names, np.split(rows, ends), strict=True))


def seeds_change_nothing(cases: Columns, order: Mapping[str, Sequence[object]]) -> bool:
    """Return whether all runs of each combination of labels are equal in all measures.

    If all these runs are equal, nothing in the scenario is random, or the random draws had no
    effect in these runs. The result is false if no combination has two runs with measures.
    """
    names = [name for name in measures(cases) if name not in _ALWAYS_DIFFERENT]
    values = [np.ma.filled(np.ma.asarray(cases[name]).astype(float), np.nan) for name in names]
    known: NDArray[np.bool_] = np.any(np.isfinite(values), axis=0)
    several = [rows for _, rows in groups(cases, list(order), order) if known[rows].sum() > 1]
    equal = (
        np.array_equal(column[rows], np.full(len(rows), column[rows[0]]), equal_nan=True)
        for rows in several
        for column in values
    )
    return bool(several) and all(equal)
