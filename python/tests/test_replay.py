"""Timers on recorded delays: what the command prints, keeps and refuses."""

from __future__ import annotations

import itertools
import json
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

from conftest import NETSPURT, ROOT, Command

DATA = ROOT / "data"
SHARED = ROOT.parent / "shared" / "delays"
RECORDINGS = ("ping.txt", "fping-C.txt", "irtt.json", "atlas-ping.jsonl")


def steady(n: int = 400, rtt: float = 0.05) -> ns.Delays:
    return ns.Delays.of(np.full(n, rtt), every=1.0)


@pytest.mark.parametrize("name", RECORDINGS)
def test_our_recordings_are_replayed_and_drawn(
    netspurt: Command, name: str, tmp_path: Path
) -> None:
    ran = netspurt("replay", str(DATA / name), "--json", "--out", str(tmp_path))
    assert ran.returncode == 0, ran.stderr
    for told in json.loads(ran.stdout):
        assert told["sent"] == told["received"] + told["lost"]
        assert [one["estimator"] for one in told["estimators"]]
        for one in told["estimators"]:
            total = one["good_s"] + one["waited_s"] + one["spurious_s"]
            assert one["total_s"] == pytest.approx(total)
            assert one["efficiency"] == pytest.approx(one["good_s"] / total)
            assert 0 <= one["spurious_share"]["low"] <= one["spurious_share"]["high"]
    pictures = list(tmp_path.glob("*.png"))
    assert len(pictures) == 4 * len(json.loads(ran.stdout))
    assert all(picture.stat().st_size > 10_000 for picture in pictures)


def test_a_bundle_is_replayed_elsewhere_to_the_same_sums(netspurt: Command, tmp_path: Path) -> None:
    before = netspurt("replay", str(DATA / "irtt.json"), "--json", "--out", str(tmp_path))
    after = netspurt("replay", str(tmp_path / "replay.parquet"), "--json")
    (ours,), (theirs,) = json.loads(before.stdout), json.loads(after.stdout)
    assert ours["estimators"] == theirs["estimators"]
    assert (ours["sent"], ours["lost"], ours["order"]) == (
        theirs["sent"],
        theirs["lost"],
        theirs["order"],
    )


def test_one_bad_file_does_not_stop_the_others(netspurt: Command, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing of the kind\n")
    ran = netspurt("replay", "notes.txt", str(DATA / "ping.txt"), "no-such-file")
    assert ran.returncode == 2
    assert "240 probes" in ran.stdout
    assert "notes.txt:1: not a known format of recorded delays" in ran.stderr
    assert "no-such-file: No such file" in ran.stderr


@pytest.mark.parametrize(
    ("estimator", "told"),
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
    netspurt: Command, estimator: str, told: str
) -> None:
    ran = netspurt("replay", str(DATA / "ping.txt"), "-e", estimator)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert told in ran.stderr
    assert "Traceback" not in ran.stderr


def test_smoothed_round_trips_are_not_replayed(netspurt: Command, tmp_path: Path) -> None:
    log = "".join(
        "ESTAB 0 0 10.0.0.1:5000 10.0.0.2:80\n"
        f"\t cubic wscale:7,7 rto:204 rtt:{40 + n}.5/2 mss:1448 cwnd:10 minrtt:38\n"
        for n in range(5)
    )
    (tmp_path / "ss.txt").write_text(log)
    ran = netspurt("replay", "ss.txt")
    assert ran.returncode == 2
    assert "a filter's output and not samples" in ran.stderr


def test_an_estimator_in_python_is_replayed_beside_the_others(
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
    ran = netspurt("replay", str(DATA / "irtt.json"), *words, "--json")
    ours, theirs = json.loads(ran.stdout)[0]["estimators"]
    assert ours["estimator"] == "double.py:Double"
    # A filter that forgets at once is twice the last delay.
    assert (ours["spurious"], ours["waited_s"]) == (theirs["spurious"], theirs["waited_s"])


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


def test_a_grid_of_the_two_gain_filter_agrees_with_its_settings_one_by_one() -> None:
    (path,) = ns.read_delays(DATA / "irtt.json")
    front, count = grid_front(path, "mills:g=1.25..3/8,falling=0.5..0.9/5")
    assert count == 40
    alone = ns.replay(path, expand("mills:g=1.25..3/8,falling=0.5..0.9/5"))
    assert {algorithm.estimator for algorithm in alone.front()} == set(front)


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
    for wrong in ("mills:g=1..2", "mills:g=1..2/1", "mills:g=1s..2ms/3", "mills:g=1..2..3/4"):
        with pytest.raises(ValueError, match="mills:g="):
            next(expand(wrong))
    with pytest.raises(ValueError, match="steps below 1e-09"):
        size("mills:g=1..1.000001/2000")


def test_a_grid_of_any_size_is_walked_without_being_held() -> None:
    text = "rfc6298:min=0..1s/100001,max=1..9s/100001"
    assert size(text) == 100_001**2
    walk = expand(text)
    assert next(walk) == "rfc6298:min=0s,max=1s"
    tracemalloc.start()
    assert sum(1 for _ in itertools.islice(walk, 50_000)) == 50_000
    assert tracemalloc.get_traced_memory()[1] < 100_000
    tracemalloc.stop()


def test_grids_of_other_algorithms_keep_undominated_settings_and_show_progress() -> None:
    (path,) = ns.read_delays(DATA / "irtt.json")
    told: list[tuple[float, float]] = []
    grid = "rfc6298:min=0..100ms/11,k=2..4/3"
    front, count = grid_front(path, grid, progress=lambda *at: told.append(at))
    alone = {
        algorithm.estimator: algorithm for algorithm in ns.replay(path, expand(grid)).algorithms
    }
    assert (count, told[-1], len(alone)) == (33, (33, 33), 33)
    pairs = {(alone[name].spurious, round(alone[name].timer.value, 12)) for name in front}
    every = {(algorithm.spurious, round(algorithm.timer.value, 12)) for algorithm in alone.values()}
    assert pairs <= every
    for spurious, timer in every:
        assert any(best <= spurious and least <= timer for best, least in pairs)


def test_too_few_rare_events_make_no_difference_between_algorithms() -> None:
    rng = np.random.default_rng(4)
    rtt = rng.normal(0.05, 0.001, 3000)
    rtt[1000] = 0.5
    told = ns.replay(ns.Delays.of(rtt, every=1.0), ["mills", "fixed:rto=1s,max=1s"])
    mills, fixed = told.algorithms
    assert (mills.spurious, fixed.spurious) == (1, 0)
    assert told.difference(mills, fixed)[0].sign == 0
    assert told.difference(mills, fixed)[1].sign == -1
    alike = "cannot be told apart"
    assert alike in told.recommendation()[0], "nothing was lost, so waiting costs nothing"
    assert alike not in ns.advise([told], ns.Price(loss=0.1)).paragraphs()[0]
    assert fixed.spurious_share.high == pytest.approx(poisson_interval(0)[1] / 3000)


def test_a_clear_difference_is_reported() -> None:
    rng = np.random.default_rng(5)
    rtt = 0.05 * (1 + rng.exponential(0.3, 3000))
    told = ns.replay(ns.Delays.of(rtt, every=1.0), ["fixed:rto=80ms,max=1s", "fixed:rto=1s,max=1s"])
    short, long = told.algorithms
    assert short.spurious > 300
    share, timer = told.difference(short, long)
    assert (share.sign, timer.sign) == (1, -1)
    assert told.versus(short, long).verdict == "worse"
    assert told.front() == [long, short]


def test_few_answers_give_no_recommendation() -> None:
    said = ns.replay(steady(20), USUAL).recommendation()
    assert said == [
        "20 answered probes are too few to prefer one timer to another: at least 50 are needed."
    ]


def test_the_lack_of_a_choice_is_stated_before_the_tables() -> None:
    said = list(lines(ns.advise([ns.replay(steady(20), USUAL)])))
    few = "20 answered probes are too few to prefer one timer to another: at least 50 are needed."
    assert said.count(few) == 1
    table = next(n for n, line in enumerate(said) if line.startswith("rfc6298 "))
    assert said.index(few) < table


def test_a_recording_in_which_all_is_lost_has_no_figures_and_no_error() -> None:
    told = ns.replay(ns.Delays.of([None] * 60, every=1.0), ["mills", "linux"])
    assert [algorithm.lost for algorithm in told.algorithms] == [60, 60]
    assert np.isnan(told.algorithms[0].spurious_share.low)
    assert told.recommendation()[0].startswith("0 answered probes are too few")


def test_a_half_written_file_does_not_look_complete(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="nowhere"):
        save_records([ns.replay(steady(), ["mills"])], tmp_path / "nowhere" / "replay.parquet")
    assert list(tmp_path.iterdir()) == []


def test_the_three_hour_log_gives_the_results_of_the_earlier_study() -> None:
    """10,851 probes to a cloud host, 188 lost in one spell; without a floor 74 are spurious."""
    file = SHARED / "yencarnacion__ping_output.txt"
    if not file.is_file():
        pytest.skip(f"{file.name} lies outside the repository, and is not there")
    (path,) = ns.read_delays(file)
    told = ns.replay(path, ["rfc6298:min=0s", "mills"])
    assert (path.sent, path.received, path.lost) == (10_851, 10_663, 188)
    assert [algorithm.spurious for algorithm in told.algorithms] == [74, 1]


def test_a_reader_that_stops_early_does_not_prevent_the_files(tmp_path: Path) -> None:
    words = [str(NETSPURT), "replay", str(DATA / "ping.txt"), "-e", "linux", "--out", "kept"]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
    assert (tmp_path / "kept" / "replay.parquet").exists()
