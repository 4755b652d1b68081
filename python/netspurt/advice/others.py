"""Makes the sentences of the advice on the timers that it does not recommend.

The recommended timer is called the pick. The cost of a timer is its waits for losses, plus a price
for each spurious retransmission.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from netspurt.advice.deploying import shortcomings
from netspurt.advice.phrases import THOUSAND, listed, ms
from netspurt.analysis.replayed import SEEN

if TYPE_CHECKING:
    from netspurt.advice.advising import Advice

#: The maximum number of other timers that a sentence names. If there are more timers, the sentence
#: has a number in place of some or all names. The sentences of `_alike_asked` and `_alike_computed`
#: name all their timers.
NAMED_MAX = 6

#: The end of a sentence on a cheaper timer: why this timer is not recommended.
_TEST_IT = (
    ", but its constants were computed from these delays: test it on another recording before you "
    "use it."
)


def others(advice: Advice) -> Iterator[str]:
    """Yield why the cheapest timer is not recommended, and sentences on other timers.

    The other timers are those in `Advice.alike`, which cannot be told apart from the cheapest. If
    `Advice.alike` has only the recommended timer, the other timers are those that cost more, and
    Linux's timer if it is cheaper.
    """
    yield from _cheapest_lacks(advice)
    alike = [name for name in advice.alike if name != advice.pick]
    if not alike:
        if advice.pick and advice.suits:
            yield from _costing_more(advice)
        return
    yield from _alike_asked(advice, [name for name in alike if name in advice.asked])
    yield from _alike_computed(advice, [name for name in alike if name not in advice.asked])


def cheaper_computed(advice: Advice) -> Iterator[str]:
    """Yield a sentence on each timer that costs measurably less than the recommended timer.

    Only timers with computed constants count, and only if the recommended timer was asked for.
    """
    names = [*advice.alike, advice.linux] if advice.pick in advice.asked else []
    for name in dict.fromkeys(names):
        if name not in advice.asked and _sign(advice, name) < 0:
            yield f"{_costs(advice, [name])} costs measurably less{_TEST_IT}"


def not_taken(advice: Advice) -> Iterator[str]:
    """Yield the rule of the choice, and why other requested timers are not recommended."""
    if not advice.pick:
        return
    yield from _rule(advice)
    if not advice.suits:
        return
    if any(name != advice.pick for name in advice.alike):
        yield from _told_apart(advice)
    yield from _incomplete(advice)


def _cheapest_lacks(advice: Advice) -> Iterator[str]:
    """Yield why the cheapest timer is not recommended, if it lacks something."""
    if shortcomings(advice.least) and advice.least != advice.pick:
        yield f"{advice.least} has {_lacks(advice.least)}, so it is not recommended as it is."


def _lacks(name: str) -> str:
    """Return in words what a timer lacks, or an empty text if it lacks nothing."""
    lacks = shortcomings(name)
    if len(lacks) == 3:
        lacks = ["backoff", "bounds"]
    return listed([f"no {part.removeprefix('a ')}" for part in lacks]) if lacks else ""


def _alike_asked(advice: Advice, names: Sequence[str]) -> Iterator[str]:
    """Yield sentences on timers in `Advice.alike` that were asked for."""
    from_pick = f" from {advice.pick}" if advice.pick else ""
    equal, different = _split(advice, names)
    if equal:
        yield (
            f"{_costs(advice, equal)} cannot be told apart{from_pick} on these probes: "
            f"{_why_alike(advice, equal)}."
        )
    for name in different:
        yield f"{_costs(advice, [name])} costs measurably {_less_or_more(advice, name)}."


def _alike_computed(advice: Advice, names: Sequence[str]) -> Iterator[str]:
    """Yield sentences on timers in `Advice.alike` with computed constants."""
    equal, different = _split(advice, names)
    was_asked = advice.pick in advice.asked
    if equal:
        has, they = ("has", "It") if len(equal) == 1 else ("have", "They")
        sentence = f"{_costs(advice, equal)} {has} constants computed from these delays. {they} "
        sentence += f"cannot be told apart from {advice.pick}: {_why_alike(advice, equal)}."
        if was_asked:
            sentence += " netspurt then prefers a timer that was not made from the recording."
        yield sentence
    for name in different:
        sentence = f"{_costs(advice, [name])} costs measurably {_less_or_more(advice, name)}"
        yield f"{sentence}{_TEST_IT if was_asked and _sign(advice, name) < 0 else '.'}"


def _split(advice: Advice, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the timers that cannot be told apart from the pick, and the other timers.

    The timers in `Advice.alike` are compared with the cheapest timer, which may not be the pick.
    """
    if not advice.pick or advice.pick == cheapest(advice):
        return [*names], []
    equal = [name for name in names if _sign(advice, name) == 0]
    return equal, [name for name in names if name not in equal]


def _sign(advice: Advice, name: str) -> int:
    """Return 1 if a timer costs measurably more than the pick, -1 if less, 0 if neither."""
    weighing = advice.weighing
    assert weighing is not None, "there is a pick"
    return weighing.sign(name, advice.pick)


def _less_or_more(advice: Advice, name: str) -> str:
    return "less" if _sign(advice, name) < 0 else "more"


def _costing_more(advice: Advice) -> Iterator[str]:
    """Yield which timers cost measurably more than the pick, and Linux's timer if it is cheaper."""
    complete = [name for name in advice.asked if name != advice.pick and not shortcomings(name)]
    if len(complete) > NAMED_MAX:
        yield f"The other {len(complete):,} timers with bounds and backoff cost measurably more."
    elif complete:
        yield f"{_costs(advice, complete)} cost{'s' * (len(complete) == 1)} measurably more."
    if advice.cost(advice.linux).total.value < advice.cost(advice.pick).total.value:
        yield f"{_costs(advice, [advice.linux])} costs less{_TEST_IT}"


def _rule(advice: Advice) -> Iterator[str]:
    """Yield the costs by which the pick is chosen among timers that cannot be told apart.

    If the pick is the only such timer, yield nothing.
    """
    equals = [
        name for name in advice.alike if name in advice.asked or advice.pick not in advice.asked
    ]
    if advice.tuned:
        equals = [*advice.alike]
    others = sorted(
        (name for name in equals if name != advice.pick),
        key=lambda name: advice.cost(name).total.high,
    )
    if not others:
        return
    named = [f"{name} {_at_worst(advice, name)}" for name in others[:NAMED_MAX]]
    if len(others) > NAMED_MAX:
        named.append(f"more for the other {len(others) - NAMED_MAX:,}")
    least = cheapest(advice)
    is_cheapest = least == advice.pick
    from_cheapest = "" if is_cheapest else f" from {least}, the cheapest"
    has = "is the cheapest, and it has" if is_cheapest else "has"
    those = "timers" if advice.tuned or advice.pick not in advice.asked else "named timers"
    yield (
        f"Of the {those} that cannot be told apart{from_cheapest}, {advice.pick} {has} the lowest "
        f"upper end of the cost: {_at_worst(advice, advice.pick)}; {', '.join(named)}."
    )


def _told_apart(advice: Advice) -> Iterator[str]:
    """Yield the timers that the user named and that are measurably worse than the cheapest."""
    names = [name for name in advice.asked if name not in advice.alike and not shortcomings(name)]
    than = f"measurably more than {_costs(advice, [cheapest(advice)])}"
    if len(names) > NAMED_MAX:
        yield f"The other {len(names):,} timers with bounds and backoff cost {than}."
    elif names:
        yield f"{_costs(advice, names)} cost{'s' * (len(names) == 1)} {than}."


def _incomplete(advice: Advice) -> Iterator[str]:
    """Yield sentences on other requested timers that lack bounds (minimum, maximum) or backoff."""
    names = [name for name in advice.asked if name not in (advice.least, advice.pick)]
    lacks = {name: _lacks(name) for name in names if shortcomings(name)}
    if len(lacks) > NAMED_MAX:
        yield (
            f"{len(lacks):,} other timers lack bounds or backoff, so they cannot be taken as they "
            "are."
        )
        return
    for lacking in dict.fromkeys(lacks.values()):
        alike = [name for name, parts in lacks.items() if parts == lacking]
        has, they = ("has", "it") if len(alike) == 1 else ("have", "they")
        yield f"{listed(alike)} {has} {lacking}, so {they} cannot be taken as {they} {_ARE[they]}."


_ARE = {"it": "is", "they": "are"}


def cheapest(advice: Advice) -> str:
    """Return the cheapest timer that could be chosen. The other timers are compared with it."""
    computed = advice.linux if advice.linux not in advice.asked else ""
    excluded = computed if advice.pick in advice.asked and not advice.tuned else ""
    names = [name for name in advice.alike if name != excluded]
    return min(names, key=lambda name: advice.cost(name).total.value)


def _at_worst(advice: Advice, name: str) -> str:
    return ms(THOUSAND * advice.cost(name).total.high)


def _costs(advice: Advice, names: Sequence[str]) -> str:
    return listed([f"{name} ({ms(THOUSAND * advice.cost(name).total.value)})" for name in names])


def _why_alike(advice: Advice, names: Sequence[str]) -> str:
    counts = sorted(advice.cost(name).count for name in (advice.pick, *names) if name)
    if counts[0] >= SEEN:
        return "the interval of the difference contains zero"
    count_words = (
        str(counts[0] or "no") if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}"
    )
    noun = "retransmission" if counts[0] == counts[-1] < 2 else "retransmissions"
    return f"with {count_words} spurious {noun} seen, the difference may be chance"
