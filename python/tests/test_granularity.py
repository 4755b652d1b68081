"""Tests how the tick of a host's clocks changes samples of round trips and the minimum timer."""

from __future__ import annotations

import pytest

import netspurt as ns

MS = 10**6

#: Estimators that count in ticks or use G, the clock granularity of RFC 6298 §2.3.
WITH_UNIT = ("rfc6298", "bsd44", "jacobson88", "sctp", "ns3", "datacenter", "experts", "eifel")
#: Estimators that neither count in ticks nor use G.
OTHERS = (
    "linux",
    "rfc793",
    "freebsd",
    "solaris",
    "smoltcp",
    "cocoa",
    "peak-hopper",
    "mills",
    "quic",
)


def run_of(estimator: str, tick: str, one_way: str = "364.58 ms") -> ns.Scenario:
    """Return a scenario whose hosts have clocks with this tick, and whose link has this delay."""
    clock = f'{{ tick = "{tick}", phase = "0 s" }}'
    return ns.Scenario.parse(
        f"""
        stop = "100 s"
        links = {{ wire = {{ between = ["a", "b"], rate = "100 Mbit/s", delay = "{one_way}" }} }}
        [flows.x]
        from = "a"
        to = "b"
        profile = "rfc-2026"
        send = "300 segments"
        [flows.x.tcp]
        clock = {clock}
        timer_clock = {clock}
        timestamps = false
        initial_window = "2 segments"
        receive_buffer = "4380 B"
        acks = "every segment"
        rto = {{ estimator = "{estimator}" }}
        """
    )


@pytest.mark.parametrize("estimator", WITH_UNIT + OTHERS)
def test_a_sample_of_730_ms_is_a_multiple_of_the_clocks_tick(estimator: str) -> None:
    for tick, allowed in (("1 ms", {729, 730}), ("500 ms", {500, 1000})):
        sampled = run_of(estimator, tick).run().rtt.where(direction="forward")
        read = {reading // MS for reading in sampled["rtt_ns"].tolist()}
        assert read <= allowed, (estimator, tick, read)
        assert len(sampled["rtt_ns"]) > 20


@pytest.mark.parametrize("estimator", ["rfc6298", "ns3"])
def test_the_rto_is_at_least_one_tick_above_srtt(estimator: str) -> None:
    """RFC 6298 §2.3: RTO = SRTT + max(G, K * RTTVAR). Here each round trip takes about 1 s."""
    for tick, least_ms in (("1 ms", 1), ("500 ms", 500)):
        scenario = run_of(estimator, tick, "499.99 ms").replace({"flows.x.tcp.rto.min": "0 s"})
        last = scenario.run().rto.where(direction="forward")
        distance = int(last["rto_ns"][-1]) - int(last["srtt_ns"][-1])
        assert least_ms * MS <= distance < (least_ms + 20) * MS, (tick, distance)


def test_a_granularity_in_the_name_of_the_estimator_stays_in_the_scenario() -> None:
    scenario = run_of("rfc6298:granularity=10ms", "500 ms")
    assert 'estimator = "rfc6298:granularity=10ms"' in scenario.resolved()
    assert 'estimator = "rfc6298"' in run_of("rfc6298", "500 ms").resolved()
