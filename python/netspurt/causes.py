"""Causes of retransmissions: which of them a timer began."""

from __future__ import annotations

from collections.abc import Iterable

GO_BACK_N = "go-back-n"

#: Causes of retransmissions that a timer started.
TIMERS = ("rto", "syn", "shim")

#: Causes that leave open why a sender goes back, besides going back itself.
_APART = ("", "tlp", "unknown", GO_BACK_N)


def begun(causes: Iterable[str]) -> list[str]:
    """Return, for each transmission of a direction, the cause with which its repair began.

    Most senders go back to the first outstanding segment after a timeout only; Tahoe does so after
    a fast retransmit as well. So the last other cause before a `go-back-n` began it, or a timeout
    if there is none. Every other cause began itself.

    Parameters
    ----------
    causes
        The causes in the order of time; empty for a transmission that is no retransmission.

    Examples
    --------
    >>> begun(["", "fast", "go-back-n", "rto", "tlp", "go-back-n"])
    ['', 'fast', 'fast', 'rto', 'tlp', 'rto']
    """
    found, last = [], TIMERS[0]
    for cause in causes:
        if cause not in _APART:
            last = cause
        found.append(last if cause == GO_BACK_N else cause)
    return found
