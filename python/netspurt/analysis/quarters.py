"""Compares the medians of a recording's quarters, to see if its delays stayed at one level.

This is only a hint: `netspurt delays constancy` finds when a level changed, with tests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from netspurt.delays import Delays

_QUARTERS = 4
#: The minimum number of answers in a quarter.
_ANSWERS_MIN = 50
#: If medians differ clearly, the largest median is at least `_TIMES` times the smallest median.
_TIMES = 1.2


def quarter_words(delays: Delays) -> list[str]:
    """Return a sentence if the level of the delays changed; otherwise the list is empty.

    The level changed if the medians of two quarters differ by a fifth or more, and by more than the
    interquartile range of every quarter. Long delays that come and go therefore do not count.

    Examples
    --------
    >>> import netspurt as ns
    >>> (told,) = quarter_words(ns.Delays.of([0.040, 0.041] * 200 + [0.070, 0.071] * 200))
    >>> told.partition("; `netspurt")[0]
    'the level of the delays changed: the medians of the quarters are 40.5, 40.5, 70.5 and 70.5 ms'
    """
    answered = delays.rtt_s[~np.isnan(delays.rtt_s)]
    if len(answered) < _QUARTERS * _ANSWERS_MIN:
        return []
    quarters = np.array_split(answered, _QUARTERS)
    low, middle, high = np.array([np.percentile(one, [25, 50, 75]) for one in quarters]).T
    apart = middle.max() - middle.min()
    if middle.max() < _TIMES * middle.min() or apart <= (high - low).max():
        return []
    *first, last = (f"{1e3 * median:.3g}" for median in middle)
    return [
        f"the level of the delays changed: the medians of the quarters are {', '.join(first)} and "
        f"{last} ms; `netspurt delays constancy` says when. A timer that suits one level may not "
        "suit another level"
    ]
