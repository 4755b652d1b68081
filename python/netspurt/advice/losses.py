"""The sentences of an advice on how well the share of losses is known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from netspurt.analysis.loss_share import FEW, LossShare, percent, percents

if TYPE_CHECKING:
    from netspurt.advice.advising import Advice


def without_choice(advice: Advice) -> str:
    """Return why backoff over an outage allows no choice; empty if there was none."""
    losses = advice.losses
    if losses is None or not losses.has_long_outage or not any(of.told for of in advice.replays):
        return ""
    return (
        f"No timer is recommended: --told doubles a timer at each lost probe, and {losses.longest} "
        "were lost in one outage. A sender that waits so long sends no further probe in the "
        "meantime, so no connection would have these waits and costs. Without --told timers can be "
        "compared."
    )


def rests_on(advice: Advice) -> Iterator[str]:
    """Yield on how few outages a choice rests, and whether it depends on them."""
    losses = advice.losses
    if losses is None or not advice.elsewhere:
        return
    before = sum(of.algorithms[0].lost_before for of in advice.replays)
    where = " after the first answer" if before else ""
    yield f"{_counted(losses, where)}. The share of losses may be {percents(losses)} (95 %)."
    if losses.has_long_outage:
        yield (
            "In an outage retransmissions are lost, too, so a short timer saves less than its cost "
            "shows."
        )
    yield from _elsewhere(advice, losses)


def _counted(losses: LossShare, where: str) -> str:
    """Return the losses and outages in words that begin a sentence."""
    lost, number, longest = losses.lost, len(losses.outages), losses.longest
    if lost == 0:
        return f"No probe was lost{where}; half a loss is added"
    if number == 1:
        of = "one lost probe" if lost == 1 else f"one outage, all {lost:,} losses"
        return f"Caution: the choice rests on {of}{where}"
    if longest == 1:
        return f"Caution: the choice rests on {lost} lost probes{where}"
    few = "only " if number < FEW else ""
    told = f"Caution: the choice rests on {few}{number:,} outages{where}"
    return f"{told}, and one of them has {longest:,} of the {lost:,} losses"


def _elsewhere(advice: Advice, losses: LossShare) -> Iterator[str]:
    """Yield which timers are taken at other shares of losses."""
    where: dict[str, list[str]] = {}
    for share, name in advice.elsewhere:
        without = share == losses.without_longest and losses.has_long_outage
        of = f"without the longest outage ({percent(share)} lost)" if without else percent(share)
        if name != advice.pick:
            where.setdefault(name or "none", []).append(of if without else f"at {of}")
    told = [f"{' and '.join(places)} {name}" for name, places in where.items()]
    if not told:
        ends = "both ends of this range" if losses.lost else percent(losses.high)
        yield f"At {ends} {advice.pick} would be taken, too."
        return
    yield (
        f"The choice depends on the share: {', '.join(told)} would be taken. A longer recording "
        "shows the share."
    )
