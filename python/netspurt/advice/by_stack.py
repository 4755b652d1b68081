"""Makes the sentences of the advice that say what to set on a Linux server and with QUIC.

The cost of a timer is its waits for losses, plus a price for each spurious retransmission.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from netspurt.advice.deploying import (
    LINUX_ACK_DELAY_MS,
    LINUX_OWN,
    LINUX_OWN_FLOOR_S,
    floor_of,
    is_linux,
)
from netspurt.advice.phrases import THOUSAND, ms, one_way_of

if TYPE_CHECKING:
    from netspurt.advice.advising import Advice


def by_stack(advice: Advice) -> list[str]:
    """Return sentences on Linux and QUIC, for a reader who cannot choose another kind of timer.

    QUIC has a sentence only if its timer was named. There are no sentences at all if no timer of
    Linux was named, or if all named timers retransmit spuriously too often. If the recommended
    timer is Linux's, there are no sentences, because the rest of the advice is about Linux. For
    one-way delays, there are no sentences, because a sender waits for round trips.
    """
    one_way = one_way_of(advice.replays)
    named = any(map(is_linux, advice.asked))
    if is_linux(advice.pick) or not advice.linux or not advice.suits or one_way or not named:
        return []
    return [*_linux(advice), *_quic(advice)]


def linux_timer(advice: Advice) -> str:
    """Return the cheapest Linux timer that was named, or the computed Linux timer.

    The computed timer is returned if no Linux timer was named, or only `linux`. Otherwise a named
    timer is preferred, because it was not made from these delays.
    """
    named = [name for name in advice.asked if is_linux(name)]
    if all(name == LINUX_OWN for name in named):
        return advice.linux
    return min(named, key=lambda name: (advice.cost(name).total.value, name != LINUX_OWN))


def against_own(advice: Advice, name: str) -> int:
    """Return -1 if a timer costs measurably less than Linux's own, 1 if more, 0 if neither.

    The result is also 0 in three other cases. In the first case, another share of losses, which the
    recorded delays allow, gives the opposite sign. In the second case, a half of the recording
    gives the opposite sign. In the third case, most losses are in outages (long series of lost
    probes), and the difference is not measurable without them.
    """
    assert advice.weighing is not None, "there are costs"
    if name in advice.reversed_halves:
        return 0
    sign, losses = advice.weighing.sign(name, LINUX_OWN), advice.losses
    for one in advice.elsewhere:
        there = one.weighing.sign(name, LINUX_OWN)
        if there == -sign or (there != sign and one.is_without_outages(losses)):
            return 0
    return sign


def difference_words(advice: Advice, name: str) -> str:
    """Return why a timer is not better than Linux's own timer, if `against_own` returns 0."""
    assert advice.weighing is not None, "there are costs"
    sign, this = advice.weighing.sign(name, LINUX_OWN), f"an rto_min of {ms(floor_of(name))}"
    if (half := advice.reversed_halves.get(name)) is not None:
        more = "more" if sign < 0 else "less"
        return f"but on the {('first', 'second')[half]} half {this} costs measurably {more}"
    if sign > 0:
        return f"with another share of losses that the recording allows, {this} may cost less"
    if sign < 0:
        return "but this difference rests on losses that may not occur again"
    return "the difference is not measurable"


def receivers_for(advice: Advice) -> Iterator[str]:
    """Yield for which receivers the recommended timer is long enough, if it is a timer of Linux."""
    if not (is_linux(advice.pick) and advice.is_decided) or one_way_of(advice.replays):
        return
    floor_s = floor_of(advice.pick)
    if floor_s < LINUX_OWN_FLOOR_S - 1e-9:
        yield from _for_receivers(floor_s, ms(floor_s))


def _linux(advice: Advice) -> Iterator[str]:
    """Yield sentences that say which `rto_min` to set."""
    best = linux_timer(advice)
    floor_s = floor_of(best)
    floor, bill = ms(floor_s), _cost_words(advice, best)
    if abs(floor_s - LINUX_OWN_FLOOR_S) < 1e-9:
        yield f"On a Linux server: keep the rto_min of 200 ms. It costs {bill} per 1,000 probes."
        return
    own, sign = _cost_words(advice, LINUX_OWN), against_own(advice, best)
    if sign >= 0:
        end = ", which is measurably more" if sign else f"; {difference_words(advice, best)}"
        yield (
            f"On a Linux server: keep the rto_min of 200 ms. It costs {own} per 1,000 probes, and "
            f"an rto_min of {floor} costs {bill}{end}."
        )
        return
    than = f"; the default of 200 ms costs {own}"
    yield f"On a Linux server: an rto_min of {floor} costs {bill} per 1,000 probes{than}."
    if best not in advice.asked:
        yield (
            f"The value of {floor} was computed from these delays, so test it on another recording "
            "before you set it."
        )
    if floor_s < LINUX_OWN_FLOOR_S:
        yield from _for_receivers(floor_s, floor)


def _for_receivers(floor_s: float, floor: str) -> Iterator[str]:
    """Yield sentences that say for which delays of ACKs an `rto_min` is long enough."""
    if 1e3 * floor_s > LINUX_ACK_DELAY_MS:
        yield (
            f"Set {floor} only if no receiver delays ACKs by {floor} or more; Linux delays them by "
            f"{LINUX_ACK_DELAY_MS} ms, other systems by up to 200 ms. Otherwise keep 200 ms."
        )
        return
    yield (
        f"With Linux receivers {floor} is too short: they delay ACKs by {LINUX_ACK_DELAY_MS} ms. "
        f"Set {floor} only if no receiver delays ACKs by {floor} or more; otherwise keep 200 ms."
    )


def _quic(advice: Advice) -> Iterator[str]:
    """Yield a sentence that says what QUIC's timer costs, if this timer was named."""
    named = [name for name in advice.asked if name.partition(":")[0] == "quic"]
    if named:
        best = min(named, key=lambda name: (name != advice.pick, advice.cost(name).total.value))
        what = " there is nothing to set; its timer" if best == "quic" else f": {best}"
        yield f"With QUIC{what} costs {_cost_words(advice, best)}."


def _cost_words(advice: Advice, name: str) -> str:
    """Return a timer's cost per 1,000 probes with its interval."""
    total = advice.cost(name).total
    value, low, high = (ms(THOUSAND * end) for end in (total.value, total.low, total.high))
    return f"{value} ({low} .. {high})"
