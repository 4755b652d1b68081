"""Measures of transfers, from the tables of runs.

A measure is a function that returns the value that decides a claim of a paper (`registry.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from netspurt.analysis.compare import Seen, compare, mechanisms, why
from netspurt.analysis.compare import events as events_of
from netspurt.papers.bench import Bench, BenchCase
from netspurt.papers.data import PaperError, Value
from netspurt.papers.registry import Measured, in_unit, registered
from netspurt.papers.traces import (
    ack_times,
    at_sender,
    busy_time,
    configuration,
    first_retransmission,
    packet_time,
)
from netspurt.quantities import quantity
from netspurt.run import Run

#: Two instants count as equal if the time between them is shorter than this limit [s].
SAME_INSTANT = 1e-9


def _numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",") if word]


# Measures beside the sender.


@registered
@in_unit("s")
def ack(bench: Bench, *, run: str, packet: str, sends: str) -> Measured:
    """Return the time of a packet's first ACK, if exactly the packets `sends` left at that instant.

    Otherwise the value is `None`. Packet 0 stands for the start of the transfer.
    """
    segments = at_sender(bench.run(run))
    at = 0.0
    if int(packet) > 0:
        times = segments.where(kind="ack", packet=int(packet)).seconds()
        if len(times) == 0:
            return Measured(None)
        at = float(times[0])
    sent = segments.where(way="out")
    at_that_instant = np.abs(sent.seconds() - at) < SAME_INSTANT
    packets = sent["packet"][at_that_instant].tolist()
    return Measured(at if packets == _numbers(sends) else None)


@registered
@in_unit("s")
def dupack(bench: Bench, *, run: str, packet: str, nth: str, retransmissions: str = "") -> Measured:
    """Return the time of a packet's n-th duplicate ACK, if only the named packets left then.

    Otherwise the value is `None`. `retransmissions` has the numbers of these packets. If it is
    empty, no packet may have left at that instant.
    """
    segments = at_sender(bench.run(run))
    times = segments.where(kind="dupack", packet=int(packet)).seconds()
    if len(times) < int(nth):
        return Measured(None)
    at = float(times[int(nth) - 1])
    sent = segments.where(way="out")
    at_that_instant = np.abs(sent.seconds() - at) < SAME_INSTANT
    agrees = sent["packet"][at_that_instant].tolist() == _numbers(retransmissions)
    return Measured(at if agrees else None)


@registered
def first_drop(bench: Bench, *, run: str) -> Measured:
    """Return the number of the first packet that was dropped."""
    drops = bench.run(run).drops
    rows = [("time", "dropped at", "packet")]
    for t, link, packet in zip(drops.seconds(), drops["link"], drops["packet"], strict=True):
        rows.append((f"{t:.3f} s", str(link), str(packet)))
    return Measured(int(drops["packet"][0]) if len(drops) else None, rows[:9])


@registered
@in_unit("s")
def ack_times_of(bench: Bench, *, run: str, events: str) -> Measured:
    """Return the times of the ACKs `KIND:PACKET,...`, if they were the first ACKs in that order.

    The times are seconds from the first data segment.
    """
    events_since_data = _since_data(bench, run)
    wanted = [tuple(word.split(":")) for word in events.split(",")]
    acks = [event for event in events_since_data if event.kind in ("ack", "dupack")][: len(wanted)]
    rows = [("ACK", "seconds from the first data segment")]
    rows += [(f"{event.kind} {event.packet}", f"{event.t_s:.4f}") for event in acks]
    agrees = [(event.kind, str(event.packet)) for event in acks] == wanted
    return Measured([event.t_s for event in acks] if agrees else None, rows)


@registered
def parting(bench: Bench, *, run: str, beside: str, events: str) -> Measured:
    """Return the cause of the first difference between two runs; `None` if it is unknown.

    The comparison covers the events up to one ACK of `run`, and the events that answer this ACK.
    `events` is the number of the ACK. The table counts each cause of sending.
    """
    first, second = _since_data(bench, beside), _since_data(bench, run)
    acks = [event.t_s for event in second if event.kind in ("ack", "dupack")]
    span = acks[min(len(acks), int(events)) - 1] + _ANSWER_MAX_S if acks else 0.0
    first, second = ([event for event in own if event.t_s <= span] for own in (first, second))
    difference = compare(first, second)
    rows: list[tuple[str, ...]] = [("first at", "cause of sending", f"in {beside}", f"in {run}")]
    both = (mechanisms(first), mechanisms(second))
    for mechanism in dict.fromkeys([*both[0], *both[1]]):
        counts = [len(own.get(mechanism, [])) for own in both]
        at = min(t for own in both for t in own.get(mechanism, []))
        rows.append((f"{at:.3f} s", mechanism, *map(str, counts)))
    # The text that the function `why` returns can end with an RFC in parentheses. The claims do not
    # contain this part.
    return Measured(why(difference, first, second).partition(" (")[0] or None, rows)


#: The maximum time that the sender needs to answer an ACK [s].
_ANSWER_MAX_S = 0.05


def _since_data(bench: Bench, run: str) -> list[Seen]:
    result = bench.run(run)
    flow = str(result.flows["flow"][0])
    return events_of(result.segments, flow, str(result.flows["from"][0]))


@registered
def start_windows(bench: Bench, *, run: str) -> Measured:
    """Return cwnd [segments] at the start and after the first timeout."""
    result = bench.run(run)
    tcp = next(iter(configuration(result)["flows"].values()))["tcp"]
    smss = quantity(tcp["packet_size"])[1] - 40
    cwnd = result.cwnd
    fired = result.rto.where(fired=True).seconds()
    if len(fired) == 0:
        return Measured(None)
    after = cwnd.seconds() >= fired[0] - SAME_INSTANT
    windows = [cwnd["cwnd_bytes"][0] / smss, cwnd["cwnd_bytes"][after][0] / smss]
    return Measured([float(window) for window in windows])


# Measures of the scenario's configuration.


@registered
@in_unit("bit/s, ms")
def link_values(bench: Bench, *, run: str, links: str) -> Measured:
    """Return the rate [bit/s] and the delay [ms] of each link."""
    settings = configuration(bench.run(run))["links"]
    values = []
    for name in links.split(","):
        delay = round(1e3 * quantity(settings[name]["delay"])[1], 9)
        values += [quantity(settings[name]["rate"])[1], delay]
    return Measured(values)


@registered
def queue_limits(bench: Bench, *, run: str, links: str) -> Measured:
    """Return the queue limits of links [packets], or `None` if a queue exceeded its limit."""
    result = bench.run(run)
    settings = configuration(result)["links"]
    limits = [quantity(settings[name]["queue"])[1] for name in links.split(",")]
    rows = [("link", "limit", "longest queue")]
    within_limit = True
    for name, limit in zip(links.split(","), limits, strict=True):
        longest = int(result.links.where(link=name)["queue_packets_max"].max())
        rows.append((name, f"{limit:g}", str(longest)))
        within_limit = within_limit and longest <= limit
    return Measured(limits if within_limit else None, rows)


@registered
def longest_queue(bench: Bench, *, runs: str, links: str) -> Measured:
    """Return the length of the longest queue [packets] over some links in some runs."""
    rows = [("run", "link", "longest queue")]
    longest = 0
    for name in runs.split(","):
        for link in links.split(","):
            queue_max = int(bench.run(name).links.where(link=link)["queue_packets_max"].max())
            rows.append((name, link, str(queue_max)))
            longest = max(longest, queue_max)
    return Measured(longest, rows)


@registered
@in_unit("bit/s")
def spied_link_rate(bench: Bench, *, run: str, flow: str) -> Measured:
    """Return the rate [bit/s] of the only link of the node at which a flow starts.

    The value is `None` if the run does not record the packets of the node (the node is no *spy*),
    or if the node has several links.
    """
    settings = configuration(bench.run(run))
    source = settings["flows"][flow]["from"]
    own_links = [link for link in settings["links"].values() if source in link["between"]]
    spied = source in settings["record"]["spy"]
    return Measured(quantity(own_links[0]["rate"])[1] if spied and len(own_links) == 1 else None)


# Measures that compare two runs.


def _events(run: Run, until: float) -> dict[tuple[str, int, int], float]:
    """Return the times of the events beside the sender, up to the time `until` [s].

    The keys are the kind, the packet, and the event's number among the events of that kind and
    packet, counted from 1.
    """
    segments = at_sender(run)
    seen: dict[tuple[str, int], int] = {}
    events = {}
    rows = zip(segments["kind"].tolist(), segments["packet"].tolist(), strict=True)
    for (kind, packet), t in zip(rows, segments.seconds().tolist(), strict=True):
        if t <= until + SAME_INSTANT:
            nth = seen[kind, packet] = seen.get((kind, packet), 0) + 1
            events[kind, packet, nth] = t
    return events


def _best_shift(late: Run, early: Run) -> tuple[int, float, int]:
    """Return the shift between two runs with which the most events agree to 1 ms.

    The result is the shift in packets, the shift in time [s], and the number of events that agree.
    """
    a = _events(late, first_retransmission(late))
    b = _events(early, first_retransmission(early))
    best = (0, 0.0, 0)
    for packets in range(16):
        pairs = ((a.get((kind, n + packets, nth)), t) for (kind, n, nth), t in b.items())
        shifts = np.array([t_late - t for t_late, t in pairs if t_late is not None])
        if len(shifts) == 0:
            continue
        seconds = float(np.median(shifts))
        agree = int((np.abs(shifts - seconds) < 1e-3).sum())
        if agree > best[2]:
            best = (packets, seconds, agree)
    return best


@registered
def shift(bench: Bench, *, late: str, early: str, part: str) -> Measured:
    """Return the shift in time or in packets with which the most events of two runs agree.

    Only events up to the first retransmission count. `part` selects the shift in seconds or in
    packets.
    """
    packets, seconds, agree = _best_shift(bench.run(late), bench.run(early))
    rows = [
        ("packets", "seconds", "events that agree to 1 ms"),
        (str(packets), f"{seconds:.6f}", str(agree)),
    ]
    return Measured(seconds if part == "seconds" else packets, rows)


@registered
@in_unit("s")
def sending_time(bench: Bench, *, run: str, link: str, packets: str) -> Measured:
    """Return the time that a link needs to send some packets [s]; `packets` is their number."""
    rows = [("packet", "time")]
    rate = quantity(configuration(bench.run(run))["links"][link]["rate"])[1]
    times = {size: int(packets) * 8 * size / rate for size in (1000, 1024, 1064)}
    rows += [(f"{size} B", f"{time:.3f} s") for size, time in times.items()]
    return Measured(int(packets) * packet_time(bench.run(run), link), rows)


@registered
def gain(bench: Bench, *, late: str, early: str, link: str, unit: str) -> Measured:
    """Return the lead of the run `early` over the run `late`.

    With the shift of `_best_shift`, the most events of both runs agree. The lead is the shift in
    time minus the transmission time of the shift in packets. `unit` says whether the lead is in
    seconds or in packet times.
    """
    packets, seconds, _ = _best_shift(bench.run(late), bench.run(early))
    packet_s = packet_time(bench.run(early), link)
    ahead = seconds - packets * packet_s
    rows = [
        ("shift", f"{seconds:.3f} s"),
        (f"{packets} packets at {link}", f"{packets * packet_s:.3f} s"),
        ("ahead", f"{ahead:.3f} s = {ahead / packet_s:.3f} packet times"),
    ]
    return Measured(ahead if unit == "seconds" else ahead / packet_s, rows)


@registered
def idle_cause(bench: Bench, *, late: str, early: str, dallying: str, link: str) -> Measured:
    """Return how much longer a link was idle in one run than in another, and the longest ACK delay.

    The runs are `late` and `early`. The ACK delay is from the run `late`. A receiver *dallies* if
    it delays the ACK of a packet that has arrived. For comparison, the table has the longest ACK
    delay of the run `dallying`, whose receiver dallies. Only the time before the first
    retransmission counts.
    """
    a, b = bench.run(late), bench.run(early)
    dally = _dally(a)
    idle = {}
    rows = [("run", f"{link} idle up to the first retransmission")]
    for name, run in ((late, a), (early, b)):
        until = first_retransmission(run)
        start = float(run.queue.where(link=link, direction="forward").seconds()[0])
        idle[name] = until - start - busy_time(run, link, until)
        rows.append((name, f"{idle[name]:.3f} s"))
    rows.append(("difference", f"{idle[late] - idle[early]:.3f} s"))
    rows.append(("round trip minus one packet time", f"{_trip_less_packet_time(a, link):.3f} s"))
    rows.append(("longest dally up to the first retransmission", f"{dally:.3f} s"))
    rows.append((f"... in {dallying}", f"{_dally(bench.run(dallying)):.3f} s"))
    dally_words = "no dally" if dally < SAME_INSTANT else f"dally {dally:.3f} s"
    return Measured(f"idle {idle[late] - idle[early]:.3f} s, {dally_words}", rows)


def _dally(run: Run) -> float:
    """Return the longest delay [s] of the ACKs that were sent before the first retransmission."""
    receiver = run.segments.where(node=str(run.flows["to"][0]))
    arrived = receiver.where(way="in")
    sent = receiver.where(way="out")
    packets = [n for n in sent["packet"].tolist() if n in arrived["packet"]]
    longest = 0.0
    for packet in packets:
        acked_at = float(sent.where(packet=packet).seconds()[0])
        if acked_at < first_retransmission(run):
            longest = max(longest, acked_at - float(arrived.where(packet=packet).seconds()[0]))
    return longest


def _trip_less_packet_time(run: Run, link: str) -> float:
    return float(ack_times(run)[0]) - packet_time(run, link)


# Measures of grids: one scenario with many settings.


def _pairs(cases: list[BenchCase], modules: str = "") -> list[tuple[dict[str, Any], Run, Run]]:
    """Return pairs of the grid's runs: the first starts with one packet, the second with four.

    `modules` names the algorithms of loss recovery whose runs are used. An empty text means all.
    """
    wanted = modules.split(",") if modules else None
    with_one_packet: dict[str, tuple[dict[str, Any], Run]] = {}
    pairs = []
    for case in cases:
        values = {k: v for k, v in case.values.items() if k != "initial_window"}
        if wanted is not None and values.get("recovery") not in wanted:
            continue
        if case.values["initial_window"] == "1 segment":
            with_one_packet[repr(values)] = (values, case.run)
        else:
            values, late = with_one_packet[repr(values)]
            pairs.append((values, late, case.run))
    return pairs


def _tick(values: dict[str, Any]) -> str:
    return str(values["tick"]["tick"])


@registered
@in_unit("s")
def least_gain(bench: Bench, *, grid: str, modules: str, tick: str) -> Measured:
    """Return the smallest lead of a start with four packets over a start with one packet [s].

    Only events up to the first retransmission are compared.
    """
    rows = [("module", "shift", "ahead")]
    gains = []
    for values, late, early in _pairs(bench.grid(grid), modules):
        if _tick(values).replace(" ", "") != tick:
            continue
        packets, seconds, _ = _best_shift(late, early)
        gains.append(seconds - packets * packet_time(early, "modem"))
        rows.append(
            (values["recovery"], f"{packets} packets, {seconds:.3f} s", f"{gains[-1]:.3f} s")
        )
    return Measured(min(gains), rows)


@registered
@in_unit("packets, s")
def delivery_algorithm(bench: Bench, *, grid: str) -> Measured:
    """Return the shift, in packets and seconds, of the pair of runs that is least typical.

    Each pair of runs has a shift. The least typical pair is the one whose shift in seconds is
    furthest from the median of all pairs. Only events up to the first retransmission are compared.
    """
    rows = [("module", "tick", "shift in packets", "shift in seconds", "shift at 240 s")]
    shifts = []
    for values, late, early in _pairs(bench.grid(grid)):
        packets, seconds, _ = _best_shift(late, early)
        shifts.append((packets, seconds))
        at_end = _shift_at_end(late, early, packets)
        cells = (values["recovery"], _tick(values), str(packets))
        rows.append((*cells, f"{seconds:.3f}", f"{at_end:.3f} s"))
    median = float(np.median([seconds for _, seconds in shifts]))
    furthest = max(shifts, key=lambda pair: abs(pair[1] - median))
    return Measured([float(furthest[0]), furthest[1]], rows)


def _shift_at_end(late: Run, early: Run, packets: int) -> float:
    """Return the shift in seconds at the last packet that both runs acknowledged.

    Packet n of `early` is compared with packet n + `packets` of `late`.
    """
    a, b = ack_times(late), ack_times(early)
    last = min(len(a), len(b) + packets)
    return float(a[last - 1] - b[last - 1 - packets])


@registered
@in_unit("s")
def timer_drift(bench: Bench, *, grid: str, modules: str) -> Measured:
    """Return the largest change, after the first retransmission, of the shift of two runs [s]."""
    rows = [("module", "tick", "first shift", "shift at 240 s", "timeouts")]
    worst = 0.0
    for values, late, early in _pairs(bench.grid(grid), modules):
        packets, seconds, _ = _best_shift(late, early)
        at_end = _shift_at_end(late, early, packets)
        timeouts = [int(run.flows["timeouts"][0]) for run in (late, early)]
        cells = (values["recovery"], _tick(values), f"{seconds:.3f} s", f"{at_end:.3f} s")
        rows.append((*cells, f"{timeouts[0]} and {timeouts[1]}"))
        worst = max(worst, abs(at_end - seconds))
    return Measured(worst, rows)


@registered
@in_unit("s")
def lateness(bench: Bench, *, grid: str, modules: str) -> Measured:
    """Return how much later a run finishes if it starts with four packets instead of one [s].

    The result is the maximum over the pairs of runs. A run finishes with the first ACK of the last
    packet that both runs acknowledged.
    """
    rows = [("module", "tick", "last packet", "latest of all packets", "packets that are later")]
    max_delay = -float("inf")
    for values, from_one, from_four in _pairs(bench.grid(grid), modules):
        a, b = ack_times(from_one), ack_times(from_four)
        last = min(len(a), len(b))
        later = b[:last] - a[:last]
        max_delay = max(max_delay, float(later[-1]))
        cells = (values["recovery"], _tick(values), f"{later[-1]:+.3f} s", f"{later.max():+.3f} s")
        rows.append((*cells, f"{int((later > SAME_INSTANT).sum())} of {last}"))
    return Measured(max_delay, rows)


@registered
@in_unit("bytes")
def fitting_size(bench: Bench, *, grid: str) -> Measured:
    """Return the packet size in bytes with which the times agree best with the paper's times.

    The times of the claims with the measures `ack` and `dupack` are compared.
    """
    printed = [
        claim
        for claim in bench.paper.claims
        if claim.measure in ("ack", "dupack") and claim.arguments["packet"] != "0"
    ]
    sizes: dict[str, list[float]] = {}
    rows = [
        (
            "printed",
            *(str(size) for size in bench.paper.grids[grid]["over"]["packet_size"]["values"]),
        )
    ]
    columns: list[list[str]] = [[f"{_number(claim.printed):.3f} s" for claim in printed]]
    by_size: dict[str, dict[str, Run]] = {}
    for case in bench.grid(grid):
        window = case.values["initial_window"].split(" ")[0]
        by_size.setdefault(case.values["packet_size"], {})[f"iw{window}"] = case.run
    for size, runs in by_size.items():
        times = [_time_of(runs[claim.arguments["run"]], claim.arguments) for claim in printed]
        sizes[size] = [abs(t - _number(c.printed)) for t, c in zip(times, printed, strict=True)]
        columns.append([f"{t:.3f}" for t in times])
    rows += [tuple(cells) for cells in zip(*columns, strict=True)]
    medians = {size: float(np.median(errors)) for size, errors in sizes.items()}
    rows.append(("median error", *(f"{1e3 * error:.1f} ms" for error in medians.values())))
    best = min(medians, key=lambda size: medians[size])
    return Measured(quantity(best)[1], rows)


def _number(value: Value) -> float:
    if not isinstance(value, int | float):
        raise PaperError(f"not a number: {value!r}")
    return float(value)


def _time_of(run: Run, arguments: Any) -> float:
    """Return the time in `run` of the ACK or duplicate ACK that a claim's arguments name."""
    segments = at_sender(run)
    packet = int(arguments["packet"])
    if "nth" in arguments:
        return float(
            segments.where(kind="dupack", packet=packet).seconds()[int(arguments["nth"]) - 1]
        )
    return float(segments.where(kind="ack", packet=packet).seconds()[0])


@registered
def burst(bench: Bench, *, run: str, round: str) -> Measured:  # noqa: A002
    """Return after how many round trips a burst leaves, and the number of its packets.

    The burst is the first one after `round` round trips. The packets of a burst leave within a
    hundredth of a round trip.
    """
    result = bench.run(run)
    trip = float(ack_times(result)[0])
    sent_at = at_sender(result).where(way="out").seconds()
    start = int(round) * trip
    first = sent_at[sent_at > start - trip / 100][0]
    count = int(((sent_at >= first) & (sent_at < first + trip / 100)).sum())
    return Measured([float(np.floor(first / trip + 0.01)), float(count)])


@registered
def most_saved(bench: Bench, *, grid: str) -> Measured:
    """Return the maximum number of round trips that a start with four packets saves."""
    rows = [("length", "start with one packet", "start with four packets", "saved")]
    max_saved = 0.0
    for values, from_one, from_four in _pairs(bench.grid(grid)):
        trip = float(ack_times(from_one)[0])
        ends = [float(run.flows.seconds("finished_ns")[0]) for run in (from_one, from_four)]
        saved = (ends[0] - ends[1]) / trip
        rows.append((values["send"], f"{ends[0]:.3f} s", f"{ends[1]:.3f} s", f"{saved:.2f} RTT"))
        max_saved = max(max_saved, saved)
    return Measured(max_saved, rows)
