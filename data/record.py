"""Makes the recordings of ping, fping and irtt in this folder, on an emulated path.

The program also writes ping's recording as results of RIPE Atlas.

The program needs root, Linux with network namespaces and TUN, and Debian's ping, fping and irtt.
The program emulates the path: over a TUN interface it answers ICMP echoes late, twice or not at
all. For irtt it relays UDP packets in the same way. No packet leaves the machine.

    sudo python3 data/record.py
"""

from __future__ import annotations

import fcntl
import heapq
import json
import os
import random
import re
import select
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parent
#: The time between probes [s]. 240 probes take 4.8 s.
INTERVAL = 0.02
COUNT = 240
#: A simple mobile path: the minimum delay [s], the mean of the exponential tail [s], and the
#: probabilities of a loss and of a duplicate.
FLOOR, TAIL, LOSS, DUPLICATE = 0.020, 0.006, 0.03, 0.01


class EmulatedPath:
    """Delays, loses and duplicates packets."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.waiting: list[tuple[float, int, Callable[[], object]]] = []
        self.count = 0

    def push(self, deliver: Callable[[], object]) -> None:
        """Send a packet over the path; `deliver` is called when it arrives."""
        if self.random.random() < LOSS:
            return
        copies = 2 if self.random.random() < DUPLICATE else 1
        for _ in range(copies):
            self.count += 1
            at = time.monotonic() + FLOOR + self.random.expovariate(1 / TAIL)
            heapq.heappush(self.waiting, (at, self.count, deliver))

    def run(self, reader: int, read: Callable[[], None]) -> None:
        """Deliver packets when they are due, and call `read` when `reader` has data.

        This function does not return.
        """
        while True:
            now = time.monotonic()
            while self.waiting and self.waiting[0][0] <= now:
                heapq.heappop(self.waiting)[2]()
            wait_s = self.waiting[0][0] - now if self.waiting else 1.0
            if select.select([reader], [], [], wait_s)[0]:
                read()


def checksum(data: bytes) -> int:
    """Return the checksum of RFC 1071."""
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def echo_host() -> None:
    """Answer all echo requests that leave through a TUN interface, whatever their destination."""
    tun = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tun, 0x400454CA, struct.pack("16sH", b"far", 0x1001))
    path = EmulatedPath(889)

    def read() -> None:
        packet = bytearray(os.read(tun, 2048))
        if packet[0] >> 4 != 4 or packet[9] != 1 or packet[20] != 8:
            return
        packet[12:16], packet[16:20] = packet[16:20], packet[12:16]
        packet[20] = 0
        packet[22:24] = b"\0\0"
        body = bytes(packet[20:]) + b"\0" * (len(packet) % 2)
        packet[22:24] = struct.pack("!H", checksum(body))
        path.push(lambda: os.write(tun, packet))

    threading.Thread(target=path.run, args=(tun, read), daemon=True).start()


def relay() -> None:
    """Relay UDP from port 2113 to irtt's server at 2112, and the answers back over the path."""
    path = EmulatedPath(1988)
    front = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    front.bind(("127.0.0.1", 2113))
    back = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    back.connect(("127.0.0.1", 2112))
    client: list[tuple[str, int]] = []

    def relay_request() -> None:
        data, sender = front.recvfrom(2048)
        client[:] = [sender]
        back.send(data)

    def relay_answer() -> None:
        data = back.recv(2048)
        # The packets that open the session are not probes, so the path does not change them.
        deliver = lambda: front.sendto(data, client[0])  # noqa: E731
        deliver() if data[3] & 1 else path.push(deliver)

    requests = EmulatedPath(0)
    threading.Thread(target=requests.run, args=(front.fileno(), relay_request), daemon=True).start()
    threading.Thread(target=path.run, args=(back.fileno(), relay_answer), daemon=True).start()


def tool(name: str, *command: str) -> str:
    """Run a tool, return its output, and write it to the file `name`, unless `name` is empty."""
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    text = result.stdout + result.stderr
    if name:
        (HERE / name).write_text(text, encoding="utf-8")
    return text


def atlas(log: str) -> None:
    """Write a log of ping as results of RIPE Atlas, with three probes in each result."""
    line = re.compile(
        r"^\[(\d+)\.\d+\] .*icmp_seq=(\d+) ttl=(\d+) time=([\d.]+) ms( \(DUP!\))?", re.M
    )
    replies: dict[int, list[dict[str, object]]] = {}
    stamps: dict[int, int] = {}
    for stamp, seq, ttl, ms, duplicate in line.findall(log):
        entry: dict[str, object] = {"rtt": float(ms), "ttl": int(ttl)}
        replies.setdefault(int(seq), []).append({**entry, "dup": 1} if duplicate else entry)
        stamps.setdefault(int(seq), int(stamp))
    lines = []
    for first in range(1, COUNT + 1, 3):
        burst = range(first, first + 3)
        result = [entry for seq in burst for entry in replies.get(seq, [{"x": "*"}])]
        known = [
            float(str(entry["rtt"])) for entry in result if "rtt" in entry and "dup" not in entry
        ]
        lines.append(
            {
                "fw": 5080, "mver": "2.6.2", "lts": 12, "dst_name": "10.99.0.2", "af": 4,
                "dst_addr": "10.99.0.2", "src_addr": "10.99.0.1", "proto": "ICMP", "ttl": 64,
                "size": 56, "result": result, "dup": sum("dup" in entry for entry in result),
                "rcvd": len(known), "sent": 3,
                "min": min(known, default=-1), "max": max(known, default=-1),
                "avg": sum(known) / len(known) if known else -1,
                "msm_id": 1, "prb_id": 1, "timestamp": min(stamps.values()) + first - 1,
                "msm_name": "Ping", "from": "10.99.0.1", "type": "ping", "step": 3,
            }
        )  # fmt: skip
    text = "".join(json.dumps(result) + "\n" for result in lines)
    (HERE / "atlas-ping.jsonl").write_text(text)


def main() -> None:
    """Record everything, within a namespace of its own."""
    if "inside" not in sys.argv:
        os.execvp("unshare", ["unshare", "--net", sys.executable, __file__, "inside"])
    echo_host()
    for command in (
        "ip link set lo up", "ip addr add 10.99.0.1/24 dev far", "ip link set far up",
    ):  # fmt: skip
        subprocess.run(command.split(), check=True)
    time.sleep(0.3)
    pace, count = str(INTERVAL), str(COUNT)
    log = tool("ping.txt", "ping", "-D", "-O", "-n", "-i", pace, "-c", count, "10.99.0.2")
    atlas(log)
    ms = str(round(INTERVAL * 1000))
    tool("fping-c.txt", "fping", "-D", "-c", count, "-p", ms, "-t", "500", "10.99.0.2", "10.99.0.3")
    tool("fping-C.txt", "fping", "-q", "-C", "60", "-p", ms, "-t", "500", "10.99.0.2")
    relay()
    server = subprocess.Popen(["irtt", "server", "-b", "127.0.0.1:2112"], stdout=subprocess.DEVNULL)
    time.sleep(0.3)
    file = str(HERE / "irtt.json")
    tool("", "irtt", "client", "-i", f"{ms}ms", "-d", f"{COUNT * INTERVAL}s", "-o", file, "-q",
         "127.0.0.1:2113")  # fmt: skip
    server.terminate()
    text = (HERE / "irtt.json").read_text()
    # The machine's name is private, and blanks are half of the file.
    session = json.loads(text)
    session["system_info"]["hostname"] = "host"
    (HERE / "irtt.json").write_text(json.dumps(session, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
