"""Tests that each mistake on the command line gives one clear error with the place and the fix."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from made_up_scenarios import LONELY
from typer.main import get_command

import netspurt as ns
from netspurt.cli.main import application

from conftest import ROOT, Command, refused

#: The files in each test's folder.
FILES = {
    "good.toml": 'stop = "2 s"\n' + LONELY,
    "titled.toml": 'title = "t"\nstop = "2 s"\n' + LONELY,
    "swept.toml": 'stop = "2 s"\n' + LONELY + "[sweep]\nseeds = 3\n",
    "torn.toml": 'stop = "2 s\n',
    "twice.toml": 'stop = "2 s"\nstop = "3 s"\n',
    "list.toml": 'stop = ["2 s"]\n' + LONELY,
    "delays.csv": "seq,rtt_ms\n1,10\n2,20\n3,15\n",
    "empty.csv": "",
    "words.txt": "Dear Sir,\n",
    "good.pkt": "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n",
}


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    """Write the files into the test's folder."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "binary.toml").write_bytes(b"\x7fELF\xff\xfe")
    (tmp_path / "folder").mkdir()


@pytest.fixture
def r(saved_run: Path, tmp_path: Path) -> None:
    """Copy a run to the folder `r`."""
    shutil.copytree(saved_run, tmp_path / "r")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("run absent.toml", "absent.toml does not exist"),
        ("run folder", "folder cannot be read: Is a directory"),
        ("run binary.toml", "not a text file\n   --> binary.toml"),
        ("run torn.toml", "--> torn.toml:1:"),
        ("run twice.toml", "--> twice.toml:2:"),
        ("run list.toml", "--> list.toml:1:"),
        ("run good.toml --set stop", "--set: 'stop' is not PATH=VALUE"),
        ("run good.toml --set =3", "--set: '=3' is not PATH=VALUE"),
        ("run good.toml --set links.path.delay=5", "write `5 ms` or `5 s`"),
        ("run good.toml --set links.paht.delay=5ms", "did you mean `path`?"),
        ("run good.toml --unset links.path.dealy", "did you mean `delay`?"),
        ("run good.toml --unset links.paht", "did you mean `path`?"),
        ("run good.toml --unset flows.x.shim", "the file has no `flows.x.shim` to remove"),
        ("run good.toml --unset links.path.rate", "(links.path) without links.path.rate"),
        (
            "run good.toml --unset links.path.rate --set seed=3",
            "(links.path) without links.path.rate",
        ),
        (
            'run titled.toml --unset title --set links.path.between=["a","c"]',
            'titled.toml with links.path.between = ["a","c"] without title',
        ),
        ("run good.toml --set seed=007", "`007` is not a TOML number\n"),
        ("run good.toml --set seed=0009223372036854775807", "is not a TOML number\n"),
        ("run good.toml --unset stop.x", "unset `stop` as a whole"),
        ("run good.toml --unset seed --set seed=3", "contradict each other: leave one of them out"),
        (
            "run good.toml --unset links.path.loss --set links.path={}",
            "--set links.path contradict",
        ),
        ("live run good.toml --unset stop --set stop=1s", "--set stop contradict each other"),
        ("live exec good.toml --unset stop --set stop=1s -- true", "--set stop contradict"),
        ("sweep swept.toml --out s --unset stop --set stop=1s", "--set stop contradict"),
        ("run good.toml --unset", "Option '--unset' requires an argument"),
        ("live run good.toml --unset flows.x.shim", "the file has no `flows.x.shim` to remove"),
        ("live exec good.toml --unset flows.y -- true", "the file has no `flows.y` to remove"),
        ("sweep swept.toml --out s --unset swep", "did you mean `sweep`?"),
        ("sweep swept.toml --out s --unset sweep", "swept.toml has no [sweep]: add"),
        ("run good.toml --seed -1", "'-1' is not a whole number, 0 or more"),
        ("run good.toml --seed 1.5", "'1.5' is not a whole number, 0 or more"),
        ("run good.toml --seed 9223372036854775808", "from 0 to 2^63 - 1"),
        ("run good.toml --case 0", "good.toml has no [sweep]: add"),
        ("run swept.toml --case 3", "there is no case 3: swept.toml is a sweep of 3 cases"),
        ("run good.toml --out folder", "folder exists already: name another folder"),
        ("run good.toml --out words.txt/r", "words.txt/r cannot be made: words.txt"),
        ("run", "Missing argument 'SCENARIO'"),
        ("new good.toml", "good.toml exists already: name another file"),
        ("rnu good.toml", "No such command 'rnu'"),
        ("constancy a.csv", "constancy is a command of a group: `netspurt delays constancy`"),
        ("status folder", "status is a command of a group: `netspurt sweep status`"),
        ("run good.toml --sed 1", "No such option: --sed"),
        (
            "sweep good.toml --out s",
            "good.toml has no [sweep]: add one with `--set sweep.seeds=10`",
        ),
        ("sweep absent.toml --out s", "absent.toml does not exist"),
        ("sweep swept.toml", "Missing option '--out'"),
        ("sweep swept.toml --out s --threads x", "'x' is not a whole number, 0 or more"),
        ("sweep swept.toml --out s --engine steam", "'steam' is not one of threads, ray"),
        ("sweep swept.toml --out s --address localhost:1", "--address names a Ray cluster: add"),
        ("sweep swept.toml --out words.txt", "words.txt is a file: name a folder"),
        ("sweep swept.toml --out folder/../words.txt/s", "words.txt/s: Not a directory"),
        (
            "sweep status folder",
            "folder has no sweep: make one with `netspurt sweep FILE --out DIR`",
        ),
        ("live run good.toml", 'add `endpoint = "kernel"` to a flow'),
        ("live run absent.toml", "absent.toml does not exist"),
        ("live run good.toml --budget soon", "'soon' is not a time from 0"),
        ("live exec absent.toml -- true", "absent.toml does not exist"),
        ("live exec binary.toml -- true", "not a text file\n   --> binary.toml"),
        ("live exec torn.toml -- true", "--> torn.toml:1:"),
        ("live exec good.toml --side c -- true", "`c`"),
    ],
)
def test_a_mistake_with_a_scenario_is_reported_and_nothing_is_made(
    netspurt: Command, tmp_path: Path, words: str, says: str
) -> None:
    before = set(tmp_path.rglob("*"))
    refused(netspurt(*words.split()), says)
    assert set(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("plot absent", "absent does not exist: make a run with `netspurt run SCENARIO --out DIR`"),
        ("plot folder", "folder has no finished run"),
        (
            "plot good.toml",
            "good.toml is a scenario, not a run: make a run with `netspurt run good.toml`",
        ),
        ("plot r --from nan", "'nan' is not a time"),
        ("plot r --to inf", "'inf' is not a time"),
        ("plot r --from 9 --to 5", "ends at 5 s, before its start, 9 s"),
        ("plot r --direction up", "'up' is not one of forward, reverse"),
        ("plot r --flow x", "no flow in segments is called 'x'; the flows are transfer"),
        ("plot r --node x", "no spied node in segments is called 'x'"),
        ("plot r --from 900", "nothing of flow transfer was seen at source in the selected time"),
        ("plot r --direction reverse", "no data of flow transfer (reverse) was seen"),
        ("plot r --kind cwnd --from 900", "flow transfer has no cwnd in the selected time"),
        ("plot r --kind cwnd --direction reverse", "flow transfer (reverse) has no cwnd"),
        ("plot r --kind rto --from 900", "flow transfer has no RTO in the selected time"),
        ("plot r --kind rto --node source", "--node does not apply to rto plots, but to time"),
        (
            "plot r --kind queue --link x",
            "no link in queue is called 'x'; the links are lan, t1, modem",
        ),
        ("plot r --kind queue --from 900", "no packet waited in a queue in"),
        ("plot r --kind pie", "'pie' is not one of time-sequence, cwnd, rto, queue, path,"),
        ("plot r --out r/run.json/a.png", "a.png cannot be written: r/run.json: File exists"),
        ("plot r --out a", "a: the name of a plot's file must end in .png, .svg or .pdf"),
        ("plot r --kind all --out a.png", "--kind all draws several pictures"),
        ("table absent", "absent does not exist"),
        ("table r nothing", "no table 'nothing'; this run has flows, "),
        ("table r echo_probes", "add `[echo_probes.NAME]` to its scenario"),
        ("table r requests", "add `app = { reply ="),
        ("table r cwnd --limit -1", "'-1' is not a whole number, 0 or more"),
        ("table r cwnd --from 9 --to 5", "ends at 5 s, before its start, 9 s"),
        ("table r queue --flow transfer", "the table queue has no flows: leave --flow out"),
        ("table r links --to 3", "the table links has no instants: leave --from and --to out"),
        ("table r --limit 3", "--limit applies to one table: name it, as in `table r flows`"),
        ("table r --flow transfer", "--flow applies to one table"),
        ("table r --direction reverse", "--direction applies to one table"),
        ("table r --from 0", "--from applies to one table"),
        ("table r --to 0", "--to applies to one table"),
        ("compare r absent", "absent does not exist"),
        ("compare r r --flow x", "no flow of the run is called 'x'; the flows are transfer"),
        (
            "compare r r --node x",
            "was seen at x, but at receiver, source: name another node (--node,",
        ),
        ("compare r r --span x", "'x' is not a time above zero"),
        ("compare r r --span -1", "'-1' is not a time above zero"),
        ("compare r r --span 0", "'0' is not a time above zero"),
        ("compare r r --plot a.gif", "a.gif: the name of a plot's file must end in"),
        ("plot r --kind rtt", "'rtt' is not a kind: `--kind rto` shows it"),
        ("plot r --kind cwnd,rate", "'rate' is not a kind: `--kind throughput` shows it"),
        ("plot r --kind round", "'round' is not one of time-sequence, cwnd"),
        ("compare r", "Missing argument 'SECOND'"),
    ],
)
@pytest.mark.usefixtures("r")
def test_the_error_for_a_run_that_cannot_be_shown_gives_the_reason(
    netspurt: Command, words: str, says: str
) -> None:
    refused(netspurt(*words.split()), says)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("delays absent", "absent does not exist"),
        ("delays empty.csv", "empty.csv: the file is empty: record something first"),
        ("delays words.txt", "words.txt:1: not a known format of recorded delays"),
        ("delays folder", "folder: the folder has no recording: name a file, or another"),
        (
            "delays delays.csv --format sundial",
            'no format is called "sundial"; the formats are ping, ',
        ),
        ("delays delays.csv --column rtt", "'rtt' is not WHAT=NAME, as in rtt=delay"),
        ("delays delays.csv --column rtt=", "'rtt=' is not WHAT=NAME"),
        ("delays delays.csv --column rtt=x", "no column `x`: the columns are seq, rtt_ms"),
        ("delays delays.csv --column rtt=s", "no column `s`: `--column unit=s` gives the unit of"),
        ("delays delays.csv --column rtt=3", "no column `3`: the columns are seq, rtt_ms"),
        (
            "delays delays.csv --column x=seq",
            'no key of columns is called "x"; the keys are rtt, sent, received',
        ),
        ("delays delays.csv --column unit=ell", "`ell` is not a unit: write s, ms, us or ns"),
        ("delays delays.csv --column rtt=seq --column rtt=rtt_ms", "rtt is named twice"),
        ("delays delays.csv --column one_way=maybe", "one_way = 'maybe': write true or false"),
        ("delays delays.csv --interval 0", "'0' is not a time above zero"),
        ("delays delays.csv --interval 3B", "'3B' is not a time above zero"),
        ("delays delays.csv --lost-after -1", "'-1' is not a time above zero"),
        ("delays", "Missing argument 'FILES'"),
        ("timeline delays.csv", "there is no column 'seq'"),
        (
            f"timeline {ROOT / 'data' / 'ping.txt'}",
            "ping.txt is a recording of delays: `netspurt delays ",
        ),
        ("replay delays.csv -e linux", "as in `--interval 1s`, or replay with `--order sequence`"),
        ("replay delays.csv --versus linux", "does not say when its probes left"),
        ("replay delays.csv --order random", "'random' is not one of sequence, causal"),
        ("replay delays.csv --clock sundial --order sequence", "`sundial` is not a clock: write"),
        ("replay delays.csv --rfc889 --versus linux", "leave out one of these two options"),
        ("replay delays.csv --out words.txt", "words.txt is a file: --out names a folder"),
        ("replay delays.csv --interval 1 -e linus", "did you mean `linux`?"),
        ("replay delays.csv --interval 1 -e linux --versus linux", "there is no other timer"),
        ("replay delays.csv --interval 1 -e mills:g=1..2/1", "FROM..TO/COUNT"),
        ("replay delays.csv --interval 1 -e mills:g=1..2/2,g=3..4/2", "`g`"),
        ("replay delays.csv --interval 1 -e words.txt:Timer", "no module `words.txt`"),
        ("match absent delays.csv", "absent does not exist"),
        ("match words.txt delays.csv", "neither pcap nor pcapng: is the file complete?"),
        ("explain delays.csv", "`netspurt delays delays.csv` shows it, and `netspurt replay"),
        ("explain --csv delays.csv", "delays.csv: a recording of delays, not a capture"),
        ("explain words.txt", "words.txt: neither pcap nor pcapng"),
    ],
)
def test_the_error_for_a_recording_or_its_replay_gives_the_reason(
    netspurt: Command, words: str, says: str
) -> None:
    refused(netspurt(*words.split()), says)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("script folder", "folder: the folder contains no *.pkt file"),
        ("script good.pkt --set rto.min", "'rto.min' is not PATH=VALUE"),
        ("script good.pkt --prove --profile linux", "--set and --profile do not apply"),
        (
            "papers show rfc1",
            "no paper is called 'rfc1'; the papers are globecom2000, jacobson1988, rfc2416, "
            "rfc889, sfr2005",
        ),
        ("papers check rfc1", "no paper is called 'rfc1'"),
        ("papers check RFC241", "sfr2005, and folders with a paper.toml: did you mean rfc2416?"),
        ("papers check rfc2416 --explain iw1.t88", "did you mean rfc2416.iw1.t8"),
        ("papers check rfc2416 --json --out p", "--out is for pictures"),
        ("papers check --explain iw1.t8 --out p", "--out is for pictures"),
        ("poll absent.toml", "absent.toml does not exist"),
        ("poll torn.toml", "torn.toml: not TOML"),
        ("poll good.toml", "good.toml: `stop` is not a key; the keys are every"),
        ("probe", "no host: give a host, or make an emulated line with --line"),
        ("probe -4 -6 localhost", "-4 and -6 exclude each other"),
        ("probe localhost --count few", "'few' is not a whole number, 0 or more"),
        ("probe localhost --for ever", "'ever' is not a time above zero"),
        ("probe localhost --timeout 0", "'0' is not a time above zero"),
        ("probe localhost --kind pigeon", "'pigeon' is not one of icmp, udp, tcp"),
        ("probe localhost --line 1Mbit/s,1ms", "--line makes its own host: leave HOST out"),
        ("serve tea", "'tea' is not one of echo, sink"),
        ("capture 127.0.0.1 --out absent/c.pcapng", "error: the capture failed: "),
        ("report good.toml --out page.pdf", "page.pdf: the name of a page must end in .html"),
        ("doctor --jsn", "No such option: --jsn"),
    ],
)
def test_mistakes_with_other_commands_are_reported_and_nothing_is_made(
    netspurt: Command, tmp_path: Path, words: str, says: str
) -> None:
    before = set(tmp_path.rglob("*"))
    refused(netspurt(*words.split()), says)
    assert set(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", ["absent.pkt", "binary.toml", "words.txt"])
def test_an_invalid_script_gets_a_line_in_the_results_and_one_error(
    netspurt: Command, name: str
) -> None:
    result = netspurt("script", name)
    assert result.returncode == 2
    assert result.stdout.split()[:2] == ["refused", Path(name).stem]
    assert result.stderr.count("error:") == 1
    assert name in result.stderr


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="/dev/zero does not exist here")
@pytest.mark.parametrize(
    "words", ["delays /dev/zero", "replay /dev/zero", "match /dev/zero /dev/zero", "poll /dev/zero"]
)
def test_a_device_without_an_end_is_refused(
    netspurt: Command, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    for most in ("_DEVICE_OCTETS_MAX", "TEXT_OCTETS_MAX"):
        monkeypatch.setattr(f"netspurt.stored.{most}", 1 << 16)
    refused(netspurt(*words.split()), "/dev/zero: the file has more than 65,536 octets")


def test_every_command_has_a_help_that_explains_each_option(netspurt: Command) -> None:
    def commands(group: object, above: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
        """Return the names of all commands of a group."""
        found = []
        for name, command in getattr(group, "commands", {}).items():
            found += commands(command, (*above, name)) or [(*above, name)]
        return found

    names = commands(get_command(application()))
    assert {("run",), ("sweep", "show"), ("papers", "check"), ("live", "exec")} <= set(names)
    for words in names:
        result = netspurt(*words, "--help")
        assert (result.returncode, result.stderr) == (0, ""), words
        options = result.stdout.partition("Options:\n")[2].splitlines()
        for above, below in zip(options, [*options[1:], ""], strict=True):
            if above.startswith("  -"):
                told = len(above.split("  ")) > 2 or below.startswith("   ")
                assert told, f"{' '.join(words)}: {above} has no help"


def test_netspurt_schema_prints_json_and_netspurt_new_writes_what_it_prints(
    netspurt: Command, tmp_path: Path
) -> None:
    assert json.loads(netspurt("schema").stdout)["type"] == "object"
    printed = netspurt("new").stdout
    assert netspurt("new", "new.toml").stdout.startswith(
        "wrote new.toml: edit it, then: netspurt run"
    )
    assert (tmp_path / "new.toml").read_text() == printed


# Errors that name the right command for a file or a folder.


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("delays.csv", "delays.csv is a recording of delays: `netspurt replay delays.csv`"),
        ("good.toml", "good.toml may be a scenario: `netspurt run good.toml`"),
        ("good.pkt", "good.pkt may be a script: `netspurt script good.pkt`"),
        ("run delays.csv", "delays.csv is a recording of delays: `netspurt replay delays.csv`"),
        ("replay delays.csv -e linux,quic", "repeat -e, as in `-e linux -e quic`"),
    ],
)
def test_the_error_for_a_wrong_command_or_option_names_the_right_one(
    words: str, says: str, netspurt: Command
) -> None:
    refused(netspurt(*words.split()), says)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("r", "r is the folder of a run: `netspurt report r` writes a page about it"),
        ("run r", "this command takes a scenario; r is the folder of a run"),
        ("r/source.pcapng", "is a capture: `netspurt explain r/source.pcapng`"),
        ("run r/source.pcapng", "is a capture: `netspurt explain r/source.pcapng`"),
        ("report x.toml", "x.toml is a timeline for a link: `netspurt timeline x.toml --plot"),
        ("compare r x.toml", "x.toml is a timeline for a link"),
        ("x.toml", "x.toml is a timeline for a link"),
        ("report y.toml", "y.toml: a scenario has no results to report"),
        ("run s", "s is the folder of a sweep: `netspurt sweep show s` prints its results"),
        ("sweep compare s", "--axis is missing: name one of one, two"),
        ("sweep compare s --axis one", "--measure is missing: take one, such as -m "),
    ],
)
def test_the_error_for_a_folder_of_another_command_names_that_command(
    words: str, says: str, netspurt: Command, tmp_path: Path
) -> None:
    over = {
        name: {"path": path, "values": ["2 segments", "3 segments"]}
        for name, path in {
            "one": "flows.transfer.tcp.initial_window",
            "two": "flows.transfer.send",
        }.items()
    }
    base = ns.new_scenario().replace({"stop": "2 s"})
    base.run().save(tmp_path / "r")
    Path("x.toml").write_text('delay = { timeline = [["0 s", "5 ms"], ["9 s", "8 ms"]] }\n')
    Path("y.toml").write_text(base.resolved())
    sweep = ns.Sweep.of(base.replace({"sweep": {"seeds": 1, "over": over}}))
    ns.run_sweep(sweep, tmp_path / "s")
    refused(netspurt(*words.split()), says)


def test_the_number_of_a_captured_connection_selects_its_flow(
    netspurt: Command, tmp_path: Path
) -> None:
    ns.new_scenario().replace({"stop": "2 s"}).run().save(tmp_path / "r")
    named, numbered = (
        netspurt("table", "r/source.pcapng", "flows", "--flow", flow) for flow in ("c0", "0")
    )
    assert named.returncode == numbered.returncode == 0, numbered.stderr
    assert named.stdout == numbered.stdout
    assert netspurt("plot", "r/source.pcapng", "--flow", "0", "--out", "p.svg").returncode == 0
    refused(netspurt("plot", "r", "--flow", "0"), "is called '0'")
