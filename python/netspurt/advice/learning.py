"""Computes constants of timers from recordings, and tests each choice on a part that was left out.

The cost of a timer is its waits for losses, plus a price for each spurious retransmission.
A replay applies retransmission timers to a recording, which has the measured delays of probes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from netspurt import _core
from netspurt.advice.deploying import (
    ACK_DELAY_MAX_MS,
    RTO_MAX,
    lacking,
    span,
    whole_ms,
    with_settings,
)
from netspurt.advice.weighing import Terms, cost, prudent, squared_distances
from netspurt.analysis.bootstrap import Floats
from netspurt.analysis.replayed import ReplaySums, learnt, learnt_from

if TYPE_CHECKING:
    from netspurt.advice.price import Price
    from netspurt.timers import Replay

#: The number of minimum RTOs that `floors` returns. Each of them is a constant factor shorter than
#: the one before it. If rounding makes some of the minimum RTOs equal, `floors` returns fewer.
_FLOORS = 24

#: The values of RFC 6298's K that are tried.
_K = ("1", "2", "3", "4", "6", "8", "12", "16", "24", "32", "64")
#: The values of RFC 889's G that are tried.
_G = ("1.25", "1.5", "2", "2.5", "3", "4", "6", "8", "12", "16", "32")

#: The minimum number of answers in each half of a recording. A recording with fewer answers in a
#: half is not divided.
ANSWERS_PER_HALF_MIN = 25


@dataclass(frozen=True)
class _Part:
    """A part of a recording: the index of the recording, and the range of its probes."""

    place: int
    first: int
    end: int


class Lessons:
    """Recordings in parts: both halves of a single recording, or each of several recordings.

    A single recording with few answers is one part.

    Parameters
    ----------
    replays
        The replays of the recordings.
    price
        The price of a spurious retransmission, and the share of losses.
    """

    def __init__(self, replays: Sequence[Replay], price: Price) -> None:
        self.replays, self.price = replays, price
        self.parts = _parts(replays)
        terms = [Terms.of(replay, price) for replay in replays]
        self.terms = [
            _terms_of(part, terms[part.place], replays[part.place]) for part in self.parts
        ]
        self._learnt_from = [learnt_from(replay.delays, replay.order) for replay in replays]
        self._sums: dict[str, list[ReplaySums]] = {}

    def everything(self) -> list[int]:
        """Return the numbers of all parts."""
        return [*range(len(self.parts))]

    def delays(self, place: int) -> Floats:
        """Return the delays of a part [s], or NaN if lost."""
        part = self.parts[place]
        return self.replays[part.place].delays.rtt_s[part.first : part.end]

    def prudent(self, text: str, places: Sequence[int]) -> float:
        """Return the upper limit of the cost per probe [s] on some parts.

        The limit follows from the numbers of spurious retransmissions on these parts.
        """
        return prudent(*self._sums_and_terms(text, places))

    def cost(self, text: str, places: Sequence[int]) -> float:
        """Return the cost per probe [s] on some parts."""
        return float(cost(*self._sums_and_terms(text, places))[0])

    def is_worse(self, text: str, other: str, place: int) -> bool:
        """Return whether a timer costs measurably more on a part than another timer.

        The difference is measurable if chance in the counts of spurious retransmissions cannot
        explain it.
        """
        (sums,), terms = self._sums_and_terms(text, [place])
        (other_sums,), _ = self._sums_and_terms(other, [place])
        below = squared_distances([sums], terms)[0]
        above = squared_distances([other_sums], terms)[1]
        more = float(cost([sums], terms)[0] - cost([other_sums], terms)[0])
        return more > math.sqrt(below + above)

    def best(self, texts: Iterable[str], places: Sequence[int]) -> str:
        """Return the text with the smallest cost by `prudent`; the first of several such texts."""
        return min(texts, key=lambda text: self.prudent(text, places))

    def _sums_and_terms(
        self, text: str, places: Sequence[int]
    ) -> tuple[list[ReplaySums], list[Terms]]:
        if text not in self._sums:
            self._sums[text] = self._replayed(text)
        return [self._sums[text][n] for n in places], [self.terms[n] for n in places]

    def _replayed(self, text: str) -> list[ReplaySums]:
        places = {part.place for part in self.parts}
        found = {place: self.replays[place].replayed(text) for place in places}
        return [
            ReplaySums.between(
                found[part.place], self._learnt_from[part.place], part.first, part.end
            )
            for part in self.parts
        ]


def _terms_of(part: _Part, terms: Terms, replay: Replay) -> Terms:
    """Return the values with which timers are compared on a part (`Terms`).

    They are the values of the part's recording, but with the part's number of probes.
    """
    probes = slice(part.first, part.end)
    counted = ~np.isnan(replay.delays.rtt_s[probes]) | learnt(replay.delays, replay.order)[probes]
    return replace(terms, probes=float(counted.sum()))


def _parts(replays: Sequence[Replay]) -> list[_Part]:
    """Return the parts for learning and for judging. A short recording is a single part."""
    whole = [_Part(place, 0, len(replay.delays)) for place, replay in enumerate(replays)]
    if len(replays) > 1:
        return whole
    middle = len(replays[0].delays) // 2
    halves = [_Part(0, 0, middle), _Part(0, middle, len(replays[0].delays))]
    answered = ~np.isnan(replays[0].delays.rtt_s)
    enough = all(answered[half.first : half.end].sum() >= ANSWERS_PER_HALF_MIN for half in halves)
    return halves if enough else whole


def floors(
    lessons: Lessons, places: Sequence[int], word: Callable[[float], str] = span
) -> list[str]:
    """Return minimum RTOs to try, computed from the delays of some parts.

    The largest is above the longest delay, unless `RTO_MAX` is shorter. The smallest is half of the
    shortest delay, but not below 1 µs and not above 30 s. Parts whose number is not in `places` are
    ignored, because the result must not depend on them. `word` is a function that returns a time
    [s] in the form of a timer's constant. It may round the time or limit it.
    """
    rtt = np.concatenate([lessons.delays(place) for place in places])
    known = rtt[np.isfinite(rtt) & (rtt > 0)]
    if not len(known):
        return ["1s"]
    low = min(max(float(known.min()) / 2, 1e-6), 30.0)
    high = min(max(1.2 * float(known.max()), 2 * low), float(RTO_MAX.rstrip("s")))
    return list(dict.fromkeys(word(float(x)) for x in np.geomspace(high, low, _FLOORS)))


#: A function that returns an algorithm with the constants that are best on some parts.
Search = Callable[[Lessons, Sequence[int]], str]
#: A function that returns several algorithms with constants computed from some parts.
Learn = Callable[[Lessons, Sequence[int]], list[str]]


def linux_floor(lessons: Lessons, places: Sequence[int]) -> str:
    """Return Linux's timer with the best `rto_min` on some parts, by `Lessons.best`."""
    floors_tried = floors(lessons, places, whole_ms)
    texts = ["linux", *(f"linux:rto_min={floor}" for floor in floors_tried)]
    return lessons.best(map(_normal_form, texts), places)


def completed(lessons: Lessons, places: Sequence[int], text: str) -> str:
    """Return a timer completed with the bounds (minimum and maximum) and the backoff that it lacks.

    If it lacks a minimum RTO, it gets the minimum that is best on the parts with the numbers
    `places`.
    """
    texts = [with_settings(text, **lacking(text, floor)) for floor in floors(lessons, places)]
    return lessons.best(texts, places)


def rfc6298_constants(lessons: Lessons, places: Sequence[int]) -> str:
    """Return RFC 6298's timer with the best minimum and K on some parts."""
    best = "rfc6298"
    for _ in range(2):
        best = lessons.best(
            [best, *(with_settings(best, min=floor) for floor in floors(lessons, places))], places
        )
        best = lessons.best([best, *(with_settings(best, k=k) for k in _K)], places)
    return best


def mills_constants(lessons: Lessons, places: Sequence[int]) -> str:
    """Return RFC 889's timer with bounds and backoff, and with the best minimum RTO and G."""
    best = completed(lessons, places, "mills")
    best = lessons.best([best, *(with_settings(best, g=g) for g in _G)], places)
    return lessons.best(
        [best, *(with_settings(best, min=floor) for floor in floors(lessons, places))], places
    )


def quic_delay(lessons: Lessons, places: Sequence[int]) -> str:
    """Return QUIC's timer with the best `max_ack_delay` on some parts."""

    def announced(seconds: float) -> str:
        return whole_ms(min(seconds, ACK_DELAY_MAX_MS / 1000))

    texts = ["quic", *(f"quic:max_ack_delay={ms}" for ms in floors(lessons, places, announced))]
    return lessons.best(map(_normal_form, texts), places)


def _normal_form(text: str) -> str:
    """Return the text of a timer as the Rust core writes it."""
    return str(_core.Estimator(text))


#: The searches for constants, one for each algorithm whose constants are computed.
SEARCHES: tuple[Search, ...] = (linux_floor, rfc6298_constants, mills_constants, quic_delay)


def constants(lessons: Lessons, places: Sequence[int]) -> list[str]:
    """Return each algorithm with its best constants on some parts."""
    return [search(lessons, places) for search in SEARCHES]


@dataclass(frozen=True)
class Judged:
    """A choice from all parts except one, judged on the part that was left out.

    Attributes
    ----------
    part
        The number of the part on which the choice was judged, from 0.
    choice
        The best estimator on the other parts, by `Lessons.best`.
    cost, least
        The cost of the choice on the part, and the minimum cost of any candidate, per probe [s].
    best
        The candidate with the minimum cost.
    """

    part: int
    choice: str
    cost: float
    least: float
    best: str


def judged(lessons: Lessons, candidates: Sequence[str], learn: Learn | None = None) -> list[Judged]:
    """Return, for each part, the timer chosen on all other parts, and its cost on this part.

    The result is empty if there are no candidates or fewer than two parts. A part is left out if
    the cost of a candidate on it is not finite.

    Parameters
    ----------
    lessons
        The recordings.
    candidates
        Estimators to choose from.
    learn
        A search that adds candidates. The search is repeated for each part, on all other parts.
    """
    places, judgements = lessons.everything(), []
    if len(places) < 2:
        return []
    for place in places:
        others = [other for other in places if other != place]
        texts = [*candidates, *(learn(lessons, others) if learn else [])]
        if not texts:
            return []
        choice = lessons.best(texts, others)
        costs = {text: lessons.cost(text, [place]) for text in texts}
        if not all(map(math.isfinite, costs.values())):
            continue
        best = min(costs, key=costs.__getitem__)
        judgements.append(Judged(place, choice, costs[choice], costs[best], best))
    return judgements
