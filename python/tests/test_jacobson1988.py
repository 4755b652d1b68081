"""Tests the reproduction of a mail of Van Jacobson of 1988, and the analyses that it needs.

One analysis finds the limit of a queue from a capture at the sender. Another computes the density,
which is the smoothed rate of packets. The listing `packetdat` has a row for each packet of a
capture, and the listing `send-ack` has a row for each transmission with its ACK.
"""

from __future__ import annotations

import csv
import itertools
import subprocess
from pathlib import Path

import numpy as np
import pytest

import netspurt as ns
from netspurt.analysis.density import correlation, density, held_at
from netspurt.analysis.in_queue import InQueue
from netspurt.analysis.listings import Trace, packetdat, send_ack
from netspurt.analysis.queue_limit import queue_limit
from netspurt.analysis.shares import shares
from netspurt.captures import explain
from netspurt.papers import Verdict, check, read_paper
from netspurt.papers.bench import Bench
from netspurt.papers.check import JudgedClaim
from netspurt.papers.figures import figure

from conftest import ROOT, Command, need

#: The claims of the mail that are not reproduced.
NOT_REPRODUCED = {"learn16k", "loss4s", "ack-per-2"}
#: Three claims in which the mail contradicts itself, with the percentages that it should have
#: printed. The percentages are differences relative to the smaller value.
CONTRADICTIONS = {"eff30": 38.75, "seen30": 36.28, "density30": 48.66}
#: The claim of which only a weaker form (its shape) is reproduced.
SHAPE_ONLY = {"ps-density"}


@pytest.fixture(scope="module")
def bench() -> Bench:
    """Return the paper of the mail with its runs."""
    return Bench(read_paper("jacobson1988"))


@pytest.fixture(scope="module")
def judged(bench: Bench) -> dict[str, JudgedClaim]:
    """Return the claims of the mail with their verdicts, by the last part of their ids."""
    results = check(bench, bench.paper.claims)
    return {judgement.claim.id.removeprefix("jacobson1988."): judgement for judgement in results}


def test_each_of_the_31_claims_has_its_verdict(judged: dict[str, JudgedClaim]) -> None:
    assert len(judged) == 31
    by = {
        v: {name for name, judgement in judged.items() if judgement.verdict == v} for v in Verdict
    }
    assert by[Verdict.NOT_REPRODUCED] == NOT_REPRODUCED
    assert by[Verdict.CONTRADICTION] == set(CONTRADICTIONS)
    assert by[Verdict.SHAPE_ONLY] == SHAPE_ONLY
    assert len(by[Verdict.REPRODUCED]) == 24
    for name in NOT_REPRODUCED | set(CONTRADICTIONS) | SHAPE_ONLY:
        assert judged[name].claim.note, name


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_the_30_percent_in_the_mail_are_differences_relative_to_the_larger_value(
    judged: dict[str, JudgedClaim], name: str
) -> None:
    assert judged[name].measured == pytest.approx(CONTRADICTIONS[name], abs=0.01)
    against_larger = {"eff30": "-27.9 %", "seen30": "-26.6 %", "density30": "+32.7 %"}
    assert any(against_larger[name] in row for row in judged[name].table)


def test_claims_match_the_separate_list_of_claims_if_it_is_present() -> None:
    listing = ROOT.parent / "shared" / "papers" / "claims.toml"
    if not listing.exists():
        pytest.skip("the list of claims is not on this machine")
    with (ROOT / "papers" / "jacobson1988" / "expected.csv").open(newline="") as file:
        claim_ids = {row["id"] for row in csv.DictReader(file)}
    listed_ids = {
        line.split('"')[1]
        for line in listing.read_text().splitlines()
        if line.startswith('id = "jacobson1988.')
    }
    assert claim_ids == listed_ids


def test_the_shares_of_the_three_causes_sum_to_the_difference(
    judged: dict[str, JudgedClaim],
) -> None:
    """The claim compares transfers that differ in the sizes of segments and windows."""
    rows = {row[0]: row[1] for row in judged["mss-window-order"].table}
    causes = ("segment size", "window", "shared queue")
    total = sum(float(rows[cause].split()[0]) for cause in causes)
    assert total == pytest.approx(float(rows["difference"].split()[0]), abs=0.2)


def test_causes_that_act_only_together_get_equal_shares() -> None:
    alone = shares("ab", lambda present: 3 * ("a" in present) + 5 * ("b" in present))
    assert alone == {"a": 3, "b": 5}
    together = shares("abc", lambda present: 6 * (len(present) == 3))
    assert together == {"a": 2, "b": 2, "c": 2}


def test_the_density_settles_to_each_rate_of_a_trace_with_steps() -> None:
    rates = [5.0, 20.0, 8.0]
    t = np.cumsum(np.concatenate([np.full(60, 1 / rate) for rate in rates]))
    at, found = density(t, gain=1 / 8)
    for n, rate in enumerate(rates):
        assert found[60 * (n + 1) - 2] == pytest.approx(rate, rel=0.01)
    assert len(at) == len(found) == len(t) - 1
    # With a gain of one nothing is smoothed.
    assert density(t, gain=1.0)[1] == pytest.approx(1 / np.diff(t))


@pytest.mark.parametrize(
    ("stamps", "gain", "expected"),
    [
        ([1.0], 0.5, "at least two packets"),
        ([2.0, 1.0], 0.5, "not in order"),
        ([1.0, 2.0], 0.0, "above 0"),
        ([1.0, 2.0], 1.5, "at most 1"),
    ],
)
def test_impossible_times_or_gains_of_a_density_are_refused(
    stamps: list[float], gain: float, expected: str
) -> None:
    with pytest.raises(ValueError, match=expected):
        density(np.array(stamps), gain)


def test_equal_timestamps_give_an_infinite_density_and_no_correlation() -> None:
    _, rate = density(np.array([0.0, 0.0, 0.0, 1.0]), gain=0.5)
    assert np.isinf(rate[:2]).all()
    assert np.isnan(correlation(rate, np.ones(3)))
    assert held_at(
        np.array([0.5, 1.0, 3.0]), np.array([1.0, 2.0]), np.array([4.0, 7.0])
    ).tolist() == [0, 4, 7]


def test_an_arriving_ack_meets_the_packets_of_data_that_are_in_the_queue() -> None:
    # Two packets of data enter at 0 ns, and the first leaves at 4 ns. ACKs enter at 5 and 20 ns.
    changes = np.array([0, 4, 5, 8, 9, 20, 21])
    lengths = np.array([2, 1, 2, 1, 0, 1, 0])
    inside = InQueue.of(changes, lengths, np.array([5, 20]))
    assert inside.data_met().tolist() == [1, 0]
    assert inside.longest() == 2
    assert InQueue.of(changes[:1], lengths[:1], np.array([9])).longest() == 2


def to_a_sink(limit: int, **more: object) -> ns.Run:
    """Run a transfer to a host that only reads, over a link whose queue has this limit."""
    values = {
        "links.up.queue": f"{limit} packets",
        "flows.transfer.tcp.packet_size": "250 B",
        "flows.transfer.tcp.receive_buffer": "32768 B",
        "flows.transfer.send": "300 kB",
        "record.tables": ["segments"],
    }
    scenario = ns.load(ROOT / "papers" / "jacobson1988" / "sink.toml")
    return scenario.replace({**values, **more}).run()


@pytest.mark.parametrize("limit", [5, 8, 12, 16, 24])
@pytest.mark.parametrize("acks", ["every segment", {"delayed": "200 ms"}])
def test_a_capture_at_the_sender_gives_the_queues_limit_within_one_packet(
    limit: int, acks: object
) -> None:
    run = to_a_sink(limit, **{"flows.transfer.tcp.acks": acks})
    found = queue_limit(Trace.of(run.segments.where(node="source")))
    assert found.packets is not None
    assert abs(found.packets - limit) <= 1
    assert found.packet_s == pytest.approx(250 * 8 / 32e3, rel=1e-3)


@pytest.mark.parametrize("limit", [5, 16, 64])
def test_a_queues_limit_is_exact_although_only_the_first_segments_meet_a_short_queue(
    limit: int,
) -> None:
    """Only the first segments meet a short queue. Linux's receiver acknowledges them at once."""
    text = f"""
stop = "200 s"
[links.path]
between = ["a", "b"]
rate = "2 Mbit/s"
delay = "10 ms"
queue = "{limit} packets"
[flows.data]
from = "a"
to = "b"
profile = "linux-6"
send = "3 MB"
tcp.receive_buffer = "400 kB"
[record]
tables = ["segments"]
spy = ["a"]
"""
    run = ns.Scenario.parse(text, "linux.toml").run()
    found = queue_limit(Trace.of(run.segments))
    assert found.packets == limit
    assert found.rtt_s == pytest.approx(0.0262, abs=0.0002)


def test_without_drops_no_limit_is_found_and_without_acks_no_round_trip_is_measured() -> None:
    run = to_a_sink(1000, **{"flows.transfer.tcp.receive_buffer": "4096 B"})
    trace = Trace.of(run.segments.where(node="source"))
    assert queue_limit(trace).packets is None
    with pytest.raises(ValueError, match="no round trip can be measured"):
        queue_limit(Trace.of(run.segments.where(node="source", way="out")))


#: The profiles whose captures are tested.
PROFILES = ("ns-2", "reno-1998", "reno-2005", "rfc-2026", "linux-6")


@pytest.mark.parametrize("profile", PROFILES)
def test_kinds_of_packets_are_found_from_the_capture_alone(profile: str) -> None:
    values = {
        "links.modem.queue": "6 packets",
        "links.modem.rate": "64 kbit/s",
        "links.t1.loss": [{"nth": [9, 30]}, {"nth": [11]}],
        "flows.transfer": {
            "from": "source",
            "to": "receiver",
            "profile": profile,
            "send": "120 segments",
        },
        "record": {"spy": ["source", "receiver"], "capture": False},
    }
    run = ns.load("rfc2416").replace(values).run()
    assert int(run.flows["retransmissions"][0]) > 0
    for node in ("source", "receiver"):
        seen = run.segments.where(node=node)
        if node == "source":
            assert Trace.of(seen).kinds().tolist() == seen["kind"].tolist()
        else:
            # If an original did not reach this node, its retransmission looks like new data.
            is_retransmission = seen["kind"] == "retransmission"
            ours = Trace.of(seen).kinds()
            assert (ours[~is_retransmission] == seen["kind"][~is_retransmission]).all()


#: A scenario in which both ends of the flow `pages` send data.
TWO_WAYS = """
stop = "20 s"
[links.path]
between = ["client", "server"]
rate = "2 Mbit/s"
delay = "20 ms"
queue = "20 packets"
loss = { nth = [9, 60] }
[flows.short]
from = "client"
to = "server"
profile = "linux-6"
send = "1 kB"
[flows.pages]
from = "client"
to = "server"
profile = "linux-6"
send = "500 B"
app = { requests = 9, reply = "20 kB" }
[record]
tables = ["segments"]
spy = ["client", "server"]
capture = true
"""


def test_packets_of_both_directions_of_a_connection_get_the_right_kinds() -> None:
    run = ns.Scenario.parse(TWO_WAYS, "pages.toml").run()
    for node, direction in (("client", "forward"), ("server", "reverse")):
        seen = run.segments.where(node=node, flow="pages")
        known = seen["kind"]
        assert {"data", "retransmission"} <= set(known[seen["direction"] == "reverse"].tolist())
        ours = Trace.of(seen, direction).kinds()
        # If an original did not reach this node, its retransmission looks like new data.
        same = (known != "retransmission") | (seen["direction"] == direction)
        assert (ours[same] == known[same]).all()
        assert "other" not in ours


def test_listings_show_the_direction_with_the_most_data_and_a_note_names_it(
    netspurt: Command, tmp_path: Path
) -> None:
    file = ns.Scenario.parse(TWO_WAYS, "pages.toml").run().save(tmp_path / "run") / "server.pcapng"
    chosen = netspurt("table", file, "send-ack", "--csv")
    assert "note: c1 (reverse) is listed, one of 2 flows; --flow and --direction" in chosen.stderr
    named = netspurt("table", file, "send-ack", "--csv", "--flow", "c1", "--direction", "reverse")
    assert (named.stdout, named.stderr) == (chosen.stdout, "")
    assert len(named.stdout.splitlines()) > 100
    half = netspurt("table", file, "packetdat", "--flow", "1")
    assert "note: c1 (reverse) is listed; --direction forward chooses another" in half.stderr


def test_each_transmission_is_listed_with_the_first_ack_of_all_its_octets() -> None:
    run = to_a_sink(8)
    at = run.segments.where(node="source")
    listed = send_ack(Trace.of(at))
    acks = at.where(way="in")
    numbers, times = acks["ack"].tolist(), acks["t_ns"].tolist()
    for end, acked in zip(listed.end.tolist(), listed.acked_ns.tolist(), strict=True):
        expected = next((t for n, t in zip(numbers, times, strict=True) if n >= end), -1)
        assert acked == expected
    assert int(listed.again.sum()) == int(run.flows["retransmissions"][0])
    assert len(listed.rows()) == int(run.flows["sent"][0])


def test_data_that_is_never_acknowledged_has_no_time_of_an_ack() -> None:
    run = to_a_sink(8, stop="20 s")
    rows = send_ack(Trace.of(run.segments.where(node="source"))).rows()
    assert rows[-1][4:] == ("", "")
    assert rows[0][4] != ""


def test_the_listing_of_packets_equals_what_tshark_reads(tmp_path: Path) -> None:
    tshark = need("tshark")
    run = to_a_sink(8, **{"record.capture": True})
    folder = run.save(tmp_path / "run")
    fields = ("tcp.seq", "tcp.len", "tcp.ack", "tcp.window_size_value", "ip.len")
    words = [tshark, "-r", str(folder / "source.pcapng"), "-T", "fields"]
    words += list(itertools.chain.from_iterable(("-e", field) for field in fields))
    result = subprocess.run(words, capture_output=True, text=True, check=True)
    ours = ["\t".join(row[3:]) for row in packetdat(Trace.of(run.segments.where(node="source")))]
    assert result.stdout.splitlines() == ours


def test_a_capture_file_and_its_run_give_equal_listings_and_limits(
    netspurt: Command, tmp_path: Path
) -> None:
    run = to_a_sink(8, **{"record.capture": True})
    file = run.save(tmp_path / "run") / "source.pcapng"
    read, known = (
        Trace.of(of.segments.where(node=node))
        for of, node in ((explain(file, segments=True), "capture"), (run, "source"))
    )
    assert packetdat(read) == packetdat(known)
    assert send_ack(read).rows() == send_ack(known).rows()
    assert queue_limit(read).packets == queue_limit(known).packets == 8
    for listing in ("send-ack", "packetdat"):
        outputs = [netspurt("table", of, listing, "--csv").stdout for of in ("run", file)]
        assert outputs[0] == outputs[1]
        assert len(outputs[0].splitlines()) > 100


def test_the_command_can_list_a_part_of_a_flow_as_csv(netspurt: Command, tmp_path: Path) -> None:
    to_a_sink(8).save(tmp_path / "run")
    output = netspurt("table", "run", "send-ack", "--csv", "--limit", "2", "--from", "3").stdout
    assert output.splitlines()[0] == "sent_ns,seq,end,kind,acked_ns,took_ns"
    assert len(output.splitlines()) == 3
    assert int(output.splitlines()[1].split(",")[0]) >= 3_000_000_000
    for listing in ("send-ack", "packetdat"):
        words = ("table", "run", listing, "--csv")
        whole, part = (
            netspurt(*words, *span).stdout.splitlines()
            for span in ((), ("--from", "30", "--to", "60"))
        )
        held = [row for row in whole[1:] if 30e9 <= int(row.split(",")[0]) <= 60e9]
        assert part == [whole[0], *held], "a span of time must not change the rows in it"
        assert listing == "packetdat" or any(",again," in row for row in held)
    assert "more rows" in netspurt("table", "run", "packetdat", "--limit", "3").stdout
    failed = netspurt("table", "run", "send-ack", "--flow", "nobody")
    assert failed.returncode == 2
    assert "is called 'nobody'" in failed.stderr
    reverse = netspurt("table", "run", "send-ack", "--direction", "reverse")
    assert reverse.returncode == 2
    assert "nothing was recorded at the node that sends the reverse data" in reverse.stderr


def test_each_picture_of_the_paper_is_drawn(bench: Bench, tmp_path: Path) -> None:
    files = []
    for picture in bench.paper.pictures:
        drawn = figure(picture["figure"])(bench, **picture["arguments"])
        assert all(axes.lines for axes in drawn.axes)
        files.append(tmp_path / f"{picture['file']}.png")
        drawn.savefig(files[-1])
    assert [file.stem for file in files] == ["queue-by-window", "density-and-queue", "send-ack"]
    assert all(file.stat().st_size > 5_000 for file in files)
