"""Constants computed from recordings. Choices are learnt on a part and judged on the rest."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from netspurt import _core
from netspurt.advice.deploying import (
    LONGEST,
    LONGEST_DELAY_MS,
    lacking,
    span,
    whole_ms,
    with_settings,
)
from netspurt.advice.weighing import Terms, cost, prudent
from netspurt.analysis.bootstrap import Floats
from netspurt.analysis.replayed import Tally, learnt

if TYPE_CHECKING:
    from netspurt.advice.price import Price
    from netspurt.timers import Replay

#: How many least timers are tried, in equal ratios from the shortest delay to above the longest.
_FLOORS = 24
#: Multiples of rttvar and of the estimate that are tried.
_K = ("1", "2", "3", "4", "6", "8", "12", "16", "24", "32", "64")
_G = ("1.25", "1.5", "2", "2.5", "3", "4", "6", "8", "12", "16", "32")
#: A part with fewer answers teaches nothing.
FEWEST = 25


@dataclass(frozen=True)
class _Part:
    """Probes of a recording, from `first` on and before `end`."""

    place: int
    first: int
    end: int


class Lessons:
    """Recordings in parts: the halves of a single one, or each of several.

    Parameters
    ----------
    replays
        The recordings, with order and clock.
    price
        The price.
    """

    def __init__(self, replays: Sequence[Replay], price: Price) -> None:
        self.replays, self.price = replays, price
        self.parts = _parts(replays)
        whole = [Terms.of(of, price) for of in replays]
        self.terms = [_on(part, whole[part.place], replays[part.place]) for part in self.parts]
        self._tallies: dict[str, list[Tally]] = {}

    def everything(self) -> list[int]:
        """Return the numbers of all parts."""
        return [*range(len(self.parts))]

    def delays(self, place: int) -> Floats:
        """Return the delays of a part [s]; NaN if lost."""
        part = self.parts[place]
        return self.replays[part.place].delays.rtt_s[part.first : part.end]

    def prudent(self, text: str, places: Sequence[int]) -> float:
        """Return the upper limit of the cost per probe [s] on some parts, as the counts allow."""
        return prudent(*self._of(text, places))

    def cost(self, text: str, places: Sequence[int]) -> float:
        """Return the cost per probe [s] on some parts."""
        return float(cost(*self._of(text, places))[0])

    def best(self, texts: Iterable[str], places: Sequence[int]) -> str:
        """Return the text with the least cost at worst; of equal ones the first."""
        return min(texts, key=lambda text: self.prudent(text, places))

    def _of(self, text: str, places: Sequence[int]) -> tuple[list[Tally], list[Terms]]:
        if text not in self._tallies:
            self._tallies[text] = self._replayed(text)
        return [self._tallies[text][n] for n in places], [self.terms[n] for n in places]

    def _replayed(self, text: str) -> list[Tally]:
        found, waits, place = [], np.empty(0), -1
        for part in self.parts:
            of = self.replays[part.place]
            if part.place != place:
                there = [one.waits for one in of.algorithms if one.estimator == text]
                waits, place = there[0] if there else of.waits_of(text), part.place
            found.append(Tally.between(of.delays, waits, of.order, part.first, part.end))
        return found


def _on(part: _Part, terms: Terms, of: Replay) -> Terms:
    """Return the terms of a part: those of its recording, with its own probes."""
    here = slice(part.first, part.end)
    counted = ~np.isnan(of.delays.rtt_s[here]) | learnt(of.delays, of.order)[here]
    return replace(terms, probes=float(counted.sum()))


def _parts(replays: Sequence[Replay]) -> list[_Part]:
    """Return the parts to learn on and to judge on: one if there is too little for two."""
    whole = [_Part(place, 0, len(of.delays)) for place, of in enumerate(replays)]
    if len(replays) > 1:
        return whole
    middle = len(replays[0].delays) // 2
    halves = [_Part(0, 0, middle), _Part(0, middle, len(replays[0].delays))]
    answered = ~np.isnan(replays[0].delays.rtt_s)
    enough = all(answered[half.first : half.end].sum() >= FEWEST for half in halves)
    return halves if enough else whole


def floors(
    lessons: Lessons, places: Sequence[int], word: Callable[[float], str] = span
) -> list[str]:
    """Return least timers to try: from above the longest delay of some parts to half the shortest.

    Other parts are ignored, because the result must not depend on them. `word` makes a value of a
    time [s].
    """
    rtt = np.concatenate([lessons.delays(place) for place in places])
    known = rtt[np.isfinite(rtt) & (rtt > 0)]
    if not len(known):
        return ["1s"]
    low = min(max(float(known.min()) / 2, 1e-6), 30.0)
    high = min(max(1.2 * float(known.max()), 2 * low), float(LONGEST.rstrip("s")))
    return list(dict.fromkeys(word(float(x)) for x in np.geomspace(high, low, _FLOORS)))


Search = Callable[[Lessons, Sequence[int]], str]
Learn = Callable[[Lessons, Sequence[int]], list[str]]


def linux_floor(lessons: Lessons, places: Sequence[int]) -> str:
    """Return Linux's timer with the `rto_min` that costs least at worst on some parts."""
    least = floors(lessons, places, whole_ms)
    tried = ["linux", *(f"linux:rto_min={one}" for one in least)]
    return lessons.best(map(_named, tried), places)


def completed(lessons: Lessons, places: Sequence[int], text: str) -> str:
    """Return a timer with bounds and backoff, with the least timer that costs least at worst."""
    tried = [with_settings(text, **lacking(text, least)) for least in floors(lessons, places)]
    return lessons.best(tried, places)


def rfc6298_constants(lessons: Lessons, places: Sequence[int]) -> str:
    """Return RFC 6298's timer with the minimum and K that cost least at worst on some parts."""
    best = "rfc6298"
    for _ in range(2):
        best = lessons.best(
            [best, *(with_settings(best, min=least) for least in floors(lessons, places))], places
        )
        best = lessons.best([best, *(with_settings(best, k=k) for k in _K)], places)
    return best


def mills_constants(lessons: Lessons, places: Sequence[int]) -> str:
    """Return RFC 889's timer with bounds, backoff, and the least timer and G that cost least."""
    best = completed(lessons, places, "mills")
    best = lessons.best([best, *(with_settings(best, g=g) for g in _G)], places)
    return lessons.best(
        [best, *(with_settings(best, min=least) for least in floors(lessons, places))], places
    )


def quic_delay(lessons: Lessons, places: Sequence[int]) -> str:
    """Return QUIC's timer with the `max_ack_delay` that costs least at worst on some parts."""

    def announced(seconds: float) -> str:
        return whole_ms(min(seconds, LONGEST_DELAY_MS / 1000))

    least = floors(lessons, places, announced)
    tried = ["quic", *(f"quic:max_ack_delay={one}" for one in least)]
    return lessons.best(map(_named, tried), places)


def _named(text: str) -> str:
    return str(_core.Estimator(text))


#: The algorithms whose constants are computed.
SEARCHES: tuple[Search, ...] = (linux_floor, rfc6298_constants, mills_constants, quic_delay)


def constants(lessons: Lessons, places: Sequence[int]) -> list[str]:
    """Return each algorithm with the constants that cost least at worst on some parts."""
    return [search(lessons, places) for search in SEARCHES]


@dataclass(frozen=True)
class Judged:
    """A choice learnt on all parts but one, and judged on that one.

    Attributes
    ----------
    part
        The number of the part it was judged on.
    choice
        The estimator that cost least at worst on the other parts.
    cost, least
        The cost of the choice and the least of any candidate there, per probe [s].
    best
        The candidate with the least one.
    """

    part: int
    choice: str
    cost: float
    least: float
    best: str


def judged(lessons: Lessons, candidates: Sequence[str], learn: Learn | None = None) -> list[Judged]:
    """Return, for each part, the timer chosen on all other parts, and what it costs on this part.

    There is nothing without candidates.

    Parameters
    ----------
    lessons
        The recordings.
    candidates
        Estimators to choose from.
    learn
        A search whose results join the candidates: it is repeated without the part to be judged.
    """
    places, found = lessons.everything(), []
    if len(places) < 2:
        return []
    for place in places:
        rest = [other for other in places if other != place]
        texts = [*candidates, *(learn(lessons, rest) if learn else [])]
        if not texts:
            return []
        choice = lessons.best(texts, rest)
        costs = {text: lessons.cost(text, [place]) for text in texts}
        if not all(map(math.isfinite, costs.values())):
            continue
        best = min(costs, key=costs.__getitem__)
        found.append(Judged(place, choice, costs[choice], costs[best], best))
    return found
