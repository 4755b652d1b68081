"""The times until a flow's replies are complete. At a run's end, some replies may be incomplete."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netspurt.table import Table

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Replies:
    """The times until replies are complete.

    Attributes
    ----------
    spans_s
        The time from each request until its reply is complete [s], shape (n,). NaN if the reply is
        not complete when the run ends.
    waited_s
        The time from each request to the end of the run [s], shape (n,).
    """

    spans_s: Floats
    waited_s: Floats

    @classmethod
    def of(cls, requests: Table, stop_ns: int) -> Replies:
        """Return the replies to rows of the table `requests`, for a run that ended at `stop_ns`."""
        return cls(requests.seconds("complete_ns"), stop_ns / 1e9 - requests.seconds("t_ns"))

    def __len__(self) -> int:
        """Return the number of requests."""
        return len(self.spans_s)

    @property
    def waiting(self) -> int:
        """The number of replies that are not complete."""
        return int(np.isnan(self.spans_s).sum())

    def quantile(self, share: float) -> tuple[float, bool]:
        """Return a quantile of the durations [s], and whether it is only a lower bound.

        The quantile is the duration of rank ⌈share · n⌉, as in sweeps. A reply that is not complete
        counts with its time so far. Its full duration will be longer than this time. If this could
        make the quantile longer, the quantile is only a lower bound. `share` is above 0 and at most
        1, and there must be a request.

        Examples
        --------
        >>> replies = Replies(np.array([0.2, 0.1, np.nan]), np.array([9.0, 9.0, 0.3]))
        >>> replies.quantile(0.5), replies.quantile(1.0)
        ((0.2, False), (0.3, True))
        """
        unfinished = np.isnan(self.spans_s)
        rank = math.ceil(share * len(self) - 1e-9) - 1
        lowest = float(np.sort(np.where(unfinished, self.waited_s, self.spans_s))[rank])
        highest = float(np.sort(np.where(unfinished, math.inf, self.spans_s))[rank])
        return lowest, highest > lowest
