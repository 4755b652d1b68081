"""Timelines that links follow, from recordings of delays.

A timeline has the delays and losses of a link, each with the instant at which it begins.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from netspurt.delays import Delays
from netspurt.timelines.directions import FORWARD, REVERSE, per_direction, split
from netspurt.timelines.timeline import POINTS_MAX, Outage, Timeline, Way

#: This many consecutive losses become an outage of the link. Fewer consecutive losses count as
#: single losses.
OUTAGE = 2

#: An answer was overtaken if it came more than this time [s] after the answer to a later probe.
#: The limit is needed because tools print round trips above 100 ms in whole milliseconds.
OVERTAKEN_S = 0.001

Floats = NDArray[np.float64]
Places = NDArray[np.bool_]


def follow(recording: Delays, *, outage: int = OUTAGE) -> Timeline:
    """Return the timeline of a link on which probes see the delays and losses of a recording.

    Delays: each direction has half of the round trip, or its own delay if irtt recorded it. In a
    recording of one-way delays, both directions have these delays. The forward delay is in force
    from the instant at which a probe leaves. The reverse delay is in force from the instant at
    which the probe reaches the other end. Each delay stays in force until the next answered probe.

    Outages: a series of at least `outage` consecutive losses becomes an outage, in which arriving
    packets are dropped. The outage affects the direction that lost the probes, or both directions
    if the recording does not show this direction. In the forward direction, the outage lasts from
    the first lost probe to the next answered probe, or else to the last probe. In the reverse
    direction, the outage is later by the forward delay.

    Losses: all other losses become a probability. With it, probes are lost as often as in the
    recording. The probability is the same in both directions, unless the recording has the
    direction of each loss.

    Replies: a late reply is a delay and not a loss. If replies of later probes overtook it, the
    link does not keep the order. If a probe has several replies, the link duplicates some packets.

    Parameters
    ----------
    recording
        A recording with the times at which its probes left.
    outage
        The minimum number of consecutive losses that make an outage; at least 1.

    Raises
    ------
    ValueError
        If the recording lacks times or replies, or is smoothed or too long, or `outage` is below 1.
    """
    if outage < 1:
        raise ValueError(f"outage={outage}: write at least 1 lost probe")
    _check(recording)
    directions = split(recording)
    at, delay = recording.sent_s, directions.forward
    answered = ~np.isnan(delay)
    runs, in_outage = _runs(answered, outage)
    loss = directions.losses(~in_outage)
    duplicates = recording.duplicates / max(1, recording.received)
    overtaken = _overtaken(at[answered], recording.rtt_s[answered])
    forward_runs = [run for run in runs if not directions.all_lost(run, REVERSE)]
    outages = [found for found in (_forward(at, *run) for run in forward_runs) if found is not None]
    timeline = Timeline(
        recording.name,
        Way(delay=_points(at[answered], delay[answered]), loss=loss[0], outages=outages),
        order="overtaking" if overtaken else "fifo",
        notes=[
            *directions.notes,
            *_order_words(overtaken),
            *_end_words(answered, outage),
            *recording.pause_words(),
        ],
    )
    if directions.reverse is not None:
        crossing = at + delay
        reverse_runs = [run for run in runs if not directions.all_lost(run, FORWARD)]
        reverse = Way(
            delay=_points(crossing[answered], directions.reverse[answered]),
            loss=loss[1],
            outages=_reverse(crossing, at, reverse_runs),
        )
        timeline = replace(timeline, reverse=reverse, measured=directions.measured)
    # A round trip crosses both directions, so the probability of duplicates is divided between
    # them. A one-way delay crosses only one direction.
    timeline = replace(timeline, duplicates=per_direction(duplicates, len(timeline.ways)))
    counts = f"Points of the delay: {len(timeline.forward.delay):,}. Outages: {len(outages):,}."
    return replace(timeline, remarks=[counts, *directions.remarks])


def _check(recording: Delays) -> None:
    """Check that a link can be made from a recording."""
    if recording.send_times == "unknown":
        raise ValueError(
            f"{recording.name} does not say when its probes left: write their interval, such as "
            "`--interval 1s`"
        )
    if recording.measure == "smoothed":
        raise ValueError(
            f"{recording.name} has smoothed delays, and no packet had such a delay: use a "
            "recording of single delays"
        )
    if not recording.received:
        raise ValueError(f"{recording.name} has no delay: none of its probes was answered")
    if recording.received > POINTS_MAX:
        raise ValueError(
            f"{recording.name} has {recording.received} delays, and a timeline can have at most "
            f"{POINTS_MAX} points: cut the recording"
        )


def _runs(answered: Places, min_losses: int) -> tuple[list[tuple[int, int]], Places]:
    """Return the series of `min_losses` or more consecutive losses, and which probes they contain.

    A series is given by the index of its first probe and the index after its last probe.
    """
    inside = np.zeros(len(answered), dtype=bool)
    edges = np.diff(np.concatenate(([False], ~answered, [False])).astype(np.int8))
    starts_and_ends = zip(np.flatnonzero(edges == 1), np.flatnonzero(edges == -1), strict=True)
    runs = [
        (int(first), int(after)) for first, after in starts_and_ends if after - first >= min_losses
    ]
    for first, after in runs:
        inside[first:after] = True
    return runs, inside


def _forward(at: Floats, first: int, after: int) -> Outage | None:
    """Return the outage of a series of consecutive losses in the forward direction."""
    # After the last probe, the recording does not show when the path worked again.
    end = at[after] if after < len(at) else at[-1]
    return _outage(_ns(at[first]), _ns(end))


def _reverse(crossing: Floats, at: Floats, runs: list[tuple[int, int]]) -> list[Outage]:
    """Return the outages of series of consecutive losses in the reverse direction.

    The crossing of a probe is the instant at which it reaches the other end. An outage begins when
    the first lost probe would have crossed. The forward delay of this probe is not known. So two
    forward delays are compared: the delay of the answered probe just before the losses, and the
    delay of the answered probe just after the losses. The shorter delay is used. The outage ends
    with the first crossing of a later probe. If another answered probe crossed in between, the
    reverse direction worked at that instant. So the outage begins after the last such crossing.
    """
    # For each probe, the earliest crossing of this probe and of all later probes. The last value is
    # NaN.
    soonest = np.append(np.fmin.accumulate(crossing[::-1])[::-1], np.nan)
    crossings_ns = np.sort(np.rint(crossing[~np.isnan(crossing)] * 1e9))
    outages = []
    for first, after in runs:
        neighbours = [crossing[n] - at[n] for n in (first - 1, after) if 0 <= n < len(at)]
        forward_s = float(min(neighbours))
        begin = _ns(at[first] + forward_s)
        end = _ns(soonest[after] if after < len(at) else at[-1] + forward_s)
        last = int(np.searchsorted(crossings_ns, end)) - 1
        if last >= 0 and crossings_ns[last] >= begin:
            begin = int(crossings_ns[last]) + 1
        outage = _outage(begin, end)
        outages += [outage] if outage else []
    return outages


def _outage(begin: int, end: int) -> Outage | None:
    return Outage(begin, end - begin) if end > begin else None


def _overtaken(at: Floats, rtt: Floats) -> int:
    """Return the number of answers that came after the answer to a probe that left later."""
    # If digits of the times are missing, several probes have the same instant. They are not
    # counted.
    unique_instant = np.concatenate(([True], np.diff(at) > 0)) & np.concatenate(
        (np.diff(at) > 0, [True])
    )
    arrived = (at + rtt)[unique_instant]
    if len(arrived) < 2:
        return 0
    soonest = np.minimum.accumulate(arrived[::-1])[::-1]
    return int(np.sum(arrived[:-1] > soonest[1:] + OVERTAKEN_S))


def _order_words(overtaken: int) -> list[str]:
    if not overtaken:
        return []
    late = "answer came after the answer to a later probe"
    if overtaken > 1:
        late = "answers came after answers to later probes"
    return [
        f"{overtaken:,} {late}, so the path does not keep the order: the file has "
        '`order = "overtaking"`, and whenever the delay decreases, packets overtake other packets. '
        "With `--lost-after TIME`, answers that take longer count as losses; if the other answers "
        "are in order, the link keeps the order"
    ]


def _end_words(answered: Places, outage: int) -> list[str]:
    lost = len(answered) - 1 - int(np.flatnonzero(answered)[-1])
    if lost < outage:
        return []
    return [
        f"the recording ends with {lost:,} lost probes: in the file, the path works again at the "
        "instant of the last lost probe, so end the run before this instant"
    ]


def _points(at: Floats, delay: Floats) -> list[tuple[int, int]]:
    """Return the points [ns] in the order of time, without points that repeat a delay."""
    order = np.argsort(at, kind="stable")
    at, delay = at[order], delay[order]
    changes = np.concatenate(([True], np.diff(delay) != 0))
    return [(_ns(t), _ns(span)) for t, span in zip(at[changes], delay[changes], strict=True)]


def _ns(seconds: float) -> int:
    return round(float(seconds) * 1e9)
