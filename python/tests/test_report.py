"""Tests the content of a report's page without a browser.

A report is one page of HTML about runs, captures or recordings. Its payload holds the numbers of
the pictures as text. If a picture has too many marks, thinning leaves some of them out.
"""

from __future__ import annotations

import json
import re
import subprocess
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import netspurt as ns
from netspurt.captures import explain
from netspurt.causes import in_words
from netspurt.pictures import View, picture
from netspurt.pictures.marks import Picture, Points, Polyline, Scale
from netspurt.report import Section, page, run_section
from netspurt.report.drawn import drawn, share_of
from netspurt.report.flows import Room
from netspurt.report.parts import Flow, Group, Panel, Part, Rows, Side
from netspurt.report.payload import Payload, decoded
from netspurt.report.thinning import thinned

from conftest import ROOT, Command, refused
from report_pages import columns_of, description, rows_of


@pytest.fixture(scope="module")
def early(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run with spurious retransmissions and losses that timers repair."""
    return ns.load("early-timeout").run().save(tmp_path_factory.mktemp("runs") / "early")


#: Whole numbers as floats.
WHOLE = st.integers(-(2**50), 2**50).map(float)


@settings(deadline=None)
@given(
    st.lists(
        arrays.arrays(np.float64, st.integers(0, 20), elements=st.floats(width=64) | WHOLE),
        max_size=4,
    )
)
def test_a_payload_is_decoded_to_the_last_bit(columns: list[np.ndarray]) -> None:
    payload = Payload()
    places = [payload.add(column) for column in columns]
    back = decoded(payload.told(), payload.text())
    for column, place in zip(columns, places, strict=True):
        np.testing.assert_array_equal(back[place].view(np.uint64), column.view(np.uint64))


@settings(deadline=None)
@given(st.lists(st.integers(0, 2**52), max_size=30))
def test_times_in_whole_nanoseconds_are_whole_numbers_in_a_payload(times: list[int]) -> None:
    payload = Payload()
    seconds = np.array(times, dtype=np.float64) / 1e9
    place = payload.add(seconds)
    if max(times, default=0) < 2**50:
        assert payload.told()[place][2] > 0
    assert decoded(payload.told(), payload.text())[place].tolist() == seconds.tolist()


def test_a_column_of_small_differences_from_another_column_takes_one_byte_for_each_value() -> None:
    payload = Payload()
    low = np.cumsum(np.arange(1, 1000) ** 2.0)
    first = payload.add(low)
    second = payload.add(low + 100, first)
    assert payload.told()[second] == [999, 1, 1, first]
    assert decoded(payload.told(), payload.text())[second].tolist() == (low + 100).tolist()


@settings(deadline=None)
@given(
    arrays.arrays(np.float64, st.integers(1, 200), elements=st.floats(-100, 100)),
    st.integers(4, 60),
)
def test_thinning_keeps_the_ends_and_the_extremes(y: np.ndarray, room: int) -> None:
    x = np.arange(len(y), dtype=np.float64)
    kept = thinned(x, y, y, room)
    assert len(kept) <= max(room, 4)
    assert {0, len(y) - 1} <= set(kept.tolist())
    assert y[kept].min() == y.min()
    assert y[kept].max() == y.max()


def test_retransmissions_and_losses_are_never_thinned(early: Path) -> None:
    drawing = picture(ns.open_run(early), "time-sequence")
    payload = Payload()
    marks = {mark["label"]: mark for mark in drawn(drawing, payload, 0.01)["marks"]}
    assert len(drawing.marks) == len(marks)
    assert any(mark.rank >= 2.6 for mark in drawing.marks), (
        "the picture must have marks that are never thinned"
    )
    counts = [column[0] for column in payload.told()]
    for mark in drawing.marks:
        kept = counts[marks[mark.label]["x"]]
        in_picture = len(getattr(mark, "x"))  # noqa: B009 - each of these marks has `x`
        if mark.label in {"sent", "ACK"}:
            assert kept < in_picture / 10
        if mark.rank >= 2.6:
            assert kept == in_picture > 0


def test_the_page_has_the_marks_and_the_values_of_the_picture(early: Path, tmp_path: Path) -> None:
    run = ns.open_run(early)
    text = page([run_section(run, "early")], tmp_path / "page.html")
    columns = columns_of(text)
    drawing = picture(run, "time-sequence")
    group = description(text)["groups"][0]
    panel = group["sides"][0]["flows"][0]["panels"][0]
    assert [mark["label"] for mark in panel["marks"]] == [mark.label for mark in drawing.marks]
    for mark, described in zip(drawing.marks, panel["marks"], strict=True):
        for name in {"x", "y", "low", "high"} & described.keys():
            assert columns[described[name]].tolist() == getattr(mark, name).tolist()


def test_the_tables_list_the_spurious_retransmissions_and_the_losses_that_timers_repaired(
    early: Path, netspurt: Command
) -> None:
    run = ns.open_run(early)
    result = netspurt("report", early, "--out", "page.html")
    assert result.stdout == "page.html\n"
    text = Path("page.html").read_text()
    spurious = rows_of(text, "Spurious retransmissions: 156")
    at = run.segments.where(kind="retransmission", spurious=True, node="spacecraft")
    assert [row[0] for row in spurious] == [f"{t:.6f} s" for t in at.seconds()]
    assert [row[5] for row in spurious] == list(map(in_words, at["cause"].tolist()))
    missed = rows_of(text, "Losses repaired after a timeout or never repaired")
    assert missed
    assert {row[7] for row in missed} <= {"timeout", "go-back-N"}
    gone = {f"{t:.6f} s" for t in run.drops.seconds()}
    assert {row[0] for row in missed} <= gone
    (direction,) = rows_of(text, "Directions with data")
    assert direction[2:6] == ["50.110 s", "466 kbit/s", "848.4 ms", "not known"]
    assert direction[6:10] == ["2,224", "224", "156", "2"]


def test_a_page_first_says_when_transfers_finished(early: Path, netspurt: Command) -> None:
    def answers(*words: object) -> list[str]:
        netspurt("report", *words, "--out", "page.html")
        text = Path("page.html").read_text()
        Path("page.html").unlink()
        return re.findall(r'<p class="answer">([^<]*)</p>', text)

    assert answers(early) == [
        "Finished after 50.110 s, at 466 kbit/s. "
        "The sender spent 848.4 ms in silence before timeouts."
    ]
    netspurt("run", "slow-download", "--out", "slow")
    assert answers("slow") == [
        "4 of 6 directions with data finished, the last at 10.218 s. The senders, all together, "
        "spent 5 s in silence before timeouts and 1.183 s in repair."
    ]
    netspurt("run", "requests", "--set", "stop='300 ms'", "--out", "cut")
    assert answers("cut")[0].startswith("The run stopped after 300 ms, before the requests ended.")
    longer = ("--set", "flows.transfer.tcp.rto.min='1 s'", "--out", "one-second")
    netspurt("run", "early-timeout", *longer)
    first, *_ = answers(early, "one-second")
    assert first == (
        "transfer: one-second finishes first, after 22.089 s; early finishes after 50.110 s "
        "(2.27 times as long)."
    )


def test_a_loss_that_is_never_repaired_is_listed(tmp_path: Path) -> None:
    """The run ends before the sender retransmits the segment that was lost last."""
    scenario = ns.load("rfc2416").replace({"stop": "12 s"})
    text = page([run_section(scenario.run(), "short")], tmp_path / "page.html")
    rows = rows_of(text, "Losses repaired after a timeout or never repaired")
    assert rows[-1][6:] == ["never", "-", "-"]


def test_the_page_loads_nothing_from_elsewhere(early: Path, netspurt: Command) -> None:
    netspurt("report", early, "--out", "page.html")
    text = Path("page.html").read_text()
    assert "http:" not in text
    assert "https:" not in text
    assert "default-src 'none'" in text
    assert not re.findall(r"<(?:link|img|iframe|object|embed)\b|\bsrc=|@import|url\(", text)
    links = re.findall(r'href="([^"]*)"', text)
    assert links
    assert all((Path.cwd() / link).exists() for link in links)


def test_names_from_other_people_cannot_become_markup(tmp_path: Path) -> None:
    name = "</script><img src=x onerror=alert(1)>\x1b[2J\u202e"
    one = Picture(
        (Polyline(label=name, ink="red", x=np.arange(3.0), y=np.arange(3.0)),), Scale(name)
    )
    flow = Flow(name, [Panel("rto", name, one)])
    part = Part(name, words=[name], tables=[Rows(name, [name], [[name]])], notes=[name])
    section = Section(name, [part], [name], [name], part.tables, [Group([Side(name, [flow])])])
    text = page([section], tmp_path / "page.html")
    assert "<img" not in text
    assert "\x1b" not in text
    assert text.count("</script>") == 3


def synthetic(count: int) -> Picture:
    """Return points like those of packets: x is a time with jitter [s], y is a number of octets."""
    rng = np.random.default_rng(1)
    t = np.cumsum(120_000 + rng.integers(0, 2000, count)) / 1e9
    y = 1460 * np.arange(count, dtype=np.float64)
    marks = (Points(label="sent", ink="blue", x=t, y=y),)
    return Picture(marks, Scale("sequence number", "B"))


def test_the_groups_of_all_sections_are_numbered_in_the_order_of_the_description(
    tmp_path: Path,
) -> None:
    flow = Flow("one", [Panel("time-sequence", "Points", synthetic(10))])
    group = Group([Side("few", [flow])])
    sections = [Section(f"S{n}", [Part("few")], groups=[group] * n) for n in (1, 3)]
    text = page(sections, tmp_path / "page.html")
    assert re.findall(r'data-group="(-?\d+)"', text) == ["0", "1", "2", "3"]
    assert len(description(text)["groups"]) == 4


def test_a_hundred_thousand_points_take_less_than_half_a_megabyte(tmp_path: Path) -> None:
    flow = Flow("one", [Panel("time-sequence", "Points", synthetic(100_000))])
    section = Section("Many points", [Part("many")], groups=[Group([Side("many", [flow])])])
    text = page([section], tmp_path / "page.html")
    assert len(text) < 500_000
    assert len(columns_of(text)[0]) == 100_000


def test_a_page_with_too_many_marks_states_the_share_that_it_keeps(tmp_path: Path) -> None:
    drawing = synthetic(40_000)
    assert share_of([drawing], 10_000) == 0.25
    flow = Flow("one", [Panel("time-sequence", "Points", drawing)])
    section = Section("Many points", [Part("many")], groups=[Group([Side("many", [flow])])])
    text = page([section], tmp_path / "page.html", 10_000)
    kept = len(columns_of(text)[0])
    # Room for 10,000 marks gives 2,500 columns. A column keeps its first, last, lowest and highest
    # point. Here y rises, so the first point is the lowest and the last is the highest. So each
    # column keeps two points, and all columns keep about 5,000.
    assert 4_900 < kept <= 10_000
    assert f"Of 40,000 marks this page keeps {kept / 40_000:.0%}" in text


def test_a_page_states_the_share_of_marks_that_it_keeps_if_its_numbers_do_not_compress(
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(1)
    count = 600_000
    x = np.sort(rng.random(count))
    y = rng.random(count)
    y[1::3] = np.nan
    drawing = Picture((Points(label="delay", ink="grey", x=x, y=y),), Scale("delay", "s"))
    flow = Flow("one", [Panel("timeline", "Points", drawing)])
    section = Section("Many points", [Part("many")], groups=[Group([Side("many", [flow])])])
    text = page([section], tmp_path / "page.html")
    assert 3_000_000 < len(text) < 4_000_000
    kept_x, kept_y = columns_of(text)[:2]
    assert not np.isnan(kept_y).any()
    share = len(kept_x) / (count * 2 / 3)
    assert f"Of 400,000 marks this page keeps {share:.0%}" in text
    assert kept_y.max() == np.nanmax(y)
    assert kept_y.min() == np.nanmin(y)


def test_a_line_of_few_points_is_drawn_whole_beside_many_marks(tmp_path: Path) -> None:
    edges = np.arange(80.0)
    bins = Polyline(label="bins", ink="blue", x=edges, y=np.sin(edges), steps=True)
    drawing = Picture((*synthetic(40_000).marks, bins), Scale("probes"))
    flow = Flow("one", [Panel("timeline", "Points", drawing)])
    section = Section("Both", [Part("both")], groups=[Group([Side("both", [flow])])])
    text = page([section], tmp_path / "page.html", 4_000)
    assert [len(column) for column in columns_of(text)[2:]] == [80, 80]
    kept = len(columns_of(text)[0])
    assert f"Of 40,080 marks this page keeps {(kept + 80) / 40_080:.0%}" in text


def test_a_capture_is_reported_with_the_first_line_of_netspurt_explain(
    saved_run: Path, netspurt: Command
) -> None:
    capture = next(saved_run.glob("*.pcapng"), None) or _capture(netspurt)
    result = netspurt("report", capture, "--out", "page.html")
    assert result.returncode == 0, result
    text = Path("page.html").read_text()
    explained = netspurt("explain", capture).stdout.splitlines()[0]
    assert explained in unescape(text)
    assert rows_of(text, "Directions with data")
    assert "Time and sequence" in text


def test_a_capture_without_retransmissions_is_reported(netspurt: Command) -> None:
    Path("clean.toml").write_text(
        """
        stop = "5 s"
        [links]
        path = { between = ["a", "b"], rate = "10 Mbit/s", delay = "10 ms", queue = "100 packets" }
        [flows.one]
        from = "a"
        to = "b"
        send = "20 kB"
        [record]
        spy = ["a"]
        """
    )
    netspurt("run", "clean.toml", "--out", "clean")
    assert netspurt("report", "clean/a.pcapng", "--out", "page.html").returncode == 0
    text = Path("page.html").read_text()
    assert "No retransmission is known to be spurious." in text
    assert "No loss is known to have waited for a timeout." in text


def test_the_page_of_a_capture_says_what_the_snap_length_cut_off(netspurt: Command) -> None:
    folder = ROOT / "data" / "captures" / "tails-02-acks-at-once-s1"
    pages = {}
    for name in ("sender", "sender.short"):
        netspurt("report", folder / f"{name}.pcapng", "--out", f"{name}.html")
        pages[name] = unescape(Path(f"{name}.html").read_text())
    data = int(explain(folder / "sender.pcapng").table("connections")["data_packets"].sum())
    words = re.search(
        r"The snap length of the capture cut ([\d,]+) of ([\d,]+) data", pages["sender"]
    )
    assert words, "the page must have a note on the snap length"
    assert words.groups() == (f"{data:,}", f"{data:,}")
    assert pages["sender"].index('class="notes"') < pages["sender"].index(words[0]), (
        "the sentence must be among the notes"
    )
    expected = "the snap length cut the TCP headers of 33 packets"
    assert expected in pages["sender.short"].partition("</pre>")[0]
    assert expected not in pages["sender"]
    assert expected in netspurt("explain", folder / "sender.short.pcapng").stdout


def _capture(netspurt: Command) -> Path:
    """Simulate the scenario `slow-download`; return the capture at its server."""
    netspurt("run", "slow-download", "--out", "slow")
    return Path("slow/server.pcapng")


@pytest.mark.parametrize(("share", "spurious"), [(0.0, False), (0.004, True)])
def test_the_page_of_a_recording_has_the_recommended_timer(
    tmp_path: Path, netspurt: Command, share: float, spurious: bool
) -> None:
    """The usual timers are too long for these delays, so the best timer has other constants."""
    rng = np.random.default_rng(2)
    rtt = rng.uniform(20e-6, 60e-6, 600) + np.where(rng.random(600) < share, 0.3, 0.0)
    file = tmp_path / "ping.txt"
    said = [
        f"64 bytes from a: icmp_seq={n} ttl=56 time={1e3 * x:.3f} ms" for n, x in enumerate(rtt)
    ]
    file.write_text("\n".join(["PING a (192.0.2.7) 56(84) bytes of data.", *said, ""]))
    (recording,) = ns.read_delays(file)
    advice = ns.advise([ns.replay(recording)])
    made = advice.replays[0][advice.pick]
    assert (made.spurious > 0) == spurious, advice.pick
    out = tmp_path / "page.html"
    netspurt("report", file, "--out", out)
    text = out.read_text()
    if spurious:
        rows = rows_of(text, f"Spurious retransmissions of {advice.pick}, which is recommended")
        assert len(rows) == made.spurious
    else:
        assert f"{advice.pick}, which is recommended, retransmits no probe spuriously." in text
    (timeline, *_) = description(text)["groups"]
    (picture_of,) = timeline["sides"][0]["flows"][0]["panels"]
    lines = [mark["label"] for mark in picture_of["marks"] if mark["type"] == "Polyline"]
    assert f"{advice.pick} (recommended)" in lines, "the recommended timer must be drawn as a line"
    names = [one.estimator for one in advice.replays[0].algorithms]
    drawn = [line.partition(" (")[0] for line in lines]
    assert len(drawn) == 5, "exactly five timers must be drawn"
    assert set(drawn) < set(names)
    looks = [
        (mark["ink"], mark["dashed"]) for mark in picture_of["marks"] if mark["type"] == "Polyline"
    ]
    assert len(set(looks)) == len(looks) == 5


def test_two_runs_are_side_by_side_with_the_first_difference_that_netspurt_compare_finds(
    early: Path, netspurt: Command
) -> None:
    changes = {"flows.transfer.tcp.rto.min": "1 s"}
    ns.load("early-timeout").replace(changes).run().save("other")
    netspurt("report", early, "other", "--out", "page.html")
    text = Path("page.html").read_text()
    data = json.loads(netspurt("compare", early, "other", "--json").stdout)
    (group,) = description(text)["groups"]
    assert [side["name"] for side in group["sides"]] == ["early", "other"]
    parted = [event["t_s"] for event in data["parted"]]
    assert group["parting"]["at_s"] == min(parted)
    assert "First divergence at 8.9540 s" in text
    for name, event in zip(("early", "other"), data["parted"], strict=True):
        assert f"{name} {event['what']} at {event['t_s']:.4f} s" in text


#: A scenario with two transfers; the second begins when the first has ended.
TWO = """
title = "Two transfers"
stop = "5 s"
[links]
line = { between = ["a", "b"], rate = "8 Mbit/s", delay = "20 ms", queue = "20 packets" }
[flows]
large = { from = "a", to = "b", send = "400 kB", profile = "linux-6" }
small = { from = "a", to = "b", send = "100 kB", profile = "linux-6", start = "3 s" }
"""


def test_directions_of_two_runs_are_compared_by_their_names(netspurt: Command) -> None:
    Path("two.toml").write_text(TWO)
    netspurt("run", "two.toml", "--out", "first")
    netspurt("run", "two.toml", "--set", "flows.small.send=600 kB", "--out", "second")
    netspurt("report", "first", "second", "--out", "page.html")
    text = Path("page.html").read_text()
    assert re.search(r"1 of 2 directions with data differ, .*the first to differ is small", text)
    assert description(text)["groups"][0]["parting"]["flows"] == ["small", "small"]
    netspurt("run", "two.toml", "--set", "flows.small.start=4 s", "--out", "later")
    netspurt("report", "first", "later", "--out", "same.html")
    text = Path("same.html").read_text()
    assert "The 2 directions with data never differ, with times counted from the first" in text


def test_the_table_omits_go_back_n_that_follows_a_fast_retransmit(netspurt: Command) -> None:
    netspurt("new", "tahoe.toml")
    netspurt("run", "tahoe.toml", "--set", "flows.transfer.tcp.recovery=tahoe", "--out", "tahoe")
    netspurt("report", "tahoe", "--out", "page.html")
    retransmissions = ns.open_run("tahoe").table("retransmissions")
    assert "go-back-n" in retransmissions["cause"]
    rows = rows_of(Path("page.html").read_text(), "Losses repaired after a timeout")
    assert len(rows) <= int(ns.open_run("tahoe").flows["timeouts"].sum())


def test_the_page_of_a_run_without_losses_says_that_nothing_was_lost(netspurt: Command) -> None:
    Path("two.toml").write_text(TWO)
    netspurt("run", "two.toml", "--set", "links.line.queue=unlimited", "--out", "calm")
    netspurt("report", "calm", "--out", "page.html")
    text = Path("page.html").read_text()
    assert "Nothing was retransmitted." in text
    assert "No packet was lost." in text


def test_a_page_has_the_timers_of_its_replay_or_those_that_the_user_names(
    netspurt: Command,
) -> None:
    ping = ROOT / "data" / "ping.txt"
    netspurt("replay", ping, "-e", "quic", "-e", "linux:rto_min=77ms", "--out", "replayed")
    netspurt("report", "replayed", "--out", "first.html")
    netspurt("report", ping, "-e", "linux:rto_min=78ms", "--out", "second.html")
    first, second = (Path(name).read_text() for name in ("first.html", "second.html"))
    assert "linux:rto_min=77ms" in first
    assert "mills" not in first
    assert "linux:rto_min=78ms" in second
    assert "mills" not in second
    base = ns.load("early-timeout").run().save("run")
    refused(netspurt("report", base, "-e", "linux", "--out", "third.html"), "--estimator")


def test_the_page_of_a_replay_uses_the_options_of_the_replay(netspurt: Command) -> None:
    """The page has the lines of the table and of the assumptions that the replay printed."""
    options = ("--cost", "1s", "--loss", "2%", "--told", "--clock", "linux-hz250", "--tune")
    words = ("replay", ROOT / "data" / "ping.txt", "-e", "linux", "-e", "quic", *options)
    printed = netspurt(
        *words, "--details", "--out", "kept", "--pictures", "png"
    ).stdout.splitlines()
    netspurt("report", "kept", "--out", "page.html")
    page_of = re.sub(r"<[^>]+>", "", Path("page.html").read_text())
    text = " ".join(unescape(page_of).split())
    for start in ("linux ", "quic ", "The timers learn of a reply", "Take "):
        line = next(line for line in printed if line.startswith(start))
        assert " ".join(line.split()) in text, line
    assert "is missing beside" not in text

    Path("kept/replay.json").unlink()
    netspurt("report", "kept", "--out", "other.html")
    assert "replay.json is missing beside replay.parquet" in Path("other.html").read_text()


def test_the_page_of_a_pooled_replay_recommends_a_timer_for_each_recording(
    netspurt: Command,
) -> None:
    files = [ROOT / "data" / name for name in ("ping.txt", "irtt.json")]
    netspurt("replay", *files, "-e", "linux", "--pool", "--out", "kept", "--pictures", "png")
    netspurt("report", "kept", "--out", "page.html")
    assert "this page recommends one for each recording" in Path("page.html").read_text()
    settings = Path("kept/replay.json")
    settings.write_text(settings.read_text().replace('"pool": true', '"pool": false'))
    refused(netspurt("report", "kept", "--out", "b.html"), "kept/replay.json was changed")


def test_a_page_is_never_overwritten(early: Path, netspurt: Command) -> None:
    Path("page.html").write_text("mine")
    refused(netspurt("report", early, "--out", "page.html"), "page.html exists already")
    assert Path("page.html").read_text() == "mine"
    Path("report.html").write_text("mine")
    expected = "report.html exists already: name another file with --out, or remove it"
    refused(netspurt("report", early, early), expected)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("nothing", "nothing"),
        ("empty", "the folder has no recording"),
        ("notes.txt", "notes.txt"),
        ("empty.pcap", "no packets of TCP"),
    ],
)
def test_an_input_that_cannot_be_reported_gets_one_error_and_no_page(
    name: str, says: str, netspurt: Command
) -> None:
    Path("empty").mkdir()
    Path("notes.txt").write_text("not a recording\n")
    header = "d4c3b2a1 0200 0400 00000000 00000000 00000400 01000000"
    Path("empty.pcap").write_bytes(bytes.fromhex(header.replace(" ", "")))
    refused(netspurt("report", name, "--out", "page.html"), says)
    assert sorted(path.name for path in Path().iterdir()) == ["empty", "empty.pcap", "notes.txt"]


def test_the_errors_for_a_scenario_and_for_an_ambiguous_table_give_the_fix(
    netspurt: Command,
) -> None:
    Path("mine.toml").write_text(TWO)
    says = "`netspurt run mine.toml --out DIR`, then `netspurt report DIR`"
    refused(netspurt("report", "mine.toml"), says)
    Path("x.csv").write_text("a,b\n1,2\n3,4\n")
    refused(netspurt("report", "x.csv"), "--column rtt=N", "`netspurt replay x.csv ... --out DIR`")
    columns = ("--column", "rtt=a", "--column", "unit=ms", "--interval", "1s")
    netspurt("replay", "x.csv", *columns, "--out", "kept")
    assert netspurt("report", "kept", "--out", "page.html").returncode == 0


def test_the_same_run_gives_the_same_page(early: Path, netspurt: Command) -> None:
    for name in ("a.html", "b.html"):
        netspurt("report", early, "--out", name)
    assert Path("a.html").read_bytes() == Path("b.html").read_bytes()


def test_the_page_draws_every_kind_of_mark_that_pictures_have() -> None:
    from netspurt.pictures import marks
    from netspurt.report import page

    shell = Path(page.__code__.co_filename).parent / "shell"
    table = re.search(r"DRAWN = \{(.*?)\}", (shell / "draw.js").read_text(), re.DOTALL)
    assert table is not None
    kinds = {member.__name__ for member in marks.Mark.__subclasses__()}
    assert set(re.findall(r"(\w+): draw", table[1])) == kinds


def test_node_js_can_parse_the_script_of_a_page(tmp_path: Path) -> None:
    """Only Node.js is needed; `test_report_page` runs the script in Chromium."""
    from netspurt.report.page import _script

    file = tmp_path / "page.js"
    file.write_text(_script())
    try:
        result = subprocess.run(
            ["node", "--check", file], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        pytest.skip("Node.js is not installed: the script is not parsed here")
    assert result.returncode == 0, result.stderr


def test_flows_with_retransmissions_are_drawn_first_if_not_all_flows_are_drawn(
    tmp_path: Path,
) -> None:
    run = ns.load("sites").run()
    text = page([run_section(run, "sites")], tmp_path / "page.html")
    (group,) = description(text)["groups"]
    drawn_flows = {flow["name"] for flow in group["sides"][0]["flows"]}
    flows = run.flows
    retransmitting = flows.select(flows["retransmissions"] > 0)
    assert len(retransmitting) > 10
    ways = zip(retransmitting["flow"].tolist(), retransmitting["direction"].tolist(), strict=True)
    named = {flow if way == "forward" else f"{flow} ({way})" for flow, way in ways}
    assert named <= drawn_flows
    assert len(drawn_flows) == 40
    assert "Not drawn, because at most 40 directions are drawn: " in text
    spurious = rows_of(text, "Spurious retransmissions")
    assert len(spurious) == int(flows["spurious"].sum())
    assert spurious[0][5] == "timeout, FIN"
    # No segments were recorded at the web servers, so the report does not say that all losses were
    # repaired.
    assert "were recorded at another node" in text
    assert "Every loss was repaired" not in text


def test_the_page_of_a_population_has_its_durations_and_links(netspurt: Command) -> None:
    netspurt("run", "web", "--set", "stop=5 s", "--out", "web")
    netspurt("report", "web", "--out", "page.html")
    text = Path("page.html").read_text()
    assert "durations: from the first SYN" in text
    assert rows_of(text, "Links")


def test_the_timer_of_a_closed_connection_is_drawn_to_the_end_of_the_connection(
    tmp_path: Path,
) -> None:
    folder = ns.load("sites").run().save(tmp_path / "sites")
    explained = explain(next(folder.glob("*.pcapng")), segments=True)
    connections = explained.table("connections")
    closed = connections.select(connections["ending"] != "open")
    name = f"c{closed['connection'][0]}"
    own = explained.segments.where(flow=name)
    last = float(own.seconds().max())
    assert last < explained.stop_ns / 1e9 - 1
    # The other direction was captured beside its receiver, so its timer is not drawn.
    drawn_lines = picture(explained, "rto", View(flow=name, direction="forward", whole=True)).marks
    ends = [mark.x[-1] for mark in drawn_lines if isinstance(mark, Polyline)]
    assert ends == [last] * 3


def test_a_row_without_a_picture_is_listed_without_a_button(tmp_path: Path) -> None:
    run = ns.load("sites").run()
    text = page([run_section(run, "sites", room=Room(directions=2))], tmp_path / "page.html")
    spurious = rows_of(text, "Spurious retransmissions")
    assert len(spurious) == int(run.flows["spurious"].sum())
    (group,) = description(text)["groups"]
    shown = {flow["name"] for flow in group["sides"][0]["flows"]}
    places = [json.loads(unescape(place)) for place in re.findall('data-place="([^"]*)"', text)]
    assert 0 < len(places) < len(spurious)
    assert {place["flow"] for place in places} <= shown
    assert "Not drawn, because at most 2 directions are drawn: " in text


def test_the_note_names_the_directions_that_have_no_room_for_a_picture(tmp_path: Path) -> None:
    run = ns.load("sites").run()
    text = page([run_section(run, "sites", room=Room(marks=100))], tmp_path / "page.html")
    assert "all pictures together have room for at most 100 marks: " in text
    assert re.search(r"\d+ of \d+ directions have pictures: ", text)
