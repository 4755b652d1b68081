"""Live runs: the kernel's TCP on the scenario's links, in real time.

A live run is a separate process, which makes its own namespaces. The namespaces end with that
process. The process ends when the program that started it ends. docs/live.md describes live runs.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING

from netspurt import _core
from netspurt.live_report import LiveReport, Scene
from netspurt.run import LIVE, Run, open_run, seal
from netspurt.stored import new_folder
from netspurt.typed import read

if TYPE_CHECKING:
    from netspurt.scenario import Scenario

#: The maximum lateness of a delivery (how long after it is due), in seconds. A run with a later
#: delivery is not valid.
BUDGET = 0.005

#: The driver of a live run passes the packets through the emulated path. During the last `SPIN`
#: seconds before each instant at which it must act, it polls the clock and does not sleep. Only a
#: driver with real-time priority polls.
SPIN = 0.00006

#: The devices of the hosts: pairs of veth devices, or TUN devices.
WIRES = ("veth", "tun")

#: A function that takes the seconds that have passed, and the length of the run in seconds.
Progress = Callable[[float, float], None]

#: A function that takes the state of a run.
Watch = Callable[[Scene], None]

#: The Python program of a live run's process. With two arguments, which are file descriptors, it
#: reads the run's order (what to run, and how) from the first and writes an error to the second.
#: Programs of the run do not inherit these descriptors. Without arguments, it uses standard input
#: and standard error.
_PROCESS = """\
import os, sys
from netspurt._core import live_work
numbers = [int(number) for number in sys.argv[1:]]
for number in numbers:
    os.set_inheritable(number, False)
try:
    live_work(f"/proc/self/fd/{numbers[0]}" if numbers else None)
except RuntimeError as error:
    with open(numbers[1] if numbers else sys.stderr.fileno(), "w", encoding="utf-8") as file:
        file.write(str(error))
    sys.exit(2)
"""


@dataclass(frozen=True)
class ProgramsOrder:
    """The programs at the two ends: a command with its arguments, and a shell command as server."""

    command: list[str]
    server: str | None


@dataclass(frozen=True)
class RunOrder:
    """The order that the process of a live run reads.

    Attributes
    ----------
    parent
        The id of the process that started the run. The run ends when that process ends.
    folder
        The run folder, which exists.
    source
        Where the scenario came from, such as its file.
    scenario
        The text of the scenario with all defaults.
    code
        The names and texts of the files with algorithms that the scenario names.
    budget_ns
        The maximum lateness of a delivery.
    spin_ns
        How long the driver polls the clock before each instant at which it must act.
    wire
        The devices of the hosts.
    offload
        True if the devices take many segments at a time.
    programs
        The programs at the ends of the flow of programs, if the scenario has one.
    """

    parent: int
    folder: str
    source: str
    scenario: str
    code: dict[str, str]
    budget_ns: int
    spin_ns: int
    wire: str
    offload: bool
    programs: ProgramsOrder | None = None

    def text(self) -> str:
        """Return the order as JSON."""
        return json.dumps(asdict(self))


class LiveError(RuntimeError, ValueError):
    """A live run is impossible, for example without namespaces or if the kernel refuses a value."""


class NotRunError(LiveError):
    """A program was not started. The reason was written to standard error.

    Attributes
    ----------
    status
        It is 127 if the program does not exist, and 126 if the program cannot be started. It is 125
        if netspurt failed before it could start the program, for example because the server does
        not run.
    """

    def __init__(self, status: int) -> None:
        super().__init__("the command did not run, and nothing is kept")
        self.status = status


def run_live(  # noqa: PLR0913 - each is a choice of its own
    scenario: Scenario,
    folder: str | os.PathLike[str],
    *,
    budget: float = BUDGET,
    spin: float = SPIN,
    wire: str = "veth",
    offload: bool = False,
    progress: Progress | None = None,
    watch: Watch | None = None,
) -> Run:
    """Run a scenario live and keep the run in a folder that does not exist yet.

    Parameters
    ----------
    scenario
        A scenario with at least one `endpoint = "kernel"`.
    folder
        The run folder to make.
    budget
        The maximum lateness of a delivery, in seconds. A run with a later delivery is not valid.
    spin
        How long the driver polls the clock, and does not sleep, before each instant at which it
        must act, in seconds. A driver without real-time priority always sleeps.
    wire
        The devices of the hosts: `"veth"` or `"tun"`.
    offload
        True if the devices have segmentation offload: they take many segments at a time, as network
        cards do.
    progress
        A function that is called up to four times a second with the seconds that have passed and
        the total seconds.
    watch
        A function that is called up to four times a second with the state of the run. The run waits
        neither for `progress` nor for `watch`.

    Raises
    ------
    LiveError
        If no flow has an end on the kernel's TCP, if a parameter is not valid, if the machine does
        not allow namespaces, or if the kernel refuses a value.
    FileExistsError
        If a file or a folder of this name exists.
    """
    if scenario.kernel_flow is None:
        raise LiveError(
            "no flow has an end on the kernel's TCP: "
            f'add `endpoint = "kernel"` to a flow, or `--set {scenario.first_endpoint}=kernel`, '
            "or run it with `netspurt run`"
        )
    order = _order(scenario, budget, spin, wire, offload)
    with new_folder(folder) as partial:
        _work(replace(order, folder=str(partial)), scenario.stop, progress, watch)
        seal(partial)
    return open_run(Path(folder))


def run_programs(  # noqa: PLR0913 - each is a choice of its own
    scenario: Scenario,
    folder: str | os.PathLike[str],
    command: Sequence[str],
    *,
    server: str | None = None,
    budget: float = BUDGET,
    spin: float = SPIN,
    wire: str = "veth",
    offload: bool = False,
) -> Run:
    """Run programs at two nodes of a scenario and keep the run in a new folder.

    Both programs have this process's working directory. The command has this process's input and
    output. The server has no input, and its output goes to a file in the run folder. The command's
    exit status is `run.live.programs.status`. If the scenario's `stop` ended the command, the
    status is 124, and `stopped` is true.

    Parameters
    ----------
    scenario
        A scenario with a flow of programs, from `Scenario.for_programs`.
    folder
        The run folder to make.
    command
        The program and its arguments, at the flow's `from`.
    server
        A shell command that runs at the flow's `to`. `command` starts when the server listens on a
        port, but at the latest after about 5 s.
    budget, spin, wire, offload
        As in `run_live`.

    Raises
    ------
    LiveError
        If the scenario has no flow of programs, if there is no command, if a parameter is not
        valid, if the machine does not allow namespaces, or if the kernel refuses a value. The error
        is a `NotRunError` if a program could not be started.
    FileExistsError
        If a file or a folder of this name exists.
    """
    if scenario.programs_flow is None:
        raise LiveError('no flow has `app = "programs"`')
    if not command:
        raise LiveError("no program to run")
    order = _order(scenario, budget, spin, wire, offload)
    order = replace(order, programs=ProgramsOrder(list(command), server))
    with new_folder(folder) as partial:
        _work_for_programs(replace(order, folder=str(partial)))
        programs = LiveReport.load(partial / LIVE).programs
        if programs is None or not programs.ran:
            raise NotRunError(programs.status if programs else 125)
        seal(partial)
    return open_run(Path(folder))


def refused_namespaces() -> str:
    """Return why the machine does not allow the namespaces of live runs; empty if it does."""
    name = "user and network namespaces"
    capabilities = {known: (present, why) for known, present, why, _ in _core.capabilities()}
    present, why = capabilities[name]
    return "" if present else f"{name}: {why}"


def _no_live_run(why: str) -> str:
    """Return the text of the error for a live run that failed."""
    return f"no live run: {why}" + (": see `netspurt doctor`" if refused_namespaces() else "")


def _order(scenario: Scenario, budget: float, spin: float, wire: str, offload: bool) -> RunOrder:
    """Return the order of a run. Its folder is not known yet and is an empty text."""
    if wire not in WIRES:
        raise LiveError(f"wire {wire!r} is neither {' nor '.join(WIRES)}")
    if not (0 <= budget <= 1e6 and 0 <= spin <= 1e6):
        raise LiveError("budget and spin are seconds from 0 to a million")
    return RunOrder(
        parent=os.getpid(),
        folder="",
        source=scenario.name,
        scenario=scenario.resolved(),
        code=dict(scenario.code),
        budget_ns=round(budget * 1e9),
        spin_ns=round(spin * 1e9),
        wire=wire,
        offload=offload,
    )


def _work_for_programs(order: RunOrder) -> None:
    """Run an order in a process whose standard input and output belong to the programs."""
    with _unnamed_file(order.folder) as order_file, _unnamed_file(order.folder) as complaint:
        order_file.write(order.text())
        order_file.flush()
        numbers = order_file.fileno(), complaint.fileno()
        words = [sys.executable, "-P", "-c", _PROCESS, *map(str, numbers)]
        process = subprocess.Popen(words, pass_fds=numbers)
        try:
            status = _wait(process)
        finally:
            process.kill()
            process.wait()
        if status != 0:
            complaint.seek(0)
            why = complaint.read() or f"its process ended with status {status}"
            raise LiveError(_no_live_run(why))


def _unnamed_file(folder: str) -> IO[str]:
    """Return a file without a name in a run's folder, so that no file remains.

    Without `dir`, `tempfile` would test the usual temporary folders: it would write a file with a
    name. That file would remain if the process were killed during the test.
    """
    return tempfile.TemporaryFile("w+", dir=folder)


def _wait(process: subprocess.Popen[bytes]) -> int:
    """Wait for a process and return its status.

    In the main thread, this function ignores keyboard interrupts while it waits, so that only the
    programs handle them.
    """
    if threading.current_thread() is not threading.main_thread():
        return process.wait()
    before = {key: signal.signal(key, signal.SIG_IGN) for key in (signal.SIGINT, signal.SIGQUIT)}
    try:
        return process.wait()
    finally:
        for key, handler in before.items():
            signal.signal(key, handler)


def _work(order: RunOrder, stop: float, progress: Progress | None, watch: Watch | None) -> None:
    """Run an order in a process, and call the functions `progress` and `watch` meanwhile."""
    with _unnamed_file(order.folder) as complaints:
        words = [sys.executable, "-P", "-c", _PROCESS]
        process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints, text=True
        )
        try:
            with contextlib.suppress(BrokenPipeError), process.stdin as stdin:  # type: ignore[union-attr]
                stdin.write(order.text())
            for line in process.stdout or ():
                scene = read(Scene, json.loads(line))
                if progress is not None:
                    progress(scene.passed_ms / 1e3, stop)
                if watch is not None:
                    watch(scene)
            status = process.wait()
        finally:
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()
        if status != 0:
            complaints.seek(0)
            last = complaints.read().strip().splitlines()[-1:]
            why = last[0] if last else f"its process ended with status {status}"
            raise LiveError(_no_live_run(why))
