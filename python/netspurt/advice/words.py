"""The sentences of an advice."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from netspurt.advice.deploying import floor_of, linux_commands, quic_words, shortcomings
from netspurt.advice.price import ROUNDS
from netspurt.advice.weighing import parts
from netspurt.analysis.bootstrap import Interval
from netspurt.analysis.replayed import SEEN, Tally

if TYPE_CHECKING:
    from netspurt.advice.advising import Advice

#: If fewer losses than this were recorded, the share of losses is very uncertain.
FEW_LOSSES = 10
#: The probes to which costs in words refer.
THOUSAND = 1000
#: More timers than this are counted, not named.
MANY = 6
#: Costs whose ratio is within this factor count as equal.
ALIKE = 1.05


def paragraphs(advice: Advice) -> list[str]:
    """Return the advice: what to take and why, how it was tried, what is unknown, how to deploy."""
    if advice.weighing is None:
        answered = sum(of.algorithms[0].answered for of in advice.replays)
        return [
            f"{answered} answered {'probe is' if answered == 1 else 'probes are'} too few to "
            "prefer one timer to another: 50 are the least."
        ]
    if len(advice.asked) < 2 and not advice.tuned:
        return []
    said = [
        " ".join([*_choice(advice), *_bare(advice), *_others(advice)]),
        " ".join([_priced(advice), *_break_even(advice)]),
        " ".join(_tried(advice)),
        " ".join(_caveats(advice)),
        *_deploy(advice),
    ]
    return [one for one in said if one]


def _choice(advice: Advice) -> list[str]:
    if not advice.pick:
        return ["None of these has bounds and backoff, so none can be recommended as it is."]
    if advice.suits:
        taken = f"Take {advice.pick}: {_bill(advice, advice.pick)}."
        is_linux = advice.pick == advice.linux and advice.pick not in advice.asked
        return [taken, *["Its constant was computed from these delays."] * is_linux]
    is_asked = advice.pick in advice.asked
    computed = "" if is_asked else ", with constants computed from these delays"
    return [
        f"None of these suits: even {advice.least}, the cheapest, retransmits spuriously for "
        f"{_share(advice, advice.least)} of the answers. Try {advice.pick}{computed}: "
        f"{_bill(advice, advice.pick)}."
    ]


def _bill(advice: Advice, estimator: str) -> str:
    one = advice.cost(estimator)
    if one.count > one.answers / 2:
        often = f"spurious retransmissions for {_share(advice, estimator)} of the answers"
    elif one.count:
        often = f"one spurious retransmission in {_grouped(one.answers / one.count)} answers"
    else:
        often = f"no spurious retransmission in {_grouped(one.answers)} answers"
    return f"it costs {_per_thousand(one.total)} per 1,000 probes, with {often}"


def _share(advice: Advice, estimator: str) -> str:
    one = advice.cost(estimator)
    percent = 100 * one.count / one.answers
    return f"{percent:.2g} %" if percent < 99.5 else "100 %"


def _bare(advice: Advice) -> list[str]:
    """Say why the cheapest timer is not the one to take."""
    lacks = shortcomings(advice.least)
    if not lacks or advice.least == advice.pick:
        return []
    if len(lacks) == 3:
        lacks = ["backoff", "bounds"]
    names = _listed([f"no {one.removeprefix('a ')}" for one in lacks])
    return [f"{advice.least} has {names}, so it is not recommended as it is."]


def _others(advice: Advice) -> list[str]:
    others = [name for name in advice.alike if name != advice.pick]
    if not others:
        return _dearer(advice) if advice.pick and advice.suits else []
    said = []
    asked = [name for name in others if name in advice.asked]
    if asked:
        it = " from it" if advice.pick else ""
        said.append(
            f"{_costs(advice, asked)} cannot be told apart{it} on these probes: "
            f"{_why_alike(advice, asked)}."
        )
    computed = [name for name in others if name not in advice.asked]
    if computed:
        has, they = ("has", "It") if len(computed) == 1 else ("have", "They")
        told = f"{_costs(advice, computed)} {has} constants computed from these delays. {they} "
        told += f"cannot be told apart from it: {_why_alike(advice, computed)}"
        if advice.pick in advice.asked:
            told += "; of equals, a timer that was not made from the recording is taken"
        said.append(told + ".")
    return said


def _dearer(advice: Advice) -> list[str]:
    """Say which timers cost measurably more than the one to take, and which costs less."""
    sound = [name for name in advice.asked if name != advice.pick and not shortcomings(name)]
    said = []
    if len(sound) > MANY:
        said.append(f"The other {len(sound):,} with bounds and backoff cost measurably more.")
    elif sound:
        said.append(f"{_costs(advice, sound)} cost{'s' * (len(sound) == 1)} measurably more.")
    if advice.cost(advice.linux).total.value < advice.cost(advice.pick).total.value:
        said.append(
            f"{_costs(advice, [advice.linux])} costs less, but its constant was computed from "
            "these delays: only with --tune may it be taken."
        )
    return said


def _costs(advice: Advice, names: list[str]) -> str:
    costs = [f"{name} ({_ms(THOUSAND * advice.cost(name).total.value)})" for name in names]
    return _listed(costs)


def _why_alike(advice: Advice, names: list[str]) -> str:
    counts = sorted(advice.cost(name).count for name in (advice.pick, *names) if name)
    if counts[0] >= SEEN:
        return "the interval of the difference contains zero"
    seen = str(counts[0] or "no") if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}"
    noun = "retransmission" if counts[0] == counts[-1] < 2 else "retransmissions"
    return f"with {seen} spurious {noun} seen, the difference may be chance"


def _priced(advice: Advice) -> str:
    price = advice.price
    if price.spurious_s is not None:
        worth = f"as {_ms(price.spurious_s)} of waiting"
    else:
        values = [price.of(of.delays) for of in advice.replays]
        median = f"{ROUNDS} median delays: slow start needs as many to reach 32 segments"
        worth = (
            f"as {_ms(values[0])} of waiting ({median}; --cost sets another price)"
            if len(values) == 1
            else f"as {median} ({_ms(min(values))} to {_ms(max(values))}; --cost sets another)"
        )
    at = "the recorded share of losses" if price.loss is None else f"{100 * price.loss:g} % losses"
    return f"Cost is waiting, at {at}; one spurious retransmission counts {worth}."


def _break_even(advice: Advice) -> list[str]:
    """Say between which prices the timer stays the cheapest."""
    if not advice.pick or advice.weighing is None or len(advice.replays) > 1:
        return []
    price = advice.price.of(advice.replays[0].delays)
    if not price > 0:
        return []
    lines = {name: _line(advice, place) for place, name in enumerate(advice.weighing.names)}
    rivals = {
        name: line
        for name, line in lines.items()
        if (name in advice.asked or name in advice.alike) and name != advice.pick
    }
    waiting, spurious = lines[advice.pick]
    below, above = (0.0, ""), (math.inf, "")
    for name, (theirs, more) in rivals.items():
        if more == spurious:
            continue
        at = (waiting - theirs) / (more - spurious)
        if more > spurious and at > below[0]:
            below = (at, name)
        if more < spurious and at < above[0]:
            above = (at, name)
    if not below[0] < 1 < above[0]:
        return []
    said = []
    if below[1]:
        said.append(f"below {_ms(below[0] * price)} {below[1]} is cheaper")
    if above[1]:
        said.append(f"above {_ms(above[0] * price)} {above[1]}")
    return [f"The price decides: {', '.join(said)}."] if said else []


def _line(advice: Advice, place: int) -> tuple[float, float]:
    """Return waiting, and spurious retransmissions at the price, of an algorithm per probe [s]."""
    weighing = advice.weighing
    assert weighing is not None, "there is a pick"
    tallies = [Tally.of(of.resamples.sums, place) for of in weighing.replays]
    waiting, spurious = parts(tallies, weighing.terms)
    return float(waiting[0]), float(spurious[0])


def _tried(advice: Advice) -> list[str]:
    """Say what is chosen without a part of the data, and how that does on the part."""
    lessons = advice.lessons
    if not lessons or not advice.pick:
        return []
    if len(advice.replays) == 1:
        return [_halves(advice)] if len(lessons) == 2 else []
    times = Counter(lesson.choice for lesson in lessons)
    chosen = [f"{name} {_times(count)}" for name, count in times.most_common()]
    each = f"{advice.lessons[0].choice} each time" if len(times) == 1 else _listed(chosen)
    how = f"Chosen{_among(advice)} on all recordings but one{_computed(advice)}"
    said = f"{how}, and judged on that one: {each}"
    cost, least = (sum(getattr(one, of) for one in lessons) for of in ("cost", "least"))
    if cost > 1.0005 * least:
        said += (
            f". The one of them that is best on each recording would cost "
            f"{100 * (cost - least) / cost:.2g} % less"
        )
    else:
        said += ". None of the others is cheaper on any recording"
    worst = max(lessons, key=lambda lesson: lesson.cost - lesson.least)
    if worst.cost > 1.5 * worst.least:
        of = advice.replays[worst.part]
        said += (
            f"; worst on {of.delays.name}, where {worst.best} costs "
            f"{_ms(THOUSAND * worst.least)}, not {_ms(THOUSAND * worst.cost)}"
        )
    return [said + "."]


def _among(advice: Advice) -> str:
    """Return words on the candidates of the choice on a part of the data."""
    if _computed(advice):
        return ""
    names = [name for name in advice.asked if not shortcomings(name)]
    return f" among {_listed(names)}" if 1 < len(names) < 7 else ""


def _computed(advice: Advice) -> str:
    is_asked = advice.pick in advice.asked and not advice.tuned
    return "" if is_asked else ", with constants computed there"


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def _halves(advice: Advice) -> str:
    # A lesson's part is the one that it is judged on.
    second, first = sorted(advice.lessons, key=lambda lesson: -lesson.part)
    how = f"Chosen{_among(advice)} on one half{_computed(advice)}, and judged on the other: "
    if first.choice == second.choice:
        costs = (
            f"{_ms(THOUSAND * second.cost)} on the second and {_ms(THOUSAND * first.cost)} on the "
            "first"
        )
        return f"{how}both halves choose {first.choice}; it costs {costs}."
    told = []
    for lesson, (half, there) in ((second, ("first", "second")), (first, ("second", "first"))):
        said = f"the {half} half chooses {lesson.choice}, which costs "
        said += f"{_ms(THOUSAND * lesson.cost)} on the {there}"
        if lesson.best != lesson.choice and lesson.cost > ALIKE * lesson.least:
            said += f" ({lesson.best}: {_ms(THOUSAND * lesson.least)})"
        told.append(said)
    alike = all(lesson.cost <= ALIKE * lesson.least for lesson in (first, second))
    end = "" if alike else " The halves disagree: a longer recording would tell."
    return f"{how}{'; '.join(told)}.{end}"


def _caveats(advice: Advice) -> list[str]:
    """Return further facts to know before a timer is chosen."""
    said = []
    algorithms = advice.replays[0].algorithms
    answered = sum(of.algorithms[0].answered for of in advice.replays)
    asked = [n for n, one in enumerate(algorithms) if one.estimator in advice.asked]
    fewest = min(sum(of.algorithms[n].spurious for of in advice.replays) for n in asked)
    if fewest < SEEN:
        said.append(
            f"Spells of long delays rarer than one in {_grouped(answered / 3)} answers may be "
            "missing here; a short timer would suffer first."
        )
    before = sum(of.algorithms[0].lost_before for of in advice.replays)
    lost = sum(of.algorithms[0].lost for of in advice.replays) - before
    if lost < FEW_LOSSES and advice.price.loss is None:
        count = {0: "No probe was", 1: "Only one probe was"}.get(lost, f"Only {lost} probes were")
        where = " after the first answer" if before else ""
        said.append(
            f"{count} lost{where}; half a loss is added. "
            "Under load more are: --loss sets the share."
        )
    if any(of.delays.measure == "one-way" for of in advice.replays):
        said.append(
            "These are one-way delays. A sender's round trips, and so its timer, must be longer."
        )
    return said


def _deploy(advice: Advice) -> list[str]:
    """Say how to deploy the timer: in QUIC by max_ack_delay, in Linux by rto_min."""
    if not advice.linux:
        return []
    name = advice.pick.partition(":")[0]
    linux = advice.pick if name == "linux" else advice.linux
    said = [f"In QUIC: {' '.join(quic_words(advice.pick))}"] if name == "quic" else []
    words = linux_commands(floor_of(linux))
    if name != "linux":
        words = [f"The best value here is {linux}: {_bill(advice, linux)}.", *words]
        own = "its estimator has one constant, rto_min."
        if name != "quic":
            own = (
                f"no stack ships {name} as it is. Linux's own estimator has one constant, rto_min."
            )
        words = [own, *words]
    elif advice.linux != advice.pick and advice.suits:
        cheaper = advice.cost(advice.linux)
        if cheaper.total.value < advice.cost(advice.pick).total.value:
            words.append(
                f"{advice.linux}, computed from these delays, would cost "
                f"{_per_thousand(cheaper.total)}."
            )
            words += [one for one in linux_commands(floor_of(advice.linux)) if one not in words]
    return [*said, f"In Linux TCP: {' '.join(words)}"]


def _per_thousand(of: Interval) -> str:
    value, low, high = (_ms(THOUSAND * one) for one in (of.value, of.low, of.high))
    return f"{value} ({low} .. {high})"


def _ms(seconds: float) -> str:
    if not math.isfinite(seconds):
        return "-"
    if seconds >= 10:
        return f"{seconds:,.0f} s" if seconds >= 100 else f"{seconds:.1f} s"
    if seconds >= 1:
        return f"{seconds:.2g} s"
    return f"{seconds * 1e3:.0f} ms" if seconds >= 0.01 else f"{seconds * 1e3:.2g} ms"


def _grouped(count: float) -> str:
    return f"{round(count):,}"


def _listed(names: list[str], last: str = "and") -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {last} {names[-1]}"
