"""Sends frames through a queue of the Linux kernel, and prints which frames arrived.

A token bucket of the kernel limits the rate of the queue. The program needs a network namespace of
its own, so it is run as ``unshare -Urn python kernel_queue.py``.

The input is one JSON object. Its key `rate_bps` is the rate of the token bucket. The key `wait` is
the largest number of frames in the queue. The key `frame` is the number of octets of a frame. The
key `times` is a list of the instants [s] at which the frames are sent. The output is one JSON
object, too. Its key `arrived` has the numbers of the frames that arrived, counted from 0. Its key
`late` is the longest time [s] by which a frame was sent too late.
"""

from __future__ import annotations

import json
import select
import socket
import subprocess
import sys
import time
from pathlib import Path

#: An EtherType that IEEE 802 reserves for local experiments.
ETHERTYPE = 0x88B5
#: The names of the devices at the two ends of the wire.
SENDER, RECEIVER = "near", "far"


def run(*words: str) -> None:
    """Run a command that must succeed."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stderr.strip()}")


def wire(rate_bps: int, wait: int, frame: int) -> tuple[socket.socket, socket.socket]:
    """Return sockets at both ends of a virtual wire, which begins with a token bucket and a queue.

    The bucket holds the tokens of one frame. The argument `wait` is the largest number of frames in
    the queue.
    """
    run("ip", "link", "add", SENDER, "type", "veth", "peer", "name", RECEIVER)
    for device in (SENDER, RECEIVER):
        silent = Path(f"/proc/sys/net/ipv6/conf/{device}/disable_ipv6")
        if silent.exists():
            silent.write_text("1")
        run("ip", "link", "set", device, "up")
    bucket = ["rate", f"{rate_bps}bit", "burst", str(frame), "limit", str(frame * (wait + 1))]
    run("tc", "qdisc", "add", "dev", SENDER, "root", "handle", "1:", "tbf", *bucket)
    run("tc", "qdisc", "add", "dev", SENDER, "parent", "1:1", "pfifo", "limit", str(wait))
    ends = []
    for device in (SENDER, RECEIVER):
        end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE))
        end.bind((device, ETHERTYPE))
        ends.append(end)
    return ends[0], ends[1]


def main() -> None:
    """Send the frames of the input, and print the numbers of the frames that arrived."""
    request = json.load(sys.stdin)
    near, far = wire(request["rate_bps"], request["wait"], request["frame"])
    head = b"\xff" * 6 + b"\x02" + b"\x00" * 5 + ETHERTYPE.to_bytes(2, "big")
    began, late = time.monotonic() + 0.2, 0.0
    for number, at in enumerate(request["times"]):
        time.sleep(max(0.0, began + at - time.monotonic()))
        late = max(late, time.monotonic() - began - at)
        body = number.to_bytes(2, "big")
        try:
            near.send(head + body.ljust(request["frame"] - len(head), b"\x00"))
        except OSError:
            # The queue is full. The kernel reports this as an error to a sender of raw frames.
            continue
    empty_s = (request["wait"] + 1) * request["frame"] * 8 / request["rate_bps"]
    until, arrived = time.monotonic() + empty_s + 0.3, []
    while (left := until - time.monotonic()) > 0:
        if select.select([far], [], [], left)[0]:
            arrived.append(int.from_bytes(far.recv(2048)[14:16], "big"))
    print(json.dumps({"arrived": arrived, "late": late}))


if __name__ == "__main__":
    main()
