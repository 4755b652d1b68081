"""The process that sends probes, answers probes, or captures packets."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

#: The process ignores keyboard interrupts. The program that started it handles them.
_PROCESS = """
import signal, sys
signal.signal(signal.SIGINT, lambda *_: None)
from netspurt._core import probe_work
try:
    probe_work()
except RuntimeError as error:
    print("error:", error, file=sys.stderr)
    sys.exit(2)
"""


class EndedEarlyError(RuntimeError):
    """A worker ended before it did its task. `worker` raises a `ProbeError` with the reason."""


class ProbeError(RuntimeError, ValueError):
    """Probing is impossible: for example, the host has no address, or the socket is forbidden."""


@dataclass(frozen=True)
class Target:
    """The host that probes are sent to: its name, address and port, and the kind of the probes."""

    host: str
    address: str
    port: int
    kind: str


@dataclass(frozen=True)
class EchoProbesTask:
    """A series of echo probes. `netspurt.probe.Plan` explains the fields.

    Here times are in nanoseconds, and `target` stands for the plan's host, kind, port and family.
    """

    target: Target
    count: int | None
    span_ns: int | None
    timeout_ns: int
    lengths: dict[str, Any]
    pace: dict[str, Any]
    seed: int
    calibrate: int
    out: str | None
    rotate_echo_probes: int | None
    rotate_ns: int | None
    kind: str = "echo_probes"


@dataclass(frozen=True)
class HopsTask:
    """Probes with a hop limit of 1, then probes with a hop limit of 2, and so on.

    `count` is the number of probes for each hop limit, `most` is the highest hop limit, and
    `octets` is the length of a probe. If an answer shows that a hop limit reaches the end of the
    path, no higher limit follows. The other fields are as in `EchoProbesTask`.
    """

    target: Target
    most: int
    count: int
    octets: int
    timeout_ns: int
    seed: int
    calibrate: int
    out: str | None
    kind: str = "hops"


@dataclass(frozen=True)
class ServeTask:
    """A host that sends back all data that it receives (`echo`) or discards the data (`sink`)."""

    service: str
    address: str
    port: int
    kind: str = "serve"


@dataclass(frozen=True)
class CaptureTask:
    """A capture of packets to and from an address.

    TCP packets are captured only if this address uses `port`; 0 means any port.
    """

    address: str
    port: int
    out: str
    kind: str = "capture"


Task = EchoProbesTask | HopsTask | ServeTask | CaptureTask


@contextlib.contextmanager
def worker(task: Task) -> Iterator[subprocess.Popen[str]]:
    """Start a process that does a task. It ends when its standard input is closed.

    Parameters
    ----------
    task
        The task.

    Raises
    ------
    ProbeError
        If the process fails. If the caller sees that the process ended too early, the caller raises
        `EndedEarlyError`. A `ProbeError` with the reason then takes the place of this error.
    """
    with tempfile.TemporaryFile("w+") as complaints:
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", _PROCESS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
            # A keyboard interrupt reaches only the parent, which then closes the worker's input.
            process_group=0,
        )
        try:
            assert process.stdin is not None
            with contextlib.suppress(BrokenPipeError):
                order = {"parent": os.getpid(), "task": asdict(task)}
                process.stdin.write(json.dumps(order) + "\n")
                process.stdin.flush()
            yield process
            status = process.wait()
        except EndedEarlyError:
            status = process.wait() or 1
        finally:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()  # type: ignore[union-attr]
            try:
                process.wait(2)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdout is not None:
                process.stdout.close()
        if status not in {0, -13}:
            complaints.seek(0)
            last = complaints.read().strip().splitlines()[-1:]
            why = last[0] if last else f"its process ended with status {status}"
            what = "the capture" if isinstance(task, CaptureTask) else "probing"
            why = why.removeprefix("RuntimeError: ").removeprefix("error: ")
            raise ProbeError(f"{what} failed: {why}")
