"""The sentences of an advice on the timers that it does not take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from netspurt.advice.deploying import shortcomings
from netspurt.advice.phrases import THOUSAND, listed, ms
from netspurt.analysis.replayed import SEEN

if TYPE_CHECKING:
    from netspurt.advice.advising import Advice

#: More timers than this are counted, not named.
MANY = 6


def others(advice: Advice) -> Iterator[str]:
    """Yield sentences on the cheapest timer, if it may not be taken, and on those alike."""
    yield from _bare(advice)
    alike = [name for name in advice.alike if name != advice.pick]
    if not alike:
        if advice.pick and advice.suits:
            yield from _dearer(advice)
        return
    yield from _alike_asked(advice, [name for name in alike if name in advice.asked])
    yield from _alike_computed(advice, [name for name in alike if name not in advice.asked])


def not_taken(advice: Advice) -> Iterator[str]:
    """Yield the rule of the choice, and why each other timer that was asked for is not taken."""
    if not advice.pick:
        return
    yield from _rule(advice)
    if not advice.suits:
        return
    if any(name != advice.pick for name in advice.alike):
        yield from _told_apart(advice)
    yield from _incomplete(advice)


def _bare(advice: Advice) -> Iterator[str]:
    """Yield why the cheapest timer is not the one to take."""
    if shortcomings(advice.least) and advice.least != advice.pick:
        yield (f"{advice.least} has {_lacks(advice.least)}, so it is not recommended as it is.")


def _lacks(name: str) -> str:
    """Return in words what a timer lacks; empty if it lacks nothing."""
    lacks = shortcomings(name)
    if len(lacks) == 3:
        lacks = ["backoff", "bounds"]
    return listed([f"no {one.removeprefix('a ')}" for one in lacks]) if lacks else ""


def _alike_asked(advice: Advice, names: Sequence[str]) -> Iterator[str]:
    """Yield sentences on timers that were asked for, and are alike to the cheapest."""
    it = " from it" if advice.pick else ""
    near, far = _split(advice, names)
    if near:
        yield (
            f"{_costs(advice, near)} cannot be told apart{it} on these probes: "
            f"{_why_alike(advice, near)}."
        )
    for name in far:
        yield f"{_costs(advice, [name])} costs measurably {_less_or_more(advice, name)}."


def _alike_computed(advice: Advice, names: Sequence[str]) -> Iterator[str]:
    """Yield sentences on timers with computed constants that are alike to the cheapest."""
    near, far = _split(advice, names)
    first = advice.pick in advice.asked
    if near:
        has, they = ("has", "It") if len(near) == 1 else ("have", "They")
        told = f"{_costs(advice, near)} {has} constants computed from these delays. {they} "
        told += f"cannot be told apart from it: {_why_alike(advice, near)}"
        if first:
            told += "; of equals, a timer that was not made from the recording is taken"
        yield told + "."
    for name in far:
        told = f"{_costs(advice, [name])} costs measurably {_less_or_more(advice, name)}"
        yield f"{told}, but its constants were computed from these delays." if first else f"{told}."


def _split(advice: Advice, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the names that cannot be told apart from the pick, and those that can be.

    `Advice.alike` compares with the cheapest, which may not be the pick.
    """
    if not advice.pick or advice.pick == _cheapest(advice):
        return [*names], []
    near = [name for name in names if _sign(advice, name) == 0]
    return near, [name for name in names if name not in near]


def _sign(advice: Advice, name: str) -> int:
    """Return 1 if a timer costs measurably more than the pick, -1 if less, 0 if not known."""
    weighing = advice.weighing
    assert weighing is not None, "there is a pick"
    place, pick = (weighing.names.index(one) for one in (name, advice.pick))
    return weighing.difference(place, pick).sign


def _less_or_more(advice: Advice, name: str) -> str:
    return "less" if _sign(advice, name) < 0 else "more"


def _dearer(advice: Advice) -> Iterator[str]:
    """Yield which timers cost measurably more than the one to take, and which costs less."""
    sound = [name for name in advice.asked if name != advice.pick and not shortcomings(name)]
    if len(sound) > MANY:
        yield f"The other {len(sound):,} with bounds and backoff cost measurably more."
    elif sound:
        yield f"{_costs(advice, sound)} cost{'s' * (len(sound) == 1)} measurably more."
    if advice.cost(advice.linux).total.value < advice.cost(advice.pick).total.value:
        yield (
            f"{_costs(advice, [advice.linux])} costs less, but its constant was computed from "
            "these delays: only with --tune may it be taken."
        )


def _rule(advice: Advice) -> Iterator[str]:
    """Yield by which figures one of the equals is taken; nothing if there was one candidate."""
    equals = [
        name for name in advice.alike if name in advice.asked or advice.pick not in advice.asked
    ]
    if advice.tuned:
        equals = [*advice.alike]
    rest = sorted(
        (name for name in equals if name != advice.pick),
        key=lambda name: advice.cost(name).total.high,
    )
    if not rest:
        return
    named = [f"{name} {_at_worst(advice, name)}" for name in rest[:MANY]]
    if len(rest) > MANY:
        named.append(f"the other {len(rest) - MANY:,} more")
    cheapest = _cheapest(advice)
    of, too = f" from {cheapest}, the cheapest", ""
    if cheapest == advice.pick:
        of, too = "", ", too"
    those = "those" if advice.tuned or advice.pick not in advice.asked else "those asked for"
    yield (
        f"Of {those} that cannot be told apart{of}, {advice.pick} costs least at worst{too}: "
        f"{_at_worst(advice, advice.pick)}; {', '.join(named)}."
    )


def _told_apart(advice: Advice) -> Iterator[str]:
    """Yield the timers that the user named and that are measurably worse than the cheapest."""
    names = [name for name in advice.asked if name not in advice.alike and not shortcomings(name)]
    than = f"measurably more than {_costs(advice, [_cheapest(advice)])}"
    if len(names) > MANY:
        yield f"The other {len(names):,} with bounds and backoff cost {than}."
    elif names:
        yield f"{_costs(advice, names)} cost{'s' * (len(names) == 1)} {than}."


def _incomplete(advice: Advice) -> Iterator[str]:
    """Yield which other timers that were asked for lack bounds or backoff."""
    names = [name for name in advice.asked if name not in (advice.least, advice.pick)]
    lacks = {name: _lacks(name) for name in names if shortcomings(name)}
    if len(lacks) > MANY:
        yield f"{len(lacks):,} others lack bounds or backoff, so they cannot be taken as they are."
        return
    for what in dict.fromkeys(lacks.values()):
        own = [name for name, lack in lacks.items() if lack == what]
        has, they = ("has", "it") if len(own) == 1 else ("have", "they")
        yield f"{listed(own)} {has} {what}, so {they} cannot be taken as {they} {_ARE[they]}."


_ARE = {"it": "is", "they": "are"}


def _cheapest(advice: Advice) -> str:
    """Return the cheapest timer that might have been taken, with which the others are compared."""
    computed = advice.linux if advice.linux not in advice.asked else ""
    beside = computed if advice.pick in advice.asked and not advice.tuned else ""
    names = [name for name in advice.alike if name != beside]
    return min(names, key=lambda name: advice.cost(name).total.value)


def _at_worst(advice: Advice, name: str) -> str:
    return ms(THOUSAND * advice.cost(name).total.high)


def _costs(advice: Advice, names: Sequence[str]) -> str:
    return listed([f"{name} ({ms(THOUSAND * advice.cost(name).total.value)})" for name in names])


def _why_alike(advice: Advice, names: Sequence[str]) -> str:
    counts = sorted(advice.cost(name).count for name in (advice.pick, *names) if name)
    if counts[0] >= SEEN:
        return "the interval of the difference contains zero"
    seen = str(counts[0] or "no") if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}"
    noun = "retransmission" if counts[0] == counts[-1] < 2 else "retransmissions"
    return f"with {seen} spurious {noun} seen, the difference may be chance"
