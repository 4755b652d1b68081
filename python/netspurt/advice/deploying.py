"""What a timer lacks before it may be deployed, and how Linux and QUIC stacks are configured."""

from __future__ import annotations

import math
from fractions import Fraction

from netspurt import _core
from netspurt.estimators import EstimatorError, estimator
from netspurt.grids import number

#: RFC 6298 §2.5 allows a maximum of at least this.
LONGEST = "60s"
#: The least and greatest floor that BPF may set [s]: two jiffies at 250 Hz, and Linux's own.
_BPF = (0.008, 0.2)
#: Below this [s] a jiffy of 4 ms changes rto_min by more than a fifth.
_COARSE = 0.02
#: The greatest `max_ack_delay` [ms] (RFC 9000 §18.2).
LONGEST_DELAY_MS = 2**14 - 1


def shortcomings(text: str) -> list[str]:
    """Return what a timer lacks: backoff, a least or a greatest timer.

    QUIC's timer has a least one by `max_ack_delay`, and connections end at their idle timeout. The
    bounds of a Python estimator count if it has the attribute `bounds`.

    Examples
    --------
    >>> shortcomings("mills"), shortcomings("linux"), shortcomings("rfc6298:min=0s")
    (['backoff', 'a least timer', 'a greatest timer'], [], ['a least timer'])
    """
    try:
        made = estimator(text)
    except EstimatorError:
        return []  # An object from Python, which its text does not make again.
    lacks = []
    for at in range(3):
        made.on_sample(_core.Sample(0.1, at=float(at)))
    before = made.rto()
    made.on_timeout(4.0)
    if not made.rto() > 1.2 * before:
        lacks.append("backoff")
    low, high = getattr(made, "bounds", None) or (1.0, 1.0)
    if getattr(made, "algorithm", None) in ("quic", "fixed"):
        low = high = 1.0
    if low == 0:
        lacks.append("a least timer")
    if math.isinf(high):
        lacks.append("a greatest timer")
    return lacks


def with_settings(text: str, **settings: str) -> str:
    """Return the text of an algorithm of the core with further constants.

    Examples
    --------
    >>> with_settings("mills:g=3", karn="true", min="40ms")
    'mills:g=3,min=40ms,karn=true'
    """
    name, _, given = text.partition(":")
    pairs = dict(one.split("=", 1) for one in given.split(",")) if given else {}
    settled = ",".join(f"{key}={value}" for key, value in {**pairs, **settings}.items())
    return str(_core.Estimator(f"{name}:{settled}"))


def can_be_completed(text: str) -> bool:
    """Return whether the timer's own keys can supply the missing parts.

    Examples
    --------
    >>> can_be_completed("mills"), can_be_completed("cocoa")
    (True, False)
    """
    settings = lacking(text, "1s")
    return bool(settings) and not shortcomings(with_settings(text, **settings))


def lacking(text: str, least: str) -> dict[str, str]:
    """Return settings for what a timer of the core lacks, with this least timer.

    Examples
    --------
    >>> lacking("mills", "30ms")
    {'karn': 'true', 'min': '30ms', 'max': '60s'}
    >>> lacking("rfc6298", "30ms"), lacking("rfc6298:min=0s", "30ms")
    ({}, {'min': '30ms'})
    """
    if text.partition(":")[0] not in _core.ALGORITHMS:
        return {}
    keys, lacks = dict(_core.Estimator(text).settings), shortcomings(text)
    found: dict[str, str] = {}
    if "backoff" in lacks:
        found |= {"karn": "true"} if "karn" in keys else {"max": LONGEST}
    if "a least timer" in lacks:
        found["min"] = least
    if "a greatest timer" in lacks:
        found["max"] = LONGEST
    return {key: value for key, value in found.items() if key in keys}


def span(seconds: float) -> str:
    """Return a time as the value of a key, with two digits.

    Examples
    --------
    >>> span(0.0372), span(1.24), span(0.00041)
    ('37ms', '1.2s', '0.41ms')
    """
    digits = 1 - math.floor(math.log10(seconds))
    rounded = round(Fraction(seconds), digits)
    return f"{number(rounded)}s" if rounded >= 1 else f"{number(rounded * 1000, 6)}ms"


def whole_ms(seconds: float) -> str:
    """Return a time in whole milliseconds, at least one, as the value of a key; longer if rounded.

    Both `rto_min` of `ip route` and `max_ack_delay` of QUIC are whole milliseconds.

    Examples
    --------
    >>> whole_ms(0.0372), whole_ms(0.0011), whole_ms(0.00041)
    ('37ms', '2ms', '1ms')
    """
    # Two digits of ten milliseconds or more have no decimals.
    return span(seconds) if seconds >= 0.01 else f"{max(1, math.ceil(seconds * 1000))}ms"


def floor_of(text: str) -> float:
    """Return Linux's `rto_min` of a `linux` timer [s].

    Examples
    --------
    >>> floor_of("linux:rto_min=30ms"), floor_of("linux")
    (0.03, 0.2)
    """
    made = _core.Estimator(text)
    return float(made.bounds[0])


def linux_commands(floor_s: float) -> list[str]:
    """Return sentences on how to set Linux's minimum variation.

    A time that Linux cannot keep is replaced by the next longer one, and the sentences say so.
    """
    if abs(floor_s - 0.2) < 1e-9:
        return ["200 ms is Linux's own rto_min, so this needs no setting."]
    exact_ms = Fraction(floor_s).limit_denominator(10**9) * 1000
    ms = max(1, math.ceil(exact_ms))
    said = [*_not_settable(exact_ms, ms), *_condition(ms), *_settings(ms)]
    if ms < 1000 * _COARSE:
        said.append(
            "Linux rounds rto_min up to whole jiffies: 1 ms at 1000 Hz, 4 ms at 250 Hz (CONFIG_HZ)."
        )
    said.append(
        "Linux adds rto_min to srtt: the timer is srtt + rttvar, and rttvar is at least rto_min."
    )
    return said


def _condition(ms: int) -> list[str]:
    if ms >= 200:
        return []
    return [
        "Echoes are answered at once, but receivers delay ACKs: Linux by 40 ms, others by up to "
        f"200 ms. An rto_min of {ms} ms needs receivers that delay them by less. At Linux "
        "receivers TCP_BPF_DELACK_MAX lowers the delay."
    ]


def _not_settable(exact_ms: Fraction, ms: int) -> list[str]:
    if exact_ms == ms:
        return []
    return [
        f"An rto_min of {number(exact_ms, 6)} ms cannot be set: `ip route` takes whole "
        f"milliseconds, and the kernel counts jiffies of at least 1 ms. {ms} ms can be set."
    ]


def _settings(ms: int) -> list[str]:
    """Return the commands that set `rto_min`, a sentence each."""
    us = 1000 * ms
    said = [
        f"By route: `ip route change ROUTE rto_min {ms}ms`. For all connections, since "
        f"Linux 6.11: `sysctl -w net.ipv4.tcp_rto_min_us={us}`."
    ]
    if _BPF[0] <= us / 10**6 <= _BPF[1]:
        said.append(f"From a BPF program: bpf_setsockopt TCP_BPF_RTO_MIN, {us} µs.")
    return said


def quic_words(text: str) -> list[str]:
    """Return sentences on how to set a `quic` timer in a QUIC stack."""
    delay = dict(_core.Estimator(text).settings)["max_ack_delay"]
    said = [
        "stacks compute this probe timeout as it is (RFC 9002 §6.2). Its one constant is "
        f"max_ack_delay, here {delay}, which the receiver announces (RFC 9000 §18.2)."
    ]
    ms = Fraction(_core.quantity(delay)[1], 10**6)
    if ms.denominator > 1 or ms > LONGEST_DELAY_MS:
        said.append(
            f"It announces whole milliseconds, {LONGEST_DELAY_MS:,} at most: {delay} cannot be "
            f"set, {min(math.ceil(ms), LONGEST_DELAY_MS)}ms can."
        )
    return said
