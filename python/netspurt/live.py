"""Live runs: the kernel's TCP on the scenario's links, by the wall clock.

A live run is a process of its own, which makes namespaces for itself; nothing of it outlives that
process, and it ends with the one that started it. docs/live.md tells the whole.
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

#: How late a delivery may be before a run counts for nothing, in seconds.
BUDGET = 0.005

#: How long before an appointment the driver looks at the clock again and again, in seconds; only
#: where it may run before all others.
SPIN = 0.00006

#: What hosts' wires may be made of: pairs of veth devices, or TUN devices.
WIRES = ("veth", "tun")

#: Called with the seconds that have passed and those there are.
Progress = Callable[[float, float], None]

#: What is to be run, in the folder while it runs, and what went wrong.
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
    """No live run: no namespaces, say, or a value that the kernel refuses."""


class NotRunError(LiveError):
    """A program was not started; why went to the standard error.

    Attributes
    ----------
    status
        127 where there is no such program, 126 where it is none, 125 where its server does not
        run.
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
        How late a delivery may be before the run counts for nothing, in seconds.
    spin
        How long before an appointment the driver stops sleeping, in seconds.
    wire
        What hosts' wires are made of: `"veth"` or `"tun"`.
    offload
        Whether devices take segments many at a time, as network cards do.
    progress
        Called each second with the seconds that have passed and those there are.

    Raises
    ------
    LiveError
        When the machine gives no namespaces, or the kernel refuses a value.
    FileExistsError
        When there is something of the folder's name.
    """
    if scenario.kernel_flow is None:
        raise LiveError(
            "no flow has an end of the kernel's: "
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

    They have this process's input, output and working directory. The first one's exit status is
    `run.live["programs"]["status"]`: 124 where the scenario's `stop` ended it, and then `stopped`
    is true.

    Parameters
    ----------
    scenario
        A scenario with a flow of programs; `Scenario.for_programs` sees to that.
    folder
        The run folder to make.
    command
        The program and its arguments, at the flow's `from`.
    server
        A line for the shell, at the flow's `to`; the command waits until it listens on a port.
    budget, spin, wire, offload
        As in `run_live`.

    Raises
    ------
    LiveError
        When the machine gives no namespaces, or the kernel refuses a value; a `NotRunError` where
        a program could not be started.
    FileExistsError
        When there is something of the folder's name.
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
            raise LiveError(f"no live run: {why}")
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
    """Wait, and leave the keys that interrupt to the programs."""
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
    """Have a process of its own do it."""
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
            raise LiveError(f"no live run: {last[0].removeprefix('RuntimeError: ')}")
