"""Chooses a timer for recordings of delays, by the costs of the timers on these recordings.

A text such as `linux:rto_min=50ms` names a timer: an estimator with its constants. A replay
computes what timers would have done on a recording. The cost of a timer is its waits for losses,
plus a price for each spurious retransmission. An outage is a long series of lost probes in a row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from netspurt.advice.answer import answer
from netspurt.advice.deploying import LINUX_OWN, can_be_completed, is_linux, shortcomings
from netspurt.advice.doubts import is_decided
from netspurt.advice.learning import Judged, Lessons, completed, constants, judged, linux_floor
from netspurt.advice.price import Price
from netspurt.advice.weighing import Cost, Weighing
from netspurt.advice.words import paragraphs
from netspurt.analysis.loss_share import LossShare, loss_share, losses_recorded, percent
from netspurt.analysis.replayed import learnt
from netspurt.quantities import known

if TYPE_CHECKING:
    from netspurt.timers import Replay

#: A timer suits a path if it retransmits spuriously for at most this share of the answers.
SPURIOUS_SHARE_MAX = 0.05

#: The minimum number of answers for a recommendation.
ANSWERS_MIN = 50


@dataclass(frozen=True, eq=False)
class Elsewhere:
    """The choice at another share of losses, which the recordings do not exclude.

    Attributes
    ----------
    loss
        The share of losses.
    choice
        The estimator that would be recommended, or an empty text if none.
    unsettles
        True if, because of this share, the recordings cannot decide which estimator to take. There
        are two such cases. In the first case, the recommended estimator costs measurably more than
        `choice` at this share. In the second case, most losses are in outages, `loss` is the share
        without these losses, and `choice` is not the recommended estimator. If most losses are in
        outages, a share above the recorded share never unsettles the choice. A larger share favours
        shorter timers, but a shorter timer gains little in an outage.
    weighing
        The costs of all estimators at this share.
    """

    loss: float
    choice: str
    unsettles: bool
    weighing: Weighing

    def is_without_outages(self, losses: LossShare | None) -> bool:
        """Return whether most losses are in outages, and `loss` does not include these losses."""
        return (
            losses is not None and losses.is_mostly_outages and self.loss == losses.without_outages
        )

    def where(self, losses: LossShare) -> str:
        """Return the share in words, such as `at 0.5 %`."""
        if self.is_without_outages(losses):
            what = "the outage" if len(losses.outages) == 1 else "the outages"
            return f"without {what} ({percent(self.loss)} lost)"
        if losses.has_large_event and self.loss == losses.without_largest:
            return f"without the largest loss event ({percent(self.loss)} lost)"
        return f"at {percent(self.loss)}"


@dataclass(frozen=True, eq=False)
class Advice:
    """The recommended timer for some recordings, and the reasons.

    Attributes
    ----------
    replays
        The replays, with the estimators that were asked for and the estimators that were added.
    price
        The price of a spurious retransmission.
    asked
        The estimators that were asked for.
    weighing
        The costs of all estimators. If too few probes were answered, it is `None`, and the fields
        after it have their defaults.
    pick
        The recommended estimator, or an empty text if none is recommended. A recommended estimator
        has bounds (a minimum and a maximum RTO) and backoff. No estimator is recommended in one
        case: many probes that are close together were lost (`LossShare.has_large_event`), and the
        timers backed off at each timeout of the replay (`Replay.told`).
    least
        The cheapest of the estimators that were asked for, even if it has no bounds or no backoff.
    alike
        The cheapest of the estimators from which `pick` was chosen, and the estimators that cannot
        be told apart from the cheapest. Each of them was asked for, or has computed constants.
    suits
        True if at least one of the requested estimators retransmits spuriously for at most
        `SPURIOUS_SHARE_MAX` of the answers.
    tuned
        Estimators with constants computed from the recordings.
    linux
        Linux's timer with the `rto_min` computed from the recordings.
    lessons
        For each half of a single recording, or for each of several recordings: the estimator that
        is chosen without this part, and its cost on this part.
    contrary
        For a single recording: the lessons of the halves on which `pick` costs measurably more than
        the best candidate there.
    reversed_halves
        For a single recording: some timers of Linux, each with the number of a half (0 or 1). On
        the whole recording, such a timer costs measurably less than Linux's timer with the default
        `rto_min`, and on this half measurably more. Or it costs measurably more on the whole
        recording, and measurably less on this half.
    losses
        The share of losses after the first answer, with its interval, from the recordings in which
        lost probes can be seen. It is `None` if there is no such recording, or if too few probes
        were answered.
    elsewhere
        The choices at other shares of losses. The shares are both ends of the interval of `losses`,
        and the share without the largest loss event if this event is large. A loss event is a
        series of losses that are close together. A share of zero is left out. If most losses are in
        outages, the share without outages is added. There are no such choices if the share is given
        (`Price.loss`). There are none, either, if the share is well known and at most half of the
        losses are in outages.
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
    contrary: tuple[Judged, ...] = ()
    reversed_halves: Mapping[str, int] = field(default_factory=dict)
    losses: LossShare | None = None
    elsewhere: tuple[Elsewhere, ...] = ()

    def cost(self, estimator: str) -> Cost:
        """Return the cost of an estimator.

        Raises
        ------
        KeyError
            If the estimator was not weighed.
        """
        for cost in self.weighing.costs if self.weighing else ():
            if cost.estimator == estimator:
                return cost
        raise KeyError(estimator)

    @property
    def is_decided(self) -> bool:
        """Whether the recordings decide that `pick` is the timer to take.

        False if a choice of `elsewhere` unsettles the pick, or if `contrary` is not empty. Then
        `pick` is only the choice at the recorded share of losses.
        """
        return bool(self.pick) and is_decided(self)

    def answer(self) -> list[str]:
        """Return the advice in a few sentences: the choice, and how sure it is."""
        return answer(self)

    def paragraphs(self) -> list[str]:
        """Return the advice in words, with all reasons."""
        return paragraphs(self)

    def __str__(self) -> str:
        return "\n\n".join(self.paragraphs())

    __repr__ = __str__

    def data(self) -> dict[str, Any]:
        """Return all figures. Times are in seconds, and costs are per probe."""
        figures: dict[str, Any] = {
            "price_s": [known(self.price.of(replay.delays)) for replay in self.replays],
            "loss": self.price.loss,
            "loss_share": self.losses.data() if self.losses else None,
            "take_at": [
                {"loss": one.loss, "take": one.choice or None, "unsettles": one.unsettles}
                for one in self.elsewhere
            ],
            "take": self.pick or None,
            "decided": self.is_decided,
            "least": self.least or None,
            "cannot_tell_apart": list(self.alike),
            "suits": self.suits,
            "linux": self.linux or None,
            "constants": list(self.tuned),
            "costs": [],
            "lessons": [vars(lesson) for lesson in self.lessons],
        }
        for cost in self.weighing.costs if self.weighing else ():
            figures["costs"].append(
                {
                    "estimator": cost.estimator,
                    "cost_s": cost.total.data(),
                    "waiting_s": known(cost.waiting),
                    "spurious_s": known(cost.spurious),
                    "spurious": cost.count,
                    "answers": cost.answers,
                    "lacks": shortcomings(cost.estimator),
                }
            )
        return figures


def advise(replays: Sequence[Replay], price: Price | None = None, *, tune: bool = False) -> Advice:
    """Return the recommended timer for one recording or for several.

    Parameters
    ----------
    replays
        Replays of the same estimators. The advice is for all recordings together.
    price
        The price of a spurious retransmission, and the share of losses; by default `Price()`.
    tune
        True if the estimators in `Advice.tuned` are always computed. By default, they are computed
        only if several estimators were asked for and none of them suits.

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
    answered = [replay for replay in replays if replay.algorithms[0].answered]
    if sum(replay.algorithms[0].answered for replay in answered) < ANSWERS_MIN:
        return Advice(replays, price, asked)
    shown = [_lost(replay) for replay in answered if losses_recorded(replay.delays)]
    losses = loss_share(shown) if shown else None
    if losses and losses.has_large_event and any(replay.told for replay in answered):
        return Advice(replays, price, asked, Weighing(answered, price), losses=losses)
    return _advice(answered, price, asked, losses, tune=tune)


def _advice(
    answered: list[Replay],
    price: Price,
    asked: tuple[str, ...],
    losses: LossShare | None,
    *,
    tune: bool,
) -> Advice:
    """Return the advice on recordings with enough answers."""
    lessons = Lessons(answered, price)
    every = lessons.everything()
    linux = linux_floor(lessons, every)
    complete = [text for text in asked if not shortcomings(text)]
    incomplete = [text for text in asked if text not in complete and can_be_completed(text)]
    made_complete = [completed(lessons, every, text) for text in incomplete]
    # Linux's default timer is weighed even if it was not named, because a host without settings
    # uses this timer.
    extra = [*made_complete, linux, LINUX_OWN]
    weighing = Weighing([replay.with_estimators(extra) for replay in answered], price)
    candidates = _Candidates([*complete, *made_complete], first=complete, compared=[linux])
    pick, alike = _choice(weighing, candidates)
    if pick in made_complete:
        # The pick has computed constants. So Linux's timer with a computed `rto_min` may be chosen
        # too.
        allowed = list(dict.fromkeys([*complete, *made_complete, linux]))
        candidates = _Candidates(allowed, first=complete)
        pick, alike = _choice(weighing, candidates)
    suits = any(_suits(weighing, text) for text in asked)
    tuned: list[str] = []
    if tune or not (suits or len(asked) < 2):
        tuned = constants(lessons, every)
        weighing = Weighing(
            [replay.with_estimators([*extra, *tuned]) for replay in answered], price
        )
        candidates = _Candidates(list(dict.fromkeys([*complete, *made_complete, *tuned])))
        pick, alike = _choice(weighing, candidates)

    def computed(lessons: Lessons, places: Sequence[int]) -> list[str]:
        texts = [completed(lessons, places, text) for text in incomplete]
        if pick == linux and linux not in complete:
            texts.append(linux_floor(lessons, places))
        return [*texts, *(constants(lessons, places) if tuned else [])]

    judgements = judged(lessons, complete, computed if tuned or pick not in complete else None)
    contrary = [
        lesson
        for lesson in judgements
        if pick and len(answered) == 1 and lessons.is_worse(pick, lesson.best, lesson.part)
    ]
    costs = {cost.estimator: cost.total.value for cost in weighing.costs}
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
        tuple(judgements),
        tuple(contrary),
        _reversed_halves(lessons, weighing, [*asked, linux]),
        losses,
        _elsewhere(weighing, losses, candidates, pick) if losses and price.loss is None else (),
    )


def _reversed_halves(lessons: Lessons, weighing: Weighing, texts: Sequence[str]) -> dict[str, int]:
    """Return `Advice.reversed_halves` of these timers."""
    halves = lessons.everything() if len(lessons.replays) == 1 else []
    found = {}
    for text in filter(is_linux, texts):
        sign = weighing.sign(text, LINUX_OWN)
        pair = (text, LINUX_OWN) if sign < 0 else (LINUX_OWN, text)
        worse = [half for half in halves if sign and lessons.is_worse(*pair, half)]
        if worse:
            found[text] = worse[0]
    return found


def _lost(replay: Replay) -> NDArray[np.bool_]:
    """Return, for each probe that counts for the costs, whether it was lost."""
    lost = np.isnan(replay.delays.rtt_s)
    counted: NDArray[np.bool_] = lost[~lost | learnt(replay.delays, replay.order)]
    return counted


def _elsewhere(
    weighing: Weighing, losses: LossShare, candidates: _Candidates, pick: str
) -> tuple[Elsewhere, ...]:
    """Return the choices at other shares of losses, for `Advice.elsewhere`."""
    found = []
    for share in losses.others if losses.is_uncertain or losses.is_mostly_outages else ():
        there = Weighing(weighing.replays, replace(weighing.price, loss=share))
        choice, _ = _choice(there, candidates)
        found.append(Elsewhere(share, choice, _unsettles(there, losses, pick, choice), there))
    return tuple(found)


def _unsettles(there: Weighing, losses: LossShare, pick: str, choice: str) -> bool:
    """Return `Elsewhere.unsettles` for a choice. `there` has the costs at its share of losses."""
    share = there.price.loss
    if not pick or choice == pick or share is None:
        return False
    if losses.is_mostly_outages:
        if share > losses.value:
            return False
        if share == losses.without_outages:
            return True
    return there.sign(pick, choice) > 0


@dataclass(frozen=True)
class _Candidates:
    """The estimators from which `_choice` chooses.

    Attributes
    ----------
    allowed
        Estimators that may be chosen.
    first
        Allowed estimators that are preferred to the other allowed estimators.
    compared
        Estimators that are compared with the allowed estimators, but may not be chosen.
    """

    allowed: Sequence[str]
    first: Sequence[str] = ()
    compared: Sequence[str] = ()


def _choice(weighing: Weighing, candidates: _Candidates) -> tuple[str, tuple[str, ...]]:
    """Return the chosen estimator, and the estimators that cannot be told apart from the cheapest.

    The choice is among the cheapest allowed estimator and the allowed estimators that cannot be
    told apart from it. If some of these are in the field `first`, the others are left out. The
    function takes the estimator whose cost has the interval with the smallest upper end. The second
    result has only allowed and compared estimators.
    """
    allowed, first, compared = candidates.allowed, candidates.first, candidates.compared
    if not allowed:
        return "", ()
    costs = {cost.estimator: cost.total for cost in weighing.costs}
    cheapest = min(allowed, key=lambda text: costs[text].value)
    place = weighing.names.index(cheapest)
    names = (weighing.names[other] for other in weighing.alike(place))
    alike = [name for name in names if name in allowed or name in compared]
    preferred = [name for name in alike if name in first] or [n for n in alike if n in allowed]
    return min(preferred, key=lambda text: costs[text].high), tuple(alike)


def _suits(weighing: Weighing, estimator: str) -> bool:
    cost = weighing.costs[weighing.names.index(estimator)]
    return cost.count <= SPURIOUS_SHARE_MAX * cost.answers
