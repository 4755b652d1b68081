"""Chooses the scales of axes by the values that they show."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from netspurt.pictures.marks import Floats, Scale

#: The axis is logarithmic if the greatest time, divided by the smallest median, is more than this.
_TENS = 20


def placed(values: Floats, scale: Scale) -> Floats:
    """Return the positions of values on an axis. A logarithmic axis has zeros at `scale.zero`."""
    return values if scale.zero is None else np.where(values == 0, scale.zero, values)


def of_times(label: str, series: Sequence[Floats]) -> Scale:
    """Return a scale for times; it is logarithmic if they differ much (see `_TENS`).

    Parameters
    ----------
    label
        The name of the values.
    series
        The values of each mark, in seconds.
    """
    known = [values[np.isfinite(values) & (values > 0)] for values in series]
    known = [values for values in known if len(values)]
    if not known:
        return Scale(label, "s")
    typical = min(float(np.median(values)) for values in known)
    least, most = (float(end([end(values) for values in known])) for end in (min, max))
    if most > _TENS * typical:
        zero = 0.5 * least if any(bool((values == 0).any()) for values in series) else None
        low = 0.8 * (zero or least)
        return Scale(label, "s", low=low, high=1.3 * most, log=True, zero=zero)
    return Scale(label, "s", low=0.0, high=1.05 * most)
