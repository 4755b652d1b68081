"""Names the causes of retransmissions, and finds the cause that started a go-back-N.

A go-back-N is the retransmission, in order, of all outstanding data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

GO_BACK_N = "go-back-n"

#: Causes of retransmissions that a retransmission timer started. `shim` is such a timer between a
#: host's TCP and the path. `tlp` is missing, because a tail loss probe has a timer of its own.
TIMERS = ("rto", "syn", "shim")

#: Causes in words, in the order in which they are shown. Texts for people use these words. Tables
#: and other output for programs use the names.
WORDS = {
    "fast": "fast retransmit",
    "sack-recovery": "SACK recovery",
    "rack": "RACK",
    "tlp": "tail loss probe",
    "rto": "timeout",
    "go-back-n": "go-back-N",
    "syn": "SYN",
    "sfr": "Super Fast Retransmit",
    "shim": "timer at the host's edge",
    "too-big": "packet too big",
    "unknown": "unknown",
}

#: Parts of lines that `netspurt explain` prints. `SAVED_WORDS` is in the lines on changes of the
#: sender that would have saved time. It is also in lines that say why a change is not listed or
#: saves nothing. `SEVERAL_TIMEOUTS_WORDS` is in a line on outages of the path. Of all lines with
#: one of these texts, a report's first sentences contain only the first line.
SAVED_WORDS, SEVERAL_TIMEOUTS_WORDS = "would have saved", "several timeouts followed each other"

#: A part of the lines on paths that may drop large packets without a report (black holes of the
#: path MTU). A report's first sentences contain only the first of these lines.
HOLE_WORDS = "may drop large packets"

#: Causes that look alike in a capture, because the same ACKs lead to the same retransmissions. Only
#: the sender's configuration decides between these causes, and a capture does not show it. So the
#: three causes share one confidence, and `SEEN` is their common name.
SEEN_IN_ACKS = ("fast", "sack-recovery", "rack")
SEEN = "loss seen in ACKs"

#: Causes that do not tell why a later go-back-N began. The empty cause stands for a first
#: transmission.
_NOT_BEGINNING = ("", "tlp", "unknown", GO_BACK_N)


def in_words(cause: str) -> str:
    """Return a cause in words. Several possible causes are joined by `or`.

    Examples
    --------
    >>> in_words("rto"), in_words("sack-recovery or rack")
    ('timeout', 'SACK recovery or RACK')
    """
    return " or ".join(WORDS.get(one, one) for one in cause.split(" or "))


def believed(row: Mapping[str, Any], what: str) -> str:
    """Return the cause or the verdict of a retransmission, with its confidence.

    The verdict is `needed`, `spurious` or `unknown`. Causes that look the same in a capture have
    one confidence, so they have one name here.

    Examples
    --------
    >>> believed({"cause": "rack", "cause_confidence": 0.99}, "cause")
    'loss seen in ACKs (99%)'
    >>> believed({"verdict": "unknown", "verdict_confidence": None}, "verdict")
    'unknown'
    """
    name, confidence = str(row[what]), row[f"{what}_confidence"]
    words = SEEN if name in SEEN_IN_ACKS else in_words(name)
    return words if name == "unknown" or confidence is None else f"{words} ({confidence:.0%})"


def begun(causes: Iterable[str]) -> list[str]:
    """Return the causes, but replace each `go-back-n` by the cause that began it.

    Most senders go back to the first outstanding segment only after a timeout. Tahoe also goes back
    after a fast retransmit. So a `go-back-n` began with the last earlier cause that can start a
    go-back-N. If there is no such cause, it began with a timeout. Every other cause is returned
    unchanged.

    Parameters
    ----------
    causes
        The causes in the order of time. The cause is empty for a first transmission.

    Examples
    --------
    >>> begun(["", "fast", "go-back-n", "rto", "tlp", "go-back-n"])
    ['', 'fast', 'fast', 'rto', 'tlp', 'rto']
    """
    first_causes, last = [], TIMERS[0]
    for cause in causes:
        if cause not in _NOT_BEGINNING:
            last = cause
        first_causes.append(last if cause == GO_BACK_N else cause)
    return first_causes


def tallied(causes: Sequence[str], *, likeliest: bool = True) -> str:
    """Return each cause in words, with its number of retransmissions.

    The text is empty if there are no causes. Causes that a capture cannot tell apart are counted
    together. If `likeliest` is true, the most likely causes follow.

    Examples
    --------
    >>> tallied(["rto", "tlp", "rto"])
    'timeout 2, tail loss probe 1'
    >>> tallied(["rack", "rto", "sack-recovery", "rack"])
    'loss seen in ACKs 3 (most likely RACK 2, SACK recovery 1), timeout 1'
    >>> tallied(["rack", "rto", "sack-recovery", "rack"], likeliest=False)
    'loss seen in ACKs 3, timeout 1'
    """
    counts = Counter(causes)
    seen = [cause for cause in counts if cause in SEEN_IN_ACKS]
    parts: list[str] = []
    for cause_in_order in counts:
        if cause_in_order in seen[:1]:
            names = ", ".join(_count(cause, counts) for cause in seen)
            names = names if len(seen) > 1 else WORDS[cause_in_order]
            total = sum(counts[cause] for cause in seen)
            parts.append(f"{SEEN} {total:,}" + f" (most likely {names})" * likeliest)
        elif cause_in_order not in seen:
            parts.append(_count(cause_in_order, counts))
    return ", ".join(parts)


def _count(cause: str, counts: Mapping[str, int]) -> str:
    return f"{WORDS[cause]} {counts[cause]:,}"
