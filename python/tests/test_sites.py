"""Tests `netspurt sites`, which describes the connections to web sites.

The tests are about distributions, idle times, the round trip of the handshake, and the sources of
connections: runs, captures, polls and tables.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import netspurt as ns
from netspurt.analysis.idle import IN_WORDS, Packets, idles, longest_idle, reaction_s
from netspurt.analysis.ranks import rank_sum_chance, ranks
from netspurt.analysis.sites import (
    Cdf,
    Connections,
    Share,
    handshake_ratio,
    joined,
    label_timeouts,
    ping_ratio,
    rank_correlation,
    split_by_retransmissions,
)
from netspurt.connections import SourceError, of_run, read_connections
from netspurt.pictures.marks import Polyline
from netspurt.pictures.sites import throughput_levels
from netspurt.plots.sites import draw_cdfs, draw_idle, draw_throughput

from conftest import Command, refused
from made_up_captures import ACK, SYN, SYN_ACK, made_up


@pytest.fixture(scope="session")
def pages() -> ns.Run:
    """Run a scenario of four sites: one loses packets, and the path to another becomes longer."""
    return ns.load("sites").run()


@pytest.fixture(scope="session")
def pages_folder(pages: ns.Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save the run of four sites; return its folder."""
    return pages.save(tmp_path_factory.mktemp("sites") / "pages")


#: A scenario in which the client fetches one page, like the pages of the scenario `sites`.
PAGE = """
stop = "9 s"
[links]
wire = {{ between = ["client", "far"], rate = "5 Mbit/s", delay = "{delay} ms" }}
[flows.page]
from = "client"
to = "far"
profile = "reno-2005"
send = "300 B"
app = {{ requests = 1, reply = "30 kB", serve = "5 ms" }}
[record]
spy = ["client"]
capture = true
"""


@pytest.fixture(scope="session")
def polled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder of simulated fetches like the folders that `netspurt poll` writes."""
    from netspurt.poll import handshake

    folder = tmp_path_factory.mktemp("poll")
    rows: list[dict[str, Any]] = []
    for number, name in enumerate(["near", "near", "far", "moved"], 1):
        text = PAGE.format(delay={"near": 10, "far": 60, "moved": 35}[name])
        (folder / "page.toml").write_text(text)
        one = ns.load(folder / "page.toml")
        saved = one.run().save(folder / f"run-{number}")
        capture = folder / f"{name}-{number:05d}.pcapng"
        (saved / "client.pcapng").rename(capture)
        row = {
            "site": name,
            "number": number,
            "at_unix": 1.7e9 + 60 * number,
            "octets": 30_000,
            "total_s": 0.25,
            "local_port": _port(saved, "page"),
            "capture": capture.name,
        }
        shaken = handshake(capture, row)
        assert shaken is not None
        rows.append(row | {"tcp_rtt_s": shaken, "ping_rtt_s": shaken / 1.05})
    rows.append({"site": "near", "number": 5, "at_unix": 1.7e9, "failed": "TimeoutError: late"})
    (folder / "fetches.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def _port(run: Path, flow: str) -> int:
    """Return the port of a flow's initiator."""
    end = json.loads((run / "run.json").read_text())["flows"][flow]["from"]
    return int(str(end).rpartition(":")[2])


# Distributions.


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50), st.floats(0.001, 1))
@settings(max_examples=200, deadline=None)
def test_a_distribution_has_the_quantiles_of_the_sorted_data(
    values: list[float], share: float
) -> None:
    cdf = Cdf.of(values)
    assert cdf.share[-1] == 1.0
    assert cdf.value.tolist() == sorted(values)
    at = cdf.quantile(share)
    assert at == np.quantile(values, share, method="inverted_cdf") or share * len(values) % 1 < 1e-6
    assert np.mean(np.array(values) <= at) >= share - 1e-9


def test_wilsons_method_gives_the_interval_of_a_share() -> None:
    """Newcombe 1998, table I, has Wilson's interval of 1927: 81 of 263 gives 0.2553 to 0.3662."""
    assert Share(81, 263).between == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert Share(0, 20).between[0] == 0.0
    assert np.isnan(Share(0, 0).value)


def test_the_rank_sum_test_equals_that_of_scipy() -> None:
    from scipy.stats import mannwhitneyu, rankdata

    for seed in range(20):
        rng = np.random.default_rng(seed)
        first, second = rng.integers(0, 9, 30), rng.integers(1, 10, 17)
        expected = mannwhitneyu(first, second, method="asymptotic").pvalue
        assert rank_sum_chance(first, second) == pytest.approx(float(expected))
        assert ranks(first).tolist() == rankdata(first).tolist()
    assert rank_sum_chance([1, 1], [1, 1]) == 1.0
    assert np.isnan(rank_sum_chance([], [1]))


# Idle times.


def conversation(**changes: dict[int, float]) -> Packets:
    """Return a request and its reply as the client saw them, with some values changed."""
    columns: dict[str, list[Any]] = {
        #        SYN  SYN-ACK ACK  request reply reply ACK   reply
        "t_s": [0.0, 0.04, 0.04, 0.05, 0.09, 0.091, 0.0911, 0.2],
        "forward": [1, 0, 1, 1, 0, 0, 1, 0],
        "seq": [0, 0, 1, 1, 1, 1461, 301, 2921],
        "length": [1, 1, 0, 300, 1460, 1460, 0, 1460],
        "ack": [0, 1, 1, 1, 301, 301, 2921, 301],
        "window": [65535] * 8,
        "syn": [1, 1, 0, 0, 0, 0, 0, 0],
        "retransmission": [0] * 8,
    }
    for name, values in changes.items():
        for place, value in values.items():
            columns[name][place] = value
    return Packets.of(**columns)


@pytest.mark.parametrize(
    ("changes", "waited_for", "length"),
    [
        ({}, "application", 0.109),
        ({"retransmission": {7: 1}}, "loss", 0.109),
        # The ACK of the last octets left one round trip before the next octets came.
        ({"t_s": {6: 0.158}}, "round-trip", 0.109),
        ({"window": dict.fromkeys([0, 2, 3, 6], 2920)}, "window", 0.109),
        ({"length": {6: 300}}, "think", 0.109),
        ({"length": {6: 300}, "t_s": {6: 0.17}}, "peer", 0.109),
        ({"length": {7: 0}}, "peer", 0.109),
        ({"t_s": {3: 0.25, 4: 0.31, 5: 0.311, 6: 0.311, 7: 0.32}}, "peer", 0.27),
        ({"t_s": {4: 0.39, 5: 0.391, 6: 0.391, 7: 0.4}}, "think", 0.35),
    ],
)
def test_the_cause_of_the_longest_silence_is_found(
    changes: dict[str, dict[int, float]], waited_for: str, length: float
) -> None:
    idle = longest_idle(conversation(**changes), forward=False)
    assert idle is not None
    assert (idle.waited_for, round(idle.length_s, 6)) == (waited_for, length)


def test_a_silence_needs_two_packets_of_the_silent_end() -> None:
    packets = conversation()
    assert reaction_s(packets, forward=False) == pytest.approx(0.04)
    assert reaction_s(packets, forward=True) == 0.0
    mine = longest_idle(packets, forward=True)
    assert mine is not None
    assert (round(mine.length_s, 4), mine.waited_for) == (0.0411, "round-trip")
    assert len(idles(packets, forward=False, at_least_s=0.045)) == 2
    alone = Packets.of(t_s=[0.0], forward=[1], seq=[0], length=[1], syn=[1])
    assert longest_idle(alone, forward=True) is None
    assert longest_idle(alone, forward=False) is None


def test_packets_must_be_in_order_with_columns_of_equal_length() -> None:
    with pytest.raises(ValueError, match="goes back in time"):
        Packets.of(t_s=[1.0, 0.0], forward=[1, 1])
    with pytest.raises(ValueError, match="columns have the shapes"):
        Packets.of(t_s=[1.0, 2.0], forward=[1])


def test_idle_times_above_the_threshold_are_timeouts_in_simulation(
    pages: ns.Run, pages_folder: Path
) -> None:
    """A few timeouts are missed: timeouts of the server after a lost SYN-ACK."""
    connections = of_run(pages)
    labelled = label_timeouts(connections, threshold_s=0.5)
    assert labelled.right.count == 240
    assert labelled.both >= 10
    assert labelled.invented == 0
    assert labelled.right.value >= 0.99
    # The idle times are from a capture beside the client. The timeouts are from the run.
    seen, order = (
        read_connections(pages_folder / "client.pcapng").in_order(),
        connections.in_order(),
    )
    of_capture = Connections.of(
        seen.site, idle_s=seen.idle_s, idle_for=seen.idle_for, timeouts=order.timeouts
    )
    assert label_timeouts(of_capture).right.value >= 0.99
    # Without the causes of idle times, a wait for the application looks like a timeout.
    slow = ns.load("sites").replace({"flows.near.app.serve": "700 ms"}).run()
    near = of_run(slow).at("near")
    assert label_timeouts(near).invented == 0
    without_causes = Connections.of(near.site, idle_s=near.idle_s, timeouts=near.timeouts)
    assert label_timeouts(without_causes).invented == 60


def test_longer_idle_times_go_with_lower_throughput_on_a_lossy_path(pages: ns.Run) -> None:
    """The paper sfr2005 claims a negative correlation (§4.2).

    We require a correlation below -0.5.
    """
    lossy = of_run(pages).at("lossy").in_order()
    correlation = rank_correlation(lossy.idle_s, lossy.throughput_bps)
    assert correlation.value < -0.5
    assert -1 <= correlation.low < correlation.value < correlation.high < 0


@pytest.mark.parametrize("sign", [1, -1])
def test_every_resample_of_perfectly_ordered_values_has_the_same_correlation(sign: int) -> None:
    x = np.random.default_rng(1).normal(size=100)
    found = rank_correlation(x, sign * np.exp(x))
    assert [found.low, found.value, found.high] == pytest.approx([sign] * 3)


def test_the_rank_correlation_equals_that_of_scipy() -> None:
    from scipy.stats import spearmanr

    inside = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        pair = rng.multivariate_normal([0, 0], [[1, -0.6], [-0.6, 1]], 150)
        correlation = rank_correlation(np.exp(pair[:, 0]), pair[:, 1])
        assert correlation.value == pytest.approx(float(spearmanr(*pair.T).statistic))
        # If normal pairs have the correlation r, Spearman's correlation is 6/pi asin(r/2).
        inside += correlation.low <= 6 / np.pi * np.arcsin(-0.3) <= correlation.high
    assert inside >= 52
    with pytest.raises(ValueError, match="needs 8 pairs, not 2"):
        rank_correlation([1, 2, 3], [3, 2, np.nan])


# Retransmissions, the handshake, ping.


def test_connections_with_retransmissions_are_separated_from_those_without(pages: ns.Run) -> None:
    lossy = of_run(pages).at("lossy")
    split = split_by_retransmissions(lossy)
    assert split.clean.count + split.repaired.count == len(lossy) == 60
    assert split.clean.packets == (21, 21, 21), "connections without losses must have 21 packets"
    assert split.repaired.packets[2] > 21
    assert split.repaired.throughput_bps[1] < 0.5 * split.clean.throughput_bps[1]
    assert split.chance < 1e-4
    unknown = Connections.of(["a"] * 3)
    assert split_by_retransmissions(unknown).clean.count == 0


def test_an_outlier_site_can_be_left_out_of_the_ratios_to_the_handshake() -> None:
    """One site of ten has a mean ratio of 5.5 and a maximum of 15, as in sfr2005 §4.3."""
    names = [f"site{n}" for n in range(10) for _ in range(10)]
    mean, longest = np.full(100, 1.05), np.full(100, 2.0)
    mean[90:], longest[90:] = 5.5, 15.0
    connections = Connections.of(
        names, handshake_s=np.full(100, 0.1), rtt_mean_s=mean / 10, rtt_max_s=longest / 10
    )
    every, fewer = handshake_ratio(connections), handshake_ratio(connections.without(["site9"]))
    assert (every.near.value, every.below.value) == (0.9, 0.9)
    assert (fewer.near.value, fewer.below.value, fewer.near.count) == (1.0, 1.0, 90)
    with pytest.raises(ValueError, match="no site is called 'site99'; the sites are site0"):
        connections.without(["site99"])


def test_a_ratio_that_equals_a_bound_counts_as_within_the_bounds() -> None:
    connections = Connections.of(
        ["a"] * 4, handshake_s=[0.1] * 4, rtt_mean_s=[0.11, 0.09, 0.111, 0.1], rtt_max_s=[0.3] * 4
    )
    ratio = handshake_ratio(connections)
    assert (ratio.near.hits, ratio.below.hits) == (3, 4)


def test_the_round_trip_of_the_handshake_predicts_later_round_trips(pages: ns.Run) -> None:
    ratio = handshake_ratio(of_run(pages))
    assert ratio.near.value > 0.8
    assert ratio.below.value > 0.95


def test_the_ratio_to_ping_uses_connections_with_both_values() -> None:
    connections = Connections.of(
        ["a"] * 3, handshake_s=[0.021, 0.024, 0.02], ping_s=[0.02, 0.02, np.nan]
    )
    ratio = ping_ratio(connections)
    assert ratio.ratio == pytest.approx([1.05, 1.2])
    assert (ratio.between.hits, ratio.between.count) == (1, 2)


# Sources.


def test_a_run_and_its_folder_give_the_same_figures(pages: ns.Run, pages_folder: Path) -> None:
    first, saved = of_run(pages), read_connections(pages_folder)
    assert first.sites == saved.sites == ["near", "far", "moved", "lossy"]
    for name in ("throughput_bps", "handshake_s", "idle_s", "retransmissions"):
        np.testing.assert_array_equal(getattr(first, name), getattr(saved, name))
    far = first.at("far")
    # The handshake takes 120 ms on the path, plus the time to transmit two packets of 44 octets at
    # 5 Mbit/s.
    assert far.handshake_s[0] == pytest.approx(0.12 + 8 * 88 / 5e6, abs=1e-4)
    assert np.ptp(far.throughput_bps) == 0, (
        "equal pages must have equal throughputs to the last bit"
    )


def test_a_poll_takes_times_from_its_rows_and_the_rest_from_its_captures(
    polled: Path, pages: ns.Run
) -> None:
    connections = read_connections(polled)
    assert connections.site.tolist() == ["near", "near", "far", "moved"], (
        "failed fetches must be left out"
    )
    assert connections.throughput_bps.tolist() == [960_000] * 4
    assert connections.handshake_s[2] == pytest.approx(0.12, rel=0.01)
    # Beside the client, only the request and the FIN give round trips after the handshake.
    assert connections.rtt_mean_s[2] == pytest.approx(0.1202, rel=0.01)
    assert ping_ratio(connections).median == pytest.approx(1.05)
    # The client saw the idle times that the run's table of segments has.
    of_run_far = of_run(pages).at("far")
    assert connections.idle_s[2] == pytest.approx(float(of_run_far.idle_s[0]), abs=1e-6)
    assert connections.idle_for[2] == of_run_far.idle_for[0] == "round-trip"
    assert connections.packets.tolist() == [21] * 4
    assert connections.retransmissions.tolist() == [0] * 4


def test_a_capture_beside_the_clients_gives_the_figures_of_the_run(pages_folder: Path) -> None:
    """In the figures of a capture, the name of a site is its address."""
    connections = read_connections(pages_folder / "client.pcapng")
    run = read_connections(pages_folder)
    assert connections.sites == ["10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5"]
    assert len(connections) == len(run) == 240
    connections = connections.in_order()
    began = connections.began_s - connections.began_s[0] + 1
    clean = run.select(np.isfinite(run.handshake_s) & (run.retransmissions == 0)).in_order()
    same = connections.select(np.isin(np.round(began, 3), np.round(clean.began_s, 3)))
    np.testing.assert_allclose(same.throughput_bps, clean.throughput_bps, rtol=1e-3)
    np.testing.assert_allclose(same.idle_s, clean.idle_s, atol=1e-8)
    assert same.idle_for.tolist() == clean.idle_for.tolist()
    # Data that was lost on its way from the far end to the client is not in the capture. So its
    # retransmission looks like new data.
    assert 0 < connections.retransmissions.sum() <= run.retransmissions.sum()


def test_a_cut_capture_is_read_up_to_its_cut_and_a_warning_is_printed(
    netspurt: Command, pages_folder: Path, tmp_path: Path
) -> None:
    content = (pages_folder / "client.pcapng").read_bytes()
    (tmp_path / "cut.pcapng").write_bytes(content[: len(content) // 2 + 5])
    result = netspurt("sites", "cut.pcapng")
    assert result.returncode == 0, result.stderr
    assert result.stderr.startswith("warning: cut.pcapng: ")
    assert result.stdout.startswith("121 connections to ")


def test_a_table_of_figures_is_read_as_csv_and_as_json_lines(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("site,handshake_s,idle_for\na,0.02,loss\nb,,\n")
    (tmp_path / "b.jsonl").write_text('{"site": "a", "handshake_s": 0.02, "idle_for": "loss"}\n')
    connections = joined([read_connections(tmp_path / name) for name in ("a.csv", "b.jsonl")])
    assert connections.site.tolist() == ["a", "b", "a"]
    assert connections.handshake_s.tolist()[::2] == [0.02, 0.02]
    assert np.isnan(connections.handshake_s[1])
    assert connections.idle_for.tolist() == ["loss", "", "loss"]


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        (
            "a.csv",
            "site,delay\na,1\n",
            r"a\.csv:2: unknown column 'delay': a row has site and any of",
        ),
        ("a.csv", "site,ping_s\na,fast\n", r"a\.csv:2: ping_s = 'fast' is not a number"),
        ("a.csv", "ping_s\n0.1\n", r"a\.csv:2: no site"),
        ("a.csv", "site,ping_s\na,-1\n", r"a\.csv:2: ping_s = '-1': write a number of 0 or more"),
        ("a.csv", "site,idle_s\na,inf\n", r"a\.csv:2: idle_s = 'inf': write a number of 0 or"),
        (
            "a.csv",
            "site,idle_for\na,sleep\n",
            r"a\.csv:2: no cause in idle_for is called 'sleep'; the causes are loss, peer, think",
        ),
        ("a.csv", "site\n", "no connections"),
        ("a.jsonl", '{"site": "a"}\n{"site', r"a\.jsonl:2: not an object of JSON"),
    ],
)
def test_a_wrong_table_is_reported_with_its_place(
    tmp_path: Path, name: str, text: str, why: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(SourceError, match=why):
        read_connections(tmp_path / name)


def test_the_throughput_of_a_connection_of_one_packet_is_not_known(tmp_path: Path) -> None:
    (tmp_path / "one.pcap").write_bytes(made_up([(0.0, 0, 1, 1, ACK, 9000, 500)]))
    # pytest turns a warning into an error, so reading must not warn.
    found = read_connections(tmp_path / "one.pcap")
    assert found.site.tolist() == ["10.0.0.1"]
    assert np.isnan(found.throughput_bps).all()


def test_a_step_back_of_the_clock_is_no_idle_time_and_no_error(tmp_path: Path) -> None:
    """The clock of the capture is set back by 2 s before the last three packets."""
    packets = [(float(n), 0, 1 + 500 * n, 1, ACK, 9000, 500) for n in range(4)]
    packets += [(2.5 + n, 0, 2001 + 500 * n, 1, ACK, 9000, 500) for n in range(3)]
    (tmp_path / "back.pcap").write_bytes(made_up(packets))
    found = read_connections(tmp_path / "back.pcap")
    assert found.idle_s.tolist() == [1.0]


def test_one_value_has_no_standard_deviation(netspurt: Command, tmp_path: Path) -> None:
    packets = [(0.0, 0, 0, 0, SYN, 9000, 0), (0.1, 1, 0, 1, SYN_ACK, 9000, 0)]
    packets += [(0.2, 0, 1, 1, ACK, 9000, 500), (0.3, 1, 1, 501, ACK, 9000, 0)]
    (tmp_path / "one.pcap").write_bytes(made_up(packets))
    (site,) = json.loads(netspurt("sites", "one.pcap", "--json").stdout)["sites"].values()
    assert (site["rtt"]["count"], site["rtt"]["sd"]) == (1, None)
    lines = netspurt("sites", "one.pcap").stdout.splitlines()
    (row,) = [line for line in lines if line.startswith("10.0.0.1") and "bit/s" in line][:1]
    assert row.split()[-3:] == ["-", "-", "-"]


def test_a_capture_without_connections_does_not_stop_the_reading_of_others(
    netspurt: Command, tmp_path: Path
) -> None:
    (tmp_path / "one.pcap").write_bytes(made_up([(0.0, 0, 1, 1, ACK, 9000, 500)]))
    (tmp_path / "none.pcap").write_bytes(made_up([]))
    result = netspurt("sites", "none.pcap", "one.pcap")
    assert result.returncode == 0, result.stderr
    assert result.stderr == "warning: none.pcap: no connections; left out\n"
    assert result.stdout.startswith("1 connection to ")
    refused(netspurt("sites", "none.pcap"), "none.pcap: no connections")


def test_a_file_that_is_no_text_is_reported_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"site\n\xfa\x00\n")
    (tmp_path / "long.csv").write_text(f"site\n{'a' * 200_000}\n")
    (tmp_path / "marked.csv").write_bytes(b"\xef\xbb\xbfsite\na\n")
    for name in ("a.csv", "long.csv"):
        with pytest.raises(SourceError, match=rf"{name}: neither a capture nor a table: give"):
            read_connections(tmp_path / name)
    assert read_connections(tmp_path / "marked.csv").site.tolist() == ["a"]


def test_unknown_folders_and_damaged_polls_are_errors(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="neither a folder of `netspurt poll` nor one of a run"):
        read_connections(tmp_path)
    (tmp_path / "fetches.jsonl").write_text('{"site": "a", "total_s": 1.0}\n')
    with pytest.raises(SourceError, match=r"fetches\.jsonl:1: not a fetch of `netspurt poll`"):
        read_connections(tmp_path)


# The command and its pictures.


def test_the_command_prints_a_table_on_each_topic(netspurt: Command, pages_folder: Path) -> None:
    result = netspurt("sites", pages_folder, columns=100)
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == "240 connections to 4 sites"
    heads = [line.split("  ")[0] for line in lines if line and not line.startswith(" ")]
    for head in ("round trips", "throughput", "levels", "longest idle", "retransmissions"):
        assert head in heads
    moved = next(line for line in lines if line.startswith("moved        round trip"))
    assert moved.split()[3:6] == ["2", "30", "min"], "the change after 30 minutes must be found"
    assert "240 connections" in result.stdout
    assert any(IN_WORDS["loss"] in line for line in lines)


def test_the_command_draws_pictures_and_leaves_sites_out(
    netspurt: Command, pages_folder: Path, tmp_path: Path
) -> None:
    words = ("--without", "near", "--without", "far", "--pictures", "p", "--json")
    data = json.loads(netspurt("sites", pages_folder, *words).stdout)
    assert list(data["sites"]) == ["moved", "lossy"]
    assert data["connections"] == 120
    files = [tmp_path / name for name in data["pictures"]]
    assert {file.name for file in files} == {
        "rtt.png", "throughput.png", "handshake-mean.png", "handshake-longest.png",
        "moved-levels.png", "moved-idle.png", "lossy-levels.png", "lossy-idle.png",
    }  # fmt: skip
    assert min(file.stat().st_size for file in files) > 10_000
    moved = data["sites"]["moved"]
    assert [round(level["bps"] / 1e3) for level in moved["levels"]] == [454, 753]
    assert max(level["span_of_time"] for level in moved["levels"]) < 0.6
    refused(netspurt("sites", pages_folder, "--without", "nobody"), "no site is called 'nobody'")
    every = [word for name in ("near", "far", "moved", "lossy") for word in ("--without", name)]
    refused(netspurt("sites", pages_folder, *every), "no connections are left")


def test_a_poll_without_captures_omits_the_tables_that_need_them(
    netspurt: Command, polled: Path, tmp_path: Path
) -> None:
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "fetches.jsonl").write_bytes((polled / "fetches.jsonl").read_bytes())
    result = netspurt("sites", tmp_path / "bare", columns=100)
    assert result.returncode == 0, result.stderr
    assert "TCP's round trip is 1.0 to 1.1 times ping's in 4 of 4 connections" in result.stdout
    assert "longest idle" not in result.stdout
    assert "retransmissions" not in result.stdout
    assert "1.050" in next(line for line in result.stdout.splitlines() if line.startswith("near"))


def test_a_cause_that_occurred_once_is_counted_in_the_singular(
    netspurt: Command, tmp_path: Path
) -> None:
    (tmp_path / "one.csv").write_text("site,idle_s,idle_for\nnear,0.3,loss\n")
    result = netspurt("sites", "one.csv")
    assert "near: in 1 case, a retransmission ended" in " ".join(result.stdout.split())


@pytest.mark.parametrize(
    ("seconds", "label"),
    [(120, "time [s]"), (8000, "time [min]"), (40_000, "time [h]")],
)
def test_the_unit_of_the_time_axis_of_throughput_fits_its_length(
    seconds: float, label: str
) -> None:
    (axes,) = draw_throughput([0, seconds], [1e6, 2e6], [0, 1], [1e6, 2e6], title="t").axes
    assert axes.get_xlabel() == label
    assert axes.get_xlim()[0] == 0.0


def test_pictures_show_all_points_and_lines() -> None:
    rates = {"a": [1e6, 2e6, np.nan], "b": [3e6], "none": [np.nan]}
    (axes,) = draw_cdfs(rates, title="t", what="throughput", unit="bit/s").axes
    assert [line.get_label() for line in axes.lines] == ["a (2)", "b (1)"]
    assert all(np.asarray(line.get_ydata())[-1] == 1.0 for line in axes.lines)
    assert axes.get_xlabel() == "throughput [Mbit/s]"
    (axes,) = draw_throughput([0, 60, 120], [1e6, 2e6, 1e6], [0, 1, 0], [1e6, 2e6], title="t").axes
    points = [line for line in axes.lines if line.get_marker() == "o"]
    assert [len(np.asarray(line.get_xdata())) for line in points] == [2, 1]
    (axes,) = draw_idle(
        [0.1, 1.2, 0.3], [2e6, 1e5, 1e6], ["think", "loss", ""], words=IN_WORDS,
        threshold_s=0.5, title="t",
    ).axes  # fmt: skip
    labels = [str(line.get_label()) for line in axes.lines if line.get_marker() == "o"]
    assert labels == ["not known (1)", f"{IN_WORDS['loss']} (1)", f"{IN_WORDS['think']} (1)"]


def test_the_lines_of_levels_end_with_the_last_known_time() -> None:
    drawn = throughput_levels([0, 1, np.nan, 3], [1e6, 2e6, 1e6, 2e6], [0, 1, 0, 1], [1e6, 2e6])
    lines = [mark for mark in drawn.marks if isinstance(mark, Polyline)]
    assert [line.x.tolist() for line in lines] == [[0, 3], [0, 3]]
