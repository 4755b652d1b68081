"""Scales that suit the values on them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from netspurt.pictures.marks import Floats, Scale

#: The axis is logarithmic if the largest time exceeds the smallest median by more than this factor.
_LOG_RATIO = 20


def of_times(label: str, series: Sequence[Floats]) -> Scale:
    """Return a scale for times, which is logarithmic if the times differ much.

    Parameters
    ----------
    label
        The name of the values.
    series
        The values of each line or group of points, in seconds.
    """
    known = [values[np.isfinite(values) & (values > 0)] for values in series]
    known = [values for values in known if len(values)]
    if not known:
        return Scale(label, "s")
    typical = min(float(np.median(values)) for values in known)
    smallest, largest = (float(end([end(values) for values in known])) for end in (min, max))
    if largest > _LOG_RATIO * typical:
        return Scale(label, "s", low=0.8 * smallest, high=1.3 * largest, log=True)
    return Scale(label, "s", low=0.0, high=1.05 * largest)
