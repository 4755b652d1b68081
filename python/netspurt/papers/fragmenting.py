"""Measures of fragmented segments, from arithmetic and from runs over a net that divides them.

A measure is a function that returns the value that decides a claim of a paper (`registry.py`). User
octets are the octets of a segment's payload. The limit of a net is its largest datagram. A grid is
one scenario, run with several values of its keys; each combination of values is a case.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from netspurt.analysis.fragments import SmallNet, UnderLoss
from netspurt.papers.bench import Bench
from netspurt.papers.registry import Measured, in_unit, registered, words
from netspurt.papers.traces import configuration
from netspurt.quantities import quantity


def _sizes(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


def _net(limit: str, unit: str) -> SmallNet:
    return SmallNet(int(limit), int(unit))


def _octets(parts: Sequence[int]) -> str:
    return " + ".join(map(str, parts))


def _both_rules(limit: str, sizes: Sequence[int]) -> list[tuple[str, ...]]:
    """Return how two rules divide segments: at any octet, or only at multiples of 8 octets."""
    rows: list[tuple[str, ...]] = [
        ("mss", "unit", "packets", "user octets of each packet", "user octets per packet")
    ]
    for mss in sizes:
        for unit in ("1", "8"):
            net = _net(limit, unit)
            cut = net.fragments(mss)
            cells = (str(mss), unit, str(len(cut)), _octets(cut))
            rows.append((*cells, f"{net.per_packet(mss):.1f}"))
    return rows


@registered
@in_unit("B")
def fragments_of(_bench: Bench, *, mss: str, limit: str, unit: str) -> Measured:
    """Return the user octets in each packet of a segment."""
    cut = _net(limit, unit).fragments(int(mss))
    return Measured([float(part) for part in cut], _both_rules(limit, [int(mss)]))


@registered
@in_unit("B")
def limit_of(_bench: Bench, *, mss: str, fragments: str, most: str) -> Measured:
    """Return the size limit of datagrams [octets] for which a segment has these fragments.

    If no limit or several limits up to the limit `most` give these fragments, the value is `None`.
    """
    wanted = tuple(_sizes(fragments))
    limits = [
        limit
        for limit in range(68, int(most) + 1)
        if SmallNet(limit, unit=1).fragments(int(mss)) == wanted
    ]
    rows: list[tuple[str, ...]] = [("limit", f"user octets of {mss}")]
    if len(limits) != 1:
        return Measured(None, rows)
    nearby = range(limits[0] - 2, limits[0] + 3)
    rows += [(f"{near} B", _octets(SmallNet(near, unit=1).fragments(int(mss)))) for near in nearby]
    return Measured(limits[0], rows)


@registered
@in_unit("B")
def octets_a_packet(_bench: Bench, *, sizes: str, limit: str, unit: str) -> Measured:
    """Return the user octets per packet of segments of these sizes."""
    net = _net(limit, unit)
    values = [net.per_packet(mss) for mss in _sizes(sizes)]
    return Measured(
        values if len(values) > 1 else values[0], _both_rules(limit, [*_sizes(sizes), 434])
    )


def _differences(a: float, b: float, names: tuple[str, str]) -> list[tuple[str, str]]:
    """Return the difference of two values, as a share of the second and as a share of the first."""
    return [
        ("measured against", "difference"),
        (f"the smaller, {names[1]}", f"{100 * (a / b - 1):+.1f} %"),
        (f"the larger, {names[0]}", f"{100 * (b / a - 1):+.1f} %"),
    ]


@registered
@in_unit("%")
def more_than(_bench: Bench, *, first: str, second: str) -> Measured:
    """Return by how many percent the first number exceeds the second."""
    a, b = float(first), float(second)
    return Measured(100 * (a / b - 1), _differences(a, b, (first, second)))


@registered
@in_unit("%")
def more_octets(_bench: Bench, *, sizes: str, limit: str, unit: str) -> Measured:
    """Return how many more user octets per packet the first size has than the second [%]."""
    first, second = map(int, words(sizes, 2))
    net = _net(limit, unit)
    a, b = net.per_packet(first), net.per_packet(second)
    return Measured(100 * (a / b - 1), _differences(a, b, (f"{a:.1f}", f"{b:.1f}")))


@registered
@in_unit("B")
def good_sizes(_bench: Bench, *, limit: str, unit: str, most: str) -> Measured:
    """Return the first segment size with a local maximum of user octets per packet, and the step.

    The step is the distance from one such size to the next. All sizes up to the size `most` are
    tried. If the steps are not all equal, the value is `None`.
    """
    rows: list[tuple[str, ...]] = [
        ("unit", "sizes with more user octets per packet than their neighbours")
    ]
    maxima: dict[str, list[int]] = {}
    for rule in dict.fromkeys((unit, "1", "8")):
        net = _net(limit, rule)
        user_octets = np.array([net.per_packet(mss) for mss in range(1, int(most) + 2)])
        is_maximum = (user_octets[1:-1] > user_octets[:-2]) & (user_octets[1:-1] > user_octets[2:])
        maxima[rule] = [int(mss) for mss in np.flatnonzero(is_maximum) + 2]
        rows.append((rule, ", ".join(map(str, maxima[rule]))))
    steps = set(np.diff(maxima[unit]).tolist())
    evenly_spaced = len(steps) == 1
    return Measured([float(maxima[unit][0]), float(steps.pop())] if evenly_spaced else None, rows)


@registered
def per_acknowledgment(_bench: Bench, *, mss: str, limit: str, segments: str) -> Measured:
    """Return the packets that a receiver gets per ACK, for a number of segments per ACK."""
    rows: list[tuple[str, ...]] = [
        ("mss", "packets per segment", "packets per ACK", "packets with the ACK")
    ]
    counts = {size: _net(limit, "8").packets(size) for size in dict.fromkeys([int(mss), 512, 246])}
    for size, count in counts.items():
        together = count * int(segments)
        rows.append((str(size), str(count), str(together), str(together + 1)))
    return Measured(counts[int(mss)] * int(segments), rows)


def _crossing_packets(mss: int, limit: str) -> tuple[int, int]:
    """Return the number of packets of two segments and their ACK, and the segments' user octets."""
    return 2 * _net(limit, "8").packets(mss) + 1, 2 * mss


@registered
@in_unit("%")
def denser(bench: Bench, *, sizes: str, limit: str, runs: str) -> Measured:
    """Return how many more packets per user octet the first size needs than the second [%].

    The packets of two segments and their ACK are counted. `runs` are transfers with the two sizes;
    the table also compares these transfers.
    """
    first, second = map(int, words(sizes, 2))
    (p, a), (q, b) = (_crossing_packets(mss, limit) for mss in (first, second))
    ratios = {
        "packets per packet of data": (p / (p - 1)) / (q / (q - 1)),
        "packets of data per user octet": ((p - 1) / a) / ((q - 1) / b),
        "packets per user octet": (p / a) / (q / b),
        "packets per user octet, simulated": _per_octet(bench, runs.split(",")),
        "packets per user octet, as a share of the larger": 2 - (q / b) / (p / a),
    }
    rows: list[tuple[str, ...]] = [("measured by", "difference")]
    rows += [(basis, f"{100 * (ratio - 1):+.1f} %") for basis, ratio in ratios.items()]
    rows.append((f"cycle of {first}", f"{p} packets for {a} octets"))
    rows.append((f"cycle of {second}", f"{q} packets for {b} octets"))
    return Measured(100 * (ratios["packets per user octet"] - 1), rows)


def _per_octet(bench: Bench, runs: Sequence[str]) -> float:
    """Return the first run's packets per user octet on the line, divided by the second run's."""
    per_octet = []
    for name in runs:
        run = bench.run(name)
        carried = int(run.links.where(link="up", direction="forward")["carried"][0])
        per_octet.append(carried / int(run.flows["acked_bytes"][0]))
    return per_octet[0] / per_octet[1]


@registered
@in_unit("%")
def sooner(_bench: Bench, *, sizes: str, limit: str) -> Measured:
    """Return how many fewer user octets fill a queue with the first size than with the second [%].

    Data and ACKs share the queue, with one ACK for every two segments.
    """
    first, second = map(int, words(sizes, 2))
    (p, a), (q, b) = (_crossing_packets(mss, limit) for mss in (first, second))
    rows: list[tuple[str, ...]] = [
        ("mss", "user octets per packet in the queue", "user octets in 16 packets")
    ]
    rows += [
        (str(mss), f"{octets / count:.1f}", f"{16 * octets / count:.0f}")
        for mss, count, octets in ((first, p, a), (second, q, b))
    ]
    return Measured(100 * (1 - (a / p) / (b / q)), rows)


@registered
def best_counts(bench: Bench, *, limits: str, losses: str, grid: str) -> Measured:
    """Return two maximum differences between the best number of packets per segment and a formula.

    The best number of packets per segment delivers the most user octets per packet sent. The
    formula is a closed form for this number (`UnderLoss.closed_form`). The first difference
    compares the closed form with the best of all numbers, over all limits and losses. The second
    difference compares the closed form with the best number in simulated transfers, over the losses
    of a grid.
    """
    rows: list[tuple[str, ...]] = [("limit", "loss", "closed form", "by trying", "simulated")]
    differences = [0.0, 0.0]
    simulated = _simulated_best(bench, grid)
    for limit in _sizes(limits):
        for loss in (float(word) for word in losses.split(",")):
            under = UnderLoss(SmallNet(limit), loss)
            closed_form, tried = max(1.0, under.closed_form()), under.best_count()
            differences[0] = max(differences[0], abs(tried - closed_form))
            in_simulation = simulated.get((limit, loss))
            if in_simulation is not None:
                differences[1] = max(differences[1], abs(in_simulation - closed_form))
            cells = (f"{limit} B", f"{loss:g}", f"{closed_form:.1f}", str(tried))
            rows.append((*cells, "-" if in_simulation is None else str(in_simulation)))
    return Measured(differences, rows)


def _simulated_best(bench: Bench, grid: str) -> dict[tuple[int, float], int]:
    """Return, for each limit and loss, the best number of packets per segment in simulations.

    The best number delivers the most user octets per packet sent.
    """
    sums: dict[tuple[int, float], dict[int, list[float]]] = {}
    for case in bench.grid(grid):
        run = case.run
        link = configuration(run)["links"]["line"]
        limit = int(quantity(link["mtu"])[1])
        mss = int(quantity(case.values["size"])[1]) - 40
        count = SmallNet(limit).packets(mss)
        sent = int(run.links.where(link="line", direction="forward")["carried"][0])
        octets_per_packet = int(run.flows["acked_bytes"][0]) / sent
        loss = float(case.values["loss"][0]["probability"])
        sums.setdefault((limit, loss), {}).setdefault(count, []).append(octets_per_packet)
    return {
        key: max(by_count, key=lambda count: float(np.mean(by_count[count])))
        for key, by_count in sums.items()
    }


@registered
@in_unit("%")
def most_gained(_bench: Bench, *, limits: str, losses: str, share: str) -> Measured:
    """Return the maximum gain by fragmenting [%].

    Only nets in which headers take at most the share `share` of a full packet count.
    """
    rows: list[tuple[str, ...]] = [
        ("limit", "headers", "loss", "best packets", "gain over one packet")
    ]
    gains = []
    for limit in _sizes(limits):
        net = SmallNet(limit, unit=1)
        for loss in (float(word) for word in losses.split(",")):
            under = UnderLoss(net, loss)
            best = under.best_count()
            gain = 100 * under.gain(best)
            if net.share_of_headers <= float(share):
                gains.append(gain)
            cells = (f"{limit} B", f"{100 * net.share_of_headers:.1f} %", f"{loss:g}", str(best))
            rows.append((*cells, f"{gain:.2f} %"))
    return Measured(max(gains), rows)


@registered
def quotients(_bench: Bench, *, amount: str, rates: str) -> Measured:
    """Return an amount of data, and its transmission time at the first of several rates."""
    times = [float(amount) / float(rate) for rate in rates.split(",")]
    rows: list[tuple[str, ...]] = [("rate", "time")]
    rows += [
        (f"{rate} KB/s", f"{t:.1f} s") for rate, t in zip(rates.split(","), times, strict=True)
    ]
    return Measured([float(amount), times[0]], rows)


@registered
@in_unit("%")
def percent_of(_bench: Bench, *, count: str, each: str, of: str) -> Measured:
    """Return a multiple of a time, as a percentage of the first of several durations."""
    durations = [float(word) for word in of.split(",")]
    lost = int(count) * float(each)
    rows: list[tuple[str, ...]] = [("duration", "share")]
    rows += [(f"{duration:g} s", f"{100 * lost / duration:.1f} %") for duration in durations]
    return Measured(100 * lost / durations[0], rows)


@registered
@in_unit("KB")
def burst_that_fits(bench: Bench, *, packets: str, limit: str, grid: str) -> Measured:
    """Return the octets of a number of full datagrams, in KB.

    For each path of a grid, the largest window that has no drop is found. For each segment size,
    the table has the minimum and the maximum of these windows.
    """
    rows: list[tuple[str, ...]] = [("mss", "largest window without a drop", "over paths")]
    largest: dict[int, dict[str, int]] = {}
    for case in bench.grid(grid):
        mss = int(quantity(case.values["size"])[1]) - 40
        window = int(quantity(case.values["window"])[1])
        path = f"{case.values['crossing']} {case.values['rate']}"
        dropped = int(case.run.links.where(link="up", direction="forward")["dropped"][0])
        by_path = largest.setdefault(mss, {})
        by_path[path] = max(by_path.get(path, 0), window if dropped == 0 else 0)
    for mss, by_path in largest.items():
        windows = sorted(by_path.values())
        rows.append((str(mss), f"{windows[0]} to {windows[-1]} B", str(len(windows))))
    return Measured(int(packets) * int(limit) / 1000, rows)
