"""Says what a timer lacks before it may be deployed, and how to configure Linux and QUIC stacks."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from netspurt import _core
from netspurt.advice.phrases import listed
from netspurt.analysis.remedies import LINUX_ACK_DELAY_S
from netspurt.estimators import EstimatorError, estimator
from netspurt.grids import is_of_core, number

#: The maximum RTO that is added to a timer without a maximum: RFC 6298 §2.5 allows a maximum of 60
#: s or more.
RTO_MAX = "60s"

#: The name of Linux's timer with its default `rto_min`, and this default [s].
LINUX_OWN, LINUX_OWN_FLOOR_S = "linux", 0.2

#: The time by which Linux delays ACKs [ms].
LINUX_ACK_DELAY_MS = round(1000 * LINUX_ACK_DELAY_S)

#: The minimum and maximum `rto_min` that a BPF program may set [s]: two jiffies at 250 Hz, and
#: Linux's default `rto_min`.
_BPF_FLOORS_S = (0.008, 0.2)

#: Rounding to a jiffy of 4 ms can change an `rto_min` below `_ROUNDING_MATTERS_S` by more than a
#: fifth.
_ROUNDING_MATTERS_S = 0.02

#: The format of recordings of delays that are made from the segments of a capture and their ACKs.
_CAPTURE_OF_TCP = "capture (TCP)"

#: The maximum `max_ack_delay` [ms] (RFC 9000 §18.2).
ACK_DELAY_MAX_MS = 2**14 - 1


def shortcomings(text: str) -> list[str]:
    """Return what a timer lacks: backoff, a minimum, a maximum.

    A `quic` timer needs no bounds: `max_ack_delay` is its minimum, and connections end at their
    idle timeout. A `fixed` timer always has bounds: its `rto` and its `max`. The attribute `bounds`
    of a timer written in Python says which bounds it lacks. Without this attribute, it lacks none.

    Examples
    --------
    >>> shortcomings("mills"), shortcomings("linux"), shortcomings("rfc6298:min=0s")
    (['backoff', 'a minimum', 'a maximum'], [], ['a minimum'])
    """
    try:
        timer = estimator(text)
    except EstimatorError:
        # The text is the name of a Python object, and no estimator can be made from this name.
        return []
    lacks = []
    for at in range(3):
        timer.on_sample(_core.Sample(0.1, at=float(at)))
    before = timer.rto()
    timer.on_timeout(4.0)
    if not timer.rto() > 1.2 * before:
        lacks.append("backoff")
    low, high = getattr(timer, "bounds", None) or (1.0, 1.0)
    if getattr(timer, "algorithm", None) in ("quic", "fixed"):
        low = high = 1.0
    if low == 0:
        lacks.append("a minimum")
    if math.isinf(high):
        lacks.append("a maximum")
    return lacks


def with_settings(text: str, **settings: str) -> str:
    """Return the text of an algorithm of the Rust core with further constants.

    Examples
    --------
    >>> with_settings("mills:g=3", karn="true", min="40ms")
    'mills:g=3,min=40ms,karn=true'
    """
    name, _, settings_text = text.partition(":")
    given = settings_text.split(",") if settings_text else []
    pairs = dict(pair.split("=", 1) for pair in given)
    combined = ",".join(f"{key}={value}" for key, value in {**pairs, **settings}.items())
    return str(_core.Estimator(f"{name}:{combined}"))


def can_be_completed(text: str) -> bool:
    """Return whether a timer's own settings can add the parts that it lacks.

    Examples
    --------
    >>> can_be_completed("mills"), can_be_completed("cocoa")
    (True, False)
    """
    settings = lacking(text, "1s")
    return bool(settings) and not shortcomings(with_settings(text, **settings))


def lacking(text: str, min_rto: str) -> dict[str, str]:
    """Return settings that add the parts that a timer of the core lacks; `min_rto` is the minimum.

    A part that no setting of the timer can add is left out. The result is empty for a timer that is
    not of the core.

    Examples
    --------
    >>> lacking("mills", "30ms")
    {'karn': 'true', 'min': '30ms', 'max': '60s'}
    >>> lacking("rfc6298", "30ms"), lacking("rfc6298:min=0s", "30ms")
    ({}, {'min': '30ms'})
    >>> lacking("mills-single", "30ms") == lacking("mills", "30ms")
    True
    """
    if not is_of_core(text):
        return {}
    keys, lacks = dict(_core.Estimator(text).settings), shortcomings(text)
    settings: dict[str, str] = {}
    if "backoff" in lacks:
        settings |= {"karn": "true"} if "karn" in keys else {"max": RTO_MAX}
    if "a minimum" in lacks:
        settings["min"] = min_rto
    if "a maximum" in lacks:
        settings["max"] = RTO_MAX
    return {key: value for key, value in settings.items() if key in keys}


def span(seconds: float) -> str:
    """Return a time in the form of a timer's constant, with two significant digits.

    Examples
    --------
    >>> span(0.0372), span(1.24), span(0.00041)
    ('37ms', '1.2s', '0.41ms')
    """
    digits = 1 - math.floor(math.log10(seconds))
    rounded = round(Fraction(seconds), digits)
    return f"{number(rounded)}s" if rounded >= 1 else f"{number(rounded * 1000, 6)}ms"


def whole_ms(seconds: float) -> str:
    """Return a time in whole milliseconds, in the form of a timer's constant.

    A time below 10 ms is rounded up. A longer time is rounded to two significant digits. Both
    `rto_min` of `ip route` and `max_ack_delay` of QUIC are whole milliseconds.

    Examples
    --------
    >>> whole_ms(0.0372), whole_ms(0.0011), whole_ms(0.00041)
    ('37ms', '2ms', '1ms')
    """
    # With two significant digits, a time of ten milliseconds or more has no decimals.
    return span(seconds) if seconds >= 0.01 else f"{max(1, math.ceil(seconds * 1000))}ms"


def is_linux(text: str) -> bool:
    """Return whether a timer is Linux's, with any constants."""
    return text.partition(":")[0] == "linux"


def floor_of(text: str) -> float:
    """Return Linux's `rto_min` of a `linux` timer [s].

    Examples
    --------
    >>> floor_of("linux:rto_min=30ms"), floor_of("linux")
    (0.03, 0.2)
    """
    timer = _core.Estimator(text)
    return float(timer.bounds[0])


def linux_commands(floor_s: float, formats: Iterable[str] = ()) -> list[str]:
    """Return sentences on how to set Linux's `rto_min`.

    If Linux cannot use exactly the time `floor_s`, the next longer possible time is used, and a
    sentence says so. `formats` are the formats of the recordings (`Delays.format`). They show
    whether the answers were echoes or ACKs.
    """
    if abs(floor_s - LINUX_OWN_FLOOR_S) < 1e-9:
        return ["200 ms is Linux's own rto_min, so this needs no setting."]
    exact_ms = Fraction(floor_s).limit_denominator(10**9) * 1000
    ms = max(1, math.ceil(exact_ms))
    sentences = [*_not_settable(exact_ms, ms), *_condition(ms, {*formats}), *_settings(ms)]
    if ms < 1000 * _ROUNDING_MATTERS_S:
        sentences.append(
            "Linux rounds rto_min up to whole jiffies: 1 ms at 1000 Hz, 4 ms at 250 Hz (CONFIG_HZ)."
        )
    sentences.append(
        "In Linux the timer is srtt + rttvar. rttvar is at least rto_min, so the timer is never "
        "shorter than srtt + rto_min."
    )
    return sentences


def _condition(ms: int, formats: set[str]) -> list[str]:
    """Return which delays of ACKs an `rto_min` allows, if it is shorter than Linux's own."""
    if ms >= 200:
        return []
    if ms > LINUX_ACK_DELAY_MS:
        needs = "needs receivers that delay ACKs by less."
    else:
        needs = (
            "is too short for Linux receivers, unless TCP_BPF_DELACK_MAX makes their delay shorter."
        )
    receivers = "Echoes are answered immediately, but receivers delay ACKs"
    if formats == {_CAPTURE_OF_TCP}:
        receivers = (
            "These samples contain the delays of the captured ACKs. Other receivers may delay ACKs "
            "for longer"
        )
    elif any(name == _CAPTURE_OF_TCP or "qlog" in name for name in formats):
        receivers = "Receivers of TCP delay ACKs"
    return [
        f"{receivers}: Linux by {LINUX_ACK_DELAY_MS} ms, other systems by up to 200 ms. An rto_min "
        f"of {ms} ms {needs}"
    ]


def _not_settable(exact_ms: Fraction, ms: int) -> list[str]:
    """Return a sentence if `exact_ms` is not a whole number; `ms` is the next whole number."""
    if exact_ms == ms:
        return []
    return [
        f"An rto_min of {number(exact_ms, 6)} ms cannot be set: `ip route` takes whole "
        f"milliseconds, and the kernel counts jiffies of at least 1 ms. {ms} ms can be set."
    ]


def _settings(ms: int) -> list[str]:
    """Return the commands that set `rto_min`, one sentence for each."""
    us = 1000 * ms
    sentences = [
        f"To set rto_min for one route, use `ip route change ROUTE rto_min {ms}ms`. For all "
        f"connections, since Linux 6.11, use `sysctl -w net.ipv4.tcp_rto_min_us={us}`."
    ]
    if _BPF_FLOORS_S[0] <= us / 10**6 <= _BPF_FLOORS_S[1]:
        sentences.append(f"In a BPF program, use bpf_setsockopt TCP_BPF_RTO_MIN, {us} µs.")
    return sentences


def quic_words(text: str) -> list[str]:
    """Return sentences on how to set a `quic` timer in a QUIC stack.

    They name each constant that differs from RFC 9002, and the end of the connection that sets it.
    """
    both = [dict(_core.Estimator(name).settings) for name in (text, "quic")]
    settings, standard = both
    differing = [key for key in settings if settings[key] != standard[key]]
    delay = settings["max_ack_delay"]
    computed = "stacks compute exactly this probe timeout (RFC 9002 §6.2)."
    if not differing:
        return [
            f"{computed} There is nothing to set: its constants come from RFC 9002, and the "
            f"receiver announces max_ack_delay, here {delay} (RFC 9000 §18.2)."
        ]
    if differing != ["max_ack_delay"]:
        listing = listed([f"{key}={settings[key]}" for key in differing])
        computed = (
            "stacks compute this probe timeout (RFC 9002 §6.2) with the RFC's constants. This "
            f"timer has {listing}."
        )
    sentences = [computed]
    for key in differing:
        standing = standard[key]
        sentences += [
            sentence.format(value=settings[key], standard=standing) for sentence in _IN_QUIC[key]
        ]
    if "max_ack_delay" in differing:
        ms, usual = (Fraction(_core.quantity(t["max_ack_delay"])[1], 10**6) for t in both)
        if ms > usual:
            sentences.append("But the sender may add the difference to its timer as a margin.")
        if ms.denominator > 1 or ms > ACK_DELAY_MAX_MS:
            sentences.append(
                f"The receiver announces whole milliseconds, {ACK_DELAY_MAX_MS:,} at most: {delay} "
                f"cannot be set, but {min(math.ceil(ms), ACK_DELAY_MAX_MS)}ms can be set."
            )
    return sentences


#: How to set each constant of `quic`, if it differs from RFC 9002.
_IN_QUIC = {
    "initial_rtt": [
        "Set the sender's initial round trip (kInitialRtt, RFC 9002 §6.2.2) to {value}, not "
        "{standard}; it counts only until the first sample."
    ],
    "granularity": [
        "Set the sender's granularity (kGranularity, RFC 9002 §6.1.2) to {value}, not {standard}: "
        "the timer is then at least srtt + {value} + max_ack_delay. If the stack has no such "
        "setting, add this margin in its code."
    ],
    "max_ack_delay": [
        "max_ack_delay is {value} here, not {standard}. The receiver announces it (RFC 9000 "
        "§18.2); the sender cannot set it."
    ],
    "max": ["Set the maximum of the sender's probe timeout to {value}; RFC 9002 has no maximum."],
}
