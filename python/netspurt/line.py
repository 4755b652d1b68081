"""Two hosts with an emulated line between them, and transfers over it."""

from __future__ import annotations

import array
import contextlib
import fcntl
import json
import shlex
import socket
import tempfile
import termios
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from netspurt.live import run_programs
from netspurt.scenario import Scenario

#: The addresses of the two ends of a line.
NEAR, FAR = "10.0.0.1", "10.0.0.2"

#: The scenario of a line. Rate, delay and queue are added to it. The run ends when the command on
#: the host `near` ends, so `stop` is only an upper bound.
_SCENARIO = """
title = "an emulated line"
stop = "10000 h"
[links.line]
between = ["near", "far"]
[record]
tables = []
capture = false
"""


def over_line(
    near: Sequence[str],
    far: Sequence[str] = (),
    *,
    forward: str,
    reverse: str | None = None,
) -> int:
    """Run a command on a host that an emulated line connects with a second host.

    Parameters
    ----------
    near
        The command; its host is `NEAR`.
    far
        A command on the other host, `FAR`. The command `near` starts when the command `far` listens
        on a port.
    forward, reverse
        The two directions of the line, such as ``"56 kbit/s, 20 ms, 50 packets"``. Without
        `reverse`, both directions are the same. The queue may be left out; then it has room for
        1000 packets.

    Returns
    -------
    int
        The command's status.

    Raises
    ------
    ValueError
        If a text does not describe a line. If one of its values is wrong, the error is a
        `ScenarioError`.
    LiveError
        If the machine does not allow namespaces, or if a command cannot be started.
    """
    directions = [_direction(forward), _direction(reverse or forward)]
    values = {
        f"links.line.{key}": json.dumps([direction[place] for direction in directions])
        for place, key in enumerate(("rate", "delay", "queue"))
    }
    scenario = Scenario.for_programs(_SCENARIO, "--line", values=values, side="near", peer="far")
    with tempfile.TemporaryDirectory() as folder:
        run = run_programs(
            scenario, Path(folder) / "run", near, server=shlex.join(far) if far else None
        )
        assert run.live is not None
        assert run.live.programs is not None
        return run.live.programs.status


def _direction(text: str) -> list[str]:
    parts = [part.strip() for part in text.split(",")]
    if not 2 <= len(parts) <= 3 or not all(parts):
        raise ValueError(
            f"{text!r} is not a line: write rate and delay, such as '56 kbit/s, 20 ms'"
        )
    return [*parts, "1000 packets"][:3]


def push(address: str, port: int, octets: int, *, timeout: float = 300.0) -> dict[str, Any]:
    """Send octets by TCP to a host that echoes or discards them, and read the returned data.

    Parameters
    ----------
    address, port
        The address and the port of the host.
    octets
        The number to send.
    timeout
        The maximum time of one wait for the host, in seconds. The wait for acknowledgments ends
        when all octets are acknowledged. It also ends `timeout` seconds after the start, but not
        before all octets are written. At the end of this wait, all octets count as acknowledged.

    Returns
    -------
    dict
        `sent` and `returned` are octets. `acked_s` is the time from the start until all octets were
        acknowledged, and `rate_bps` is the rate in this time. `total_s` is the time from the start
        until the host had closed the connection. An echo host had returned all octets by then.

    Raises
    ------
    OSError
        If the connection fails.
    """
    started = time.monotonic()
    returned = 0
    with socket.create_connection((address, port), timeout) as connection:

        def send() -> None:
            with contextlib.suppress(OSError):
                remaining = octets
                while remaining > 0:
                    remaining -= connection.send(bytes(min(remaining, 1 << 16)))
                connection.shutdown(socket.SHUT_WR)

        sender = threading.Thread(target=send, daemon=True)
        sender.start()
        acked: list[float] = []

        def watch() -> None:
            sender.join()
            waiting = array.array("i", [1])
            while waiting[0] and time.monotonic() - started < timeout:
                time.sleep(0.001)
                try:
                    fcntl.ioctl(connection, termios.TIOCOUTQ, waiting)
                except (OSError, ValueError):
                    break
            acked.append(time.monotonic() - started)

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        while got := len(connection.recv(1 << 16)):
            returned += got
        watcher.join(timeout)
    total = time.monotonic() - started
    acked_s = acked[0] if acked else total
    return {
        "sent": octets,
        "returned": returned,
        "acked_s": acked_s,
        "rate_bps": 8 * octets / acked_s,
        "total_s": total,
    }
