"""The cheapest settings of a grid of timers, and why all settings may cost the same."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from netspurt.wording import duration

if TYPE_CHECKING:
    from netspurt.delays import Delays
    from netspurt.timers import Algorithm


class Cheapest:
    """The cheapest of the settings that `take` has received so far.

    A setting is an estimator with values for its constants.

    Attributes
    ----------
    cost
        The lowest cost, or infinity if no setting has a finite cost.
    names
        The settings with exactly this cost, in the order in which `take` received them.
    """

    def __init__(self) -> None:
        self.cost = math.inf
        self.names: list[str] = []
        self._taken = 0
        self._first: list[Algorithm] = []
        self._timers: set[tuple[float, ...]] = set()

    def take(self, algorithms: list[Algorithm], cost: float) -> None:
        """Compare a setting with the cheapest so far.

        `algorithms` has the results of the setting on each recording of delays.
        """
        self._taken += 1
        if cost < self.cost:
            self.cost, self.names, self._first, self._timers = cost, [], algorithms, set()
        if cost == self.cost:
            self.names.append(algorithms[0].estimator)
            self._timers.add(tuple(one.timer.value for one in algorithms))

    @property
    def is_only_cost(self) -> bool:
        """Whether there are several settings that all have the same cost."""
        return 1 < len(self.names) == self._taken

    def in_words(self) -> str:
        """Return the first of the cheapest settings, and how many other settings cost the same."""
        others = len(self.names) - 1
        if not others:
            return self.names[0]
        same = (
            "1 other setting, which costs"
            if others == 1
            else f"{others:,} other settings, which cost"
        )
        return f"{self.names[0]} and {same} the same"

    def why_alike(self, delays: Sequence[Delays]) -> Iterator[str]:
        """If all timers are at the same minimum, say that all settings therefore cost the same."""
        low = _minimum_of(self._first, delays)
        if low is not None and len(self._timers) == 1:
            yield (
                f"All timers stand at their minimum of {duration(low)} on these probes, so the "
                "minimum hides the other constants. Set a shorter minimum to compare them."
            )


def _minimum_of(algorithms: list[Algorithm], delays: Sequence[Delays]) -> float | None:
    """Return a setting's minimum [s], or `None` if its timer is not always at this minimum.

    Only the probes that `learnt` selects count: those that left when a delay was known.
    """
    from netspurt.analysis.replayed import learnt
    from netspurt.estimators import estimator

    low, _ = getattr(estimator(algorithms[0].estimator), "bounds", None) or (0.0, math.inf)
    for one, path in zip(algorithms, delays, strict=True):
        waits = one.waits[learnt(path, one.order)]
        if not low > 0 or abs(waits - low).max() > 1e-9:
            return None
    return float(low)
