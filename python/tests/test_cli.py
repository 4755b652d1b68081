"""Tests the command `netspurt` as people and programs use it."""

from __future__ import annotations

import csv
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import netspurt as ns

from conftest import NETSPURT, ROOT, Command


def test_a_new_scenario_can_be_run_and_its_run_can_be_plotted(
    netspurt: Command, tmp_path: Path
) -> None:
    assert netspurt("new", "mine.toml").returncode == 0
    result = netspurt("run", "mine.toml")
    assert result.returncode == 0, result.stderr
    assert "kept in runs/mine" in result.stdout
    assert "transfer" in result.stdout
    for kind in ("time-sequence", "cwnd", "rto", "queue"):
        drawn = netspurt("plot", "runs/mine", "--kind", kind)
        assert drawn.returncode == 0, drawn.stderr
        for name in drawn.stdout.split():
            assert (tmp_path / name).stat().st_size > 5_000
    # The second run does not replace the first one.
    assert "kept in runs/mine-2" in netspurt("run", "mine.toml").stdout


def test_each_option_that_a_new_scenario_has_as_a_comment_is_valid(netspurt: Command) -> None:
    netspurt("new", "mine.toml")
    lines = Path("mine.toml").read_text().splitlines()
    options = [n for n, line in enumerate(lines) if re.match(r"# \w+ += ", line)]
    assert len(options) == 11
    for n in options:
        key = lines[n].split()[1]
        # The option `reorder` needs the option `order`, which is in the line before it.
        chosen = {n, n - 1} if key == "reorder" else {n}
        table = max(m for m in range(n) if lines[m].startswith("["))
        replaced = {m for m in range(table, n) if lines[m].startswith(f"{key} ")}
        kept = (m for m in range(len(lines)) if m not in replaced)
        ns.Scenario.parse("\n".join(lines[m][2 * (m in chosen) :] for m in kept))


def test_the_command_run_prints_json_for_programs(netspurt: Command, tmp_path: Path) -> None:
    netspurt("new", "mine.toml")
    result = netspurt("run", "mine.toml", "--out", "r", "--seed", 5, "--set", "stop=20 s", "--json")
    summary = json.loads(result.stdout)
    assert (summary["seed"], summary["stop_s"], summary["folder"]) == (5, 20.0, "r")
    assert summary["flows"][0]["finished_ns"] is None
    saved = json.loads((tmp_path / "r" / "run.json").read_text())
    assert (saved["digest"], saved["seed"]) == (summary["digest"], 5)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, ["nothing.toml", "does not exist"]),
        ("", ["mine.toml", "is empty", "netspurt new"]),
        (b"\x7fELF\xff\xfe\x00", ["mine.toml:1:5", "not a text file"]),
        ("stop = '1 s'\r\n".encode("utf-16"), ["mine.toml:1:1", "save the file as UTF-8"]),
        (b"stop = '1 s'\r\n\n# \xe9\n", ["mine.toml:3:3", "save the file as UTF-8"]),
        ("stop = '1 s'\n[links]\n", ["mine.toml", "no links"]),
        ("rate = ", ["mine.toml:1", "not TOML"]),
    ],
)
def test_a_scenario_file_that_cannot_be_read_gets_one_clear_error(
    netspurt: Command, tmp_path: Path, text: str | bytes | None, says: list[str]
) -> None:
    name = "mine.toml" if text is not None else "nothing.toml"
    if isinstance(text, bytes):
        (tmp_path / name).write_bytes(text)
    elif text is not None:
        (tmp_path / name).write_text(text)
    failed(netspurt("run", name), *says)
    assert not (tmp_path / "runs").exists()


def failed(result: subprocess.CompletedProcess[str], *says: str) -> None:
    """Check that the command printed one error with the texts `says`, and ended with status 2."""
    assert result.returncode == 2, result
    assert result.stdout == ""
    assert result.stderr.count("error:") == 1, result.stderr
    assert "Traceback" not in result.stderr
    for words in says:
        assert words in result.stderr


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("links.modem.rate=0 bit/s", ["links.modem.rate = 0 bit/s", "above zero"]),
        ("links.modem.rate=-1 bit/s", ["a rate above zero"]),
        ("links.modem.rate=9600", ["has no unit", "9600 bit/s"]),
        ("links.modem.rate=9600 baud", ["9600 bit/s"]),
        ("links.modem.qeue=3 packets", ["unknown key `qeue`", "did you mean `queue`?"]),
        ("flows.transfer.to=reciever", ["reciever", "did you mean `receiver`?"]),
        ("flows.transfer.from=receiver", ["starts and ends at the same node"]),
        ('links.modem.between=["r3", "receiver"]', ["no route from `source`"]),
    ],
)
def test_a_bad_setting_gets_one_clear_error(
    netspurt: Command, setting: str, says: list[str]
) -> None:
    netspurt("new", "mine.toml")
    failed(netspurt("run", "mine.toml", "--set", setting), *says)


def test_a_folder_that_cannot_be_used_gets_one_clear_error(
    netspurt: Command, tmp_path: Path
) -> None:
    netspurt("new", "mine.toml")
    (tmp_path / "taken").mkdir()
    (tmp_path / "file").touch()
    failed(netspurt("run", "mine.toml", "--out", "taken"), "taken exists already")
    failed(netspurt("run", "mine.toml", "--out", "file"), "file exists already")
    failed(netspurt("run", "mine.toml", "--out", "file/below"), "file/below")
    failed(netspurt("run", "mine.toml", "--out", "/proc/run"), "/proc")
    failed(netspurt("new", "mine.toml"), "mine.toml exists already: name another file")
    failed(netspurt("plot", "taken"), "has no finished run")
    failed(netspurt("run", tmp_path), str(tmp_path))


def test_the_error_for_an_unreadable_file_names_the_file(netspurt: Command, tmp_path: Path) -> None:
    netspurt("new", "mine.toml")
    if os.geteuid() == 0:
        # The superuser may read every file, but nobody can read /proc/self/mem from its start.
        failed(netspurt("run", "/proc/self/mem"), "/proc/self/mem")
        return
    (tmp_path / "mine.toml").chmod(0)
    failed(netspurt("run", "mine.toml"), "mine.toml", "Permission denied")


def test_a_run_that_cannot_write_a_file_leaves_no_folder(netspurt: Command, tmp_path: Path) -> None:
    netspurt("new", "mine.toml")
    # A file may have at most 50 blocks of 512 octets, so a capture of whole packets does not fit.
    words = ["run", "mine.toml", "--set", "record.snap=65535 B"]
    result = subprocess.run(
        ["sh", "-c", 'ulimit -f 50; trap "" XFSZ; exec "$0" "$@"', NETSPURT, *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    failed(result, "source.pcapng", "File too large")
    assert list((tmp_path / "runs").iterdir()) == []


def catches(pid: int, signal_sent: signal.Signals) -> bool:
    """Return True if a process has its own handler for a signal."""
    status = Path(f"/proc/{pid}/status").read_text()
    caught = next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(int(caught, 16) >> (signal_sent - 1) & 1)


@pytest.mark.parametrize("signal_sent", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_run_leaves_no_folder_with_its_name(
    netspurt: Command, tmp_path: Path, signal_sent: signal.Signals
) -> None:
    netspurt("new", "mine.toml")
    long = ["--set", "stop=2000000 s", "--out", "run"]
    with subprocess.Popen([NETSPURT, "run", "mine.toml", *long], cwd=tmp_path) as process:
        while not catches(process.pid, signal.SIGTERM) and process.poll() is None:
            time.sleep(0.01)
        time.sleep(0.5)
        assert process.poll() is None, "the process must still run when it is interrupted"
        process.send_signal(signal_sent)
        status = process.wait(60)
    assert status == {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -9}[signal_sent]
    assert not (tmp_path / "run").exists()
    failed(netspurt("plot", "run"), "does not exist")


#: A program that prints its id and waits forever before it gives a run's folder its final name.
SAVING = """
import os, sys, threading
from pathlib import Path
from netspurt.cli import start

def stuck(path, target):
    print(os.getpid(), flush=True)
    threading.Event().wait()

Path.rename = stuck
sys.argv = ["netspurt", "run", "mine.toml", "--out", "run"]
start()
"""


@pytest.mark.parametrize("signal_sent", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_next_run_removes_half_written_folders(
    netspurt: Command, tmp_path: Path, signal_sent: signal.Signals
) -> None:
    netspurt("new", "mine.toml")
    words = [sys.executable, "-c", SAVING]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        assert len(list(tmp_path.glob(".run.partial-*"))) == 1
        # Another run does not remove the partial folder while the process that writes it runs.
        assert netspurt("run", "mine.toml", "--out", "other").stderr == ""
        process.send_signal(signal_sent)
        process.wait(60)
    leftovers = list(tmp_path.glob(".run.partial-*"))
    assert len(leftovers) == (1 if signal_sent == signal.SIGKILL else 0)
    assert netspurt("run", "mine.toml", "--out", "run").stderr == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.toml", "other", "run"]


#: A program that prints `ready` and then starts a long run.
STARTING = """
import sys
from netspurt.cli import start

assert not {"typer", "numpy", "netspurt._core"} & set(sys.modules), "slow to import"
sys.argv = ["netspurt", "run", "mine.toml", "--set", "stop=9000000 s", "--out", "run"]
print("ready", flush=True)
start()
"""


#: A program that runs a command and prints the names of all imported modules.
IMPORTS = """
import sys
from netspurt.cli import start

sys.argv[1:] = sys.argv[1].split()
try:
    start()
finally:
    print("imported", *sys.modules)
"""


@pytest.mark.parametrize(
    ("words", "slow"),
    [
        ("papers list", {"matplotlib", "scipy"}),
        ("replay data/ping.txt", {"matplotlib", "scipy.stats"}),
        ("table --help", {"numpy"}),
    ],
)
def test_a_command_imports_nothing_slow_that_it_does_not_use(words: str, slow: set[str]) -> None:
    command = [sys.executable, "-c", IMPORTS, words]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    imported = result.stdout.splitlines()[-1].split()
    assert imported[0] == "imported"
    assert slow & set(imported) == set()


def test_an_interrupt_in_the_first_200_ms_prints_no_traceback(
    netspurt: Command, tmp_path: Path
) -> None:
    netspurt("new", "mine.toml")
    for delay in (0.005, 0.02, 0.04, 0.08, 0.12, 0.2):
        with subprocess.Popen(
            [sys.executable, "-c", STARTING],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            time.sleep(delay)
            process.send_signal(signal.SIGINT)
            output = process.communicate(timeout=60)[1]
        assert "Traceback" not in output, (delay, output)
        assert process.returncode in {130, -signal.SIGINT}


#: A program whose command raises an error while Python defines a class.
NAMING = """
from netspurt.cli import main, start

class Descriptor:
    def __set_name__(self, owner, name):
        raise {error}

main._carry_out = lambda words: type("Owner", (), dict(name=Descriptor()))
start()
"""


def test_an_interrupt_in_the_definition_of_a_class_prints_no_traceback() -> None:
    for error, status in (("KeyboardInterrupt", 130), ("RuntimeError", 1)):
        command = [sys.executable, "-c", NAMING.format(error=error)]
        result = subprocess.run(command, check=False, capture_output=True, text=True)
        assert result.returncode == status
        assert ("Traceback" in result.stderr) == (status == 1)


def test_a_run_says_which_connections_failed(netspurt: Command, tmp_path: Path) -> None:
    (tmp_path / "blind.py").write_text(
        "class Blind:\n"
        "    def on_sample(self, sample): pass\n"
        "    def on_timeout(self, now): pass\n"
        "    def rto(self): return 0.0001\n"
    )
    timer = "flows.web.tcp.rto.estimator=blind.py:Blind"
    words = ("--set", timer, "--set", "links.wire.delay=1 s")
    result = netspurt("run", "requests", *words, "--out", "failed")
    assert result.returncode == 0, result.stderr
    assert "failed: the connection timed out" in result.stdout
    netspurt("report", "failed", "--out", "page.html")
    assert "failed: the connection timed out." in (tmp_path / "page.html").read_text()


#: A program that gets a signal in a callback whose errors Python ignores.
IGNORING = """
import os, signal, time, weakref
from netspurt.cli import main, start

def command(words):
    owner = type("Owner", (), {{}})()
    callback = weakref.ref(owner, lambda _: os.kill(os.getpid(), signal.{name}))
    del owner
    time.sleep(60)

main._carry_out = command
start()
"""


@pytest.mark.parametrize(("name", "status"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_in_a_callback_ends_the_command(name: str, status: int) -> None:
    command = [sys.executable, "-c", IGNORING.format(name=name)]
    began = time.monotonic()
    result = subprocess.run(command, check=False, capture_output=True, text=True, timeout=90)
    assert (result.returncode, result.stderr) == (status, "")
    assert time.monotonic() - began < 50


#: A program that makes a run of about a second and shows progress after a tenth of a second.
WATCHED = """
import sys
from netspurt.cli import output, start

output.QUIET_S = 0.1
sys.argv = ["netspurt", "run", "mine.toml", "--set", "stop=1000000 s", "--set", "record.tables=[]"]
start()
"""


def test_progress_is_shown_only_in_a_terminal(netspurt: Command, tmp_path: Path) -> None:
    netspurt("new", "mine.toml")
    words = [sys.executable, "-c", WATCHED]
    here, there = pty.openpty()
    try:
        with subprocess.Popen(words, cwd=tmp_path, stderr=there, stdout=subprocess.DEVNULL) as run:
            os.close(there)
            seen = b""
            while chunk := _read(here):
                seen += chunk
            assert run.wait(120) == 0
    finally:
        os.close(here)
    assert b"running mine.toml" in seen
    assert b"%" in seen
    piped = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (piped.returncode, piped.stderr) == (0, "")


def _read(terminal: int) -> bytes:
    """Return the next output in a terminal, or nothing if its program has ended."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


def test_the_command_doctor_lists_what_the_machine_has(netspurt: Command) -> None:
    result = netspurt("doctor")
    assert result.returncode == 0
    names = {row["name"] for row in json.loads(netspurt("doctor", "--json").stdout)}
    assert {"netspurt", "kernel", "TUN", "user and network namespaces", "ns"} <= names
    assert all(name in result.stdout for name in names)
    assert "--wire tun" in next(line for line in result.stdout.splitlines() if "TUN" in line)


def test_the_shell_completes_the_names_of_commands() -> None:
    environment = {
        **os.environ,
        "_NETSPURT_COMPLETE": "complete_bash",
        "COMP_WORDS": "netspurt pap",
        "COMP_CWORD": "1",
    }
    result = subprocess.run(
        [NETSPURT], env=environment, capture_output=True, text=True, check=False
    )
    assert "papers" in result.stdout


def test_wrong_arguments_are_errors_without_a_traceback(netspurt: Command) -> None:
    for words in (["run"], ["rnu"], ["plot", "x", "--kind", "pie"], ["run", "x", "--set", "seed"]):
        result = netspurt(*words)
        assert result.returncode == 2, words
        assert "Traceback" not in result.stderr
    assert netspurt("--version").stdout.startswith("netspurt ")


def test_every_shipped_scenario_that_has_no_sweep_can_be_run(netspurt: Command) -> None:
    files = sorted((ROOT / "scenarios").glob("*.toml"))
    # Other tests run the scenarios that have a sweep.
    alone = [file for file in files if "[sweep" not in file.read_text()]
    assert {"requests.toml", "web.toml", "rfc2416.toml"} <= {file.name for file in alone}
    for path in alone:
        # If flows start every 60 s, a stop at 5 s is an error, because most flows start later.
        minutes = re.search(r'^every += "60 s"', path.read_text(), re.MULTILINE)
        shorter = () if minutes else ("--set", "stop=5 s")
        result = netspurt("run", path, *shorter)
        assert result.returncode == 0, result.stderr


def test_a_table_is_printed_for_people_and_for_programs(netspurt: Command) -> None:
    netspurt("new", "mine.toml")
    netspurt("run", "mine.toml", "--out", "r")
    assert "drops: 24 rows of t_ns, link, link_direction" in netspurt("table", "r").stdout
    head, first, *rest = netspurt("table", "r", "drops", "--limit", 2).stdout.splitlines()
    assert head.split()[:4] == ["t_ns", "link", "link_direction", "reason"]
    assert first.split()[1:4] == ["modem", "forward", "queue-full"]
    assert rest[-1] == "... 22 more rows"
    span = ["--from", 5, "--to", 20, "--flow", "transfer", "--csv"]
    rows = list(csv.DictReader(netspurt("table", "r", "cwnd", *span).stdout.splitlines()))
    times = [int(row["t_ns"]) / 1e9 for row in rows]
    assert 5 <= min(times) <= max(times) <= 20
    assert {row["in_recovery"] for row in rows} == {"false"}
    names, flow = (line.split() for line in netspurt("table", "r", "flows").stdout.splitlines())
    assert flow[names.index("finished_ns")] == "-"
    failed(netspurt("table", "r", "nothing"), "no table 'nothing'", "flows, retransmissions, links")
    failed(netspurt("table", "r", "links", "--from", 1), "no instants")
    failed(netspurt("table", "r", "links", "--flow", "x"), "no flows")
    failed(netspurt("table", "r", "cwnd", "--flow", "x"), "is called 'x'", "transfer")


def test_the_command_plot_refuses_options_and_files_that_it_cannot_use(netspurt: Command) -> None:
    netspurt("new", "mine.toml")
    netspurt("run", "mine.toml", "--out", "r")
    failed(
        netspurt("plot", "r", "--kind", "cwnd", "--link", "modem"),
        "--link does not apply to cwnd plots",
    )
    failed(netspurt("plot", "r", "--from", 8, "--to", 5), "ends at 5 s, before its start")
    recording = ROOT / "data" / "ping.txt"
    failed(netspurt("plot", recording), "but a recording of delays: `netspurt report")
    failed(
        netspurt("plot", "mine.toml"),
        "is a scenario, not a run: make a run with `netspurt run mine.toml`",
    )
    failed(netspurt("plot", "r", "--out", "a.gif"), "a.gif", ".png, .svg or .pdf")
    failed(netspurt("plot", "r", "--kind", "all", "--out", "a.png"), "several pictures")
    drawn = netspurt("plot", "r", "--kind", "all", "--to", 20, "--link", "modem").stdout.split()
    assert len(drawn) == 16
    failed(netspurt("plot", "r", "--kind", "all", "--flow", "x"), "is called 'x'", "transfer")


def test_plots_of_all_kinds_say_how_to_record_missing_data(
    netspurt: Command,
) -> None:
    netspurt("new", "mine.toml")
    netspurt("run", "mine.toml", "--set", 'record.tables=["segments", "cwnd"]', "--out", "r")
    drawn = netspurt("plot", "r", "--kind", "all")
    kinds = ["time-sequence", "outstanding", "throughput", "density", "flows"]
    assert drawn.stdout.split() == [f"r/{kind}.{end}" for kind in kinds for end in ("png", "svg")]
    record = """record.tables='["segments", "cwnd", "rto", "rtt", "queue", "drops"]'"""
    assert drawn.stderr.splitlines() == [
        "note: left out: cwnd (table rto not recorded); rto (tables rto and rtt not recorded); "
        "queue (tables queue and drops not recorded); path (no link changes)",
        f"note: to record these tables: --set {record}",
    ]
    expected = """record.tables='["segments", "cwnd", "rto"]'"""
    failed(netspurt("plot", "r", "--kind", "cwnd"), "did not record the table rto", expected)
    netspurt("run", "mine.toml", "--set", "record.tables=[]", "--out", "bare")
    failed(netspurt("plot", "bare", "--kind", "all"), "did not record what plots need", record)


def test_several_kinds_of_plots_are_drawn_and_a_replaced_picture_is_noted(
    netspurt: Command,
) -> None:
    netspurt("new", "mine.toml")
    netspurt("run", "mine.toml", "--set", "stop=5 s", "--out", "r")
    drawn = netspurt("plot", "r", "--kind", "outstanding, throughput")
    assert drawn.stdout.split() == [
        f"r/{kind}.{end}" for kind in ("outstanding", "throughput") for end in ("png", "svg")
    ]
    assert drawn.stderr == ""
    second = netspurt("plot", "r", "--kind", "throughput")
    assert second.stderr == "note: replaced r/throughput.png and r/throughput.svg\n"
    failed(netspurt("plot", "r", "--kind", "density,nix"), "'nix' is not one of time-sequence")
    failed(
        netspurt("plot", "r", "--kind", "density,flows", "--out", "a.png"),
        "--kind density,flows draws several pictures",
    )


def test_a_plot_that_draws_one_of_several_flows_names_this_flow(netspurt: Command) -> None:
    netspurt("run", "slow-download", "--out", "slow")
    output = netspurt("plot", "slow").stderr
    assert output == "note: flow lossy is drawn, one of 4; --flow chooses another\n"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ["plot", "r", "--kind", "foo"],
            "'foo' is not one of time-sequence, cwnd, rto, queue, path, outstanding, throughput, "
            "density, flows, all",
        ),
        (["run", "mine.toml", "--seed", "x"], "'x' is not a whole number, 0 or more"),
        (["table", "r", "cwnd", "--from", "x"], "'x' is not a time"),
        (["table", "r", "cwnd", "--limit", "-1"], "'-1' is not a whole number, 0 or more"),
    ],
)
def test_wrong_options_get_netspurts_own_errors(
    netspurt: Command, words: list[str], says: str
) -> None:
    result = netspurt(*words)
    assert (result.returncode, says in result.stderr) == (2, True), result.stderr


def test_a_reader_that_closes_the_pipe_causes_no_error(tmp_path: Path) -> None:
    result = subprocess.run(
        ["sh", "-c", f'"{NETSPURT}" schema | head -1'],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (result.stdout, result.stderr) == ("{\n", "")


def test_the_error_for_an_impossible_folder_names_the_folder_as_the_user_wrote_it(
    netspurt: Command,
) -> None:
    netspurt("new", "mine.toml")
    output = netspurt("run", "mine.toml", "--out", "/proc/run").stderr
    assert "/proc/run" in output
    assert "partial" not in output


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("netspurt papers show rfc2", "rfc2416"),
        ("netspurt papers check --explain rfc2416.iw4.d", "rfc2416.iw4.drops"),
        ("netspurt plot x --kind tim", "time-sequence"),
    ],
)
def test_the_shell_completes_the_names_of_papers_claims_and_plots(words: str, names: str) -> None:
    environment = {
        **os.environ,
        "_NETSPURT_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    result = subprocess.run(
        [NETSPURT], env=environment, capture_output=True, text=True, check=False
    )
    assert result.stdout.split() == [names]
