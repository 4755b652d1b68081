"""Tests the lines that are printed after a live run.

They say whether the run is valid, and which settings its two ends had. A run is invalid, for
example, if a packet was delivered later than the budget allows.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from test_live_sweep import report

from netspurt.cli import live
from netspurt.cli.live import _early, verdict
from netspurt.live_report import EndReport, FlowFailure, LiveReport, PacketCounts, Replayed

MS = 1_000_000


def end(flow: str, side: str, profile: str = "linux-default", **more: Any) -> EndReport:
    """Return the report on one end of a flow, with the settings in `more`."""
    parts: dict[str, Any] = {"sysctls": {}, "route": {}, "device": {}, "socket": {}, "counters": {}}
    return EndReport(flow, side, profile, **{**parts, **more})


def failing(**changes: Any) -> LiveReport:
    """Return the report of an invalid run with these changes.

    Unless a change replaces the lateness, the largest lateness is 2 ms, which is within the budget.
    """
    return replace(report(late_ms=2), valid=False, **changes)


@pytest.mark.parametrize(
    ("told", "why"),
    [
        (report(late_ms=2), ""),
        (report(late_ms=12.345), "a delivery was 12.3 ms late, budget 5 ms"),
        (
            failing(replayed=Replayed(3, 4, False)),
            "the same arrivals in virtual time had other drops",
        ),
        (failing(packets=PacketCounts(3, 1, 20, 0)), "1 packet damaged; 20 packets missed"),
        (
            replace(
                report(late_ms=7),
                replayed=Replayed(3, 4, False),
                packets=PacketCounts(0, 0, 0, 2),
            ),
            "a delivery was 7 ms late, budget 5 ms; the same arrivals in virtual time had other "
            "drops; 2 packets refused",
        ),
    ],
)
def test_all_reasons_why_a_run_is_invalid_are_given(told: LiveReport, why: str) -> None:
    assert told.why_not() == why
    last = verdict(told)[-1]
    assert last == f"Linux 6, : {f'INVALID: {why}' if why else 'valid'}"


def test_a_delivery_as_late_as_the_budget_is_no_failure() -> None:
    told = failing(lateness=replace(report(late_ms=1).lateness, max_ns=5 * MS))
    assert told.why_not() == ""


def test_a_line_says_if_no_packet_crossed_the_path() -> None:
    some = report(late_ms=1)
    words = "No packet crossed the emulated path"
    assert words not in " ".join(verdict(some))
    none = replace(some, lateness=replace(some.lateness, deliveries=0))
    assert words in " ".join(verdict(none))


def test_lateness_and_drops_are_printed_with_units() -> None:
    told = failing(
        lateness=replace(
            report(late_ms=1).lateness,
            **{"p50_ns": 999_499, "p99_ns": MS, "p999_ns": 1_500_000_000, "max_ns": 25 * MS},
        ),
        replayed=Replayed(1000, 1001, False),
        packets=PacketCounts(1, 0, 2000, 0),
        failures=[FlowFailure("bulk", "reset by the peer")],
    )
    late, drops, packets, failure, _ = verdict(told)
    assert late == "lateness: p50 999 µs, p99 1 ms, p99.9 1.5 s, max 25 ms, budget 5 ms"
    assert drops == "drops: 1,000; a simulation of the same arrivals has other drops (1,001)"
    assert packets == "1 packet unreadable, 2,000 packets missed"
    assert failure == "flow bulk: reset by the peer"


@pytest.mark.parametrize(
    ("ended_s", "says"),
    [
        (12.3456, ["the run ended at 12.3 s, because all flows had ended; `stop` is 60 s"]),
        (60.0, []),
        (60.5, []),
    ],
)
def test_a_line_says_that_a_run_ended_because_its_flows_had_ended(
    ended_s: float, says: list[str]
) -> None:
    run: Any = SimpleNamespace(stop_ns=round(ended_s * 1e9))
    assert _early(run, 60.0) == says


def test_ends_with_equal_settings_share_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "110")
    same = {"sysctls": {"net.ipv4.tcp_sack": "1"}, "socket": {"TCP_NODELAY": None}}
    ends = [
        end("a", "from", "reno-2005", **same, route={"rto_min": "200ms"}),
        end("a", "to", "reno-2005", **same, route={"rto_min": "200ms"}),
        end("b", "from", "reno-2005", **same, device={"mtu": 1500}),
    ]
    told = replace(report(late_ms=1), ends=ends)
    # The lines leave out values that the run did not set.
    assert verdict(told)[2:-1] == [
        "a.from and a.to, reno-2005: net.ipv4.tcp_sack=1, route rto_min=200ms",
        "b.from, reno-2005: net.ipv4.tcp_sack=1, mtu=1500",
    ]
    assert len(verdict(told, ends=False)) == 3


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give this machine two sysctls: a congestion control (cubic) and sizes of receive buffers."""
    folder = tmp_path / "net" / "ipv4"
    folder.mkdir(parents=True)
    (folder / "tcp_congestion_control").write_text("cubic\n")
    (folder / "tcp_rmem").write_text("4096\t131072\t6291456\n")
    monkeypatch.setattr(live, "_SYSCTLS", tmp_path)
    monkeypatch.setenv("COLUMNS", "110")
    return tmp_path


def differences(*ends: EndReport) -> list[str]:
    """Return the printed differences from the machine's settings, each as one line."""
    told = verdict(replace(report(late_ms=1), ends=[*ends]), ends=False)
    assert all(len(part) <= 110 for line in told for part in line.splitlines())
    return [" ".join(line.split()) for line in told if DIFFERS in line]


#: The beginning of a line about the settings of an end.
DIFFERS = "linux-default differs from this machine's settings: "


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize(
    ("one", "says"),
    [
        (end("a", "from", socket={"TCP_CONGESTION": "cubic"}), None),
        (
            end("a", "from", socket={"TCP_CONGESTION": "reno"}),
            f"a.from: {DIFFERS}net.ipv4.tcp_congestion_control=reno (here cubic)",
        ),
        # Programs open their own sockets, so the route sets their algorithm.
        (
            end("a", "to", route={"congctl": "bbr"}),
            f"a.to: {DIFFERS}net.ipv4.tcp_congestion_control=bbr (here cubic)",
        ),
        (end("a", "from", sysctls={"net.ipv4.tcp_rmem": "4096 131072 6291456"}), None),
        (
            end("a", "from", sysctls={"net.ipv4.tcp_rmem": "4096 9 9"}),
            f"a.from: {DIFFERS}net.ipv4.tcp_rmem=4096 9 9 (here 4096 131072 6291456)",
        ),
        # This machine does not have the sysctl tcp_frto.
        (end("a", "from", sysctls={"net.ipv4.tcp_frto": "2"}), None),
        # The run did not set the sysctl tcp_rmem.
        (end("a", "from", sysctls={"net.ipv4.tcp_rmem": None}), None),
        # Only the profile `linux-default` is compared with the machine's settings.
        (end("a", "from", "reno-2005", socket={"TCP_CONGESTION": "reno"}), None),
    ],
)
def test_settings_of_the_profile_linux_default_are_reported_if_the_machine_has_other_values(
    one: EndReport, says: str | None
) -> None:
    assert differences(one) == ([] if says is None else [says])


@pytest.mark.usefixtures("machine")
def test_ends_that_differ_from_the_machine_in_the_same_way_share_a_line() -> None:
    reno = {"TCP_CONGESTION": "reno"}
    ends = [end("a", side, socket=reno) for side in ("from", "to")]
    assert differences(*ends) == [
        f"a.from, a.to: {DIFFERS}net.ipv4.tcp_congestion_control=reno (here cubic)"
    ]
