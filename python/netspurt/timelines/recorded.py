"""Timelines that links follow, from recordings of delays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from netspurt.delays import Delays
from netspurt.timelines.directions import FORWARD, REVERSE, each_way, split
from netspurt.timelines.timeline import MOST_POINTS, Outage, Timeline, Way

#: Lost probes in a row that are taken for an outage of the path, and not for single losses.
OUTAGE = 2

#: An answer that is later than that of a later probe by more than this [s] was overtaken. Tools
#: print round trips above 100 ms to the millisecond.
OVERTAKEN_S = 0.001

Floats = NDArray[np.float64]
Places = NDArray[np.bool_]


def follow(recording: Delays, *, outage: int = OUTAGE) -> Timeline:
    """Return what a link does so that probes over it see a recording again.

    Each direction has half of the round trip, or its own delay where the recording has it (irtt):
    the forward one from the sending of the probe on, the reverse one from when the probe crosses,
    both up to the next probe that came back. `outage` or more lost probes in a row are an outage,
    in which both directions drop what comes, or the one that lost them: the forward one from the
    first lost probe to the next that came back, the reverse one a forward delay later. Other losses
    are a probability of loss, so that a probe is lost as often as in the recording: the same in
    both directions, unless it says which of them lost a probe. A late reply is a delay, and no
    loss; one that those of later probes overtook shows that the path does not keep the order, and
    nor does the link then. Further replies to a probe are packets that come twice.

    Parameters
    ----------
    recording
        A recording whose probes have times.
    outage
        Lost probes in a row that make an outage; at least 1.

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
        back = Way(
            delay=_points(crossing[answered], halves.reverse[answered]),
            loss=loss[1],
            outages=_reverse(crossing, at, lost_back),
        )
        made = replace(made, reverse=behind, measured=halves.measured)
    # A round trip passes two directions, a one-way delay one.
    made = replace(made, duplicates=each_way(duplicates, len(made.ways)))
    found = f"Points of the delay: {len(made.forward.delay):,}. Outages: {len(outages):,}."
    return replace(made, remarks=[found, *halves.remarks])


def _check(recording: Delays) -> None:
    """Check that a recording makes a link."""
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
    """Return the first place and the one behind each run of losses, and which probes lie in one."""
    inside = np.zeros(len(answered), dtype=bool)
    edges = np.diff(np.concatenate(([False], ~answered, [False])).astype(np.int8))
    both = zip(np.flatnonzero(edges == 1), np.flatnonzero(edges == -1), strict=True)
    runs = [(int(first), int(behind)) for first, behind in both if behind - first >= least]
    for first, behind in runs:
        inside[first:behind] = True
    return runs, inside


def _forward(at: Floats, first: int, behind: int) -> Outage | None:
    """Return the outage of a run of losses in the forward direction."""
    # Behind the last probe the recording does not say when the path was back.
    end = at[behind] if behind < len(at) else at[-1]
    return _outage(_ns(at[first]), _ns(end))


def _reverse(crossing: Floats, at: Floats, runs: list[tuple[int, int]]) -> list[Outage]:
    """Return the outages of runs of losses in the reverse direction.

    Each begins when the first lost probe would have crossed, had it been as fast as those beside
    it, and ends when one behind it crossed. Any other probe that came back shows that the reverse
    direction was there when it crossed: the outage begins behind the last of these.
    """
    # The soonest crossing of the probes from each on; behind the last there is none.
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
    """Return how many answers came behind the answer to a probe that left later."""
    # Where a clock was set back, several probes have one instant, and tell nothing.
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
    """Return the points [ns] in the order of time, without those that repeat the delay before."""
    order = np.argsort(at, kind="stable")
    at, delay = at[order], delay[order]
    changes = np.concatenate(([True], np.diff(delay) != 0))
    return [(_ns(t), _ns(of)) for t, of in zip(at[changes], delay[changes], strict=True)]


def _ns(seconds: float) -> int:
    return round(float(seconds) * 1e9)
