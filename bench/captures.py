"""Compares `netspurt explain` with tcptrace: speed and memory.

    python bench/captures.py make FOLDER        # makes many.pcap and small/, about 330 MB
    python bench/captures.py run FOLDER [N]     # N runs of each program, alternating

The captures depend only on this file. `many.pcap` has 40,000 connections with 3.2 million packets,
and `small/` has 2,000 files with one short connection each. Every connection transfers segments of
1448 octets with timestamps; the first 96 octets of each packet are captured at the sender. The
sender sends its segments in flights: all segments that cwnd allows, back to back. A segment is lost
with a probability of 2 %, but a flight loses at most one segment, and a retransmission is never
lost. A loss is repaired by a fast retransmit with SACK, or by a timeout if the segment is among the
last three of its flight. Round-trip times are log-normal. The receiver acknowledges every second
segment, the last segment of a flight, the last segment before a loss, and each segment after a
loss.
"""

from __future__ import annotations

import heapq
import os
import random
import shutil
import statistics
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

CONNECTIONS, SEGMENTS = 40_000, 46
SMALL, SMALL_SEGMENTS = 2_000, 14
SNAP, MSS = 96, 1448
MS = 1_000_000
START = 1_700_000_000_000_000_000
FIN, SYN, PSH, ACK = 1, 2, 8, 16

#: A captured packet: its time [ns], the octets that were captured, and its length on the link.
Packet = tuple[int, bytes, int]


class Flow:
    """The packets of one connection, as captured beside the sender of the data."""

    def __init__(self, number: int, start: int, segments: int) -> None:
        self.random = random.Random(number)
        self.start, self.segments = start, segments
        self.rtt = int(self.random.lognormvariate(3.9, 0.6) * MS)
        client = struct.pack(">I", 0x0A000000 + number // 60_000 * 256 + 1)
        server = struct.pack(">I", 0xC0A80000 + number % 5_000)
        self.addresses = (client + server, server + client)
        port = 1024 + number % 60_000
        self.ports = (struct.pack(">HH", port, 80), struct.pack(">HH", 80, port))
        self.isn = (self.random.getrandbits(32), self.random.getrandbits(32))
        self.ids = [self.random.getrandbits(16), self.random.getrandbits(16)]
        self.packets: list[Packet] = []

    def send(  # noqa: PLR0913 - the fields of a packet
        self,
        at: int,
        side: int,
        flags: int,
        seq: int,
        ack: int = 0,
        length: int = 0,
        sack: tuple[int, int] | None = None,
    ) -> None:
        """Add a packet at the instant `at` [ns]. Side 0 is the client; side 1 sends the data."""
        stamp = struct.pack(
            ">BBBBII", 1, 1, 8, 10, at // MS & 0xFFFFFFFF, (at - self.rtt) // MS & 0xFFFFFFFF
        )
        options = b"\x02\x04\x05\xb4\x04\x02" + stamp[2:] + b"\x01\x03\x03\x07"
        if not flags & SYN:
            options = stamp
        if sack is not None:
            edges = [(self.isn[1 - side] + edge) & 0xFFFFFFFF for edge in sack]
            options += struct.pack(">BBBBII", 1, 1, 5, 10, *edges)
        number = (self.isn[side] + seq) & 0xFFFFFFFF
        answer = (self.isn[1 - side] + ack) & 0xFFFFFFFF if flags & ACK else 0
        tcp = self.ports[side] + struct.pack(
            ">IIBBHHH", number, answer, (20 + len(options)) << 2, flags, 0xFFFF, 0, 0
        )
        total = 20 + len(tcp) + len(options) + length
        self.ids[side] = self.ids[side] % 65_535 + 1
        ip = struct.pack(">BBHHHBBH", 0x45, 0, total, self.ids[side], 0x4000, 64, 6, 0)
        frame = b"\0" * 12 + b"\x08\x00" + ip + self.addresses[side] + tcp + options
        on_link = 14 + total
        captured = frame + b"\0" * (min(on_link, SNAP) - len(frame))
        self.packets.append((at, captured[:SNAP], on_link))

    def play(self) -> list[Packet]:
        """Return all packets of the connection in the order of time."""
        rtt, at = self.rtt, self.start
        self.send(at, 0, SYN, 0)
        self.send(at + 20_000, 1, SYN | ACK, 0, 1)
        self.send(at + rtt, 0, ACK, 1, 1)
        self.send(at + rtt + 30_000, 0, ACK | PSH, 1, 1, 200)
        at, sent, cwnd_segs = at + rtt + 60_000, 0, 10
        while sent < self.segments:
            count = min(cwnd_segs, self.segments - sent)
            at = self.flight(at, sent, count)
            sent, cwnd_segs = sent + count, cwnd_segs * 2
        end = 1 + self.segments * MSS
        self.send(at, 1, FIN | ACK, end, 201)
        self.send(at + rtt, 0, FIN | ACK, 201, end + 1)
        self.send(at + rtt + 20_000, 1, ACK, end + 1, 202)
        self.packets.sort(key=lambda packet: packet[0])
        return self.packets

    def flight(self, at: int, first: int, count: int) -> int:
        """Send `count` segments back to back, with their ACKs and the repair of a loss.

        Return the instant [ns] at which all these segments are acknowledged and the next flight may
        leave.
        """
        gap, seq = 12_000, lambda index: 1 + index * MSS
        for index in range(first, first + count):
            self.send(at + (index - first) * gap, 1, ACK | PSH, seq(index), 201, MSS)
        losses = [n for n in range(first, first + count) if self.random.random() < 0.02]
        end, sacked_segs, unacked_segs = first + count, 0, 0
        # Only the first loss counts. Without a loss, `lost` is the end of the flight.
        lost = losses[0] if losses else end
        last_ack = at
        for index in range(first, end):
            ack_at = at + self.rtt + (index - first) * gap
            if index < lost:
                unacked_segs += 1
                if unacked_segs == 2 or index + 1 == min(lost, end):
                    self.send(ack_at, 0, ACK, 201, seq(index + 1))
                    unacked_segs, last_ack = 0, ack_at
            elif index > lost:
                sacked_segs, last_ack = sacked_segs + 1, ack_at
                self.send(ack_at, 0, ACK, 201, seq(lost), sack=(seq(lost + 1), seq(index + 1)))
                if sacked_segs == 3:
                    self.send(ack_at + 5_000, 1, ACK | PSH, seq(lost), 201, MSS)
        if lost == end:
            return last_ack + 5_000
        repaired = at + self.rtt + (lost + 3 - first) * gap + 5_000
        if sacked_segs < 3:
            repaired = at + (count - 1) * gap + max(200 * MS, 2 * self.rtt)
            self.send(repaired, 1, ACK | PSH, seq(lost), 201, MSS)
        self.send(repaired + self.rtt, 0, ACK, 201, seq(end))
        return repaired + self.rtt + 5_000


def record(packet: Packet) -> bytes:
    """Return a packet's record for a pcap file."""
    at, captured, on_link = packet
    us = at // 1_000
    return struct.pack("<IIII", us // 10**6, us % 10**6, len(captured), on_link) + captured


HEADER = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, SNAP, 1)


def packets_of_all() -> Iterator[Packet]:
    """Yield the packets of all connections, in the order of time."""
    heap: list[tuple[int, int, Packet]] = []
    start, rng, order = START, random.Random("starts"), 0
    for number in range(CONNECTIONS):
        while heap and heap[0][0] < start:
            yield heapq.heappop(heap)[2]
        for packet in Flow(number, start, SEGMENTS).play():
            order += 1
            heapq.heappush(heap, (packet[0], order, packet))
        start += int(rng.expovariate(1 / (0.25 * MS)))
    while heap:
        yield heapq.heappop(heap)[2]


def make(folder: Path) -> None:
    """Write the captures into `folder`."""
    (folder / "small").mkdir(parents=True, exist_ok=True)
    with (folder / "many.pcap").open("wb") as file:
        file.write(HEADER)
        total = 0
        for packet in packets_of_all():
            file.write(record(packet))
            total += 1
    print(f"many.pcap: {total:,} packets, {CONNECTIONS:,} connections")
    for number in range(SMALL):
        flow = Flow(number, START + number * MS, SMALL_SEGMENTS).play()
        octets = HEADER + b"".join(map(record, flow))
        (folder / "small" / f"{number:04}.pcap").write_bytes(octets)
    print(f"small/: {SMALL:,} files of about {len(flow)} packets")


def costs_of(command: list[str]) -> tuple[float, float, float]:
    """Run a command. Return its CPU time [s], its wall-clock time [s] and its peak memory [MB]."""
    start = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        raise SystemExit(f"{' '.join(command)}: status {status}")
    wall_s = time.perf_counter() - start
    return usage.ru_utime + usage.ru_stime, wall_s, usage.ru_maxrss / 1024


def run(folder: Path, rounds: int) -> None:
    """Run the programs alternately in `rounds` rounds, and print medians."""
    netspurt = [sys.executable, "-m", "netspurt", "explain"]
    many, small = str(folder / "many.pcap"), str(folder / "small")
    commands = {
        "many: netspurt explain --csv": [*netspurt, "--csv", many],
        "many: netspurt explain": [*netspurt, many],
        "many: netspurt explain --json": [*netspurt, "--json", many],
        "small: netspurt explain --csv": [*netspurt, "--csv", small],
    }
    if shutil.which("tcptrace"):
        commands["many: tcptrace -lrn --csv"] = ["tcptrace", "-lrn", "--csv", many]
    costs: dict[str, list[tuple[float, float, float]]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            costs[name].append(costs_of(command))
    for name in commands:
        cpu_s, wall_s, memory_mb = map(statistics.median, zip(*costs[name], strict=True))
        print(f"{name:34} {cpu_s:6.2f} s CPU  {wall_s:6.2f} s  peak memory {memory_mb:5.0f} MB")


if __name__ == "__main__":
    action, folder = sys.argv[1], Path(sys.argv[2])
    if action == "make":
        make(folder)
    else:
        run(folder, int(sys.argv[3]) if len(sys.argv) > 3 else 5)
