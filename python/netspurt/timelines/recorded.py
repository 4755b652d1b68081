"""Timelines that links follow, from recordings of delays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from netspurt.delays import Delays
from netspurt.timelines.directions import FORWARD, REVERSE, each_way, split
from netspurt.timelines.timeline import MOST_POINTS, Outage, Timeline, Way

#: This many consecutive losses count as an outage of the path. Fewer count as single losses.
OUTAGE = 2

#: An answer was overtaken if it came more than this [s] after the answer to a later probe. The
#: limit is needed because tools print round trips above 100 ms to the millisecond.
OVERTAKEN_S = 0.001

Floats = NDArray[np.float64]
Places = NDArray[np.bool_]


def follow(recording: Delays, *, outage: int = OUTAGE) -> Timeline:
    """Return the timeline of a link on which probes see the delays and losses of a recording.

    Delays: each direction has half of the round trip, or its own delay if the recording has it
    (irtt). The forward delay is in force from the instant at which a probe leaves. The reverse
    delay is in force from the instant at which the probe reaches the other end. Both stay in force
    until the next probe that came back.

    Outages: `outage` or more consecutive losses are an outage, in which arriving packets are
    dropped. It affects the direction that lost the probes, or both if that is not known. In the
    forward direction it lasts from the first lost probe to the next probe that came back. In the
    reverse direction it is later by the forward delay.

    Losses: other losses become a probability, so that probes are lost as often as in the recording.
    It is the same in both directions, unless the recording has the direction of each loss.

    Replies: a late reply is a delay and not a loss. If replies of later probes overtook it, the
    path does not keep the order, and neither does the link. Further replies to a probe become
    packets that are delivered twice.

    Parameters
    ----------
    recording
        A recording with the times at which its probes left.
    outage
        The number of consecutive losses that make an outage; at least 1.

    Raises
    ------
    ValueError
        If times or replies are missing, or there are too many points.
    """
    if outage < 1:
        raise ValueError(f"outage={outage}: an outage has 1 lost probe at least")
    _check(recording)
    halves = split(recording)
    at, delay = recording.sent_s, halves.forward
    answered = ~np.isnan(delay)
    runs, inside = _runs(answered, outage)
    loss = halves.losses(~inside)
    duplicates = recording.duplicates / max(1, recording.received)
    overtaken = _overtaken(at[answered], recording.rtt_s[answered])
    lost_ahead = [run for run in runs if not halves.all_lost(run, REVERSE)]
    outages = [one for one in (_forward(at, *run) for run in lost_ahead) if one is not None]
    made = Timeline(
        recording.name,
        Way(delay=_points(at[answered], delay[answered]), loss=loss[0], outages=outages),
        order="overtaking" if overtaken else "fifo",
        notes=[
            *halves.notes,
            *_order_words(overtaken),
            *_end_words(answered),
            *recording.pause_words(),
        ],
    )
    if halves.reverse is not None:
        crossing = at + delay
        lost_back = [run for run in runs if not halves.all_lost(run, FORWARD)]
        behind = Way(
            delay=_points(crossing[answered], halves.reverse[answered]),
            loss=loss[1],
            outages=_reverse(crossing, at, lost_back),
        )
        made = replace(made, reverse=behind, measured=halves.measured)
    # A round trip passes both directions, and a one-way delay only one.
    made = replace(made, duplicates=each_way(duplicates, len(made.ways)))
    found = f"Points of the delay: {len(made.forward.delay):,}. Outages: {len(outages):,}."
    return replace(made, remarks=[found, *halves.remarks])


def _check(recording: Delays) -> None:
    """Check that a link can be made from a recording."""
    if recording.send_times == "unknown":
        raise ValueError(
            f"{recording.name} does not say when its probes left: give their interval, such as "
            "`--interval 1s`"
        )
    if recording.measure == "smoothed":
        raise ValueError(f"{recording.name} has smoothed delays, which no packet had")
    if not recording.received:
        raise ValueError(f"{recording.name} has no delay: no probe of it came back")
    if recording.received > MOST_POINTS:
        raise ValueError(
            f"{recording.name} has {recording.received} delays, and a timeline {MOST_POINTS} "
            "points at most: cut the recording"
        )


def _runs(answered: Places, least: int) -> tuple[list[tuple[int, int]], Places]:
    """Return each run of losses, as its first place and the place after it, and its probes."""
    inside = np.zeros(len(answered), dtype=bool)
    edges = np.diff(np.concatenate(([False], ~answered, [False])).astype(np.int8))
    both = zip(np.flatnonzero(edges == 1), np.flatnonzero(edges == -1), strict=True)
    runs = [(int(first), int(behind)) for first, behind in both if behind - first >= least]
    for first, behind in runs:
        inside[first:behind] = True
    return runs, inside


def _forward(at: Floats, first: int, behind: int) -> Outage | None:
    """Return the outage of a run of losses in the forward direction."""
    # After the last probe, the recording does not show when the path was back.
    end = at[behind] if behind < len(at) else at[-1]
    return _outage(_ns(at[first]), _ns(end))


def _reverse(crossing: Floats, at: Floats, runs: list[tuple[int, int]]) -> list[Outage]:
    """Return the outages of runs of losses in the reverse direction.

    The crossing of a probe is the instant at which it reaches the other end. An outage begins when
    the first lost probe would have crossed with the delay of its neighbours. It ends when a later
    probe crossed. If another probe that came back crossed in between, the reverse direction worked
    then. So the outage begins after the last such crossing.
    """
    # For each probe, the earliest crossing of this probe and all later ones; infinite at the end.
    soonest = np.append(np.fmin.accumulate(crossing[::-1])[::-1], np.nan)
    all_ns = np.sort(np.rint(crossing[~np.isnan(crossing)] * 1e9))
    found = []
    for first, behind in runs:
        halves = [crossing[n] - at[n] for n in (first - 1, behind) if 0 <= n < len(at)]
        half = float(min(halves))
        begin = _ns(at[first] + half)
        end = _ns(soonest[behind] if behind < len(at) else at[-1] + half)
        last = int(np.searchsorted(all_ns, end)) - 1
        if last >= 0 and all_ns[last] >= begin:
            begin = int(all_ns[last]) + 1
        outage = _outage(begin, end)
        found += [outage] if outage else []
    return found


def _outage(begin: int, end: int) -> Outage | None:
    return Outage(begin, end - begin) if end > begin else None


def _overtaken(at: Floats, rtt: Floats) -> int:
    """Return the number of answers that came after the answer to a probe that left later."""
    # If a clock was set back, several probes have the same instant, and are not counted.
    alone = np.concatenate(([True], np.diff(at) > 0)) & np.concatenate((np.diff(at) > 0, [True]))
    arrived = (at + rtt)[alone]
    if len(arrived) < 2:
        return 0
    soonest = np.minimum.accumulate(arrived[::-1])[::-1]
    return int(np.sum(arrived[:-1] > soonest[1:] + OVERTAKEN_S))


def _order_words(overtaken: int) -> list[str]:
    if not overtaken:
        return []
    came = "answer came behind that of a later probe"
    if overtaken > 1:
        came = "answers came behind those of later probes"
    return [
        f"{overtaken:,} {came}, so the path does not keep the order: the file has "
        '`order = "overtaking"`, and each step down of the delay lets packets overtake others. '
        "`--lost-after TIME` takes later answers for losses; without overtaking the link keeps "
        "the order"
    ]


def _end_words(answered: Places) -> list[str]:
    lost = len(answered) - 1 - int(np.flatnonzero(answered)[-1])
    if lost < OUTAGE:
        return []
    return [
        f"the recording ends with {lost:,} lost probes: in the file the path is back at the last "
        "of them; end the run before it"
    ]


def _points(at: Floats, delay: Floats) -> list[tuple[int, int]]:
    """Return the points [ns] in the order of time. A point with the same delay is left out."""
    order = np.argsort(at, kind="stable")
    at, delay = at[order], delay[order]
    changes = np.concatenate(([True], np.diff(delay) != 0))
    return [(_ns(t), _ns(of)) for t, of in zip(at[changes], delay[changes], strict=True)]


def _ns(seconds: float) -> int:
    return round(float(seconds) * 1e9)
