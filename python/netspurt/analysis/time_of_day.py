"""Says when delays were recorded, and when the losses and the longest delays occurred."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netspurt.delays import Delays

#: A day, and an hour [s].
_DAY, _HOUR = 86_400, 3600

#: The minimum number of answers for which the times of the longest 1 % of the delays are reported.
_ANSWERS_MIN = 300

#: If many delays are equal, the delays that count as the longest 1 % may be more than 1 %. If they
#: are more than `_SHARES_MAX` percent, their times are not reported.
_SHARES_MAX = 2


def day_words(delays: Delays) -> list[str]:
    """Return when a recording began and ended, and when its losses and longest delays occurred.

    Parameters
    ----------
    delays
        The recording.

    Returns
    -------
    list of str
        At most two sentences. The list is empty if the file does not contain the time of the
        recording.

    Examples
    --------
    >>> import netspurt as ns
    >>> from netspurt.analysis.time_of_day import day_words
    >>> day_words(ns.Delays.of([0.1, None]))
    []
    """
    if delays.began is None or not len(delays):
        return []
    times = _Times(delays)
    parts = [part for part in (times.losses(), times.longest()) if part]
    return [times.whole(), *(["; ".join(parts)] if parts else [])]


class _Times:
    """The instants of a recording, as words."""

    def __init__(self, delays: Delays) -> None:
        self.delays = delays
        self.start = datetime.fromtimestamp(delays.began or 0.0, UTC)
        self.lasts = float(delays.sent_s[-1])
        self.end = self._at(self.lasts)
        self.days = self.start.date() != self.end.date()

    def _at(self, seconds: float) -> datetime:
        return self.start + timedelta(seconds=float(seconds))

    def _clock(self, seconds: float) -> str:
        """Return when a probe left. The text has the date if the recording has several dates."""
        return f"{self._at(seconds):{'%Y-%m-%d %H:%M:%S' if self.days else '%H:%M:%S'}}"

    def whole(self) -> str:
        """Return the instants at which the first and the last probe left."""
        zone = "local time" if self.delays.began_is_local else "UTC"
        return f"began {self.start:%Y-%m-%d %H:%M:%S} {zone}, ended {self._clock(self.lasts)}"

    def losses(self) -> str:
        """Return when most losses occurred, or when the first and the last loss occurred."""
        left = self.delays.sent_s[np.isnan(self.delays.rtt_s)]
        if not len(left):
            return ""
        if len(left) == 1:
            return f"the loss at {self._clock(left[0])}"
        if (most := self._most(left)) is None:
            return f"losses from {self._clock(left[0])} to {self._clock(left[-1])}"
        return f"losses: {most}"

    def longest(self) -> str:
        """Return when the longest delay occurred, and when most of the longest 1 % occurred."""
        rtt, left = self.delays.rtt_s, self.delays.sent_s
        answered = np.flatnonzero(~np.isnan(rtt))
        if not len(answered):
            return ""
        first = answered[np.argmax(rtt[answered])]
        sentence = f"longest delay, {_delay(rtt[first])}, at {self._clock(left[first])}"
        if len(answered) < _ANSWERS_MIN:
            return sentence
        # Many delays may be equal, for example whole milliseconds. Then `longest` may have more
        # than 1 % of the delays.
        share = len(answered) // 100
        least = np.sort(rtt[answered])[-share]
        longest = answered[rtt[answered] >= least]
        most = self._most(left[longest]) if len(longest) <= _SHARES_MAX * share else None
        return sentence if most is None else f"{sentence}; the longest 1 % of delays: {most}"

    def _most(self, left: NDArray[np.float64]) -> str | None:
        """Return the part of the day that contains most of the instants in the array `left`.

        The result is `None` if the recording is shorter than ten minutes, or if there are fewer
        than two instants.
        """
        width = next((w for w, least in _WIDTHS if self.lasts >= least), None)
        if width is None or len(left) < 2:
            return None
        midnight = self.start.replace(hour=0, minute=0, second=0, microsecond=0)
        of_day = ((self.start - midnight).total_seconds() + left) % _DAY
        parts, counts = np.unique(of_day // width, return_counts=True)
        start, count = int(parts[np.argmax(counts)]) * width, int(counts.max())
        ends = [f"{at // _HOUR:02}:{at // 60 % 60:02}" for at in (start, start + width)]
        every = " of any day" if self.lasts > _DAY else ""
        return f"{count:,} of {len(left):,} from {ends[0]} to {ends[1]}{every}"


#: The possible lengths of the parts of a day [s]. The second number of each pair is the minimum
#: length of a recording that is divided into such parts [s].
_WIDTHS = ((_HOUR, 6 * _HOUR), (600, _HOUR), (60, 600))


def _delay(seconds: float) -> str:
    if seconds >= 1000:
        return f"{seconds:,.0f} s"
    if seconds >= 1e-3:
        return f"{seconds:.4g} s" if seconds >= 10 else f"{seconds * 1e3:.4g} ms"
    return f"{seconds * 1e6:.4g} µs"
