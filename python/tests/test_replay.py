"""Tests `netspurt replay`: its output, its files and its errors.

A replay applies timers to recorded delays. The front has the timers that no other timer beats. A
grid is a text that names many settings of a timer.
"""

from __future__ import annotations

import itertools
import json
import re
import shutil
import subprocess
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import netspurt as ns
from netspurt.analysis.replayed import poisson_interval
from netspurt.cli.replay_report import lines
from netspurt.grids import expand, size, two_gain_axes
from netspurt.timers import USUAL, grid_front, save_records

from conftest import NETSPURT, ROOT, Command, refused

#: The folder of recordings that come with the sources.
DATA = ROOT / "data"
#: A folder of longer recordings, which is not part of the sources.
SHARED = ROOT.parent / "shared" / "delays"
#: Recordings in different formats.
RECORDINGS = ("ping.txt", "fping-C.txt", "irtt.json", "atlas-ping.jsonl")


def steady(n: int = 400, rtt: float = 0.05) -> ns.Delays:
    """Return a recording in which all delays are equal."""
    return ns.Delays.of(np.full(n, rtt), every=1.0)


@pytest.mark.parametrize("name", RECORDINGS)
def test_the_recordings_in_the_folder_data_are_replayed_and_drawn(
    netspurt: Command, name: str, tmp_path: Path
) -> None:
    result = netspurt("replay", str(DATA / name), "--json", "--out", "kept", "--pictures", "png")
    assert result.returncode == 0, result.stderr
    for data in json.loads(result.stdout):
        assert data["sent"] == data["received"] + data["lost"]
        assert [estimator["estimator"] for estimator in data["estimators"]]
        for estimator in data["estimators"]:
            total = estimator["good_s"] + estimator["waited_s"] + estimator["spurious_s"]
            assert estimator["total_s"] == pytest.approx(total)
            assert estimator["efficiency"] == pytest.approx(estimator["good_s"] / total)
            assert 0 <= estimator["spurious_share"]["low"] <= estimator["spurious_share"]["high"]
    pictures = list(tmp_path.glob("kept/*.png"))
    assert len(pictures) == 4 * len(json.loads(result.stdout))
    assert all(picture.stat().st_size > 10_000 for picture in pictures)


def test_a_saved_replay_gives_the_same_sums_when_it_is_replayed(
    netspurt: Command, tmp_path: Path
) -> None:
    before = netspurt(
        "replay", str(DATA / "irtt.json"), "--json", "--out", "kept", "--pictures", "svg"
    )
    after = netspurt("replay", str(tmp_path / "kept" / "replay.parquet"), "--json")
    (original,), (reread,) = json.loads(before.stdout), json.loads(after.stdout)
    assert original["estimators"] == reread["estimators"]
    assert (original["sent"], original["lost"], original["order"]) == (
        reread["sent"],
        reread["lost"],
        reread["order"],
    )


def test_a_replay_never_writes_into_an_existing_folder(netspurt: Command) -> None:
    words = ("replay", DATA / "irtt.json", "-e", "linux", "--pictures", "png", "--out")
    assert netspurt(*words, "kept").returncode == 0
    refused(netspurt(*words, "kept"), "kept exists already: name another folder, or remove it")
    Path("empty").mkdir()
    refused(netspurt(*words, "empty"), "empty exists already")


def test_the_pictures_in_the_output_folder_have_the_timers_of_the_table(netspurt: Command) -> None:
    words = ("replay", DATA / "ping.txt", "-e", "linux", "--pictures", "svg", "--out", "kept")
    table = netspurt(*words).stdout
    (added,) = set(re.findall(r"^linux:rto_min=\S+", table, re.MULTILINE))
    for kind in ("timeline", "histogram", "pareto"):
        assert added in Path(f"kept/replay-{kind}.svg").read_text(), kind


def test_no_timer_is_marked_as_recommended_if_the_recording_cannot_decide(
    netspurt: Command,
) -> None:
    rng = np.random.default_rng(3)
    rtt = 0.04 + rng.gamma(2, 0.004, 3000)
    rtt[rng.choice(np.arange(1500, 3000), 12, replace=False)] += 0.2
    rtt[500:620] = np.nan
    ns.Delays.of(rtt, every=0.2).save("path.csv")
    words = ("replay", "path.csv", "-e", "linux", "-e", "linux:rto_min=50ms")
    kept = netspurt(*words, "--pictures", "svg", "--out", "kept")
    assert "This recording cannot decide" in kept.stdout
    for kind in ("timeline", "histogram", "pareto"):
        assert "recommended" not in Path(f"kept/replay-{kind}.svg").read_text(), kind


def test_one_unreadable_file_does_not_prevent_the_replay_of_other_files(
    netspurt: Command, tmp_path: Path
) -> None:
    (tmp_path / "notes.txt").write_text("nothing of the kind\n")
    result = netspurt("replay", "notes.txt", str(DATA / "ping.txt"), "no-such-file")
    assert result.returncode == 2
    assert "240 probes" in result.stdout
    assert "notes.txt:1: not a known format of recorded delays" in result.stderr
    assert "no-such-file does not exist" in result.stderr


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        ("mils", "did you mean `mills`"),
        ("mills:gg=2", "no key `gg`: did you mean `g`"),
        ("linux:rto_min=50", "50"),
        ("mills:g=1..2", "FROM..TO/COUNT"),
        ("mills:g=1s..2/3", "use one unit"),
        ("nowhere.py:Timer", "no file `nowhere.py`"),
    ],
)
def test_a_wrong_estimator_is_reported_with_the_fix(
    netspurt: Command, estimator: str, expected: str
) -> None:
    result = netspurt("replay", str(DATA / "ping.txt"), "-e", estimator)
    assert (result.returncode, result.stdout) == (2, "")
    assert expected in result.stderr
    assert "Traceback" not in result.stderr


def test_smoothed_round_trips_are_not_replayed(netspurt: Command, tmp_path: Path) -> None:
    log = "".join(
        "ESTAB 0 0 10.0.0.1:5000 10.0.0.2:80\n"
        f"\t cubic wscale:7,7 rto:204 rtt:{40 + n}.5/2 mss:1448 cwnd:10 minrtt:38\n"
        for n in range(5)
    )
    (tmp_path / "ss.txt").write_text(log)
    result = netspurt("replay", "ss.txt")
    assert result.returncode == 2
    assert "a filter's output and not samples" in result.stderr
    for made in (Path("alone"), Path("both")):
        made.mkdir()
        (made / "ss.txt").write_text(log)
    (tmp_path / "ss.txt").unlink()
    shutil.copy(DATA / "ping.txt", "both")
    for command, folder, count in (("replay", "both", 1), ("report", ".", 2)):
        result = netspurt(command, folder, "-e", "linux", "--out", f"../{command}.html")
        assert result.returncode == 0, result.stderr
        assert result.stderr.count("left out: ") == count
        assert "a filter's output and not samples" in result.stderr
    refused(netspurt("replay", "alone"), "no recording can be replayed")
    assert netspurt("replay", ".", "-e", "linux").returncode == 0
    # A file that the command names is never left out, even if a folder contains it, too.
    for folder in (".", "both"):
        result = netspurt("replay", folder, "alone/ss.txt", "-e", "linux")
        assert (result.returncode, "error: alone/ss.txt" in result.stderr) == (2, True)
    assert netspurt("report", "alone").returncode == 2


def test_an_estimator_in_python_is_replayed_together_with_other_estimators(
    netspurt: Command, tmp_path: Path
) -> None:
    (tmp_path / "double.py").write_text(
        "class Double:\n"
        "    def __init__(self, start=3.0):\n"
        "        self.timer = start\n"
        "    def on_sample(self, sample):\n"
        "        self.timer = 2 * sample.rtt\n"
        "    def on_timeout(self, now):\n"
        "        self.timer *= 2\n"
        "    def rto(self):\n"
        "        return self.timer\n"
    )
    words = ["-e", "double.py:Double", "-e", "mills:falling=0,rising=0"]
    result = netspurt("replay", str(DATA / "irtt.json"), *words, "--json")
    python_timer, core_timer = json.loads(result.stdout)[0]["estimators"]
    assert python_timer["estimator"] == "double.py:Double"
    # With falling=0 and rising=0, the filter of `mills` keeps only the last delay, and its timer is
    # twice this delay.
    assert (python_timer["spurious"], python_timer["waited_s"]) == (
        core_timer["spurious"],
        core_timer["waited_s"],
    )


def test_an_exception_of_an_estimator_is_raised_with_its_place() -> None:
    class Broken:
        def on_sample(self, _sample: object) -> None:
            raise RuntimeError("no idea")

        def on_timeout(self, now: float) -> None: ...

        def rto(self) -> float:
            return 1.0

    with pytest.raises(RuntimeError, match="no idea") as raised:
        ns.replay(steady(), [Broken()])
    assert raised.value.__notes__ == ["in `on_sample` of the estimator, sample 1"]


def test_a_grid_of_the_timer_mills_has_the_same_front_as_its_settings_replayed_one_by_one() -> None:
    (path,) = ns.read_delays(DATA / "irtt.json")
    front, count = grid_front(path, "mills:g=1.25..3/8,falling=0.5..0.9/5")
    assert count == 40
    one_by_one = ns.replay(path, expand("mills:g=1.25..3/8,falling=0.5..0.9/5"))
    assert {algorithm.estimator for algorithm in one_by_one.front()} == set(front)


def test_ranges_are_read_with_their_units() -> None:
    assert list(expand("rfc6298:min=0..1s/3")) == [
        "rfc6298:min=0s",
        "rfc6298:min=0.5s",
        "rfc6298:min=1s",
    ]
    assert two_gain_axes("linux:rto_min=1ms..9ms/3") is None
    thirds = list(expand("linux:rto_min=1ms..2ms/4"))
    assert thirds[1:3] == ["linux:rto_min=1.333333ms", "linux:rto_min=1.666667ms"]
    assert all(ns.estimator(text) for text in thirds)
    assert list(expand("linux:rto_min=10..20ns/2"))[1] == "linux:rto_min=20ns"
    for invalid in ("mills:g=1..2", "mills:g=1..2/1", "mills:g=1s..2ms/3", "mills:g=1..2..3/4"):
        with pytest.raises(ValueError, match="mills:g="):
            next(expand(invalid))
    with pytest.raises(ValueError, match="steps below 1e-09"):
        size("mills:g=1..1.000001/2000")


def test_a_large_grid_is_expanded_but_never_held_in_memory() -> None:
    text = "rfc6298:min=0..1s/100001,max=1..9s/100001"
    assert size(text) == 100_001**2
    walk = expand(text)
    assert next(walk) == "rfc6298:min=0s,max=1s"
    tracemalloc.start()
    assert sum(1 for _ in itertools.islice(walk, 10_000)) == 10_000
    assert tracemalloc.get_traced_memory()[1] < 100_000
    tracemalloc.stop()


def test_a_grid_of_another_timer_keeps_its_front_and_shows_progress() -> None:
    (path,) = ns.read_delays(DATA / "irtt.json")
    calls: list[tuple[float, float]] = []
    grid = "rfc6298:min=0..100ms/11,k=2..4/3"
    front, count = grid_front(path, grid, progress=lambda *at: calls.append(at))
    one_by_one = {
        algorithm.estimator: algorithm for algorithm in ns.replay(path, expand(grid)).algorithms
    }
    assert (count, calls[-1], len(one_by_one)) == (33, (33, 33), 33)
    pairs = {(one_by_one[name].spurious, round(one_by_one[name].timer.value, 12)) for name in front}
    every = {
        (algorithm.spurious, round(algorithm.timer.value, 12)) for algorithm in one_by_one.values()
    }
    assert pairs <= every
    for spurious, timer in every:
        assert any(best <= spurious and least <= timer for best, least in pairs)


def test_one_spurious_retransmission_is_too_few_for_a_measurable_difference() -> None:
    rng = np.random.default_rng(4)
    rtt = rng.normal(0.05, 0.001, 3000)
    rtt[1000] = 0.5
    replay = ns.replay(ns.Delays.of(rtt, every=1.0), ["mills", "fixed:rto=1s,max=1s"])
    mills, fixed = replay.algorithms
    assert (mills.spurious, fixed.spurious) == (1, 0)
    assert replay.difference(mills, fixed)[0].sign == 0
    assert replay.difference(mills, fixed)[1].sign == -1
    alike = "cannot be told apart"
    assert alike in replay.recommendation()[0], "no timer may be preferred if nothing was lost"
    assert alike not in ns.advise([replay], ns.Price(loss=0.1)).paragraphs()[0]
    assert fixed.spurious_share.high == pytest.approx(poisson_interval(0)[1] / 3000)


def test_a_clear_difference_is_reported() -> None:
    rng = np.random.default_rng(5)
    rtt = 0.05 * (1 + rng.exponential(0.3, 3000))
    replay = ns.replay(
        ns.Delays.of(rtt, every=1.0), ["fixed:rto=80ms,max=1s", "fixed:rto=1s,max=1s"]
    )
    short, long = replay.algorithms
    assert short.spurious > 300
    share, timer = replay.difference(short, long)
    assert (share.sign, timer.sign) == (1, -1)
    assert replay.versus(short, long).verdict == "worse"
    assert replay.front() == [long, short]


def test_few_answers_give_no_recommendation() -> None:
    output = ns.replay(steady(20), USUAL).recommendation()
    assert output == [
        "20 answered probes are too few to prefer one timer to another: at least 50 are needed."
    ]


def test_the_answer_is_printed_above_the_table_and_its_reasons_need_the_option_details(
    netspurt: Command,
) -> None:
    words = ("replay", DATA / "ping.txt", "-e", "linux", "-e", "quic")
    brief, full = netspurt(*words).stdout, netspurt(*words, "--details").stdout
    assert brief.split("\n\n")[1].startswith("Take quic: ")
    assert brief.index("Take quic: ") < brief.index("95 % interval")
    assert brief.count("\n") < 30
    assert "--details adds: " in brief
    for reason in ("Check: ", "Jeffreys' prior", "In Linux TCP: ", "waits 50 %", "ip route"):
        assert reason in full
        assert reason not in brief
    assert "--details adds" not in full
    two = netspurt(*words[:2], DATA / "irtt.json", *words[2:]).stdout
    assert two.count("--details adds: ") == 1, "the hint must be printed only once, at the end"
    assert "and 129 ms for each spurious" in brief, "the price must be printed with the costs"


def test_delays_over_loopback_get_a_warning_before_the_answer(netspurt: Command) -> None:
    line = "64 bytes from 127.0.0.1: icmp_seq={} ttl=64 time=0.0{} ms\n"
    log = "".join(line.format(n, 41 + n % 7) for n in range(1, 80))
    Path("own.txt").write_text("PING localhost (127.0.0.1) 56(84) bytes of data.\n" + log)
    Path("path.txt").write_text("PING a (192.0.2.1) 56(84) bytes of data.\n" + log)
    (own,) = ns.read_delays("own.txt")
    (path,) = ns.read_delays("path.txt")
    assert (own.is_loopback, path.is_loopback) == (True, True), "the replies name loopback"
    Path("path.txt").write_text(Path("path.txt").read_text().replace("127.0.0.1", "192.0.2.1"))
    (path,) = ns.read_delays("path.txt")
    assert not path.is_loopback
    warning = "These delays are of loopback. They show only one machine's kernel"
    for more in ([], ["--details"]):
        told = netspurt("replay", "own.txt", *more).stdout
        assert told.split("\n\n")[1].startswith(warning)
        assert warning not in netspurt("replay", "path.txt", *more).stdout
    together = netspurt("replay", "own.txt", "path.txt", "--pool").stdout
    assert "own.txt has delays of loopback" in together


def test_a_missing_recommendation_is_explained_before_the_tables() -> None:
    output = list(lines(ns.advise([ns.replay(steady(20), USUAL)])))
    few = "20 answered probes are too few to prefer one timer to another: at least 50 are needed."
    assert output.count(few) == 1
    table = next(n for n, line in enumerate(output) if line.startswith("rfc6298 "))
    assert output.index(few) < table


def test_a_recording_without_answers_has_no_spurious_share_and_no_recommendation() -> None:
    replay = ns.replay(ns.Delays.of([None] * 60, every=1.0), ["mills", "linux"])
    assert [algorithm.lost for algorithm in replay.algorithms] == [60, 60]
    assert np.isnan(replay.algorithms[0].spurious_share.low)
    assert replay.recommendation()[0].startswith("0 answered probes are too few")


def test_a_replay_that_cannot_be_saved_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="nowhere"):
        save_records([ns.replay(steady(), ["mills"])], tmp_path / "nowhere" / "replay.parquet")
    assert list(tmp_path.iterdir()) == []


def test_a_recording_of_three_hours_gives_the_same_results_as_in_an_earlier_study() -> None:
    """188 of 10,851 probes were lost.

    The timer of RFC 6298 without a floor fires too early 74 times, and the timer of Mills once.
    """
    file = SHARED / "yencarnacion__ping_output.txt"
    if not file.is_file():
        pytest.skip(f"{file.name} is not on this machine")
    (path,) = ns.read_delays(file)
    replay = ns.replay(path, ["rfc6298:min=0s", "mills"])
    assert (path.sent, path.received, path.lost) == (10_851, 10_663, 188)
    assert [algorithm.spurious for algorithm in replay.algorithms] == [74, 1]


def test_the_files_are_written_even_if_the_reader_of_the_output_stops_early(tmp_path: Path) -> None:
    options = ["-e", "linux", "--out", "kept", "--pictures", "png"]
    words = [str(NETSPURT), "replay", str(DATA / "ping.txt"), *options]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
    assert (tmp_path / "kept" / "replay.parquet").exists()
