"""Estimators of the retransmission timer, by name or written in Python, and their contract.

The contract has the rules that each estimator must keep.

An estimator is any object with ``on_sample(sample)``, ``on_timeout(now)`` and ``rto()``. Times are
in seconds. A text names an estimator in one of three ways. It is the name of an estimator of the
Rust core. Or it is the place of a class in Python, ``"module:Class"`` or ``"file.py:Class"``, with
constants after another colon. Or it is the name of an entry point in the group
``netspurt.estimators``.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterable
from typing import Any, Protocol, cast

import numpy as np

from netspurt import _core
from netspurt._core import Estimator, EstimatorError, Sample
from netspurt.algorithms import PlaceError, find
from netspurt.contract import Check, CheckError, check
from netspurt.grids import is_of_core

__all__ = [
    "Check",
    "CheckError",
    "Estimator",
    "EstimatorError",
    "EstimatorLike",
    "Sample",
    "check_estimator",
    "estimator",
]


class EstimatorLike(Protocol):
    """The methods of an estimator."""

    def on_sample(self, sample: Sample, /) -> object:
        """Take a round-trip sample, or ignore it."""

    def on_timeout(self, now: float, /) -> object:
        """Note that the timer fired; `now` is the instant in seconds."""

    def rto(self) -> float:
        """Return the RTO [s] of a timer that is armed now."""


def estimator(text: str) -> EstimatorLike:
    """Make an estimator without samples.

    Parameters
    ----------
    text
        One of three kinds of text. An algorithm of the core with its constants, such as
        ``"linux:rto_min=50ms"``. The place of a class in Python, ``"package.module:Class"`` or
        ``"path/to/file.py:Class"``, with keyword arguments as in ``"file.py:Class:k=3,floor=0.2"``.
        The name under which an installed package offers an estimator. Save the text to make the
        same estimator again.

    Returns
    -------
    EstimatorLike
        An `Estimator`, or an instance of the class.

    Raises
    ------
    EstimatorError
        If there is no such algorithm, key, file, module or class, or a key cannot have its value.

    Examples
    --------
    >>> timer = estimator("linux:rto_min=50ms")
    >>> timer.on_sample(0.03)
    >>> timer.rto()
    0.09
    >>> estimator("linux:rto_mn=50ms")
    Traceback (most recent call last):
        ...
    netspurt.EstimatorError: linux: no key `rto_mn`: did you mean `rto_min`?
    """
    if is_of_core(text):
        return Estimator(text)
    try:
        found = find("timer", text)
    except PlaceError as error:
        raise _estimator_error(text, error.message, error.fix) from error
    if found is None:
        return Estimator(text)  # The core's error explains a text that names no estimator.
    made = cast("EstimatorLike", found.make())
    _remember(made, text)
    return made


#: The texts from which estimators in Python were made, by the ids of the objects. An entry is
#: deleted together with its object.
_made_from: dict[int, tuple[weakref.ref[EstimatorLike], str]] = {}


def _remember(made: EstimatorLike, text: str) -> None:
    key = id(made)
    try:
        reference = weakref.ref(made, lambda _: _made_from.pop(key, None))
    except TypeError:
        return  # A class with `__slots__` may forbid weak references. Its objects have no text.
    _made_from[key] = (reference, text)


def name_of(given: str | EstimatorLike | type) -> str:
    """Return the name of an estimator in results.

    The name of an estimator of the core is its text with only those constants that differ from the
    published constants. The name of an estimator in Python is the text from which it was made, or
    else the name of its class.

    Examples
    --------
    >>> name_of("mills:g=2"), name_of("linux:rto_min=50 ms"), name_of(Estimator("quic"))
    ('mills', 'linux:rto_min=50ms', 'quic')
    """
    if isinstance(given, str):
        made = estimator(given)
        return str(made) if isinstance(made, Estimator) else given
    if isinstance(given, type):
        return given.__name__
    if isinstance(given, Estimator):
        return str(given)
    reference, text = _made_from.get(id(given), (None, ""))
    return text if reference is not None and reference() is given else type(given).__name__


def by_name(
    estimators: Iterable[str | EstimatorLike | type],
) -> dict[str, str | EstimatorLike | type]:
    """Return estimators by their names in results, each estimator once.

    The first estimator with a name keeps this name. Each further object or class with the same name
    gets `#2`, `#3` and so on after the name.
    """
    named: dict[str, str | EstimatorLike | type] = {}
    for estimator in estimators:
        name, number = name_of(estimator), 1
        same = [other for other in named.values() if name_of(other) == name]
        if isinstance(estimator, str | Estimator):
            known = any(isinstance(other, str | Estimator) for other in same)
        else:
            known = any(estimator is other for other in same)
        if known:
            continue
        free = name
        while free in named:
            number += 1
            free = f"{name}#{number}"
        named[free] = estimator
    return named


def _estimator_error(text: str, message: str, fix: str) -> EstimatorError:
    error = EstimatorError(f"{message}: {fix}")
    error.algorithm, error.key, error.value = text, "", ""
    error.message, error.fix = message, fix
    return error


Maker = Callable[[], EstimatorLike]


def check_estimator(subject: str | Callable[[], EstimatorLike]) -> Check:
    """Check whether an estimator keeps the contract of all estimators.

    Parameters
    ----------
    subject
        A text as for `estimator`, or a class that can be made without arguments.

    Returns
    -------
    Check
        The rules that the estimator keeps and breaks. Print the check, or call its
        `raise_if_failed`.

    Examples
    --------
    >>> check_estimator("rfc6298:min=200ms").ok
    True
    """
    make = (lambda: estimator(subject)) if isinstance(subject, str) else subject
    return check(subject, make, _RULES)


#: The marker of a timeout in the sequences of round trips that `check_estimator` uses.
_TIMEOUT = math.nan


def _walk(seed: int, count: int = 400) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return random round trips [s], with the marker of a timeout in place of some of them."""
    rng = np.random.default_rng(seed)
    exponents = np.cumsum(rng.normal(0, 0.2, count)).clip(-4, 4)
    steps: np.ndarray[Any, np.dtype[np.float64]] = 0.1 * np.exp(exponents)
    steps[rng.random(count) < 0.1] = _TIMEOUT
    return steps


def _has_its_methods(make: Maker) -> str | None:
    made = make()
    missing = [
        m for m in ("on_sample", "on_timeout", "rto") if not callable(getattr(made, m, None))
    ]
    return f"it has no {', '.join(missing)}" if missing else None


def _unlike_a_timer(timers: np.ndarray[Any, np.dtype[np.float64]]) -> str | None:
    wrong = np.flatnonzero(~(np.isfinite(timers) & (timers > 0)))
    return f"timer number {wrong[0] + 1} is {timers[wrong[0]]} s" if wrong.size else None


def _starts_with_a_timer(make: Maker) -> str | None:
    return _unlike_a_timer(np.array([make().rto()], dtype=float))


def _keeps_a_timer(make: Maker) -> str | None:
    return _unlike_a_timer(_core.drive(make(), _walk(1)))


def _survives_extremes(make: Maker) -> str | None:
    day = 86_400.0
    steps = [day, 1e-6, 1e-6, day, _TIMEOUT, 1e-6, *[_TIMEOUT] * 40, 1e-6, day, *[_TIMEOUT] * 40]
    return _unlike_a_timer(_core.drive(make(), np.array(steps)))


def _never_falls_on_a_timeout(make: Maker) -> str | None:
    for samples in (np.array([]), _walk(2)):
        timer = make()
        _core.drive(timer, samples)
        timers = np.concatenate([[timer.rto()], _core.drive(timer, np.full(20, _TIMEOUT))])
        (fell,) = np.nonzero(np.diff(timers) < 0)
        if fell.size:
            change = f"from {timers[fell[0]]} s to {timers[fell[0] + 1]} s"
            return f"a timeout changed the timer {change}"
    return None


def _differs(first: np.ndarray[Any, Any], second: np.ndarray[Any, Any]) -> str | None:
    (at,) = np.nonzero(first != second)
    if not at.size:
        return None
    step = at[0]
    return f"at step {step + 1}, rto is {first[step]} s in one run and {second[step]} s in another"


def _answers_the_same(make: Maker) -> str | None:
    return _differs(_core.drive(make(), _walk(3)), _core.drive(make(), _walk(3)))


def _stands_alone(make: Maker) -> str | None:
    alone = _core.drive(make(), _walk(4))
    first, second = make(), make()
    _core.drive(second, _walk(5))
    return _differs(alone, _core.drive(first, _walk(4)))


def _repeats_its_rto(make: Maker) -> str | None:
    for steps in (0, 1, 2, 10, 100, 400):
        timer = make()
        _core.drive(timer, _walk(6)[:steps])
        first, second = timer.rto(), timer.rto()
        if first != second:
            return f"after {steps} steps, rto returned {first} s and then {second} s"
    return None


def _settles(make: Maker) -> str | None:
    timers = _core.drive(make(), np.full(3000, 0.1))[-200:]
    if np.ptp(timers) > 0.01 * timers[-1]:
        told = f"between {timers.min()} and {timers.max()} s"
        return f"after 3000 samples of 0.1 s, the timer is still {told}"
    return f"the timer is {timers[-1]} s, below all samples" if timers[-1] < 0.1 else None


def _keeps_its_bounds(make: Maker) -> str | None:
    made = make()
    low, high = getattr(made, "bounds", None) or (0.0, math.inf)
    timers = _core.drive(made, np.concatenate([_walk(7), np.full(60, _TIMEOUT)]))
    (out,) = np.nonzero((timers < low * (1 - 1e-12)) | (timers > high * (1 + 1e-12)))
    return f"a timer of {timers[out[0]]} s is not from {low} to {high} s" if out.size else None


_RULES: dict[str, Callable[[Maker], str | None]] = {
    "it has on_sample, on_timeout and rto": _has_its_methods,
    "its first timer is above zero and finite": _starts_with_a_timer,
    # This rule and the next rule are checked before the rule with round trips of a day. Such long
    # samples would hide state that instances share.
    "the same input has the same output": _answers_the_same,
    "an instance does not change another instance": _stands_alone,
    "two calls of rto in a row return the same": _repeats_its_rto,
    "its timer stays above zero and finite": _keeps_a_timer,
    "its timer stays within its bounds": _keeps_its_bounds,
    "it survives the shortest and the longest round trips": _survives_extremes,
    "no timeout shortens its timer": _never_falls_on_a_timeout,
    "with equal samples, its timer becomes constant, at or above the samples": _settles,
}
