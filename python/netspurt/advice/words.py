"""Makes the advice on a timer in words, with all reasons: a paragraph for each subject.

The price is the waiting time that costs as much as one spurious retransmission.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from netspurt.advice.by_stack import against_own, by_stack, difference_words, linux_timer
from netspurt.advice.deploying import LINUX_OWN, floor_of, linux_commands, quic_words, shortcomings
from netspurt.advice.doubts import remedy, undecided, unsure_shares
from netspurt.advice.losses import losses_behind_choice, without_choice
from netspurt.advice.others import NAMED_MAX, cheapest, not_taken, others
from netspurt.advice.phrases import THOUSAND, listed, ms, one_way_of
from netspurt.advice.price import ROUNDS
from netspurt.advice.weighing import parts
from netspurt.analysis.bootstrap import Interval
from netspurt.analysis.loss_share import percent
from netspurt.analysis.replayed import SEEN, ReplaySums
from netspurt.wording import counted

if TYPE_CHECKING:
    from netspurt.advice.advising import Advice


#: The maximum ratio of costs that count as equal.
EQUAL_RATIO_MAX = 1.05


def paragraphs(advice: Advice) -> list[str]:
    """Return the advice: the choice, its reasons, how it was tried, caveats, and deployment."""
    if reason := without_advice(advice):
        return [*on_loopback(advice), reason]
    texts = [
        " ".join(on_loopback(advice)),
        " ".join([*undecided(advice), *remedy(advice)]),
        " ".join(by_stack(advice)),
        " ".join([*choice_words(advice), *others(advice)]),
        " ".join(losses_behind_choice(advice)),
        " ".join(not_taken(advice)),
        " ".join([_priced(advice), *_break_even(advice)]),
        " ".join(_tried(advice)),
        " ".join(_caveats(advice)),
        *_deploy(advice),
    ]
    return [text for text in texts if text]


def without_advice(advice: Advice) -> str:
    """Return why there is no advice. The text is empty if there is advice."""
    if advice.weighing is None:
        answered = sum(replay.algorithms[0].answered for replay in advice.replays)
        return (
            f"{answered} answered {'probe is' if answered == 1 else 'probes are'} too few to "
            "prefer one timer to another: at least 50 are needed."
        )
    if backed_off := without_choice(advice):
        return backed_off
    if len(advice.asked) < 2 and not advice.tuned:
        return "To get a recommendation, name several timers with -e, or none."
    return ""


def on_loopback(advice: Advice) -> list[str]:
    """Return a warning if the recorded delays are not of a path."""
    own = [replay.delays.name for replay in advice.replays if replay.delays.is_loopback]
    if not own:
        return []
    subject = "These delays are" if len(own) == len(advice.replays) else f"{listed(own)} has delays"
    return [
        f"{subject} of loopback. They show only one machine's kernel and not a path. Do "
        "not use them to choose a timer for a path, unless you emulated a path there."
    ]


def choice_words(advice: Advice) -> list[str]:
    """Return which timer to take, what it costs, and how it was made."""
    if not advice.pick:
        return ["None of these timers has bounds and backoff, so netspurt recommends none of them."]
    if advice.suits:
        cost = _cost_and_spurious(advice, advice.pick)
        if advice.is_decided:
            taken = f"Take {advice.pick}: {cost}."
        else:
            taken = f"{_as_recorded(advice)} {advice.pick} would be taken: {cost}."
        return [taken, *_not_named(advice)]
    is_asked = advice.pick in advice.asked
    computed = "" if is_asked else ", with constants computed from these delays"
    return [
        f"None of these timers is good enough: even {advice.least}, the cheapest, retransmits "
        f"spuriously for {_share(advice, advice.least)} of the answers. "
        f"Try {advice.pick}{computed}: "
        f"{_cost_and_spurious(advice, advice.pick)}."
    ]


def _as_recorded(advice: Advice) -> str:
    """Return the beginning of a sentence on the choice at the recorded share of losses."""
    losses = advice.losses
    if losses is None or not unsure_shares(advice):
        return "On the whole recording"
    return f"As recorded ({percent(losses.value)} lost)" if losses.lost else "With half a loss"


def _not_named(advice: Advice) -> list[str]:
    """Return how the recommended timer was made, if the user did not name it."""
    if advice.pick in advice.asked:
        return []
    if advice.pick == advice.linux:
        return ["Its constant was computed from these delays."]
    name = advice.pick.partition(":")[0]
    incomplete = [
        asked for asked in advice.asked if asked.partition(":")[0] == name and shortcomings(asked)
    ]
    if not incomplete:
        return ["Its constants were computed from these delays."]
    added = listed(shortcomings(incomplete[0]))
    return [
        f"It is {incomplete[0]} completed with {added}; its constants were computed from these "
        "delays."
    ]


def _cost_and_spurious(advice: Advice, estimator: str) -> str:
    cost = advice.cost(estimator)
    if cost.count > cost.answers / 2:
        often = f"spurious retransmissions for {_share(advice, estimator)} of the answers"
    elif cost.count:
        often = (
            f"{counted(cost.count, 'spurious retransmission')} in {_grouped(cost.answers)} answers"
        )
    else:
        often = f"no spurious retransmission in {_grouped(cost.answers)} answers"
    return f"it costs {_per_thousand(cost.total)} per 1,000 probes, with {often}"


def _share(advice: Advice, estimator: str) -> str:
    cost = advice.cost(estimator)
    percent = 100 * cost.count / cost.answers
    return f"{percent:.2g} %" if percent < 99.5 else "100 %"


def _priced(advice: Advice) -> str:
    price = advice.price
    if price.spurious_s is not None:
        worth = f"as {ms(price.spurious_s)} of waiting"
    else:
        values = [price.of(replay.delays) for replay in advice.replays]
        why = f"slow start needs {ROUNDS} round trips to reach 32 segments"
        median = f"{_medians(advice)}: {why}"
        worth = (
            f"as {ms(values[0])} of waiting ({median}; --cost sets another price)"
            if len(values) == 1
            else f"as {median} ({ms(min(values))} to {ms(max(values))}; --cost sets another price)"
        )
    at = (
        "the recorded losses and half a loss more, because a path without losses may still lose a "
        "packet (Jeffreys' prior)"
        if advice.losses
        else "half a loss, because losses are not recorded"
    )
    if price.loss is not None:
        at = f"{100 * price.loss:g} % losses"
    return (
        f"The cost is the time of waiting for lost probes, at {at}. One spurious retransmission "
        f"counts {worth}."
    )


def _medians(advice: Advice) -> str:
    """Return the default price as a multiple of the median delay, in words."""
    one_way = one_way_of(advice.replays)
    if not one_way:
        return f"{ROUNDS} median delays"
    if len(one_way) == len(advice.replays):
        return f"{2 * ROUNDS} median one-way delays, which are {ROUNDS} round trips"
    return f"{ROUNDS} median round trips, with a one-way delay as half a round trip"


def _break_even(advice: Advice) -> list[str]:
    """Return a sentence on the prices at which another timer costs less, if there are any."""
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
    for name, (rival_waiting, rival_spurious) in rivals.items():
        if rival_spurious == spurious:
            # Which of `name` and the pick costs less does not depend on the price.
            continue
        # At `multiple` times the price, both timers cost the same.
        multiple = (waiting - rival_waiting) / (rival_spurious - spurious)
        if rival_spurious > spurious and multiple > below[0]:
            below = (multiple, name)
        if rival_spurious < spurious and multiple < above[0]:
            above = (multiple, name)
    if not below[0] < 1 < above[0]:
        return []
    ranges = []
    if below[1]:
        ranges.append(f"with a price below {ms(below[0] * price)}, {below[1]} costs less")
    if above[1]:
        ranges.append(f"with a price above {ms(above[0] * price)}, {above[1]} costs less")
    return [f"The price decides: {'; '.join(ranges)}."] if ranges else []


def _line(advice: Advice, place: int) -> tuple[float, float]:
    """Return two costs of an algorithm per probe [s].

    The first is the cost of waiting, and the second is the cost of spurious retransmissions.
    """
    weighing = advice.weighing
    assert weighing is not None, "there is a pick"
    sums = [ReplaySums.of(replay.resamples.sums, place) for replay in weighing.replays]
    waiting, spurious = parts(sums, weighing.terms)
    return float(waiting[0]), float(spurious[0])


def _tried(advice: Advice) -> list[str]:
    """Return which timer is chosen without a part of the data, and its cost on this part."""
    lessons = advice.lessons
    if not lessons or not advice.pick:
        return []
    if len(advice.replays) == 1:
        return [_halves(advice), *_unlike_pick(advice)] if len(lessons) == 2 else []
    times = Counter(lesson.choice for lesson in lessons)
    chosen = [f"{name} {_times(count)}" for name, count in times.most_common()]
    each = f"{advice.lessons[0].choice} each time" if len(times) == 1 else listed(chosen)
    how = f"Check: {_among(advice)} was chosen on all recordings but one{_computed(advice)}"
    sentence = f"{how}, and tried on the remaining recording. Chosen: {each}"
    cost, least = (sum(getattr(one, name) for one in lessons) for name in ("cost", "least"))
    if cost > 1.0005 * least:
        sentence += (
            f". With the best timer for each recording, the sum of the costs would be "
            f"{100 * (cost - least) / cost:.2g} % smaller"
        )
    else:
        sentence += ". None of the other timers is cheaper on any recording"
    worst = max(lessons, key=lambda lesson: lesson.cost - lesson.least)
    if worst.cost > 1.5 * worst.least:
        replay = advice.replays[worst.part]
        sentence += (
            f"; the choice is worst on {replay.delays.name}: there it costs "
            f"{ms(THOUSAND * worst.cost)}, and {worst.best} costs {ms(THOUSAND * worst.least)}"
        )
    return [sentence + ".", *_unlike_pick(advice)]


def _unlike_pick(advice: Advice) -> Iterator[str]:
    """Yield why timers that are chosen on parts of the data are not recommended.

    On a part, the choice is among the named timers only. On all data, these timers are also
    compared with timers whose constants were computed from the data.
    """
    if _computed(advice):
        return
    choices = dict.fromkeys(lesson.choice for lesson in advice.lessons)
    for name in choices:
        whole = "the whole recording" if len(advice.replays) == 1 else "all recordings"
        if name not in advice.alike:
            best = cheapest(advice)
            yield (
                f"On {whole} {name} is not taken, because it costs measurably more than {best}"
                f"{_not_among(advice, best)}"
            )
        elif name != advice.pick and len(choices) == 1:
            yield (
                f"On {whole} {advice.pick} is taken in place of {name}: the upper end of the "
                "interval of its cost is lower there."
            )


def _not_among(advice: Advice, name: str) -> str:
    """Return the end of a sentence on a timer, with words on its constants if it was not named."""
    if name in advice.asked:
        return "."
    return (
        ", whose constants were computed from all delays. The check chooses among the named timers "
        "only."
    )


def _among(advice: Advice) -> str:
    """Return words for a timer that is chosen on a part of the data from the candidates."""
    if _computed(advice):
        return "a timer"
    names = [name for name in advice.asked if not shortcomings(name)]
    return f"one of the timers {listed(names)}" if 1 < len(names) < 7 else "a timer"


def _computed(advice: Advice) -> str:
    """Return words on computed constants, or an empty text if the recommended timer was named."""
    is_asked = advice.pick in advice.asked and not advice.tuned
    return "" if is_asked else ", with constants computed from that part of the data"


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def _halves(advice: Advice) -> str:
    # A lesson is a choice from one half. Its `part` is the other half, on which the choice is
    # judged.
    second, first = sorted(advice.lessons, key=lambda lesson: -lesson.part)
    computed = f"{words}," if (words := _computed(advice)) else ""
    how = f"Check: {_among(advice)} was chosen on one half{computed} and tried on the other half. "
    if first.choice == second.choice:
        costs = (
            f"{ms(THOUSAND * second.cost)} on the second half and {ms(THOUSAND * first.cost)} on "
            "the first"
        )
        return f"{how}Both halves choose {first.choice}, which costs {costs}."
    clauses = []
    for lesson, (half, other) in ((second, ("first", "second")), (first, ("second", "first"))):
        clause = f"The {half} half chooses {lesson.choice}, which costs "
        clause += f"{ms(THOUSAND * lesson.cost)} on the {other}"
        if lesson.best != lesson.choice and lesson.cost > EQUAL_RATIO_MAX * lesson.least:
            clause += f" ({lesson.best}: {ms(THOUSAND * lesson.least)})"
        clauses.append(clause)
    end = " The halves disagree: record for longer." if advice.contrary else ""
    return f"{how}{'. '.join(clauses)}.{end}"


def _caveats(advice: Advice) -> list[str]:
    """Return further facts to know before a timer is chosen."""
    sentences = []
    algorithms = advice.replays[0].algorithms
    answered = sum(replay.algorithms[0].answered for replay in advice.replays)
    places = [n for n, one in enumerate(algorithms) if one.estimator in advice.asked]
    fewest = min(sum(replay.algorithms[n].spurious for replay in advice.replays) for n in places)
    if fewest < SEEN:
        sentences.append(
            f"Periods of long delays that are rarer than one in {_grouped(answered / 3)} answers "
            "may be missing here; in such a period a short timer would fire too early."
        )
    if advice.price.loss is None and advice.losses:
        sentences.append("Under load more probes are lost: --loss sets the share.")
    return [*sentences, *one_way_words(advice)]


def one_way_words(advice: Advice) -> Iterator[str]:
    """Yield a caution if recordings have one-way delays, which are shorter than round trips."""
    names = [replay.delays.name for replay in one_way_of(advice.replays)]
    if not names:
        return
    if len(names) == len(advice.replays):
        yield "These are one-way delays. A sender's round trips, and so its timer, must be longer."
        return
    listing = listed(names) if len(names) <= NAMED_MAX else f"{len(names):,} of them"
    have = "has" if len(names) == 1 else "have"
    yield (
        f"The recordings measure different things: {listing} {have} one-way delays, and the others "
        "have round trips, which are longer. The sum of the costs of both kinds describes no path: "
        "replay each kind separately."
    )


def _deploy(advice: Advice) -> list[str]:
    """Return how to deploy the timer: in QUIC by its constants, in Linux by rto_min."""
    if not advice.linux:
        return []
    if one_way_of(advice.replays):
        return [
            "In Linux TCP and in QUIC: no setting follows from one-way delays, because a sender's "
            "timer waits for round trips. Record round trips to choose a setting."
        ]
    name = advice.pick.partition(":")[0]
    if name == "linux":
        if not advice.is_decided and advice.suits:
            return ["In Linux TCP: keep your rto_min until a recording decides."]
        return [f"In Linux TCP: {' '.join(_linux_taken(advice))}"]
    quic = [f"In QUIC: {' '.join(quic_words(advice.pick))}"] if name == "quic" else []
    introduction = "its estimator has one constant, rto_min."
    if name and name != "quic":
        introduction = (
            f"no stack ships {name} as it is. Linux's own estimator has one constant, rto_min."
        )
    return [*quic, f"In Linux TCP: {' '.join([introduction, *_linux_instead(advice)])}"]


def _linux_taken(advice: Advice) -> list[str]:
    """Return how to set the recommended timer, which is Linux's."""
    words = []
    sign = against_own(advice, advice.pick)
    if LINUX_OWN not in (advice.pick, *advice.asked):
        than = {
            -1: ".",
            0: f"; {difference_words(advice, advice.pick)}, so you may keep 200 ms.",
            1: ", which is measurably less.",
        }
        own = _per_thousand(advice.cost(LINUX_OWN).total)
        words.append(f"Linux's own rto_min of 200 ms, which was not named, costs {own}{than[sign]}")
        if sign > 0:
            return [*words, "Keep 200 ms, which needs no setting."]
    words += _commands(advice, advice.pick)
    cheaper = advice.cost(advice.linux).total
    if advice.linux == advice.pick or not advice.suits:
        return words
    if not cheaper.value < advice.cost(advice.pick).total.value:
        return words
    computed = f"{advice.linux}, computed from these delays, would cost {_per_thousand(cheaper)}"
    assert advice.weighing is not None, "there is a pick"
    if advice.weighing.sign(advice.linux, advice.pick) >= 0:
        return [*words, f"{computed}; the difference is not measurable."]
    confirm = "Before you set this value, confirm the difference with a longer recording."
    words.append(f"{computed}. {confirm}")
    further = _commands(advice, advice.linux)
    return [*words, *(sentence for sentence in further if sentence not in words)]


def _linux_instead(advice: Advice) -> list[str]:
    """Return which `rto_min` to set if another timer than Linux's is recommended."""
    linux = linux_timer(advice)
    best = "The best of the named values" if linux in advice.asked else "The best value"
    words = [f"{best} for these delays is {linux}: {_cost_and_spurious(advice, linux)}."]
    sign = against_own(advice, linux)
    if linux == LINUX_OWN or sign < 0:
        return [*words, *_commands(advice, linux)]
    own = _per_thousand(advice.cost(LINUX_OWN).total)
    if sign > 0:
        words.append(f"Linux's own rto_min of 200 ms costs {own}, which is measurably less.")
    else:
        words.append(
            f"Linux's own rto_min of 200 ms costs {own}; {difference_words(advice, linux)}."
        )
    return [*words, "Keep 200 ms, which needs no setting."]


def _commands(advice: Advice, name: str) -> list[str]:
    """Return how to set the `rto_min` of a timer of Linux."""
    return linux_commands(floor_of(name), [replay.delays.format for replay in advice.replays])


def _per_thousand(cost: Interval) -> str:
    value, low, high = (ms(THOUSAND * end) for end in (cost.value, cost.low, cost.high))
    return f"{value} ({low} .. {high})"


def _grouped(count: float) -> str:
    return f"{round(count):,}"
