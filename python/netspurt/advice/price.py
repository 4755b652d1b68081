"""Defines what a spurious retransmission costs, and how often packets are lost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from netspurt.delays import Delays

#: The default price of a spurious timeout, in round trips. After the timeout, cwnd is one segment,
#: and slow start needs five round trips to reach 32 segments (RFC 5681 §3.1, without Eifel or
#: F-RTO).
ROUNDS = 5


def delays_in_price(delays: Delays) -> int:
    """Return the number of delays that last as long as `ROUNDS` round trips.

    This is `ROUNDS`, or twice `ROUNDS` if the delays are one-way.
    """
    return 2 * ROUNDS if delays.measure == "one-way" else ROUNDS


@dataclass(frozen=True)
class Price:
    """The price of a spurious retransmission in seconds of waiting, and the share of losses.

    Attributes
    ----------
    spurious_s
        The seconds of waiting that one spurious retransmission costs. `None` means `ROUNDS` times
        the median round trip of each recording of delays. In recordings of one-way delays, twice a
        delay counts as a round trip.
    loss
        The share of packets that are lost, from 0 to 1. `None` means the share of lost probes in
        each recording. Losses before the first answer do not count.

    Raises
    ------
    ValueError
        If a number is outside its range.

    Examples
    --------
    >>> from netspurt.delays import Delays
    >>> path = Delays.of([0.040, 0.042, None, 0.044], every=1.0)
    >>> round(Price().of(path), 3), Price(0.1).of(path)
    (0.21, 0.1)
    """

    spurious_s: float | None = None
    loss: float | None = None

    def __post_init__(self) -> None:
        if self.spurious_s is not None and not 0 <= self.spurious_s <= 1e6:
            raise ValueError(
                f"the price of a spurious retransmission is {self.spurious_s} s: write a number "
                "from 0 to 1e6 s"
            )
        if self.loss is not None and not 0 <= self.loss <= 1:
            raise ValueError(
                f"the share of lost packets is {self.loss}: write a number from 0 to 1"
            )

    def of(self, delays: Delays) -> float:
        """Return the price of a spurious retransmission on a recording [s].

        The price is NaN if `spurious_s` is `None` and no probe was answered.
        """
        if self.spurious_s is not None:
            return self.spurious_s
        known = delays.rtt_s[~np.isnan(delays.rtt_s)]
        return delays_in_price(delays) * float(np.median(known)) if len(known) else float("nan")
