"""Makes the sentences that say whether recorded delays can decide which timer to take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from netspurt.advice.phrases import THOUSAND, listed, ms
from netspurt.wording import counted

if TYPE_CHECKING:
    from netspurt.advice.advising import Advice
    from netspurt.analysis.loss_share import LossShare


def undecided(advice: Advice) -> list[str]:
    """Return why the recordings cannot decide which timer to take.

    The list is empty if they can decide, or if no timer is recommended.
    """
    reasons = [*_by_share(advice), *_by_halves(advice)]
    subject = "This recording" if len(advice.replays) == 1 else "These recordings"
    return [f"{subject} cannot decide which timer to take.", *reasons] if reasons else []


def remedy(advice: Advice) -> list[str]:
    """Return what to do if the recordings cannot decide which timer to take."""
    if not undecided(advice):
        return []
    share = ", or give the share of single losses that you expect (--loss)"
    return [
        f"Record for longer{share if unsure_shares(advice) else ''}.",
        "Until then keep the timer that you have.",
    ]


def is_decided(advice: Advice) -> bool:
    """Return whether the recordings decide which timer to take: see `Advice.is_decided`."""
    return not (unsure_shares(advice) or advice.contrary)


def unsure_shares(advice: Advice) -> bool:
    """Return whether a choice at another share of losses unsettles the recommendation."""
    return any(one.unsettles for one in advice.elsewhere)


def _by_share(advice: Advice) -> Iterator[str]:
    """Yield which timers are better at other shares of losses."""
    losses = advice.losses
    if losses is None or not unsure_shares(advice):
        return
    places: dict[str, list[str]] = {}
    for one in advice.elsewhere:
        if one.unsettles:
            places.setdefault(one.choice, []).append(one.where(losses))
    number = len(losses.events)
    if losses.is_mostly_outages:
        yield f"{losses_in_outages(losses)}, where retransmissions are lost, too."
    elif number:
        yield f"The share of losses decides, and {counted(number, 'loss event')} cannot show it."
    else:
        yield "The share of losses decides, and no probe was lost."
    text = "; ".join(f"{listed(where)} {name} would be taken" for name, where in places.items())
    yield f"{text[0].upper()}{text[1:]}."


def losses_in_outages(losses: LossShare) -> str:
    """Return the beginning of a sentence: how many losses are in how many outages.

    An outage is a long series of lost probes in a row.
    """
    number = len(losses.outages)
    where = "one outage" if number == 1 else f"{number:,} outages"
    if losses.in_outages == losses.lost:
        return f"All {losses.lost:,} losses are in {where}"
    return f"{losses.in_outages:,} of the {losses.lost:,} losses are in {where}"


def _by_halves(advice: Advice) -> Iterator[str]:
    """Yield on which half of a recording another timer costs measurably less."""
    for lesson in advice.contrary:
        half = ("first", "second")[lesson.part]
        yield (
            f"On the {half} half {lesson.best} costs measurably less: "
            f"{ms(THOUSAND * lesson.least)} per 1,000 probes."
        )
