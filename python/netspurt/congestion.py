"""Congestion control algorithms, by name or written in Python, and their contract.

The contract has the rules that each algorithm must keep.

An algorithm is any object with ``on_ack(ack, window)`` and ``on_congestion(now, kind, flight_bytes,
smss, window)``. Times are seconds, and sizes are octets. A text names an algorithm as it names an
estimator: see `netspurt.estimators`. Installed packages offer algorithms as entry points of the
group ``netspurt.congestion``.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Protocol, cast

from netspurt._core import Ack, CongestionControl, Rate, Window
from netspurt.algorithms import PlaceError, find
from netspurt.contract import Check, CheckError, check

__all__ = [
    "Ack",
    "Check",
    "CheckError",
    "CongestionControl",
    "CongestionLike",
    "Rate",
    "Window",
    "check_congestion",
    "congestion",
]

#: The names of the Rust core's algorithms.
NAMES = ("reno", "cubic", "bbr", "westwood")


class CongestionLike(Protocol):
    """The two methods that an algorithm must have, and the further methods that it may have.

    The sender calls ``on_open(rtt, window)`` when the handshake is complete, or when the algorithm
    replaces another algorithm. ``rtt`` is `None` if the SYN was retransmitted. The sender calls
    ``on_round_trip(now, rtt)`` for an ACK that measured a round trip but must not increase cwnd. It
    calls ``on_timeout(now, nxt)`` when a timeout begins a repair of all octets up to ``nxt``. It
    also calls ``on_timeout`` when Super Fast Retransmit with the response ``reset`` reduces cwnd to
    one segment. It calls ``on_undo(now, window)`` when the congestion proved spurious and the
    window has been restored. It calls ``on_recovery_end(now, window)`` when recovery, or the repair
    after a timeout, has ended without an undo. It calls ``on_idle_restart(now, idle)`` when it
    sends again while nothing is outstanding. ``idle`` is the time since its last segment, in
    seconds. ``pacing_rate()`` returns bits per second or `None`.

    Two attributes are optional. ``owns_window`` is true if the algorithm also sets cwnd in
    recovery. The sender does not call ``on_round_trip`` for such an algorithm, and it calls
    ``on_idle_restart`` only if ``idle`` is longer than the RTO. ``wants_rate`` is true if the
    algorithm reads ``ack.rate``.
    """

    def on_ack(self, ack: Ack, window: Window, /) -> object:
        """Process an ACK: set `window.cwnd` if cwnd may grow."""

    def on_congestion(
        self, now: float, kind: str, flight_bytes: int, smss: int, window: Window, /
    ) -> int:
        """Return the new ssthresh after a `"loss"`, a `"mark"` or a `"timeout"`."""


def congestion(text: str) -> CongestionLike:
    """Make an algorithm in the state that it has at the start of a connection.

    Parameters
    ----------
    text
        The name of an algorithm of the core: ``"reno"``, ``"cubic"``, ``"bbr"`` or ``"westwood"``;
        the place of a class in Python, such as ``"file.py:Class:beta=0.7"``; or the name under
        which an installed package offers an algorithm.

    Raises
    ------
    PlaceError
        If there is no such algorithm, file, module or class, or if an instance cannot be made.

    Examples
    --------
    >>> reno, window = congestion("reno"), Window(10_000)
    >>> reno.on_ack(Ack(0.1, smss=1000, acked_bytes=2000), window)
    >>> window
    Window(12000)
    >>> reno.on_congestion(0.2, "loss", 12_000, 1000, window)
    6000
    """
    if text.strip() in NAMES:
        return CongestionControl(text.strip())
    found = find("congestion", text)
    if found is None:
        raise PlaceError(
            f"no congestion control algorithm is called `{text}`",
            f"write one of {', '.join(NAMES)}, or the place of a class",
        )
    return cast("CongestionLike", found.make())


def check_congestion(subject: str | Callable[[], CongestionLike]) -> Check:
    """Check whether an algorithm keeps the contract of all congestion control algorithms.

    Parameters
    ----------
    subject
        A text as for `congestion`, or a class that can be made without arguments.

    Returns
    -------
    Check
        The rules that the algorithm keeps and breaks. Print the check, or call its
        `raise_if_failed`.

    Examples
    --------
    >>> check_congestion("cubic").ok
    True
    """
    make = (lambda: congestion(subject)) if isinstance(subject, str) else subject
    return check(subject, make, _RULES)


_SMSS = 1000

Maker = Callable[[], CongestionLike]
#: The state after an event: the event, cwnd and ssthresh.
State = tuple[str, int, int]


def _call(made: CongestionLike, name: str, *arguments: object) -> None:
    """Call a method of an algorithm, if the algorithm has the method."""
    method = getattr(made, name, None)
    if callable(method):
        method(*arguments)


class _Sender:
    """A sender for `check_congestion`, which calls an algorithm's methods as the core does."""

    def __init__(self, made: CongestionLike, rtt: float | None = 0.1) -> None:
        self.made, self.window, self.now, self.una = made, Window(10 * _SMSS), 0.0, 0
        self.rtt = rtt
        _call(made, "on_open", rtt, self.window)

    def ack(self, acked: int = 2 * _SMSS, rtt: float | None = None, gap: float = 0.01) -> None:
        self.now += gap
        self.una += acked
        rtt = self.rtt if rtt is None else rtt
        flight = min(self.window.cwnd, 10**9)
        ack = Ack(
            self.now,
            smss=_SMSS,
            acked_bytes=acked,
            pipe_before=flight,
            pipe=max(flight - acked, 0),
            rtt=rtt,
            srtt=rtt,
            min_rtt=rtt if rtt is None else min(rtt, 0.1),
            una=self.una,
            nxt=self.una + flight,
        )
        self.made.on_ack(ack, self.window)

    def congestion(self, kind: str) -> int:
        flight = min(self.window.cwnd, 10**9)
        ssthresh = self.made.on_congestion(self.now, kind, flight, _SMSS, self.window)
        self.window.ssthresh = max(int(ssthresh), 2 * _SMSS)
        if kind == "timeout":
            self.window.cwnd = _SMSS
            _call(self.made, "on_timeout", self.now, self.una + flight)
        elif not getattr(self.made, "owns_window", False):
            self.window.cwnd = self.window.ssthresh
            if self.rtt is not None:
                _call(self.made, "on_round_trip", self.now, self.rtt)
        _call(self.made, "on_recovery_end", self.now, self.window)
        return ssthresh


def _walk(made: CongestionLike, seed: int, count: int = 600) -> Iterator[State]:
    """Yield an algorithm's states on a path with losses, marks, timeouts, pauses and undos."""
    draw, sender = random.Random(seed), _Sender(made)
    for _ in range(count):
        event = draw.choices(
            ["ack", "loss", "mark", "timeout", "undo", "pause"], [90, 4, 2, 1, 1, 2]
        )[0]
        if event == "ack":
            sender.ack(draw.choice([1, 2, 4]) * _SMSS, 0.1 * draw.uniform(0.8, 3.0))
        elif event == "undo":
            _call(made, "on_undo", sender.now, sender.window)
        elif event == "pause":
            sender.now += 2.0
            _call(made, "on_idle_restart", sender.now, 2.0)
        else:
            sender.congestion(event)
        yield event, sender.window.cwnd, sender.window.ssthresh


def _has_its_methods(make: Maker) -> str | None:
    made = make()
    missing = [m for m in ("on_ack", "on_congestion") if not callable(getattr(made, m, None))]
    return f"it has no {', '.join(missing)}" if missing else None


def _answers_the_same(make: Maker) -> str | None:
    return _differs(list(_walk(make(), 1)), list(_walk(make(), 1)))


def _stands_alone(make: Maker) -> str | None:
    alone = list(_walk(make(), 2))
    first, second = make(), make()
    for _ in _walk(second, 3):
        pass
    return _differs(alone, list(_walk(first, 2)))


def _differs(first: list[State], second: list[State]) -> str | None:
    pairs = enumerate(zip(first, second, strict=True), start=1)
    found = next(((n, a, b) for n, (a, b) in pairs if a != b), None)
    if found is None:
        return None
    n, (_, cwnd, ssthresh), (_, other_cwnd, other_ssthresh) = found
    if cwnd != other_cwnd:
        return f"at step {n}, cwnd is {cwnd} octets in one run and {other_cwnd} in another"
    return f"at step {n}, ssthresh is {ssthresh} octets in one run and {other_ssthresh} in another"


def _keeps_a_segment(make: Maker) -> str | None:
    for n, (event, cwnd, _) in enumerate(_walk(make(), 4), start=1):
        if event == "ack" and cwnd < _SMSS:
            return f"after the ACK in step {n}, cwnd is {cwnd} octets, and a segment has {_SMSS}"
    return None


def _grows_without_congestion(make: Maker) -> str | None:
    sender = _Sender(make())
    for _ in range(100):
        sender.ack()
    cwnd = sender.window.cwnd
    if cwnd > 10 * _SMSS:
        return None
    return f"cwnd was {10 * _SMSS} octets, and is {cwnd} octets after 100 ACKs"


def _answers_congestion(make: Maker) -> str | None:
    for kind in ("loss", "mark", "timeout"):
        sender = _Sender(make())
        for _ in range(50):
            sender.ack()
        flight = sender.window.cwnd
        ssthresh = sender.congestion(kind)
        if isinstance(ssthresh, bool) or not isinstance(ssthresh, int | float):
            return f"after a {kind}, ssthresh is {ssthresh!r}, which is not a number of octets"
        if not _SMSS <= ssthresh <= 2**62:
            return f"after a {kind} with {flight} octets in flight, ssthresh is {ssthresh} octets"
    return None


def _grows_again(make: Maker) -> str | None:
    sender = _Sender(make())
    for _ in range(20):
        sender.ack()
    sender.congestion("timeout")
    for _ in range(400):
        sender.ack()
    cwnd = sender.window.cwnd
    return None if cwnd > _SMSS else f"cwnd is still {cwnd} octets after a timeout and 400 ACKs"


def _survives_extremes(make: Maker) -> str | None:
    sender = _Sender(make(), rtt=None)
    sender.ack(0)
    for rtt in (None, 1e-6, 86_400.0, 1e-6):
        for acked in (1, _SMSS, 2**30):
            sender.ack(acked, rtt, gap=rtt or 0.0)
        for kind in ("loss", "timeout", "timeout", "mark"):
            sender.congestion(kind)
    cwnd = sender.window.cwnd
    return None if 1 <= cwnd < 2**62 else f"cwnd is {cwnd} octets"


def _paces_or_not(make: Maker) -> str | None:
    made = make()
    if not callable(getattr(made, "pacing_rate", None)):
        return None
    for _ in _walk(made, 5):
        rate = made.pacing_rate()  # type: ignore[attr-defined]
        if not (rate is None or 1 <= rate < 1e15):
            return f"pacing_rate returned {rate!r}, which is neither None nor at least 1 bit/s"
    return None


_RULES: dict[str, Callable[[Maker], str | None]] = {
    "it has on_ack and on_congestion": _has_its_methods,
    "the same input has the same output": _answers_the_same,
    "an instance does not change another instance": _stands_alone,
    "after an ACK, cwnd is at least one segment": _keeps_a_segment,
    "without congestion, cwnd grows": _grows_without_congestion,
    "after congestion, ssthresh is a number of octets, at least one segment": _answers_congestion,
    "after a timeout, cwnd grows again": _grows_again,
    "it works with unknown round trips, and with round trips of a microsecond and of a day": (
        _survives_extremes
    ),
    "its pacing rate is bits per second, or None": _paces_or_not,
}
