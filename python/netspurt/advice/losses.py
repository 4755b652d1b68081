"""Makes the sentences of the advice that say how well the share of losses is known.

The cost of a timer is its waits for losses, plus a price for each spurious retransmission.
A loss event is one lost probe, or several lost probes that are close together. An outage is a long
series of lost probes in a row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from netspurt.advice.doubts import losses_in_outages, unsure_shares
from netspurt.advice.phrases import THOUSAND, ms
from netspurt.advice.weighing import ADDED_LOSSES, cost
from netspurt.analysis.loss_share import FEW, LossShare, losses_recorded, percent, percents
from netspurt.analysis.replayed import ReplaySums

if TYPE_CHECKING:
    from netspurt.advice.advising import Advice


def without_choice(advice: Advice) -> str:
    """Return the reason if no timer is chosen because timers back off in a large loss event.

    In all other cases, the text is empty.
    """
    losses = advice.losses
    if (
        losses is None
        or not losses.has_large_event
        or not any(replay.told for replay in advice.replays)
    ):
        return ""
    return (
        f"No timer is recommended: --told doubles a timer at each lost probe, and {losses.largest} "
        "probes were lost in one loss event. While a sender waits for so long a timer, it sends no "
        "other probe. So no connection would have these waits and costs. Without --told, timers "
        "can be compared."
    )


def losses_behind_choice(advice: Advice) -> Iterator[str]:
    """Yield sentences on the loss events behind a choice, and on how the choice depends on them."""
    losses = advice.losses
    if losses is None:
        if advice.price.loss is None:
            yield (
                "Losses are not recorded, so their share is not known. The cost assumes half a "
                "loss; --loss sets the share."
            )
        return
    outages = [*_outages(advice, losses)]
    yield from outages
    if not advice.elsewhere:
        return
    before = sum(replay.algorithms[0].lost_before for replay in advice.replays)
    where = " after the first answer" if before else ""
    unknown = sum(not losses_recorded(replay.delays) for replay in advice.replays)
    if unknown:
        where += f" (recordings that do not show losses: {unknown} of {len(advice.replays)})"
    basis = "the choice rests on" if advice.pick else "these costs rest on"
    basis = basis.capitalize() if outages else f"Caution: {basis}"
    yield f"{_counted(losses, where, basis)}."
    # The interval depends on the sizes of the loss events that occurred. Without such events, it
    # assumes that probes are lost one at a time.
    bursts = "" if losses.lost else " if probes are lost one at a time; bursts may raise it more"
    yield f"The share of losses may be {percents(losses)} (95 %){bursts}."
    if losses.has_large_event and not outages:
        yield (
            "If many probes in a row are lost, retransmissions are lost, too. So a short timer "
            "saves less time than its cost suggests."
        )
    yield from _elsewhere(advice, losses)


def _outages(advice: Advice, losses: LossShare) -> Iterator[str]:
    """Yield a caution if most losses are in outages.

    If a timer is recommended, also yield the cost of this timer without these losses.
    """
    if advice.price.loss is not None or not losses.is_mostly_outages:
        return
    yield (
        f"Caution: {losses_in_outages(losses)} of at least {FEW} lost probes in a row. In an "
        "outage retransmissions are lost, too, so a shorter timer gains little there."
    )
    if advice.pick and advice.weighing is not None:
        weighing = advice.weighing
        place = weighing.names.index(advice.pick)
        sums = [ReplaySums.of(replay.resamples.sums, place) for replay in weighing.replays]
        share = losses.without(losses.in_outages, added=ADDED_LOSSES)
        terms = [replace(own, loss=share) for own in weighing.terms]
        without = ms(THOUSAND * float(cost(sums, terms)[0]))
        yield f"Without the losses in outages {advice.pick} costs {without} per 1,000 probes."


def _counted(losses: LossShare, where: str, basis: str) -> str:
    """Return the beginning of a sentence, with the numbers of losses and loss events.

    `basis` is the beginning of this sentence if a probe was lost, such as `The choice rests on`.
    """
    lost, number, largest = losses.lost, len(losses.events), losses.largest
    if lost == 0:
        return f"No probe was lost{where}; the cost assumes half a loss"
    if number == 1:
        one = "one lost probe" if lost == 1 else f"one loss event with all {lost:,} losses"
        return f"{basis} {one}{where}"
    if largest == 1:
        return f"{basis} {lost} lost probes{where}"
    few = "only " if number < FEW else ""
    sentence = f"{basis} {few}{number:,} loss events{where}"
    return f"{sentence}, and one of them has {largest:,} of the {lost:,} losses"


def _elsewhere(advice: Advice, losses: LossShare) -> Iterator[str]:
    """Yield which timers would be recommended at other shares of losses.

    If one of these timers is measurably better than the recommended timer, nothing is yielded. Then
    the recordings do not decide, and the advice begins with these timers.
    """
    if unsure_shares(advice):
        return
    conditions: dict[str, list[str]] = {}
    for one in advice.elsewhere:
        if one.choice != advice.pick:
            conditions.setdefault(one.choice or "none", []).append(one.where(losses))
    choices = [f"{' and '.join(places)} {name}" for name, places in conditions.items()]
    if not choices:
        ends = "both ends of this range" if losses.lost else percent(losses.high)
        if advice.pick:
            yield f"At {ends} {advice.pick} would also be taken."
        else:
            yield f"At {ends} no timer would be recommended either."
        return
    told = ", ".join(choices)
    yield f"{told[0].upper()}{told[1:]} would be taken{_but(advice)}."


def _but(advice: Advice) -> str:
    """Return why the choices at other shares do not unsettle the recommended timer."""
    if not advice.pick:
        return ""
    others = [one for one in advice.elsewhere if one.choice and one.choice != advice.pick]
    if any(one.weighing.sign(advice.pick, one.choice) > 0 for one in others):
        return "; but most losses are in outages, where a shorter timer gains little"
    return f", but {advice.pick} does not cost measurably more there"
