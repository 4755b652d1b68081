"""Live runs: the kernel's TCP on the scenario's links, in real time.

A live run is a process of its own, which makes namespaces for itself. All of them end with that
process, and the process ends with the one that started it. docs/live.md describes live runs.
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
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netspurt import _core
from netspurt.run import LIVE, Run, new_folder, open_run, write_manifest

if TYPE_CHECKING:
    from netspurt.scenario import Scenario

#: How late a delivery may be in a run that counts, in seconds.
BUDGET = 0.005

#: How long before a wake-up the driver polls the clock instead of sleeping, in seconds; only with
#: real-time priority.
SPIN = 0.00006

#: The devices of the hosts: pairs of veth devices, or TUN devices.
WIRES = ("veth", "tun")

#: A function that takes the seconds that have passed and the seconds in all.
Progress = Callable[[float, float], None]

#: Files in the run folder during the run: the order, and the error.
_ORDER = "order.json"
_COMPLAINT = "complaint.txt"

_PROGRAMS = f"""\
import sys
from netspurt._core import live_work
try:
    live_work(sys.argv[1:])
except RuntimeError as error:
    with open(sys.argv[2] + "/{_COMPLAINT}", "w", encoding="utf-8") as file:
        file.write(str(error))
    sys.exit(2)
"""

_PROCESS = "import sys; from netspurt._core import live_work; live_work(sys.argv[1:])"


class LiveError(RuntimeError, ValueError):
    """A live run is impossible: no namespaces, or a value that the kernel refuses."""


class NotRunError(LiveError):
    """A program was not started; the reason was written to standard error.

    Attributes
    ----------
    status
        127 if the program does not exist, 126 if it cannot be run, 125 if its server does not run.
    """

    def __init__(self, status: int) -> None:
        super().__init__("nothing ran, and nothing is kept")
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
) -> Run:
    """Run a scenario live and keep the run in a folder that does not exist yet.

    Parameters
    ----------
    scenario
        A scenario with at least one `endpoint = "kernel"`.
    folder
        The run folder to make.
    budget
        How late a delivery may be in a run that counts, in seconds.
    spin
        How long before a wake-up the driver stops sleeping, in seconds.
    wire
        The devices of the hosts: `"veth"` or `"tun"`.
    offload
        Whether devices take many segments at a time, as network cards do.
    progress
        Called each second with the seconds that have passed and the seconds in all.

    Raises
    ------
    LiveError
        If the machine does not allow namespaces, or the kernel refuses a value.
    FileExistsError
        If something of the folder's name exists.
    """
    if scenario.kernel_flow is None:
        raise LiveError(
            "no flow has a kernel's end: "
            'add `endpoint = "kernel"` to one, or run it with `netspurt run`'
        )
    wiring = _wiring(wire, offload)
    resolved, stop = scenario.resolved(), scenario.stop
    with new_folder(folder) as partial:
        order = [str(os.getpid()), str(partial), str(round(budget * 1e9)), str(round(spin * 1e9))]
        order += wiring
        _work(order, resolved, lambda now: progress(now, stop) if progress else None)
        told = json.loads((partial / LIVE).read_text(encoding="utf-8"))
        write_manifest(partial, resolved, _about(scenario, told))
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

    They have this process's input, output and working directory. The first program's exit status is
    `run.live["programs"]["status"]`. It is 124 if the scenario's `stop` ended it, and then
    `stopped` is true.

    Parameters
    ----------
    scenario
        A scenario with a flow of programs, as `Scenario.for_programs` makes it.
    folder
        The run folder to make.
    command
        The program and its arguments, at the flow's `from`.
    server
        A shell command, run at the flow's `to`; the command waits until it listens on a port.
    budget, spin, wire, offload
        As in `run_live`.

    Raises
    ------
    LiveError
        If the machine does not allow namespaces, or the kernel refuses a value; a `NotRunError` if
        a program could not be started.
    FileExistsError
        If something of the folder's name exists.
    """
    if scenario.programs_flow is None:
        raise LiveError('no flow has `app = "programs"`')
    if not command:
        raise LiveError("no program to run")
    wiring = _wiring(wire, offload)
    resolved = scenario.resolved()
    with new_folder(folder) as partial:
        order = partial / _ORDER
        told = {"scenario": resolved, "command": list(command), "server": server}
        order.write_text(json.dumps(told), encoding="utf-8")
        spans = [str(round(span * 1e9)) for span in (budget, spin)]
        words = [sys.executable, "-P", "-c", _PROGRAMS, str(os.getpid()), str(partial)]
        process = subprocess.Popen([*words, *spans, f"order:{order}", *wiring])
        try:
            status = _wait(process)
        finally:
            process.kill()
            process.wait()
        complaint = partial / _COMPLAINT
        if status != 0:
            why = f"it ended with {status}"
            if complaint.exists():
                why = complaint.read_text(encoding="utf-8")
            raise LiveError(f"the live run failed: {why}")
        order.unlink()
        about = json.loads((partial / LIVE).read_text(encoding="utf-8"))
        programs = about["programs"]
        if not programs["ran"]:
            raise NotRunError(programs["status"])
        write_manifest(partial, resolved, _about(scenario, about))
    return open_run(Path(folder))


def _wiring(wire: str, offload: bool) -> list[str]:
    if wire not in WIRES:
        raise LiveError(f"wire {wire!r} is neither {' nor '.join(WIRES)}")
    return [wire, *(["offload"] if offload else [])]


def _wait(process: subprocess.Popen[bytes]) -> int:
    """Wait, and leave keyboard interrupts to the programs."""
    if threading.current_thread() is not threading.main_thread():
        return process.wait()
    before = {key: signal.signal(key, signal.SIG_IGN) for key in (signal.SIGINT, signal.SIGQUIT)}
    try:
        return process.wait()
    finally:
        for key, handler in before.items():
            signal.signal(key, handler)


def _about(scenario: Scenario, told: dict[str, Any]) -> dict[str, Any]:
    known = ("stop_ns", "digest", "flows_digest", "tables", "nodes", "flows")
    return {
        "netspurt": _core.__version__,
        "title": scenario.title,
        "source": scenario.name,
        "seed": scenario.seed,
        **{name: told[name] for name in known},
        "captures": told.get("captures", {}),
    }


def _work(order: list[str], scenario: str, progress: Callable[[float], None]) -> None:
    """Start a process for the run and wait for it."""
    with tempfile.TemporaryFile("w+") as complaints:
        words = [sys.executable, "-P", "-c", _PROCESS, *order]
        process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints, text=True
        )
        try:
            with contextlib.suppress(BrokenPipeError), process.stdin as order_book:  # type: ignore[union-attr]
                order_book.write(scenario)
            for line in process.stdout or ():
                progress(float(line))
            status = process.wait()
        finally:
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()
        if status != 0:
            complaints.seek(0)
            last = complaints.read().strip().splitlines()[-1:] or [f"it ended with {status}"]
            raise LiveError(f"the live run failed: {last[0].removeprefix('RuntimeError: ')}")
