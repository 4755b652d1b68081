"""The output of `netspurt replay`: tables of timers, comparisons, RFC 889's rows, and JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netspurt.cli.cheapest import Cheapest
from netspurt.cli.one_way import HEADING, caption, share_of
from netspurt.cli.output import columns, paint
from netspurt.quantities import known
from netspurt.wording import number

if TYPE_CHECKING:
    from netspurt.advice import Advice
    from netspurt.analysis.bootstrap import Interval as Bounds
    from netspurt.delays import Delays
    from netspurt.timers import Algorithm, Replay, Versus

#: The heads of the columns in the table of timers. Costs are for each 1,000 probes.
_HEADS = ("", "spurious", "95 % interval", "timer", "per loss", "efficiency", "cost", "95 %")
#: The meanings of the columns, which are printed below the table.
_MEANINGS = {
    "spurious": "spurious: answers that came after the timer",
    "timer": "timer: its mean value",
    "per loss": "per loss: the mean wait for a lost probe",
    "efficiency": "efficiency: delays / (delays + waits + delays of spurious probes), RFC 889",
    "cost": "cost: for 1,000 probes, the waits for losses and {price} for each spurious "
    "retransmission",
}
#: For each order of a replay: when timers learn of a reply.
_ORDERS = {
    "causal": "when it arrives",
    "sequence": "before the next probe leaves, as if one probe were in flight",
}
_PERCENTS = (50, 90, 99, 100)


#: The last line of a report without details.
MORE = (
    "--details adds: the times and the share of losses, how long lost probes waited, why the other "
    "timers are not taken, how the choice was tried, and how to set a timer."
)


def lines(advice: Advice, *, details: bool = False) -> Iterator[str]:
    """Yield the report on a recording of delays. Each sentence or paragraph is one line."""
    replayed = advice.replays[0]
    yield head(replayed.delays)
    texts = advice.paragraphs() if details else advice.answer()
    for text in texts:
        yield ""
        yield text
    yield ""
    yield from _timer_table(replayed, advice)
    yield from _before(replayed)
    if details:
        yield from _waits(replayed, advice)
    yield from _notes(replayed, details=details)


def _timer_table(replayed: Replay, advice: Advice) -> Iterator[str]:
    """Yield the table of timers, and the meanings of its columns."""
    shown = [row(one, advice) for one in replayed.algorithms if _shown(one, advice)]
    kept = [n for n in range(len(_HEADS)) if any(one[n] != "-" for one in shown)]
    yield from _table_of([[one[n] for n in kept] for one in (_HEADS, *shown)])
    told = [_MEANINGS[_HEADS[n]] for n in kept if _HEADS[n] in _MEANINGS]
    price = span(advice.price.of(replayed.delays))
    yield paint(f"{'; '.join(told)}.".format(price=price), "dim")


def _notes(replayed: Replay, *, details: bool) -> Iterator[str]:
    """Yield what was assumed about a recording, and, with `details`, when losses occurred."""
    notes = (
        [*content_words(replayed.delays), _assumed(replayed)]
        if details
        else reading_words(replayed.delays)
    )
    for note in ["", *notes] if notes else ():
        yield paint(note, "dim")


def _assumed(replayed: Replay) -> str:
    """Return in a sentence how the timers were replayed.

    Examples
    --------
    >>> import netspurt as ns
    >>> _assumed(ns.replay(ns.Delays.of([0.05] * 9, every=1.0), ["linux"])).partition(". ")[2]
    'A loss does not double a timer.'
    """
    clock = "an exact clock" if replayed.clock == "exact" else f"the clock {replayed.clock}"
    doubles = "doubles" if replayed.told else "does not double"
    order = _ORDERS[replayed.order]
    return f"The timers learn of a reply {order}, and use {clock}. A loss {doubles} a timer."


def pooled_lines(advice: Advice, *, details: bool = False) -> Iterator[str]:
    """Yield the report on several recordings together."""
    for replayed in advice.replays:
        yield head(replayed.delays)
    for text in advice.paragraphs() if details else advice.answer():
        yield ""
        yield text
    if advice.weighing:
        yield ""
        yield from _pooled_table(advice)


def _pooled_table(advice: Advice) -> Iterator[str]:
    """Yield the table of timers on several recordings together."""
    heads = ("all recordings", "spurious", "answers", "timer", "cost", "95 %", "best on")
    rows = [list(heads)]
    best = [
        min(_alone(advice, replayed), key=lambda pair: pair[1])[0] for replayed in advice.replays
    ]
    for one in advice.weighing.costs if advice.weighing else ():
        if one.estimator not in mentioned(advice):
            continue
        timer = sum(
            replayed[one.estimator].timer.value * len(replayed.delays)
            for replayed in advice.replays
        )
        timer /= sum(len(replayed.delays) for replayed in advice.replays)
        wins = sum(name == one.estimator for name in best)
        ends = [number(one.count), number(one.answers), span(timer), *_cost(one.total)]
        rows.append([one.estimator, *ends, f"{wins} of {len(best)}"])
    yield from _table_of(rows)


def _alone(advice: Advice, replayed: Replay) -> Iterator[tuple[str, float]]:
    """Yield, for one recording alone, the costs of the timers that are shown."""
    from netspurt.advice.weighing import Terms, cost
    from netspurt.analysis.replayed import ReplaySums

    for place, one in enumerate(replayed.algorithms):
        if one.estimator in mentioned(advice):
            total = cost(
                [ReplaySums.of(replayed.resamples.sums, place)], [Terms.of(replayed, advice.price)]
            )
            yield one.estimator, float(total[0])


def mentioned(advice: Advice) -> set[str]:
    """Return the timers to show: those that the user named and those that the advice names."""
    return {*advice.asked, *advice.alike, advice.pick, advice.linux}


def _shown(algorithm: Algorithm, advice: Advice) -> bool:
    return algorithm.estimator in mentioned(advice)


def about(delays: Delays) -> Iterator[str]:
    """Yield lines on the content of a recording, with notes."""
    yield head(delays)
    for note in content_words(delays):
        yield paint(note, "dim")


def content_words(delays: Delays) -> list[str]:
    """Return sentences on a recording: times, assumptions, losses, and changes of the delays."""
    from netspurt.analysis.loss_share import share_words
    from netspurt.analysis.quarters import quarter_words
    from netspurt.analysis.time_of_day import day_words

    losses = [*delays.loss_words(), *share_words(delays), *quarter_words(delays)]
    return [*day_words(delays), *delays.notes, *losses]


def reading_words(delays: Delays) -> list[str]:
    """Return sentences that matter for a choice: on assumptions and changes of the delays."""
    from netspurt.analysis.quarters import quarter_words

    return [*delays.notes, *quarter_words(delays)]


def head(delays: Delays) -> str:
    """Return a recording's name, counts and delays."""
    import numpy as np

    from netspurt.analysis.loss_share import losses_recorded

    share = f" ({100 * delays.lost / delays.sent:.2f} %)" if delays.lost else ""
    text = f"{delays.name}: {count(delays.sent, 'probe')}, {number(delays.received)} answered"
    if losses_recorded(delays):
        text += f", {number(delays.lost)} lost{share}"
    if delays.late:
        text += f", {number(delays.late)} late"
    if delays.duplicates:
        text += f", {number(delays.duplicates)} duplicates"
    rtt = delays.rtt_s[~np.isnan(delays.rtt_s)]
    if len(rtt):
        low, middle, high = np.percentile(rtt, [1, 50, 99])
        text += f" · {span(middle)} median, {span(low)}-{span(high)} (1-99 %)"
    return text + (f" · read as {delays.format}" if delays.format else "")


def row(algorithm: Algorithm, advice: Advice | None = None, cost: str = "-") -> list[str]:
    """Return the cells of a timer's row. If `advice` has no costs, the cost is `cost`."""
    ends = algorithm.spurious_share
    counts = (
        f"{_plain(ends.low * algorithm.answered)} .. {_plain(ends.high * algorithm.answered)}"
        if math.isfinite(ends.low)
        else "-"
    )
    weighed = advice is not None and advice.weighing is not None
    return [
        algorithm.estimator,
        number(algorithm.spurious),
        counts,
        span(algorithm.timer.value),
        span(algorithm.waited_per_loss),
        f"{algorithm.efficiency:.3f}" if math.isfinite(algorithm.efficiency) else "-",
        *(_cost(advice.cost(algorithm.estimator).total) if advice and weighed else (cost, "-")),
    ]


def _cost(interval: Bounds) -> tuple[str, str]:
    """Return a cost per 1,000 probes and its interval."""
    return span(
        1000 * interval.value
    ), f"{span(1000 * interval.low)} .. {span(1000 * interval.high)}"


def _table_of(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    text = columns(rows, right=range(1, len(rows[0])))
    yield paint(next(text), "dim")
    yield from text


def settings_lines(
    delays: Sequence[Delays], settings: Iterable[tuple[list[Algorithm], float]]
) -> Iterator[str]:
    """Yield a row for each setting of a grid, without intervals, and the cheapest settings."""
    rows, best = [], Cheapest()
    for algorithms, cost in settings:
        best.take(algorithms, cost)
        rows.append(_setting(algorithms, cost))
    heads = ["setting", "spurious", "timer", "per loss", "efficiency", "cost"]
    yield from _table_of([heads, *rows])
    over = f"all {len(delays)} recordings" if len(delays) > 1 else "these probes"
    costs = f"{span(1000 * best.cost)} per 1,000 probes on {over}"
    if best.is_only_cost:
        yield f"All settings cost the same: {costs}."
        yield from best.why_alike(delays)
    elif best.names:
        yield f"best: {best.in_words()}, {costs}"


def _setting(algorithms: list[Algorithm], cost: float) -> list[str]:
    """Return the cells of a setting. They have sums, or means, over all recordings together."""
    lost = sum(one.lost - one.lost_before for one in algorithms)
    probes = sum(one.probes for one in algorithms)
    waited, good = (sum(getattr(one, what) for one in algorithms) for what in ("waited", "good"))
    total = sum(one.total for one in algorithms)
    return [
        algorithms[0].estimator,
        number(sum(one.spurious for one in algorithms)),
        span(sum(one.timer.value * one.probes for one in algorithms) / probes),
        span(waited / lost if lost else math.nan),
        f"{good / total:.3f}" if total else "-",
        span(1000 * cost),
    ]


def _before(replayed: Replay) -> Iterator[str]:
    """Yield sentences on the losses before the first answer. No figure includes their waits."""
    lost = replayed.algorithms[0].lost_before
    if not lost:
        return
    waits = {one.waited_before for one in replayed.algorithms}
    told = span(min(waits))
    if len(waits) > 1:
        told += f" to {span(max(waits))}, depending on the timer"
    if lost == 1:
        text = (
            "1 probe was lost before the first answer. No figure here includes the wait for this "
            f"loss. This wait is {told}."
        )
    else:
        text = (
            f"{number(lost)} probes were lost before the first answer. No figure here includes the "
            f"waits for these losses. In total, these waits are {told}."
        )
    yield paint(text, "dim")


def _waits(replayed: Replay, advice: Advice) -> Iterator[str]:
    """Yield percentiles of the waits for lost probes, and of how early spurious timeouts came."""
    shown = [one for one in replayed.algorithms if _shown(one, advice)]
    waited = shown[0].lost > shown[0].lost_before
    short = any(one.spurious for one in shown)
    if not waited and not short:
        return
    heads = [""]
    heads += ["waits 50 %", "90 %", "99 %", "longest"] if waited else []
    heads += ["short by 50 %", "90 %", "99 %", "most"] if short else []
    rows = [heads]
    for one in shown:
        cells = [*one.wait_percentiles(_PERCENTS)] if waited else []
        cells += [*one.short_percentiles(_PERCENTS)] if short else []
        rows.append([one.estimator, *map(span, cells)])
    yield ""
    yield from _table_of(rows)
    told = ["waits: percentiles of how long lost probes waited for the timer"] * waited
    told += ["short by: how long after a spurious firing the answer came"] * short
    yield paint(f"{'; '.join(told)}.", "dim")


def rfc889_lines(replayed: Replay) -> Iterator[str]:
    """Yield the rows of RFC 889's table. Times and efficiencies are truncated, as in the RFC."""
    yield from about(replayed.delays)
    share = share_of(replayed.delays.measure)
    rows = [rfc889_row(algorithm, share) for algorithm in replayed.algorithms]
    yield from columns([HEADING, *rows], right=range(1, 9))
    yield paint(caption(replayed.delays.measure), "dim")


def rfc889_row(algorithm: Algorithm, share: float, name: str = "") -> list[str]:
    """Return a row of RFC 889's table, with the recorded times multiplied by `share`."""
    return [
        name or algorithm.estimator,
        str(math.floor(share * algorithm.total)),
        str(algorithm.lost),
        f"{math.floor(share * algorithm.waited * 10) / 10:.1f}",
        str(algorithm.spurious),
        f"{math.floor(share * algorithm.spurious_time * 10) / 10:.1f}",
        str(math.floor(share * algorithm.mean * 1000)),
        f"{algorithm.cov:.2f}".removeprefix("0") if math.isfinite(algorithm.cov) else "-",
        algorithm.printed_efficiency,
    ]


def rfc889_settings(
    delays: Sequence[Delays], settings: Iterable[tuple[list[Algorithm], float]]
) -> Iterator[str]:
    """Yield RFC 889's table for each setting, with a row per recording, and the best setting."""
    best = Cheapest()
    for algorithms, _ in settings:
        name = algorithms[0].estimator
        rows = [
            rfc889_row(one, share_of(path.measure), Path(path.name).name)
            for path, one in zip(delays, algorithms, strict=True)
        ]
        good, total = (sum(getattr(one, what) for one in algorithms) for what in ("good", "total"))
        share = good / total if total else math.nan
        best.take(algorithms, -share)
        table = [[name, *HEADING[1:]], *rows]
        yield from _table_of(table)
        yield f"efficiency over all: {share:.3f}" if len(rows) > 1 else ""
        if len(rows) > 1:
            yield ""
    if best.is_only_cost:
        yield f"All settings have the same efficiency, {-best.cost:.3f}."
        yield from best.why_alike(delays)
    elif best.names:
        yield f"best: {best.in_words()}, with an efficiency of {-best.cost:.3f}"


def versus(replayed: Replay, reference: str) -> list[Versus]:
    """Return the comparison of each algorithm with the reference.

    Raises
    ------
    ValueError
        If the replay has no algorithm besides the reference.
    """
    from netspurt.estimators import name_of

    other = replayed[name_of(reference)]
    told = [
        replayed.versus(algorithm, other)
        for algorithm in replayed.algorithms
        if algorithm is not other
    ]
    if not told:
        raise ValueError(
            f"--versus {reference}: there is no other timer to compare with it: add one with -e"
        )
    return told


def versus_lines(replays: list[Replay], reference: str) -> Iterator[str]:
    """Yield, for each recording, a comparison of each algorithm's efficiency with a reference."""
    rows = [["recording", "order", "timer", "spurious", "efficiency", "ahead", "95 % interval", ""]]
    for replayed in replays:
        for told in versus(replayed, reference):
            algorithm, other = told.first, told.second
            rows.append(
                [
                    Path(replayed.delays.name).name,
                    replayed.order,
                    algorithm.estimator,
                    f"{number(algorithm.spurious)} / {number(other.spurious)}",
                    f"{algorithm.efficiency:.3f} / {other.efficiency:.3f}",
                    f"{100 * told.ahead.value:+.2f}",
                    f"{100 * told.ahead.low:+.2f} .. {100 * told.ahead.high:+.2f}",
                    told.verdict,
                ]
            )
    if not replays:
        return
    text = columns(rows, right=(3, 4, 5, 6))
    yield paint(next(text), "dim")
    yield from text
    yield ""
    told_of = (
        f"In a cell `a / b`, a is the timer's figure and b is {reference}'s; `ahead` is 100 times "
        "the difference of the efficiencies."
    )
    yield told_of


def as_data(
    replayed: Replay, advice: Advice | None, reference: str | None = None
) -> dict[str, Any]:
    """Return all numbers of a replay."""
    it = replayed.delays
    against = versus(replayed, reference) if reference else []
    return {
        "recording": it.name,
        "format": it.format,
        "measure": it.measure,
        "send_times": it.send_times,
        "notes": it.notes,
        "order": replayed.order,
        "clock": replayed.clock,
        "told": replayed.told,
        "sent": it.sent,
        "received": it.received,
        "lost": it.lost,
        "late": it.late,
        "duplicates": it.duplicates,
        "loss_runs": [int(length) for length in it.loss_runs()[1]],
        "block": replayed.block,
        "estimators": [algorithm_data(algorithm) for algorithm in replayed.algorithms],
        "front": [algorithm.estimator for algorithm in replayed.front()],
        "recommendation": advice.paragraphs() if advice else [],
        "advice": advice.data() if advice else None,
        "versus": [
            {
                "first": told.first.estimator,
                "second": told.second.estimator,
                "ahead": told.ahead.data(),
                "verdict": told.verdict,
            }
            for told in against
        ],
    }


def setting_data(algorithms: list[Algorithm], cost: float) -> dict[str, Any]:
    """Return all numbers of a setting that was replayed on some recordings."""
    return {
        "estimator": algorithms[0].estimator,
        "cost_s": known(cost),
        "recordings": [algorithm_data(algorithm) for algorithm in algorithms],
    }


def algorithm_data(algorithm: Algorithm) -> dict[str, Any]:
    """Return all numbers of an algorithm."""
    percents = (50, 90, 99, 100)
    waits, short = algorithm.wait_percentiles(percents), algorithm.short_percentiles(percents)
    return {
        "estimator": algorithm.estimator,
        "spurious": algorithm.spurious,
        "spurious_share": algorithm.spurious_share.data(),
        "mean_timer_s": algorithm.timer.data(),
        "good_s": algorithm.good,
        "waited_s": algorithm.waited,
        "lost_before": algorithm.lost_before,
        "waited_before_s": algorithm.waited_before,
        "waited_per_loss_s": known(algorithm.waited_per_loss),
        "waited_in_delays": known(algorithm.waited_in_delays),
        "spurious_s": algorithm.spurious_time,
        "total_s": algorithm.total,
        "mean_s": algorithm.mean,
        "cov": known(algorithm.cov),
        "efficiency": known(algorithm.efficiency),
        "efficiency_printed": algorithm.printed_efficiency,
        "bad_share": known(algorithm.bad_share),
        "waited_percentiles_s": {f"p{p}": known(v) for p, v in zip(percents, waits, strict=True)},
        "short_percentiles_s": {f"p{p}": known(v) for p, v in zip(percents, short, strict=True)},
    }


def count(value: int, what: str) -> str:
    """Return a count with its noun."""
    return f"{number(value)} {what}{'' if value == 1 else 's'}"


def _plain(value: float) -> str:
    return f"{value:.0f}" if value >= 9.95 or float(value).is_integer() else f"{value:.1f}"


def span(seconds: float) -> str:
    """Return a time with three digits and a suitable unit.

    Examples
    --------
    >>> [span(one) for one in (1234, 1, 0.9994, 0.001, 0.00002, 0)]
    ['1,234 s', '1 s', '999 ms', '1 ms', '20 µs', '0 s']
    """
    if not math.isfinite(seconds):
        return "-"
    if seconds >= 1:
        return f"{seconds:.3g} s" if seconds < 1000 else f"{seconds:,.0f} s"
    if seconds == 0:
        return "0 s"
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} µs"
