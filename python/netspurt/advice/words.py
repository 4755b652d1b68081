"""The sentences of an advice."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from netspurt.advice.deploying import floor_of, linux_commands, quic_words, shortcomings
from netspurt.advice.losses import rests_on, without_choice
from netspurt.advice.others import not_taken, others
from netspurt.advice.phrases import THOUSAND, listed, ms
from netspurt.advice.price import ROUNDS
from netspurt.advice.weighing import parts
from netspurt.analysis.bootstrap import Interval
from netspurt.analysis.replayed import SEEN, Tally
from netspurt.wording import counted

if TYPE_CHECKING:
    from netspurt.advice.advising import Advice

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
    if backed_off := without_choice(advice):
        return [backed_off]
    if len(advice.asked) < 2 and not advice.tuned:
        return []
    said = [
        " ".join([*_choice(advice), *others(advice)]),
        " ".join(rests_on(advice)),
        " ".join(not_taken(advice)),
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
        return [taken, *_not_named(advice)]
    is_asked = advice.pick in advice.asked
    computed = "" if is_asked else ", with constants computed from these delays"
    return [
        f"None of these suits: even {advice.least}, the cheapest, retransmits spuriously for "
        f"{_share(advice, advice.least)} of the answers. Try {advice.pick}{computed}: "
        f"{_bill(advice, advice.pick)}."
    ]


def _not_named(advice: Advice) -> list[str]:
    """Say where a timer comes from that the user did not name."""
    if advice.pick in advice.asked:
        return []
    if advice.pick == advice.linux:
        return ["Its constant was computed from these delays."]
    name = advice.pick.partition(":")[0]
    bare = [one for one in advice.asked if one.partition(":")[0] == name and shortcomings(one)]
    if not bare:
        return ["Its constants were computed from these delays."]
    added = listed(shortcomings(bare[0]))
    return [
        f"It is {bare[0]} completed with {added}; its constants were computed from these delays."
    ]


def _bill(advice: Advice, estimator: str) -> str:
    one = advice.cost(estimator)
    if one.count > one.answers / 2:
        often = f"spurious retransmissions for {_share(advice, estimator)} of the answers"
    elif one.count:
        often = (
            f"{counted(one.count, 'spurious retransmission')} in {_grouped(one.answers)} answers"
        )
    else:
        often = f"no spurious retransmission in {_grouped(one.answers)} answers"
    return f"it costs {_per_thousand(one.total)} per 1,000 probes, with {often}"


def _share(advice: Advice, estimator: str) -> str:
    one = advice.cost(estimator)
    percent = 100 * one.count / one.answers
    return f"{percent:.2g} %" if percent < 99.5 else "100 %"


def _priced(advice: Advice) -> str:
    price = advice.price
    if price.spurious_s is not None:
        worth = f"as {ms(price.spurious_s)} of waiting"
    else:
        values = [price.of(of.delays) for of in advice.replays]
        median = f"{ROUNDS} median delays: slow start needs as many to reach 32 segments"
        worth = (
            f"as {ms(values[0])} of waiting ({median}; --cost sets another price)"
            if len(values) == 1
            else f"as {median} ({ms(min(values))} to {ms(max(values))}; --cost sets another)"
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
        said.append(f"below {ms(below[0] * price)} {below[1]} is cheaper")
    if above[1]:
        said.append(f"above {ms(above[0] * price)} {above[1]}")
    return [f"The price decides: {', '.join(said)}."] if said else []


def _line(advice: Advice, place: int) -> tuple[float, float]:
    """Return waiting, and spurious retransmissions at the price, of an algorithm per probe [s]."""
    weighing = advice.weighing
    assert weighing is not None, "there is a pick"
    tallies = [Tally.of(of.resamples.sums, place) for of in weighing.replays]
    waiting, spurious = parts(tallies, weighing.terms)
    return float(waiting[0]), float(spurious[0])


def _tried(advice: Advice) -> list[str]:
    """Say which timer is chosen without a part of the data, and what it costs on this part."""
    lessons = advice.lessons
    if not lessons or not advice.pick:
        return []
    if len(advice.replays) == 1:
        return [_halves(advice)] if len(lessons) == 2 else []
    times = Counter(lesson.choice for lesson in lessons)
    chosen = [f"{name} {_times(count)}" for name, count in times.most_common()]
    each = f"{advice.lessons[0].choice} each time" if len(times) == 1 else listed(chosen)
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
            f"{ms(THOUSAND * worst.least)}, not {ms(THOUSAND * worst.cost)}"
        )
    return [said + "."]


def _among(advice: Advice) -> str:
    """Return words on the candidates of the choice on a part of the data."""
    if _computed(advice):
        return ""
    names = [name for name in advice.asked if not shortcomings(name)]
    return f" among {listed(names)}" if 1 < len(names) < 7 else ""


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
            f"{ms(THOUSAND * second.cost)} on the second and {ms(THOUSAND * first.cost)} on the "
            "first"
        )
        return f"{how}both halves choose {first.choice}; it costs {costs}."
    told = []
    for lesson, (half, there) in ((second, ("first", "second")), (first, ("second", "first"))):
        said = f"the {half} half chooses {lesson.choice}, which costs "
        said += f"{ms(THOUSAND * lesson.cost)} on the {there}"
        if lesson.best != lesson.choice and lesson.cost > ALIKE * lesson.least:
            said += f" ({lesson.best}: {ms(THOUSAND * lesson.least)})"
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
    if advice.price.loss is None:
        said.append("Under load more probes are lost: --loss sets the share.")
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
        words = [f"The best value for these delays is {linux}: {_bill(advice, linux)}.", *words]
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
                f"{_per_thousand(cheaper.total)}. A longer recording should confirm that before "
                "it is set:"
            )
            words += [one for one in linux_commands(floor_of(advice.linux)) if one not in words]
    return [*said, f"In Linux TCP: {' '.join(words)}"]


def _per_thousand(of: Interval) -> str:
    value, low, high = (ms(THOUSAND * one) for one in (of.value, of.low, of.high))
    return f"{value} ({low} .. {high})"


def _grouped(count: float) -> str:
    return f"{round(count):,}"
