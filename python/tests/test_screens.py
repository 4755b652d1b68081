"""Tests screens: lines that fit a terminal, and plain lines without a terminal.

A screen shows the state of a running command.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import netspurt as ns
from netspurt import _core
from netspurt.cli.probing import screen_lines
from netspurt.cli.screens import LiveScreen, bar, curve, short
from netspurt.live_report import QueueScene, Scene, SenderScene
from netspurt.probe import Plan, Watch
from netspurt.probe_lines import read_line
from netspurt.wording import octets

from conftest import NETSPURT, ROOT
from lateness import real_time

#: The characters that control a terminal.
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
#: The sequences that set the style of a text.
STYLE = re.compile(r"\x1b\[[0-9;]*m")
#: All characters that control the terminal in the output of the commands.
STEERED = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")


def scene(passed_ms: int = 1500, senders: int = 1, queues: int = 2, name: str = "bulk") -> Scene:
    """Return a state of a live run, with equal senders and with queues."""
    return Scene(
        passed_ms,
        [
            SenderScene(f"{name}{n}", "reverse", 14_600, 7_300, None, 3 * 10**9, 4, True)
            for n in range(senders)
        ],
        [QueueScene(f"link{n}", "forward", n, 1500 * n) for n in range(queues)],
    )


def test_a_live_run_shows_its_time_its_cwnd_its_timer_and_its_queues() -> None:
    screen = LiveScreen("mine", 6.0)
    for passed, packets in ((250, 0), (500, 4), (1500, 2)):
        sender = SenderScene("bulk", "forward", 14_600, 7_300, 50 * 10**6, 250 * 10**6, 1, False)
        screen.take(Scene(passed, [sender], [QueueScene("modem", "forward", packets, 1500)]))
    assert screen.lines(80, 24) == [
        "running mine live  1.5 s of at most 6 s",
        "━" * 15 + "─" * 45,
        "",
        "bulk                                cwnd   14.6 kB  ███",
        "  RTO 250 ms, SRTT 50 ms, in flight 7.3 kB",
        "",
        "queues when the last packet arrived",
        "modem forward                  2 packets    1.5 kB  ▁█▅",
    ]


def test_the_screen_shows_a_missing_round_trip_and_a_backoff() -> None:
    screen = LiveScreen("mine", 6.0)
    screen.take(scene())
    lines = screen.lines(80, 24)
    assert lines[3].startswith("bulk0 (reverse)")
    assert lines[4] == "  RTO 3 s, SRTT -, in flight 7.3 kB, backoff 4  in recovery"


@given(
    st.integers(40, 220),
    st.integers(5, 60),
    st.integers(0, 4),
    st.integers(0, 6),
    st.text(max_size=60),
)
def test_a_live_screen_fits_every_terminal_of_60_or_more_columns(
    across: int, down: int, senders: int, queues: int, name: str
) -> None:
    screen = LiveScreen(name, 60.0)
    for n in range(300):
        screen.take(scene(250 * n, senders, queues, name))
    lines = screen.lines(across, down)
    assert len(lines) <= down
    assert max(len(STYLE.sub("", line)) for line in lines) <= max(across, 60)


def test_curves_bars_and_names_are_made_to_fit_the_given_width() -> None:
    assert curve([1] * 9, 4) == "████"
    assert curve([0, 0], 4) == "▁▁"
    assert (bar(0, 4), bar(1, 4)) == ("────", "━━━━")
    assert short("abcdef", 1) == "…"
    assert octets(999) == "999 B"


def watched() -> Watch:
    """Return the state of a probe after all lines of data/probe.jsonl except the last."""
    watch = Watch([])
    for text in (ROOT / "data" / "probe.jsonl").read_text().splitlines()[:-1]:
        watch.take(read_line(text))
    return watch


@pytest.mark.parametrize("across", [60, 80, 200])
@pytest.mark.parametrize("down", [12, 23, 60])
def test_the_screen_of_a_probe_fits_small_and_tall_terminals(across: int, down: int) -> None:
    watch = watched()
    trace = [f"{n:>6}  10 ms" for n in range(40)]
    lines = screen_lines(Plan("host", count=100), watch, trace, across, down)
    assert len(lines) <= down
    assert any("echo probes" in line for line in lines)
    assert max(map(len, lines)) <= across
    if down >= 23:
        assert lines[-1] == trace[-1]
        assert sum("█" in line for line in lines) >= 3


def in_a_terminal(
    words: list[str],
    folder: Path,
    *,
    program: Sequence[str | Path] = (NETSPURT,),
    columns: int = 80,
    rows: int = 24,
    **values: str,
) -> tuple[int, str]:
    """Run the command in a new terminal; return its status and its output."""
    terminal, far_end = pty.openpty()
    fcntl.ioctl(far_end, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    kept = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES")}
    child = subprocess.Popen(
        [*program, *words],
        stdin=far_end,
        stdout=far_end,
        stderr=far_end,
        cwd=folder,
        env={**kept, "TERM": "xterm", **values},
    )
    os.close(far_end)
    told = b""
    while True:
        ready, _, _ = select.select([terminal], [], [], 60)
        try:
            part = os.read(terminal, 1 << 16) if ready else b""
        except OSError:
            break
        if not part:
            break
        told += part
    os.close(terminal)
    return child.wait(60), told.decode()


def widths(text: str) -> list[int]:
    """Return the widths of the lines of a terminal's text."""
    return [len(STEERED.sub("", line)) for line in text.replace("\r", "\n").split("\n")]


#: A sweep of 4,000 cases.
SWEEP = """
title = "Many cases"
stop = "12 s"
[links]
wire = { between = ["a", "b"], rate = "1 Mbit/s", delay = "20 ms", queue = "9 packets" }
[flows.bulk]
from = "a"
to = "b"
send = "unlimited"
[record]
tables = []
[sweep]
seeds = 4000
"""


@pytest.mark.parametrize("columns", [60, 200])
def test_the_progress_of_a_sweep_fits_the_terminal_and_counts_its_cases(
    tmp_path: Path, columns: int
) -> None:
    (tmp_path / "many.toml").write_text(SWEEP)
    # Show the progress at once, because a fast machine ends the sweep before the usual delay.
    at_once = "from netspurt.cli import output, start; output.QUIET_S = 0; start()"
    status, output = in_a_terminal(
        ["sweep", "many.toml", "--out", "s"],
        tmp_path,
        program=[sys.executable, "-c", at_once],
        columns=columns,
    )
    assert status == 0, output
    assert re.search(r"[\d,]+ of 4,000 cases", STEERED.sub("", output)), output[-2000:]
    assert max(widths(output)) <= columns


#: A live run of 3 s: a transfer of the kernel's TCP over a slow link.
LIVE = """
stop = "3 s"
[links]
modem = { between = ["a", "b"], rate = "400 kbit/s", delay = "20 ms", queue = "9 packets" }
[flows.bulk]
from = "a"
to = "b"
endpoint = "kernel"
profile = "linux-default"
send = "unlimited"
"""


def unless_live() -> None:
    """Skip the test if the machine cannot make live runs."""
    capabilities = {name: (available, why) for name, available, why, _ in _core.capabilities()}
    available, why = capabilities["user and network namespaces"]
    if not available:
        pytest.skip(f"no live runs: {why}")


@pytest.mark.parametrize("columns", [60, 80, 200])
@real_time
def test_a_live_run_in_a_terminal_shows_its_cwnd_and_its_queue(
    tmp_path: Path, columns: int
) -> None:
    unless_live()
    (tmp_path / "mine.toml").write_text(LIVE)
    words = ["live", "run", "mine.toml", "--out", "r", "--budget", "20s"]
    status, output = in_a_terminal(words, tmp_path, columns=columns)
    assert status == 0, output
    for word in ("running mine live", "cwnd", "RTO", "modem forward", "█"):
        assert word in output
    screen, _, after = output.rpartition("\x1b[")
    assert "kept in r" in after or "kept in r" in screen
    shown = [line for line in output.split("\n") if "cwnd " in line or "modem forward  " in line]
    assert max(len(STEERED.sub("", line)) for line in shown) <= columns


@real_time
def test_a_live_run_without_a_terminal_writes_plain_lines(tmp_path: Path) -> None:
    unless_live()
    (tmp_path / "mine.toml").write_text(LIVE.replace("3 s", "1 s"))
    words = ["live", "run", "mine.toml", "--out", "r", "--budget", "20s"]
    result = subprocess.run(
        [NETSPURT, *words], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert result.returncode == 0, result.stderr
    assert not CONTROL.search(result.stdout + result.stderr)
    assert "running" not in result.stderr


@real_time
def test_the_variable_no_color_turns_colours_off(tmp_path: Path) -> None:
    unless_live()
    (tmp_path / "mine.toml").write_text(LIVE.replace("3 s", "1 s"))
    words = ["live", "run", "mine.toml", "--budget", "20s", "--out"]
    for value, coloured in (("", True), ("1", False)):
        _, output = in_a_terminal([*words, f"r{value}"], tmp_path, NO_COLOR=value)
        assert bool(re.search(r"\x1b\[[0-9;]*3[0-9]m", output)) is coloured


@real_time
def test_a_live_run_passes_its_state_to_python(tmp_path: Path) -> None:
    unless_live()
    scenes: list[Scene] = []
    scenario = ns.Scenario.parse(LIVE, "mine.toml")
    ns.run_live(scenario, tmp_path / "r", budget=20.0, watch=scenes.append)
    assert len(scenes) >= 4
    passed = [scene.passed_ms for scene in scenes]
    assert np.all(np.diff(passed) >= 250)
    late = [scene for scene in scenes if scene.senders]
    assert late
    assert {scene.senders[0].flow for scene in late} == {"bulk"}
    assert late[-1].senders[0].cwnd_bytes > 1000
    assert late[-1].senders[0].rto_ns >= 200 * 10**6
    assert max(queue.packets for scene in late for queue in scene.queues) > 3


@real_time
def test_a_slow_watch_function_does_not_change_the_duration_of_a_run(tmp_path: Path) -> None:
    unless_live()
    seen: list[Scene] = []

    def sleep(scene: Scene) -> None:
        seen.append(scene)
        time.sleep(2 if len(seen) == 1 else 0)

    scenario = ns.Scenario.parse(LIVE, "mine.toml")
    run = ns.run_live(scenario, tmp_path / "r", budget=20.0, watch=sleep)
    assert len(seen) > 1
    assert run.stop_ns == 3 * 10**9
