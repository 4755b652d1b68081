"""Tests estimators written in Python: in runs, in sweeps, and as shadows.

A shadow is a timer that gets the samples of a run, but does not influence the run.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import netspurt as ns
from netspurt import _core
from netspurt.algorithms import AlgorithmError
from netspurt.scenario import Scenario, load
from netspurt.sweep import Threads

from conftest import Command, refused

#: The timer of RFC 6298 with times in seconds, as a user would write it. The core's `rfc6298` has
#: the same rules if its setting `spread_gains` is false.
OWN = '''
class Own:
    """RFC 6298: `s` is SRTT (gain 1/8), `v` is RTTVAR (gain 1/4)."""

    def __init__(self, k=4, least=1.0):
        self.k, self.least, self.s, self.v, self.backoff = k, least, None, 0.0, 1

    def on_sample(self, sample):
        if sample.ambiguous:
            return
        if self.s is None:
            self.s, self.v = sample.rtt, sample.rtt / 2
        else:
            self.v += (abs(self.s - sample.rtt) - self.v) / 4
            self.s += (sample.rtt - self.s) / 8
        self.backoff = 1

    def on_timeout(self, now):
        self.backoff = min(self.backoff * 2, 64)

    def rto(self):
        timer = 1.0 if self.s is None else self.s + max(0.001, self.k * self.v)
        return min(max(timer, self.least) * self.backoff, 60.0)
'''

#: A transfer over a link that loses 4 % of the packets.
PATH = """
stop = "60 s"
seed = 3
[links]
wire = { between = ["a", "b"], rate = "1 Mbit/s", delay = "40 ms", queue = "8 packets", \
loss = { probability = 0.04 } }
[flows.transfer]
from    = "a"
to      = "b"
profile = "reno-2005"
send    = "300 kB"
[record]
tables = ["rtt", "rto"]
"""

pytestmark = pytest.mark.usefixtures("place")

#: The key of a scenario that names the estimator of the flow `transfer`.
ESTIMATOR = "flows.transfer.tcp.rto.estimator"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a scenario and the class `Own` into a folder; the test runs in this folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "path.toml").write_text(PATH)
    return tmp_path


def retransmitted(run: ns.Run) -> list[int]:
    """Return four counts of a flow (of packets and of timeouts), and when it finished [ns]."""
    names = ("sent", "retransmissions", "timeouts", "spurious", "finished_ns")
    return [int(run.flows[name][0]) for name in names]


def test_a_class_is_found_beside_the_scenario_or_in_the_working_directory(
    place: Path,
) -> None:
    folder = place / "deep"
    folder.mkdir()
    (folder / "own.py").write_text(OWN)
    text = PATH.replace("send ", 'tcp.rto.estimator = "own.py:Own:k=3"\nsend ')
    (folder / "named.toml").write_text(text)
    named = load(folder / "named.toml").run()
    here = load("path.toml").set_text({ESTIMATOR: "own.py:Own:k=3"}).run()
    assert named.flows_digest == here.flows_digest
    pin = hashlib.sha256(OWN.encode()).hexdigest()
    assert f'estimator = "own.py@{pin[:16]}:Own:k=3"' in named.scenario
    (origin,) = named.algorithms
    assert (origin.file, origin.sha256) == ("own.py", pin)


def test_rfc_6298_in_python_and_in_the_core_cause_equally_many_retransmissions() -> None:
    """The core computes in whole nanoseconds and Python in floats, so the RTOs differ a little."""
    base = load("path.toml")
    own = base.replace({ESTIMATOR: "own.py:Own:least=0.2"}).run()
    core = base.replace({ESTIMATOR: "rfc6298:min=200ms,spread_gains=false"}).run()
    assert retransmitted(own)[:4] == retransmitted(core)[:4]
    assert retransmitted(own)[2] > 0, "the timer must fire in this run"
    assert own.rto["rto_ns"][-1] == pytest.approx(core.rto["rto_ns"][-1], rel=1e-6)


def test_shadows_show_the_timer_of_a_class() -> None:
    texts = ["own.py:Own:least=0.2", "rfc6298:min=200ms,spread_gains=false"]
    run = load("path.toml").replace({"record.shadows": texts}).run()
    shadows = run.table("shadows")
    own, core = (shadows.where(estimator=name) for name in dict.fromkeys(shadows["estimator"]))
    assert len(own) == len(core) > 40
    assert own["rto_ns"].tolist() == pytest.approx(core["rto_ns"].tolist(), rel=1e-6)


def test_a_run_folder_has_the_code_to_run_it_again_anywhere(
    place: Path, netspurt: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["path.toml", "--set", f"{ESTIMATOR}=own.py:Own", "--out", "r"]
    assert netspurt("run", *words).returncode == 0
    manifest = json.loads((place / "r/run.json").read_text())
    (origin,) = manifest["algorithms"]
    assert origin["sha256"] == manifest["files"]["own.py"]
    (place / "own.py").unlink()
    monkeypatch.chdir(place / "r")
    assert load("scenario.toml").run().digest == ns.open_run(place / "r").digest
    (place / "r/own.py").write_text(OWN.replace("/ 8", "/ 9"))
    with pytest.raises(ns.RunError, match=r"own.py is damaged"):
        ns.open_run(place / "r")


def test_changed_code_counts_as_another_algorithm_in_the_same_process(place: Path) -> None:
    base = load("path.toml")
    first = base.replace({ESTIMATOR: "own.py:Own:least=0.2"})
    (place / "own.py").write_text(OWN.replace("least * ", "").replace("/ 8", "/ 2"))
    second = base.replace({ESTIMATOR: "own.py:Own:least=0.2"})
    assert first.algorithms != second.algorithms
    assert first.run().digest == first.run().digest != second.run().digest


#: A sweep over two estimators: the Python class, and RFC 6298 of the core.
SWEPT = (
    PATH
    + """
[sweep]
seeds = 4
[sweep.over.timer]
path   = "flows.transfer.tcp.rto.estimator"
values = ["own.py:Own", "rfc6298:min=200ms"]
"""
)


def test_one_folder_cannot_keep_two_files_with_the_same_name(
    place: Path, netspurt: Command
) -> None:
    for folder in ("left", "right"):
        (place / folder).mkdir()
        (place / folder / "own.py").write_text(OWN + f"# {folder}\n")
    text = SWEPT.replace(
        '"own.py:Own", "rfc6298:min=200ms"', '"left/own.py:Own", "right/own.py:Own"'
    )
    (place / "sweep.toml").write_text(text)
    refused(
        netspurt("sweep", "sweep.toml", "--out", "s"),
        "left/own.py and right/own.py would be one file in the sweep's folder: rename one of them",
    )
    second = PATH.replace("[flows.transfer]", "[flows.other]").partition("[flows.other]")
    flows = "[flows.other]" + second[2].partition("[record]")[0]
    first = PATH.replace("[record]", 'tcp.rto.estimator = "left/own.py:Own"\n[record]')
    both = first.replace("[record]", f'{flows}tcp.rto.estimator = "right/own.py:Own"\n[record]')
    (place / "two.toml").write_text(both)
    refused(
        netspurt("run", "two.toml", "--out", "r"),
        "own.py: another file has the same name as `right/own.py`: rename one of them",
    )
    assert not (place / "r").exists()


def swept(sweep: ns.Sweep, folder: Path, threads: int) -> dict[str, list[Any]]:
    """Run a sweep; return its cases."""
    done, _ = ns.run_sweep(sweep, folder, engine=functools.partial(Threads, threads=threads))
    cases = done.read()
    return {name: cases[name].tolist() for name in cases}


def test_threads_and_copies_do_not_change_the_results_of_a_sweep(place: Path) -> None:
    (place / "sweep.toml").write_text(SWEPT)
    sweep = ns.Sweep.of(load("sweep.toml"))
    assert sweep.labels["timer"] == ["own.py:Own", "rfc6298:min=200ms"]
    one, three = (swept(sweep, place / f"s{threads}", threads) for threads in (1, 3))
    assert one == three
    assert set(one["status"]) == {"done"}
    remake, parts = sweep.__reduce__()
    (place / "own.py").unlink()
    assert remake(*parts).run_chunk(0, 8)[0] == sweep.run_chunk(0, 8)[0], (
        "the copy must carry the file of the class"
    )


def test_changed_code_changes_the_fingerprint_of_a_sweep(place: Path) -> None:
    (place / "sweep.toml").write_text(SWEPT)
    before = ns.Sweep.of(load("sweep.toml")).fingerprint
    (place / "own.py").write_text(OWN + "\n# changed\n")
    assert ns.Sweep.of(load("sweep.toml")).fingerprint != before


#: Code at the beginning of the method `rto`, and the error that it causes.
BROKEN = [
    ("return 1 / 0", "ZeroDivisionError: division by zero"),
    ("return float('nan')", "rto() returned nan: it must return seconds above zero, at most 9e9"),
    ("return None", "rto() returned None: it must return seconds above zero, at most 9e9"),
    ("return -1", "rto() returned -1: it must return seconds above zero, at most 9e9"),
    ("return 'soon'", "rto() returned 'soon': it must return seconds above zero, at most 9e9"),
]


@pytest.mark.parametrize(("broken", "why"), BROKEN)
def test_an_error_in_a_method_names_the_class_the_method_and_the_line(
    place: Path, netspurt: Command, broken: str, why: str
) -> None:
    changed = OWN.replace(
        "    def rto(self):\n", f"    def rto(self):\n        if self.s:\n            {broken}\n"
    )
    (place / "own.py").write_text(changed)
    lines = changed.splitlines()
    line = 1 + next(n for n, text in enumerate(lines) if "def rto" in text)
    line += 2 if "1 / 0" in broken else 0
    with pytest.raises(AlgorithmError) as caught:
        load("path.toml").replace({ESTIMATOR: "own.py:Own"}).run()
    error = caught.value
    assert str(error) == f"`rto` of own.py:Own, own.py, line {line}: {why}"
    assert (error.algorithm, error.method, error.line) == ("own.py:Own", "rto", line)
    assert error.__cause__ is not None
    result = netspurt("run", "path.toml", "--set", f"{ESTIMATOR}=own.py:Own", "--out", "r")
    assert (result.returncode, result.stderr) == (2, f"error: {error}\n")
    assert not (place / "r").exists()
    (place / "sweep.toml").write_text(SWEPT)
    cases = swept(ns.Sweep.of(load("sweep.toml")), place / "s", 2)
    for timer, reason in zip(cases["timer"], cases["why"], strict=True):
        assert (str(error) == reason) == timer.startswith("own.py")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("other.py:Own", "there is no file `other.py`"),
        ("own.py", "`own.py` names a file but no class"),
        ("own.py:Other", "`own.py` has no class `Other`"),
        ("own.py:Own:j=3", "`Own` cannot be made:"),
        ("json:JSONDecoder", "has no method `on_sample`: an estimator needs"),
        ("no_such_module:Own", "no module `no_such_module`"),
        ("own.py@0123456789abcdef:Own", "the code of `own.py` has changed since it was pinned"),
        ("rfc629", "no timer is called `rfc629`"),
    ],
)
def test_the_error_for_an_unknown_estimator_names_its_place(
    place: Path, text: str, message: str
) -> None:
    with pytest.raises(ns.ScenarioError) as caught:
        load("path.toml").replace({ESTIMATOR: text})
    assert message in caught.value.message
    assert caught.value.key == ESTIMATOR
    (place / "named.toml").write_text(PATH.replace("send ", f'tcp.rto.estimator = "{text}"\nsend '))
    with pytest.raises(ns.ScenarioError) as caught:
        load("named.toml")
    assert caught.value.line == 10


@pytest.mark.parametrize(
    ("code", "message"),
    [("class Own(:", "`own.py` is not Python"), ("import nothing_here", "cannot be run")],
)
def test_the_error_for_a_file_that_cannot_be_run_names_the_line(
    place: Path, code: str, message: str
) -> None:
    (place / "own.py").write_text(f"\n{code}\n")
    with pytest.raises(ns.ScenarioError, match=message) as caught:
        load("path.toml").replace({ESTIMATOR: "own.py:Own"})
    assert caught.value.fix == "see line 2"


@pytest.fixture
def offered(place: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str, str], None]:
    """Return a function that installs a package with an entry point that offers the class `Own`."""
    monkeypatch.syspath_prepend(str(place / "site"))

    def offer(group: str, name: str, value: str) -> None:
        dist = place / "site/offers-1.0.dist-info"
        dist.mkdir(parents=True, exist_ok=True)
        (dist / "METADATA").write_text("Metadata-Version: 2.1\nName: offers\nVersion: 1.0\n")
        (dist / "entry_points.txt").write_text(f"[{group}]\n{name} = {value}\n")
        (place / "site/offering.py").write_text(OWN)
        sys.modules.pop("offering", None)
        importlib.invalidate_caches()

    return offer


def test_an_installed_package_offers_a_timer(offered: Callable[[str, str, str], None]) -> None:
    offered("netspurt.estimators", "own-timer", "offering:Own")
    base = load("path.toml")
    offers = base.replace({ESTIMATOR: "own-timer:least=0.2"})
    file = base.replace({ESTIMATOR: "own.py:Own:least=0.2"})
    assert offers.run().flows_digest == file.run().flows_digest
    assert ns.estimator("own-timer:least=0.5").rto() == 1.0
    ns.check_estimator("own-timer").raise_if_failed()
    schema = json.dumps(json.loads(_core.schema()))
    assert "own-timer" in schema
    with pytest.raises(ns.ScenarioError, match="did you mean `own-timer`"):
        base.replace({ESTIMATOR: "own-timr"})


def test_one_scenario_cannot_use_two_files_with_the_same_name(place: Path) -> None:
    (place / "deep").mkdir()
    (place / "deep/own.py").write_text(OWN + "\n# other\n")
    text = PATH.replace("send ", 'tcp.rto.estimator = "own.py:Own"\nsend ')
    scenario = Scenario.parse(text, folder=place / "deep")
    with pytest.raises(ns.ScenarioError, match=r"two files are called `own.py`"):
        scenario.replace({ESTIMATOR: "own.py:Own:k=3"})
