"""The choice of a timer for recordings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from netspurt.advice.deploying import can_be_completed, shortcomings
from netspurt.advice.learning import Judged, Lessons, completed, constants, judged, linux_floor
from netspurt.advice.price import Price
from netspurt.advice.weighing import Cost, Weighing
from netspurt.advice.words import paragraphs
from netspurt.analysis.loss_share import LossShare, loss_share
from netspurt.analysis.replayed import learnt
from netspurt.quantities import known

if TYPE_CHECKING:
    from netspurt.timers import Replay

#: Above this share of spurious retransmissions a timer does not suit a path.
UNSUITABLE = 0.05
#: With fewer answers than this nothing is recommended.
ENOUGH = 50


@dataclass(frozen=True, eq=False)
class Advice:
    """Which timer to take for some recordings, and why.

    Attributes
    ----------
    replays
        The replays, with the estimators that were asked for and those that were added.
    price
        The price of a spurious retransmission.
    asked
        The estimators that were asked for.
    weighing
        The costs of all estimators; `None` if too little was answered, and so are all that follow.
    pick
        The estimator to take. Only one with bounds and backoff is taken, and none where timers back
        off over a long outage.
    least
        The one of those asked for that costs least, whether or not it may be deployed.
    alike
        Those that may be deployed, as asked for or with computed constants, and cannot be told
        apart from the cheapest of them.
    suits
        Whether one of those asked for retransmits spuriously for less than `UNSUITABLE` of the
        answers.
    tuned
        Estimators with constants computed from the recordings.
    linux
        Linux's timer with the `rto_min` computed from the recordings.
    lessons
        The choice without one half, or without one recording, and what it costs on that part.
    losses
        The share of losses after the first answer, with its interval.
    elsewhere
        What would be taken at other shares that these losses allow: a share, and an estimator. Both
        ends of the interval, and the share without the longest outage. Empty if the price has a
        share of its own, or the share is well known.
    """

    replays: list[Replay]
    price: Price
    asked: tuple[str, ...]
    weighing: Weighing | None = None
    pick: str = ""
    least: str = ""
    alike: tuple[str, ...] = ()
    suits: bool = True
    tuned: tuple[str, ...] = ()
    linux: str = ""
    lessons: tuple[Judged, ...] = ()
    losses: LossShare | None = None
    elsewhere: tuple[tuple[float, str], ...] = ()

    def cost(self, estimator: str) -> Cost:
        """Return the cost of an estimator.

        Raises
        ------
        KeyError
            If it was not weighed.
        """
        for one in self.weighing.costs if self.weighing else ():
            if one.estimator == estimator:
                return one
        raise KeyError(estimator)

    def paragraphs(self) -> list[str]:
        """Return the advice in words."""
        return paragraphs(self)

    def __str__(self) -> str:
        return "\n\n".join(self.paragraphs())

    __repr__ = __str__

    def data(self) -> dict[str, Any]:
        """Return all figures; times are in seconds, costs per probe."""
        found: dict[str, Any] = {
            "price_s": [known(self.price.of(of.delays)) for of in self.replays],
            "loss": self.price.loss,
            "loss_share": self.losses.data() if self.losses else None,
            "take_at": [{"loss": share, "take": name or None} for share, name in self.elsewhere],
            "take": self.pick or None,
            "least": self.least or None,
            "cannot_tell_apart": list(self.alike),
            "suits": self.suits,
            "linux": self.linux or None,
            "constants": list(self.tuned),
            "costs": [],
            "lessons": [vars(lesson) for lesson in self.lessons],
        }
        for one in self.weighing.costs if self.weighing else ():
            found["costs"].append(
                {
                    "estimator": one.estimator,
                    "cost_s": one.total.data(),
                    "waiting_s": known(one.waiting),
                    "spurious_s": known(one.spurious),
                    "spurious": one.count,
                    "answers": one.answers,
                    "lacks": shortcomings(one.estimator),
                }
            )
        return found


def advise(replays: Sequence[Replay], price: Price | None = None, *, tune: bool = False) -> Advice:
    """Return which timer to take for one recording or for several.

    Parameters
    ----------
    replays
        Replays of the same estimators; the advice is for all recordings together.
    price
        The price of a spurious retransmission in seconds of waiting.
    tune
        Whether to compute constants even if a timer suits.

    Raises
    ------
    ValueError
        If the estimators differ, or there is no replay.

    Examples
    --------
    >>> import netspurt as ns
    >>> path = ns.Delays.of([0.050, 0.052, 0.049, None] * 100, every=1.0)
    >>> ns.advise([ns.replay(path, ["rfc6298", "linux"])]).pick
    'linux'
    """
    price, replays = price or Price(), [*replays]
    asked = Weighing(replays, price).names
    answered = [of for of in replays if of.algorithms[0].answered]
    if sum(of.algorithms[0].answered for of in answered) < ENOUGH:
        return Advice(replays, price, asked)
    losses = loss_share([_lost(of) for of in answered])
    if losses.has_long_outage and any(of.told for of in answered):
        return Advice(replays, price, asked, Weighing(answered, price), losses=losses)
    return _advice(answered, price, asked, losses, tune=tune)


def _advice(
    answered: list[Replay], price: Price, asked: tuple[str, ...], losses: LossShare, *, tune: bool
) -> Advice:
    """Return the advice on recordings with enough answers."""
    lessons = Lessons(answered, price)
    every = lessons.everything()
    linux = linux_floor(lessons, every)
    sound = [text for text in asked if not shortcomings(text)]
    bare = [text for text in asked if text not in sound and can_be_completed(text)]
    made = [completed(lessons, every, text) for text in bare]
    extra = [*made, linux]
    weighing = Weighing([of.again(extra) for of in answered], price)
    among = _Among([*sound, *made], first=sound, beside=[linux])
    pick, alike = _choice(weighing, among)
    if pick in made:
        # Constants of Linux's timer are computed from the recording as well.
        among = _Among(list(dict.fromkeys([*sound, *made, linux])), first=sound)
        pick, alike = _choice(weighing, among)
    suits = any(_suits(weighing, text) for text in asked)
    tuned: list[str] = []
    if tune or not (suits or len(asked) < 2):
        tuned = constants(lessons, every)
        weighing = Weighing([of.again([*extra, *tuned]) for of in answered], price)
        among = _Among(list(dict.fromkeys([*sound, *made, *tuned])))
        pick, alike = _choice(weighing, among)

    def computed(lessons: Lessons, places: Sequence[int]) -> list[str]:
        found = [completed(lessons, places, text) for text in bare]
        if pick == linux and linux not in sound:
            found.append(linux_floor(lessons, places))
        return [*found, *(constants(lessons, places) if tuned else [])]

    learnt = judged(lessons, sound, computed if tuned or pick not in sound else None)
    costs = {one.estimator: one.total.value for one in weighing.costs}
    return Advice(
        list(weighing.replays),
        price,
        asked,
        weighing,
        pick,
        min(asked, key=costs.__getitem__),
        alike,
        suits,
        tuple(tuned),
        linux,
        tuple(learnt),
        losses,
        _elsewhere(weighing, losses, among) if price.loss is None else (),
    )


def _lost(of: Replay) -> NDArray[np.bool_]:
    """Return which probes were lost, of those that the costs count."""
    lost = np.isnan(of.delays.rtt_s)
    kept: NDArray[np.bool_] = lost[~lost | learnt(of.delays, of.order)]
    return kept


def _elsewhere(
    weighing: Weighing, losses: LossShare, among: _Among
) -> tuple[tuple[float, str], ...]:
    """Return what would be taken at other shares of losses, as `Advice.elsewhere` has it."""
    found = []
    for share in losses.others if losses.is_uncertain else ():
        price = replace(weighing.price, loss=share)
        found.append((share, _choice(Weighing(weighing.replays, price), among)[0]))
    return tuple(found)


@dataclass(frozen=True)
class _Among:
    """The estimators among which one is chosen.

    Attributes
    ----------
    sound
        Those that may be taken.
    first
        Those of them that go before the others.
    beside
        Those that are only compared.
    """

    sound: Sequence[str]
    first: Sequence[str] = ()
    beside: Sequence[str] = ()


def _choice(weighing: Weighing, among: _Among) -> tuple[str, tuple[str, ...]]:
    """Return the estimator to take, and those that cannot be told apart from the cheapest.

    Among these the one is taken whose cost is least at worst, by the upper end of its interval.
    """
    sound, first, beside = among.sound, among.first, among.beside
    if not sound:
        return "", ()
    costs = {one.estimator: one.total for one in weighing.costs}
    cheapest = min(sound, key=lambda text: costs[text].value)
    place = weighing.names.index(cheapest)
    names = (weighing.names[other] for other in weighing.alike(place))
    alike = [name for name in names if name in sound or name in beside]
    preferred = [name for name in alike if name in first] or [n for n in alike if n in sound]
    return min(preferred, key=lambda text: costs[text].high), tuple(alike)


def _suits(weighing: Weighing, estimator: str) -> bool:
    one = weighing.costs[weighing.names.index(estimator)]
    return one.count <= UNSUITABLE * one.answers
