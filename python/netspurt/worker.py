"""The process that sends probes, answers them and captures."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

#: A line of a data file as data.
Row = dict[str, Any]

#: A keyboard interrupt is left to the program that the process serves.
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


class ProbeError(RuntimeError, ValueError):
    """Probing is impossible: a wrong address, or a socket that the machine forbids."""


@contextlib.contextmanager
def worker(order: Row) -> Iterator[subprocess.Popen[str]]:
    """Start the process for an order; it ends when its input ends.

    Parameters
    ----------
    order
        The order.

    Raises
    ------
    ProbeError
        If it fails.
    """
    with tempfile.TemporaryFile("w+") as complaints:
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", _PROCESS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
            # The keyboard interrupt goes to this process, which then closes the input.
            process_group=0,
        )
        try:
            assert process.stdin is not None
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(json.dumps(order) + "\n")
                process.stdin.flush()
            yield process
            status = process.wait()
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
            last = complaints.read().strip().splitlines()[-1:] or [f"it ended with {status}"]
            raise ProbeError(f"probing failed: {last[0].removeprefix('RuntimeError: ')}")
