"""The process that probes, and two hosts with an emulated line between them."""

from __future__ import annotations

import array
import contextlib
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

#: What a line of a data file is read as.
Row = dict[str, Any]

#: An interrupt from the keyboard is left to the program that the process serves.
_PROCESS = """
import signal, sys
signal.signal(signal.SIGINT, lambda *_: None)
from netspurt._core import probe_work
try:
    sys.exit(probe_work())
except RuntimeError as error:
    print("error:", error, file=sys.stderr)
    sys.exit(2)
"""


class ProbeError(RuntimeError, ValueError):
    """No probing: an address that is none, say, or a socket that the machine forbids."""


@contextlib.contextmanager
def worker(order: Row, *, shown: bool = False) -> Iterator[subprocess.Popen[str]]:
    """Start the process that does an order; it ends once its input does.

    Parameters
    ----------
    order
        What it is told.
    shown
        Whether what it prints goes where this process's output goes.

    Raises
    ------
    ProbeError
        When it fails.
    """
    with tempfile.TemporaryFile("w+") as complaints:
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", _PROCESS],
            stdin=subprocess.PIPE,
            stdout=None if shown else subprocess.PIPE,
            stderr=None if shown else complaints,
            text=True,
            # An interrupt from the keyboard is this process's, which then closes the input.
            process_group=None if shown else 0,
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
        if status not in {0, -13} and not shown:
            complaints.seek(0)
            last = complaints.read().strip().splitlines()[-1:] or [f"it ended with {status}"]
            raise ProbeError(f"no probing: {last[0].removeprefix('RuntimeError: ')}")


def in_lab(
    near: Sequence[str],
    far: Sequence[str] = (),
    *,
    there: str,
    back: str | None = None,
) -> int:
    """Run a command in a namespace whose only neighbour is behind an emulated line.

    Parameters
    ----------
    near
        The command; its host is 10.89.0.1.
    far
        A command on the other host, 10.89.0.2; `near` starts once it has written a line.
    there, back
        The line's directions, ``"56 kbit/s, 20 ms, 50 packets"``; one serves for both, and the
        queue may be left out.

    Returns
    -------
    int
        The command's status.

    Raises
    ------
    ProbeError
        When a line is none.
    """
    order = {
        "parent": os.getpid(),
        "task": "lab",
        "near": list(near),
        "far": list(far),
        "there": _direction(there),
        "back": _direction(back or there),
    }
    before = None
    if threading.current_thread() is threading.main_thread():
        before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        with worker(order, shown=True) as process:
            return process.wait()
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)


#: The address of the host behind an emulated line.
FAR = "10.89.0.2"


def _direction(text: str) -> Row:
    parts = [part.strip() for part in text.split(",")]
    if not 2 <= len(parts) <= 3 or not all(parts):
        raise ProbeError(f"{text!r} is no line: write a rate and a delay, as in '56 kbit/s, 20 ms'")
    return dict(zip(("rate", "delay", "queue"), [*parts, "1000 packets"], strict=False))


def push(address: str, port: int, octets: int, *, timeout: float = 300.0) -> dict[str, Any]:
    """Send octets by TCP to a host that echoes or swallows them, and take what comes back.

    Parameters
    ----------
    address, port
        Where the host is.
    octets
        How many to send.
    timeout
        When it is given up, in seconds.

    Returns
    -------
    dict
        `sent` and `returned` octets; `acked_s`, when all was acknowledged; `rate_bps` of that;
        `total_s`, when the host had closed, and with an echo all was back.

    Raises
    ------
    OSError
        When the connection fails.
    """
    begun = time.monotonic()
    returned = 0
    with socket.create_connection((address, port), timeout) as connection:

        def send() -> None:
            with contextlib.suppress(OSError):
                left = octets
                while left > 0:
                    left -= connection.send(bytes(min(left, 1 << 16)))
                connection.shutdown(socket.SHUT_WR)

        sender = threading.Thread(target=send, daemon=True)
        sender.start()
        acked: list[float] = []

        def watch() -> None:
            sender.join()
            waiting = array.array("i", [1])
            while waiting[0] and time.monotonic() - begun < timeout:
                time.sleep(0.001)
                try:
                    fcntl.ioctl(connection, termios.TIOCOUTQ, waiting)
                except (OSError, ValueError):
                    break
            acked.append(time.monotonic() - begun)

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        while got := len(connection.recv(1 << 16)):
            returned += got
        watcher.join(timeout)
    total = time.monotonic() - begun
    took = acked[0] if acked else total
    return {
        "sent": octets,
        "returned": returned,
        "acked_s": took,
        "rate_bps": 8 * octets / took,
        "total_s": total,
    }
