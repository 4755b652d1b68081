"""Tests scenarios and their runs in Python: the schema, errors, tables and run folders."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import polars as pl
import pytest

import netspurt as ns
from netspurt import _core, stored
from netspurt import scenario as scenarios
from netspurt.stored import sealed

from conftest import ROOT, Command, example

#: The scenarios that come with the sources.
SHIPPED = [
    path
    for pattern in ("papers/*/*.toml", "scenarios/*.toml", "bench/*.toml")
    for path in sorted(ROOT.glob(pattern))
    # A file that a link names with `follows` has no `stop`.
    if path.name != "paper.toml" and "stop" in tomllib.loads(path.read_text())
]

# `jsonschema.validate` would check the schema itself each time, which takes 200 times as long as a
# check of a scenario. So the tests share one validator.
VALIDATOR = jsonschema.Draft202012Validator(json.loads(_core.schema()))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: p.name)
def test_every_shipped_scenario_is_valid_for_the_schema_and_the_parser(path: Path) -> None:
    VALIDATOR.validate(tomllib.loads(path.read_text()))
    VALIDATOR.validate(tomllib.loads(ns.load(path).resolved()))


def test_the_schema_itself_is_a_valid_schema() -> None:
    VALIDATOR.check_schema(VALIDATOR.schema)


def test_the_schema_refuses_what_the_parser_refuses() -> None:
    good = tomllib.loads(_core.STARTING_POINT)
    for path, value in [
        (("stop",), "240"),
        (("links", "modem", "rate"), "9600 bps"),
        (("links", "modem", "qeue"), "3 packets"),
        (("flows", "transfer", "tcp", "recovery"), "vegas"),
    ]:
        bad = json.loads(json.dumps(good))
        table = bad
        for key in path[:-1]:
            table = table[key]
        table[path[-1]] = value
        with pytest.raises(jsonschema.ValidationError):
            VALIDATOR.validate(bad)
        with pytest.raises(ns.ScenarioError):
            ns.new_scenario().replace({".".join(path): value})


#: Valid and invalid values for keys of the scenario that `netspurt new` writes. A value that is
#: valid by itself must also suit the other keys of this scenario, because each test changes only
#: one key.
QUANTITIES: dict[str, list[Any]] = {
    "links.modem.rate": [
        "9600 bit/s", "0 bit/s", "0.0 kbit/s", ".5 Mbit/s", "0.5 Mbit/s", "0.5 bit/s", "5. bit/s",
        " 9600 bit/s ", "9600  bit/s", "9600bit/s", "9600\tbit/s", "-1 bit/s", "+1 bit/s",
        "unlimited", " unlimited ", "Unlimited", "9600 bps", "1_000 bit/s", "1e6 bit/s",
        "00009600 bit/s", "1.5445 kbit/s", "1.544 kbit/s", "999999 Tbit/s", "1000000 Tbit/s",
        "18446744073709551615 bit/s", "\u0661 bit/s", ["1 bit/s", "2 bit/s"], ["1 bit/s"],
        ["1 bit/s", "0 bit/s"], 9600, True, "",
    ],
    "links.modem.delay": [
        "0 s", "1.5 min", "99999 h", "100000 h", "0.00000000001 h", "0.000000000001 h", "0.5 ns",
        "1.0 ns", "1.000 us", "1.0000 us", "25", "25 sec", {"timeline": [["0 s", "1 ms"]]},
        {"timeline": [["0 s"]]}, {"timeline": "0 s"}, {"timeline": [["0 s", "1 ms", "2 ms"]]},
    ],
    "links.modem.queue": [
        "3 packets", "1 packet", "3 segments", "0 packets", "1.0 packets", "999999999 packets",
        "1000000000 packets", "72 kB", "2.5 KiB", "2.25 KiB", "2.250 KiB", "2.3 KiB", "0 B",
        "1 GiB", "unlimited", "packets",
        {"red": {"wq": 1}}, {"red": {"wq": 1.1}}, {"red": {"wq": -0.1}}, {"red": {"max_p": 2}},
        {"red": {"wq": 0}}, {"red": {"max_p": 0}}, {"red": {"max_p": 1e-9}},
        {"codel": {"interval": "1 ms"}}, {"codel": {"interval": "0 ms"}},
        {"fq-codel": {"flows": 1}}, {"fq-codel": {"flows": 0}}, {"fq-codel": {"flows": 65_536}},
        {"fq-codel": {"flows": 65_537}}, {"fq-codel": {"interval": "0 s"}},
        {"pie": {"alpha": 0}}, {"pie": {"alpha": -1}}, {"pie": {"beta": -1}},
        {"pie": {"t_update": "0 s"}}, {"pie": {"mark_ecnth": 1.5}}, {"pie": {"mark_ecnth": 1}},
    ],
    "links.modem.slots.share": [[0.5, 1], [0, 1], [0.5, 1.5], [0.5], 0.5],
    "populations.web": [
        {
            "from": "source", "to": "receiver", "arrivals": "poisson", "send": "100 B",
            "reply": "1 kB", "load": {"share": share, "link": "modem"},
        }
        for share in (0, 0.1, 100, 101, -1)
    ],
    "links.modem.loss": [
        "none", {"probability": 2}, {"probability": 0.5}, {"probability": 1}, {"probability": -0.1},
        {"probability": True}, {"packets": [0]}, {"packets": [1, 2]}, {"nth": [0]}, {"nth": [1.5]},
        {"packets": [2**63]}, {"bursts": {"to_bad": 0.1, "to_good": 1.5}}, "some",
    ],
    "links.modem.framing": [
        "PPP", "8N1", {"overhead": "18 B"}, {"overhead": "18 B", "bits_per_octet": 0},
        {"overhead": "18 B", "bits_per_octet": 65}, {"overhead": "18 B", "bits_per_octet": 64},
    ],
    "flows.transfer.send": [
        "3 packets", "3 segments", "1 segment", "0 segments", "0 B", "1 B", "unlimited",
        "1.0 segments", "999999999999 segments", "1000000000000 segments",
    ],
    "flows.transfer.tcp.initial_window": [
        "0 segments", "1 segment", "1000000 segments", "1000001 segments", "007 segments",
        "1 packet", "unlimited", "1.0 segments",
    ],
    "flows.transfer.tcp.clock": ["exact", {"tick": "0 s"}, {"tick": "1 ms"}, "inexact"],
    "flows.transfer.count": [0, 1, 100_000, 100_001, -1, 2**32, "1", 1.5],
    "seed": [0, 2**63 - 1, 2**63, -1, "1", 1.5],
    "stop": ["0 s", "0.0 h", "1 ns", "300 s", 300],
    "reassembly.timer": ["0 s", "0.0 h", "1 ns", "60 s", 60],
}  # fmt: skip


@pytest.mark.parametrize("key", QUANTITIES)
def test_the_schema_and_the_parser_agree_on_every_listed_value(key: str) -> None:
    answers = {}
    for value in QUANTITIES[key]:
        scenario = tomllib.loads(_core.STARTING_POINT)
        table = scenario
        *above, last = key.split(".")
        for name in above:
            table = table.setdefault(name, {})
        table[last] = value
        answers[str(value)] = (VALIDATOR.is_valid(scenario), reads(key, value))
    assert {value: pair for value, pair in answers.items() if pair[0] != pair[1]} == {}
    assert {True, False} == {read for _, read in answers.values()}


def reads(key: str, value: object) -> bool:
    """Return whether the scenario of `netspurt new` can have this value."""
    try:
        ns.new_scenario().replace({key: value})
    except ns.ScenarioError:
        return False
    return True


def test_the_method_replace_takes_toml_values_and_refuses_sets_and_lone_unicode_surrogates() -> (
    None
):
    changed = ns.new_scenario().replace(
        {
            "title": 'with "quotes", a \\, a \x7f and a\ttab',
            "seed": 7,
            "flows.transfer.tcp.limited_transmit": True,
            "links.modem.loss": {"packets": [3], "probability": 0.25, "at": "entry"},
            "links.modem.delay": ["100 ms", "200 ms"],
        }
    )
    read = tomllib.loads(changed.resolved())
    assert read["title"] == 'with "quotes", a \\, a \x7f and a\ttab'
    assert (changed.seed, read["seed"]) == (7, 7)
    assert read["links"]["modem"]["loss"]["probability"] == 0.25
    assert read["links"]["modem"]["delay"] == ["100 ms", "200 ms"]
    with pytest.raises(ValueError, match="lone surrogate"):
        ns.new_scenario().replace({"title": "\ud800"})
    for broken in ({"title": "\ud800"}, {"ti\udcfftle": "x"}):
        with pytest.raises(ValueError, match="lone surrogate"):
            ns.new_scenario().set_text(broken)
    with pytest.raises(ValueError, match="lone surrogate"):
        ns.Scenario.parse("title = '\ud800'")
    with pytest.raises(TypeError, match="cannot contain a set"):
        ns.new_scenario().replace({"seed": {1}})


def test_an_error_has_the_file_the_key_the_value_the_line_and_the_fix_as_attributes() -> None:
    with pytest.raises(ns.ScenarioError) as caught:
        ns.Scenario.parse(_core.STARTING_POINT.replace('"3 packets"', '"3 pakets"'), "mine.toml")
    error = caught.value
    assert isinstance(error, ValueError)
    assert (error.file, error.key, error.value) == ("mine.toml", "links.modem.queue", '"3 pakets"')
    assert error.line == 1 + _core.STARTING_POINT.split('"3 packets"')[0].count("\n")
    assert "packets" in error.fix


def test_the_columns_of_tables_are_numpy_arrays(start_run: ns.Run) -> None:
    segments = start_run.segments
    assert segments["t_ns"].dtype == np.int64
    assert set(segments["kind"]) == {"data", "retransmission", "ack", "dupack"}
    assert len(segments) == segments.rows == len(segments["seq"])
    retransmitted = segments.where(node="source", kind="retransmission")
    assert int(start_run.flows["retransmissions"][0]) == len(retransmitted)
    assert set(retransmitted["cause"]) <= {"fast", "rto", "go-back-n"}
    with pytest.raises(KeyError, match="has no column 'sequence'"):
        segments["sequence"]
    unfinished = start_run.flows["finished_ns"]
    assert isinstance(unfinished, np.ma.MaskedArray)
    assert unfinished.count() == 0
    assert np.isnan(start_run.flows.seconds("finished_ns")[0])


def test_tables_become_data_frames(start_run: ns.Run) -> None:
    frame = start_run.segments.to_polars()
    assert frame.height == len(start_run.segments)
    acks = frame.filter((pl.col("node") == "source") & (pl.col("kind") == "ack"))
    assert acks["t_ns"][0] == 1_222_138_466
    assert start_run.flows.to_polars()["finished_ns"].null_count() == 1


def test_the_error_for_a_missing_table_says_how_to_record_it(start: ns.Scenario) -> None:
    run = start.replace({"record.tables": ["rtt"]}).run()
    assert len(run.rtt) > 0
    with pytest.raises(ns.RunError, match='add "segments" to `tables`'):
        _ = run.sack_blocks
    with pytest.raises(ns.RunError, match='add "segments" to `tables`'):
        _ = run.syns


def test_a_column_without_any_value_is_kept(start_run: ns.Run, tmp_path: Path) -> None:
    opened = ns.open_run(start_run.save(tmp_path / "kept"))
    for run in (start_run, opened):
        stamps = run.segments["ts_val"]
        assert len(stamps) == len(run.segments)
        assert np.ma.getmaskarray(stamps).all()
        assert set(run.segments["flags"].tolist()) == {16}
        assert set(run.segments["ecn"].tolist()) == {"not-ect"}
        assert len(run.syns) == 0


def test_a_run_is_the_same_in_memory_and_in_its_folder(start: ns.Scenario, tmp_path: Path) -> None:
    run = start.replace({"flows.transfer.tcp.recovery": "sack"}).run()
    opened = ns.open_run(run.save(tmp_path / "run"))
    assert (opened.digest, opened.seed, opened.title) == (run.digest, run.seed, run.title)
    assert set(opened.tables) == set(run.tables)
    for name, table in run.tables.items():
        saved = opened.table(name)
        assert list(saved) == list(table)
        for column in table:
            assert np.ma.allequal(table[column], saved[column]), (name, column)
            assert saved[column].dtype.kind == table[column].dtype.kind
    rerun = ns.load(tmp_path / "run" / "scenario.toml").run()
    assert rerun.digest == run.digest


def test_polars_reads_the_saved_tables(start_run: ns.Run, tmp_path: Path) -> None:
    folder = start_run.save(tmp_path / "run")
    frame = pl.read_parquet(folder / "segments.parquet")
    assert frame["kind"].to_list() == start_run.segments["kind"].tolist()
    assert frame["t_ns"].to_list() == start_run.segments["t_ns"].tolist()
    assert frame.schema["id"] == pl.UInt64
    flows = pl.read_parquet(folder / "flows.parquet")
    assert flows["finished_ns"].to_list() == [None]


def test_a_damaged_folder_is_refused(start: ns.Scenario, tmp_path: Path) -> None:
    folder = start.replace({"stop": "5 s"}).run().save(tmp_path / "run")
    with pytest.raises(ns.RunError, match="does not exist"):
        ns.open_run(tmp_path / "nowhere")
    (folder / "cwnd.parquet").write_bytes(b"PAR1")
    with pytest.raises(ns.RunError, match="is damaged"):
        ns.open_run(folder)
    (folder / "run.json").write_text("{")
    with pytest.raises(ns.RunError, match="is damaged"):
        ns.open_run(folder)
    (folder / "run.json").unlink()
    with pytest.raises(ns.RunError, match="has no finished run"):
        ns.open_run(folder)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"seed": None}, "the key `seed` is missing"),
        ({"seed": "1"}, "`seed` is not a value of type int"),
        ({"tables": ["cwnd"]}, "`tables` is not a value of type dict"),
        ({"tables": {"../cwnd": 1}}, "no table is called '../cwnd'"),
        ({"tables": {"cwnds": 1}}, "cwnds.parquet"),
        ({"files": {}}, "differs from what the run wrote"),
        ({"format": 1}, "in another format"),
    ],
)
def test_the_error_for_a_damaged_manifest_gives_the_fault(
    start: ns.Scenario, tmp_path: Path, change: dict[str, Any], says: str
) -> None:
    folder = start.replace({"stop": "5 s"}).run().save(tmp_path / "run")
    manifest = json.loads((folder / "run.json").read_text()) | change
    kept = {key: value for key, value in manifest.items() if value is not None}
    kept.pop("sha256")
    (folder / "run.json").write_bytes(sealed(kept))
    with pytest.raises(ns.RunError, match=re.escape(says)):
        ns.open_run(folder)


def test_the_error_names_a_changed_file_of_a_run(start: ns.Scenario, tmp_path: Path) -> None:
    folder = start.replace({"stop": "5 s"}).run().save(tmp_path / "run")
    shorter = start.replace({"stop": "4 s"}).run().save(tmp_path / "shorter")
    for name in ("cwnd.parquet", "scenario.toml"):
        before = (folder / name).read_bytes()
        (folder / name).write_bytes((shorter / name).read_bytes())
        with pytest.raises(
            ns.RunError, match=f"{name} is damaged: it differs from what the run wrote"
        ):
            ns.open_run(folder)
        (folder / name).write_bytes(before)
    assert ns.open_run(folder).stop_ns == 5_000_000_000
    for bad in (b"\xff\xfe", b"[]", b"{}"):
        (folder / "run.json").write_bytes(bad)
        with pytest.raises(ns.RunError, match="run"):
            ns.open_run(folder)


def test_an_existing_folder_is_never_overwritten(start: ns.Scenario, tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(FileExistsError, match="name another folder"):
        start.replace({"stop": "1 s"}).run().save(tmp_path / "taken")
    assert list(tmp_path.iterdir()) == [tmp_path / "taken"]


def test_random_draws_depend_only_on_the_seed(start: ns.Scenario) -> None:
    lossy = start.replace(
        {"links.modem.queue": "unlimited", "links.modem.loss": {"probability": 0.05}}
    )
    digests = {lossy.replace({"seed": seed}).run().flows_digest for seed in (1, 1, 2, 3)}
    assert len(digests) == 3
    # An effect on another link draws from a random stream of its own.
    more = lossy.replace({"links.lan.duplicate": {"probability": 0.0}}).run()
    assert more.flows_digest == lossy.run().flows_digest


class InterruptError(Exception):
    """The exception that the signal handler raises."""


def test_a_signal_is_handled_while_the_core_runs(start: ns.Scenario) -> None:
    # The scenario records nothing, and is so long that one call would take many seconds of real
    # time.
    scenario = start.replace({"stop": "90000000 s", "record.tables": []})
    simulation = scenario._core.simulate()

    def interrupt(*_: object) -> None:
        raise InterruptError

    before = signal.signal(signal.SIGALRM, interrupt)
    began = time.process_time()
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(InterruptError):
            simulation.advance_to(simulation.stop_ns)
        # The simulation can go on after the interruption.
        simulation.advance_to(simulation.now_ns + 1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.process_time() - began < 2
    assert 0 < simulation.now_ns < simulation.stop_ns


#: A program that simulates a scenario with losses and prints the digest of the run.
TWIN = """
import sys
import netspurt as ns
run = ns.load(sys.argv[1]).replace({"links.modem.loss": {"probability": 0.03}}).run()
print(run.digest)
"""


def test_a_fresh_process_gets_the_same_digest(start: ns.Scenario) -> None:
    digest = start.replace({"links.modem.loss": {"probability": 0.03}}).run().digest
    file = ROOT / "papers" / "rfc2416" / "start.toml"
    result = subprocess.run(
        [sys.executable, "-c", TWIN, str(file)], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == digest


def test_debug_and_release_builds_get_the_same_digest(start: ns.Scenario) -> None:
    file = ROOT / "papers" / "rfc2416" / "start.toml"
    result = subprocess.run(
        [example("simulate"), file, "links.modem.loss.probability=0.03"],
        capture_output=True,
        text=True,
        check=True,
    )
    run = start.replace({"links.modem.loss": {"probability": 0.03}}).run()
    assert result.stdout.split()[3:] == [run.digest, "flows", run.flows_digest]


@pytest.mark.parametrize("workload", ["w1", "w3"])
def test_workloads_have_as_many_packet_hops_as_in_ns2(workload: str, netspurt: Command) -> None:
    result = netspurt("run", ROOT / "bench" / f"{workload}.toml", "--json")
    summary = json.loads(result.stdout)
    # ns-2 has these counts with the same traffic (bench/ns2.tcl, BENCHMARKS.md). Packets that are
    # still on their way at the end make a small difference.
    hops = {"w1": 2_876_812, "w3": 840_000}[workload]
    assert abs(summary["packet_hops"] - hops) < 0.001 * hops


def test_runs_and_tables_and_scenarios_have_a_short_text_form(start_run: ns.Run) -> None:
    assert len(str(start_run).splitlines()) == 4
    assert "1 flows" not in str(start_run)
    assert repr(start_run).startswith("<Run 'RFC 2416: four packets")
    shown = repr(start_run.cwnd).splitlines()
    assert len(shown) == 7
    assert shown[1].split()[:2] == ["t_ns", "flow"]
    assert repr(ns.new_scenario()).startswith("<Scenario 'Four packets into three buffers' from")


def test_the_error_for_calling_the_class_scenario_points_to_the_function_load() -> None:
    with pytest.raises(TypeError, match="`load"):
        ns.Scenario("x")  # type: ignore[arg-type]
    assert ns.ScenarioError.__module__ == "netspurt"


def test_a_run_folder_names_the_addresses_of_its_captures(
    start_run: ns.Run, tmp_path: Path
) -> None:
    manifest = json.loads((start_run.save(tmp_path / "r") / "run.json").read_text())
    assert manifest["nodes"]["source"] == "10.0.0.1"
    assert manifest["flows"] == {"transfer": {"from": "10.0.0.1:10000", "to": "10.0.0.4:5001"}}


def test_selecting_a_link_gives_the_rows_of_both_directions(start_run: ns.Run) -> None:
    for table in (start_run.links, start_run.queue):
        assert set(table.where(link="t1")["direction"].tolist()) == {"forward", "reverse"}


def test_a_link_follows_a_file_beside_the_scenario(tmp_path: Path) -> None:
    moving = 'delay = { timeline = [["0 s", "10 ms"], ["5 s", "90 ms"]] }\n'
    Path(tmp_path, "pass.toml").write_text(moving)
    text = Path(ROOT, "papers", "rfc2416", "start.toml").read_text(encoding="utf-8")
    of_a_link = re.search(r"^modem.*?(delay *= *\"150 ms\")", text, re.DOTALL | re.MULTILINE)
    assert of_a_link is not None
    text = text.replace(of_a_link[1], 'follows = "pass.toml"')
    path = tmp_path / "x.toml"
    path.write_text(text)
    scenario = ns.load(path)
    assert "90 ms" in scenario.resolved()
    assert ns.Scenario.parse(scenario._core.text).resolved() == scenario.resolved()
    with pytest.raises(ns.ScenarioError, match=r"(?s)no file `pass.toml`.*--timeline pass.tom"):
        ns.Scenario.parse(text)


def test_a_file_that_is_too_long_for_a_scenario_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # `/dev/zero` does not end, so the reading is bounded.
    for place in (scenarios, stored):
        monkeypatch.setattr(place, "TEXT_OCTETS_MAX", 1000)
    file = tmp_path / "long.toml"
    file.write_text('stop = "1 s"\n' + "#" * 987)
    assert scenarios.read_text(file).count("#") == 987
    with pytest.raises(ns.ScenarioError, match="no links"):
        ns.load(file)
    for endless in (file, Path("/dev/zero")):
        file.write_text('stop = "1 s"\n' + "#" * 988)
        with pytest.raises(ns.ScenarioError, match=r"more than 1,000 octets\n   --> .*(toml|zero)"):
            ns.load(endless)
