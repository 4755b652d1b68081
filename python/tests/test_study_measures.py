"""Tests the measures of a study of transfers over satellites; the transfers are made up.

A measure computes the value that a claim of a paper is compared with. A contact is the time in
which a spacecraft and a relay satellite can communicate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from netspurt.papers.choices import Bands
from netspurt.papers.contacts import EARTH_KM, SYNCHRONOUS_KM, Curve
from netspurt.papers.data import PaperError
from netspurt.papers.over_contacts import bounds_km
from netspurt.papers.over_starts import PACKET, RATE
from netspurt.papers.registry import measure
from netspurt.papers.study import Study, Transfers

from made_up_papers import bench_with, made_run, table

#: The ticks of the two clocks that the study compares.
FINE, COARSE = "1 ms", "500 ms"
#: The sizes of the transfers, in packets.
SIZES = (10, 20)

#: For each size of a transfer and each clock of its sender: the throughputs of transfers that start
#: at different times in one contact [Mbit/s].
Rates = Mapping[tuple[int, str], Sequence[float]]


def transfers(rates: Rates, **columns: Any) -> Transfers:
    """Return transfers with these throughputs. Packets have 1,500 octets."""
    rows = [(size, clock, rate) for (size, clock), own in rates.items() for rate in own]
    size, clock, rate = (np.array(column) for column in zip(*rows, strict=True))
    count = len(rows)
    usual = {
        "size": size,
        "clock": clock,
        "start": np.arange(count, dtype=float),
        "seconds": 8 * PACKET * size / (1e6 * rate),
        "delivered": size,
        "sent": size,
        "spurious": np.zeros(count, np.int64),
        "timeouts": np.zeros(count, np.int64),
        "window_limited": np.zeros(count, np.int64),
    }
    return Transfers(**{**usual, **columns})


def value(name: str, contacts: Mapping[str, Transfers], /, **arguments: str) -> Any:
    """Return the value of a measure. Contacts with handoffs have names that begin with `H`."""
    kinds = {
        contact: SimpleNamespace(variability="handoff" if contact.startswith("H") else "only")
        for contact in contacts
    }
    study = SimpleNamespace(contacts=kinds, clocks=(FINE, COARSE), sizes=SIZES)
    bench = bench_with({}, of_study=study, transfers=contacts.__getitem__)
    return measure(name)(bench, **arguments).value


def steady(fine: float, coarse: float, large: float = 0.0) -> Rates:
    """Return rates that do not vary; the rates of the larger size are higher by `large`."""
    clocks = {FINE: fine, COARSE: coarse}
    return {(s, c): [r + (s == 20) * large] * 3 for s in SIZES for c, r in clocks.items()}


# Throughput.


def test_the_throughput_counts_each_packet_once() -> None:
    one = transfers({(10, FINE): [1.2], (20, FINE): [0.6], (20, COARSE): [0.3]})
    # Ten packets are 120,000 bits: 100 ms at 1.2 Mbit/s.
    assert one.seconds.tolist() == pytest.approx([0.1, 0.4, 0.8])
    assert one.throughput(PACKET).tolist() == pytest.approx([1.2e6, 0.6e6, 0.3e6])
    assert one.where(size=20).throughput(PACKET).tolist() == pytest.approx([0.6e6, 0.3e6])
    assert len(one.where(size=20, clock=COARSE)) == 1
    assert len(one.where(size=10, clock=COARSE)) == 0


def test_clocks_are_compared_by_their_mean_throughputs() -> None:
    contacts = {
        "A": transfers({(10, FINE): [0.8, 1.0], (10, COARSE): [1.0, 1.25]}),
        "B": transfers({(10, FINE): [1.1], (10, COARSE): [1.0]}),
        "H": transfers({(10, FINE): [0.1], (10, COARSE): [1.0]}),
    }
    assert value("clock_ratio", contacts, contact="A", size="10") == pytest.approx(0.8)
    assert value("clock_difference", contacts, sizes="10") == pytest.approx(0.2)
    assert value("lost_by_fine_clock", contacts, size="10") == pytest.approx(0.2)
    # With the coarse clock, B has the lowest mean of the contacts without handoffs: 1.0 Mbit/s. The
    # link has 1.5 Mbit/s.
    assert value("utilisation", contacts, size="10") == pytest.approx(1e6 / RATE)


@pytest.mark.parametrize(("large", "count"), [(0.1, 0), (0.0, 1), (-0.1, 1)])
def test_throughput_counts_as_growing_only_if_it_is_higher_for_each_larger_size(
    large: float, count: int
) -> None:
    contacts = {"A": transfers(steady(9, 1, large)), "H": transfers(steady(9, 1, 0.1))}
    assert value("not_growing", contacts) == count


def varied(short: float, long: float) -> Transfers:
    """Return transfers with throughputs that vary by these shares of their mean.

    The long transfers are faster than the short ones.
    """
    return transfers(
        {
            (size, COARSE): [mean * (1 - share / 2), mean, mean * (1 + share / 2)]
            for size, share, mean in ((10, short, 1.0), (20, long, 2.0))
        }
    )


def test_a_contact_counts_if_its_long_transfers_vary_at_least_as_much_as_its_short_ones() -> None:
    contacts = {"A": varied(0.5, 0.25), "B": varied(0.25, 0.5), "C": varied(0.5, 0.5)}
    assert value("long_vary_more", contacts) == 2


def test_the_two_sizes_with_the_widest_ranges_are_named_before_the_other_sizes() -> None:
    spans = {10: 0.2, 20: 0.5, 30: 0.1, 40: 0.3}
    own = transfers({(size, COARSE): [1.0, 1.0 + span] for size, span in spans.items()})
    study = SimpleNamespace(clocks=(FINE, COARSE), sizes=tuple(spans))
    bench = bench_with({}, of_study=study, transfers={"A": own}.__getitem__)
    assert measure("order_by_spread")(bench, contact="A").value == "20, 40 > 10, 30"


def test_the_lowest_named_contact_is_compared_with_the_highest_contact_that_is_not_named() -> None:
    contacts = {"A": varied(0.8, 0.9), "B": varied(0.6, 0.6), "C": varied(0.2, 0.3)}
    swings = {"A": 9.0, "B": 6.0, "C": 4.0}
    kinds = {name: SimpleNamespace(variability="only", name=name) for name in contacts}
    study = SimpleNamespace(
        contacts=kinds, clocks=(FINE, COARSE), sizes=SIZES, swing=lambda one: swings[one.name]
    )
    bench = bench_with({}, of_study=study, transfers=contacts.__getitem__)
    found = measure("most_varying")(bench, contacts="A,B").value
    assert found == pytest.approx([6 / 4, min(0.6 / 0.2, 0.6 / 0.3)])


# Deliveries, windows and timeouts.


@pytest.mark.parametrize(
    ("columns", "size"),
    [
        ({}, 10),
        ({"delivered": np.array([10, 9])}, None),
        ({"seconds": np.array([1.0, np.nan])}, None),
        ({"size": np.array([20, 20]), "delivered": np.array([20, 20])}, None),
    ],
)
def test_a_size_is_returned_only_if_it_has_transfers_and_all_its_transfers_are_complete(
    columns: dict[str, Any], size: int | None
) -> None:
    whole = transfers({(10, FINE): [1.0, 1.0]})
    changed = transfers({(10, FINE): [1.0, 1.0]}, **columns)
    assert value("all_delivered", {"A": whole, "H": changed}, size="10") == size


def test_spurious_retransmissions_count_only_for_the_named_clock_and_sizes() -> None:
    own = transfers({(s, c): [1.0] for s in SIZES for c in (FINE, COARSE)})
    flagged = transfers(
        {(s, c): [1.0] for s in SIZES for c in (FINE, COARSE)},
        spurious=np.array([0, 0, 3, 0]),
    )
    contacts = {"A": flagged, "B": own}
    answers = {
        (clock, sizes): value("any_spurious", contacts, contact="A", clock=clock, sizes=sizes)
        for clock in ("fine", "coarse")
        for sizes in ("10", "20", "10,20")
    }
    assert {key for key, any_ in answers.items() if any_} == {("fine", "20"), ("fine", "10,20")}


@pytest.mark.parametrize(("limited", "window"), [([0, 0], 64), ([0, 1], None)])
def test_the_receive_window_is_returned_only_if_it_limited_no_transfer(
    limited: list[int], window: float | None
) -> None:
    own = transfers({(10, FINE): [1.0, 1.0]}, window_limited=np.array(limited))
    contacts = {"A": own, "B": transfers({(10, FINE): [1.0]})}
    study = SimpleNamespace(contacts=contacts)
    run = made_run('[flows.x]\ntcp = { receive_window = "64 segments" }')
    bench = bench_with({"r": run}, of_study=study, transfers=contacts.__getitem__)
    assert measure("never_limited")(bench, run="r").value == window


def test_contacts_are_sorted_by_a_measured_value_and_equal_contacts_get_an_equals_sign() -> None:
    rates = {(10, FINE): [1.0, 1.0], (20, FINE): [1.0, 1.0]}
    counts = {"A": [1, 0, 1, 1], "B": [0, 0, 0, 0], "C": [9, 0, 0, 0], "D": [0, 0, 0, 2]}
    contacts = {
        name: transfers(rates, spurious=np.array(counts_of)) for name, counts_of in counts.items()
    }
    words = {"contacts": "A,C,D,B", "sizes": "10,20"}
    assert value("order_by_share", contacts, **words) == "B < C = D < A"
    means = {"A": [2.0, 1.0], "B": [1.0, 1.0], "C": [1.5, 1.5]}
    by_rate = {name: transfers({(10, FINE): own}) for name, own in means.items()}
    ordered = value("order_by_throughput", by_rate, contacts="C,B,A", size="10")
    assert ordered == "B < C = A"


# Starts.


def starts_of(contact: str, lasts: float, quick: int = 4, *, whole: bool = True) -> Any:
    """Return when transfers start in one of two contacts: every 30 s, shifted by at most 5 s."""
    study: Any = SimpleNamespace(every=30.0, shift=5.0, seed=7, quick=quick)
    study.lasts, study.contacts = lambda _: lasts, {"A": None, "B": None}
    own: Any = SimpleNamespace(name=contact)
    return Study.starts(study, own, whole=whole)


@pytest.mark.parametrize(("lasts", "count"), [(300.0, 9), (329.9, 9), (330.0, 10), (60.0, 1)])
def test_each_start_differs_from_a_multiple_of_30_s_by_at_most_the_shift(
    lasts: float, count: int
) -> None:
    starts = starts_of("B", lasts)
    assert len(starts) == count
    assert (np.abs(starts - 30 * np.arange(1, count + 1)) <= 5).all()
    assert lasts - starts[-1] >= 30 - 5
    assert not np.isin(starts_of("A", lasts), starts).any()


@pytest.mark.parametrize(("quick", "count"), [(1, 1), (3, 3), (4, 3), (9, 9), (50, 9)])
def test_a_quick_study_uses_every_nth_start(quick: int, count: int) -> None:
    every, some = (starts_of("A", 300.0, quick, whole=whole) for whole in (True, False))
    assert len(some) == count
    step = np.flatnonzero(np.isin(every, some))
    assert len(set(np.diff(step).tolist())) <= 1
    assert step[0] == 0


def test_a_study_whose_cases_did_not_all_end_is_refused() -> None:
    cases: Any = {"status": np.array(["done", "cut"])}
    cases = type("Cases", (dict,), {"about": SimpleNamespace(where="s/A")})(cases)
    with pytest.raises(PaperError, match=r"s/A: 1 of 2 cases did not run to the end \(1 cut\)"):
        Transfers.of(cases)


# Delays.


def test_a_delay_is_judged_by_the_nearest_constant_delay() -> None:
    bands = Bands(np.array([0.1, 0.2, 0.3, 0.4]), np.array([False, True, True, False]))
    delays = np.array([0.0, 0.149, 0.151, 0.25, 0.349, 0.351, 9.0, 0.2])
    assert bands.share(delays) == 4 / 8
    assert bands.affected_trips(0.01) == "420-620"
    ends = Bands(np.array([0.1, 0.2, 0.3]), np.array([True, False, True]))
    assert ends.affected_trips(0.0) == "200-200 600-600"
    assert Bands(np.array([0.1]), np.array([False])).affected_trips(0.0) == "none"


def test_the_delay_of_a_contact_is_linear_except_at_steps() -> None:
    """The delay rises from 100 to 200 ms in 10 s, steps to 300 ms, and stays there for 30 s."""
    t = np.array([0, 10_000_000_000, 10_000_000_001, 40_000_000_000])
    curve = Curve(t, np.array([100, 200, 300, 300]) * 1_000_000)
    assert curve.lasts == 40
    assert curve.at(np.array([0.0, 5.0, 10.0, 15.0])) == pytest.approx([0.1, 0.15, 0.2, 0.3])
    assert curve.mean() == pytest.approx((10 * 0.15 + 30 * 0.3) / 40)
    assert np.array(curve.jumps()) == pytest.approx(np.array([[10.000000001, 0.1]]), abs=1e-12)


def test_the_distance_to_a_relay_is_shortest_overhead_and_longest_at_the_horizon() -> None:
    low, high = bounds_km(apogee=600, perigee=400)
    assert low == pytest.approx(SYNCHRONOUS_KM - EARTH_KM - 600)
    # At the point where the line of sight touches the Earth, it is perpendicular to the radius.
    assert high == pytest.approx(
        SYNCHRONOUS_KM * np.sin(np.arccos(EARTH_KM / SYNCHRONOUS_KM))
        + (EARTH_KM + 600) * np.sin(np.arccos(EARTH_KM / (EARTH_KM + 600)))
    )
    for perigee in (0, -1):
        with pytest.raises(ValueError, match=f"a perigee of {perigee} km: write a perigee above"):
            bounds_km(apogee=600, perigee=perigee)


# Echo probes.


def probes(sent: list[float], rtt: list[float], carried: int | None = None) -> Any:
    """Return a run of echo probes with these instants and round trips [s]; NaN is a lost probe."""
    lost = np.isnan(rtt)
    sizes = np.arange(40, 40 + len(sent))
    run = made_run()
    run.echo_probes = table(t_s=sent, rtt_s=rtt, lost=lost, size_bytes=sizes)
    run.links = {"carried": np.array([len(sent), len(sent) if carried is None else carried])}
    return run


#: The round trip of a lost probe.
NAN = float("nan")


@pytest.mark.parametrize(
    ("sent", "rtt", "most"),
    [
        ([0, 1, 2], [0.5, 0.5, 0.5], 1),
        # An answer at the instant of the next request counts as earlier than the request.
        ([0, 1, 2], [1.0, 1.0, 1.0], 1),
        ([0, 1, 2], [1.001, 1.001, 1.0], 2),
        ([0, 1, 2], [9.0, 9.0, 9.0], 3),
        # A lost probe is outstanding for 30 s.
        ([0, 29, 30], [NAN, 0.5, 0.5], 2),
        ([0, 30, 31], [NAN, 0.5, 0.5], 1),
    ],
)
def test_a_probe_is_outstanding_until_its_answer_comes_and_a_lost_probe_for_30_s(
    sent: list[float], rtt: list[float], most: int
) -> None:
    bench = bench_with({"r": probes(sent, rtt)})
    assert measure("most_outstanding")(bench, run="r").value == most


@pytest.mark.parametrize(
    ("rtt", "sent", "lost", "wait"),
    [
        ([0.5, NAN, 0.5, NAN, 0.5], [0, 1, 31, 32, 62], "2", 30),
        ([0.5, NAN, 0.5, NAN, 0.5], [0, 1, 31, 32, 61], "2", None),
        ([0.5, NAN, 0.5, NAN, 0.5], [0, 1, 31, 32, 62], "1", None),
        # No probe follows the last one, so its loss delays no probe.
        ([0.5, NAN, 0.5, 0.5, NAN], [0, 1, 31, 32, 33], "2", 30),
    ],
)
def test_the_give_up_time_is_known_if_the_next_probe_is_equally_late_after_each_loss(
    rtt: list[float], sent: list[float], lost: str, wait: float | None
) -> None:
    bench = bench_with({"r": probes(sent, rtt)})
    assert measure("given_up_after")(bench, run="r", lost=lost).value == wait


def test_the_longest_length_is_returned_only_if_no_probe_was_lost_or_fragmented() -> None:
    runs = {
        "all": probes([0, 1], [0.5, 0.5]),
        "lossy": probes([0, 1], [0.5, NAN]),
        "fragmented": probes([0, 1], [0.5, 0.5], carried=3),
    }
    values = {name: measure("longest_probe")(bench_with(runs), run=name).value for name in runs}
    assert values == {"all": 41, "lossy": None, "fragmented": None}
