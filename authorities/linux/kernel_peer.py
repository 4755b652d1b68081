"""The remote end of the kernel's connections. It makes its own packets on a TUN device."""

from __future__ import annotations

import asyncio
import fcntl
import os
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
KERNEL = "10.9.0.1"
JIFFY_NS = 4_000_000
FULL = 1448  # octets of a full segment with timestamps, MTU 1500


@dataclass
class Packet:
    """A segment that the kernel sent. `seq` and `ack` are relative to the initial numbers."""

    t: int  # when the segment was read from the device: CLOCK_MONOTONIC in ns
    flags: int
    seq: int
    ack: int
    len: int
    window: int  # the header's value, not scaled
    tsval: int = 0
    sack: list[tuple[int, int]] = field(default_factory=list)


def checksum(data: bytes) -> int:
    """Return the Internet checksum."""
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return int(~total & 0xFFFF)


def cubic_socket() -> socket.socket:
    """Return a TCP socket with CUBIC. A new namespace may have another default algorithm."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.setblocking(False)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    return sock


class Tun:
    """A TUN device, behind which this program acts as many hosts."""

    def __init__(self) -> None:
        self.fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        iff_tun, iff_no_pi, tunsetiff = 1, 0x1000, 0x400454CA
        fcntl.ioctl(self.fd, tunsetiff, struct.pack("16sH", b"peer0", iff_tun | iff_no_pi))
        self.flows: dict[tuple[str, int], Flow] = {}

    def start(self) -> None:
        """Begin to read packets from the device and to give them to their flows."""
        asyncio.get_running_loop().add_reader(self.fd, self.read)

    def read(self) -> None:
        """Read all packets that are ready at the device."""
        while True:
            try:
                raw = os.read(self.fd, 65536)
            except BlockingIOError:
                return
            t = time.monotonic_ns()
            if raw[0] >> 4 == 4 and raw[9] == 6:
                address = socket.inet_ntoa(raw[16:20])
                head = (raw[0] & 15) * 4
                (port,) = struct.unpack("!H", raw[head + 2 : head + 4])
                flow = self.flows.get((address, port))
                if flow:
                    flow.on_packet(t, raw[head : struct.unpack("!H", raw[2:4])[0]])


class Flow:
    """One connection between the kernel and this end."""

    def __init__(self, tun: Tun, address: str, *, stamps: bool = True) -> None:
        self.tun, self.address, self.port = tun, address, 80
        tun.flows[address, self.port] = self
        self.stamps = stamps
        self.iss, self.irs = 1_000_000, 0
        self.kernel_port = 0
        self.nxt, self.rcv = 1, 1
        self.newest = 0  # the latest timestamp from the kernel
        self.packets: asyncio.Queue[Packet] = asyncio.Queue()
        self.sock = cubic_socket()
        self.listener: socket.socket | None = None

    def on_packet(self, t: int, raw: bytes) -> None:
        """Parse a segment from the kernel and queue it; `t` is when it was read [ns]."""
        sport, _, seq, ack, offset, flags, window = struct.unpack("!HHIIBBH", raw[:16])
        head = (offset >> 4) * 4
        if flags & SYN:
            self.irs, self.kernel_port = seq, sport
        seq, ack = (seq - self.irs) % 2**32, (ack - self.iss) % 2**32
        packet = Packet(t, flags, seq, ack, len(raw) - head, window)
        at = 20
        while at < head:
            kind = raw[at]
            if kind <= 1:
                at += 1
                continue
            body = raw[at + 2 : at + raw[at + 1]]
            if kind == 8:
                packet.tsval = struct.unpack("!II", body)[0]
                self.newest = packet.tsval
            elif kind == 5:
                edges = [(e - self.iss) % 2**32 for e in struct.unpack(f"!{len(body) // 4}I", body)]
                packet.sack = list(zip(edges[::2], edges[1::2], strict=True))
            at += raw[at + 1]
        self.packets.put_nowait(packet)

    def send(  # noqa: PLR0913 - a header has that many fields
        self,
        length: int = 0,
        *,
        seq: int | None = None,
        ack: int | None = None,
        flags: int = ACK,
        sack: tuple[tuple[int, int], ...] = (),
        echo: int | None = None,
        syn: bool = False,
        window: int = 8192,
    ) -> int:
        """Send a segment to the kernel and return when it was sent [ns]."""
        if seq is None:
            seq = self.nxt
            self.nxt += length
        options = b""
        if syn:
            options += struct.pack("!BBH", 2, 4, 1460) + b"\x04\x02\x01\x03\x03\x07"
        if self.stamps:
            val = time.monotonic_ns() // 1_000_000 % 2**32
            echo = self.newest if echo is None else echo
            options += b"\x01\x01" + struct.pack("!BBII", 8, 10, val, echo)
        if sack:
            edges = [self.irs + edge for block in sack for edge in block]
            options += b"\x01\x01" + struct.pack(f"!BB{len(edges)}I", 5, 2 + 4 * len(edges), *edges)
        options += b"\x01" * (-len(options) % 4)
        acked = (self.irs + (self.rcv if ack is None else ack)) % 2**32 if flags & ACK else 0
        tcp = struct.pack(
            "!HHIIBBHHH",
            self.port,
            self.kernel_port,
            (self.iss + seq) % 2**32,
            acked,
            (5 + len(options) // 4) << 4,
            flags,
            65535 if syn else window,
            0,
            0,
        )
        tcp += options + bytes(length)
        ends = socket.inet_aton(self.address) + socket.inet_aton(KERNEL)
        total = checksum(ends + struct.pack("!BBH", 0, 6, len(tcp)) + tcp)
        tcp = tcp[:16] + struct.pack("!H", total) + tcp[18:]
        ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(tcp), 0, 0x4000, 64, 6, 0) + ends
        ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
        t = time.monotonic_ns()
        os.write(self.tun.fd, ip + tcp)
        return t

    async def get(self, within: float = 5.0) -> Packet:
        """Wait at most `within` seconds for the kernel's next segment and return it."""
        return await asyncio.wait_for(self.packets.get(), within)

    async def quiet(self, span: float) -> list[Packet]:
        """Return the queued segments and those that the kernel sends within `span` seconds."""
        until, received = time.monotonic() + span, []
        while (remaining := until - time.monotonic()) > 0:
            try:
                received.append(await asyncio.wait_for(self.packets.get(), remaining))
            except TimeoutError:
                break
        return received

    def open(self) -> None:
        """Let the kernel open the connection, and leave its SYN without an answer."""
        self.sock.connect_ex((self.address, self.port))

    async def connect(self, rtt: float = 0.0) -> None:
        """Let the kernel open the connection, and answer its SYN after `rtt` seconds."""
        self.open()
        syn = await self.get()
        await asyncio.sleep(max(0.0, rtt - (time.monotonic_ns() - syn.t) / 1e9))
        self.send(seq=0, ack=1, flags=SYN | ACK, syn=True)
        await self.get()

    async def ask(self, receive_buffer: int = 0) -> Packet:
        """Let the kernel listen, send it a SYN and return its SYN-ACK."""
        self.listener = cubic_socket()
        if receive_buffer:
            self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.listener.bind((KERNEL, 0))
        self.listener.listen()
        self.kernel_port = self.listener.getsockname()[1]
        self.send(seq=0, flags=SYN, syn=True)
        return await self.get()

    async def accept(self, rtt: float = 0.0, receive_buffer: int = 0) -> Packet:
        """Open a connection to the kernel and return its SYN-ACK.

        The last ACK of the handshake leaves `rtt` seconds after the SYN-ACK.
        """
        syn_ack = await self.ask(receive_buffer)
        await asyncio.sleep(rtt)
        self.send()
        self.sock.close()
        listener = self.listener
        assert listener is not None
        while True:
            try:
                self.sock, _ = listener.accept()
                break
            except BlockingIOError:
                await asyncio.sleep(0.001)
        self.sock.setblocking(False)
        return syn_ack

    def read_at_once(self, consume: Callable[[bytes], None] = lambda _: None) -> None:
        """Let the kernel's application read data as it arrives, and pass the data to `consume`."""

        def read() -> None:
            try:
                data = self.sock.recv(1 << 20)
            except BlockingIOError:
                return
            if data:
                consume(data)
            else:
                asyncio.get_running_loop().remove_reader(self.sock)

        asyncio.get_running_loop().add_reader(self.sock, read)

    def write(self, octets: int) -> int:
        """Let the kernel's application write, and return when it did [ns]."""
        t = time.monotonic_ns()
        if self.sock.send(bytes(octets)) != octets:
            raise RuntimeError(f"the send buffer has no room for {octets} octets: write less")
        return t

    def info(self) -> dict[str, int]:
        """Return the fields of TCP_INFO by name.

        Times are in microseconds, but the times since the last segments (`last_*`) are in
        milliseconds.
        """
        raw = self.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 152)
        octets = dict(
            zip(("state", "ca_state", "retransmits", "probes", "backoff"), raw[:5], strict=True)
        )
        names = [
            "rto",
            "ato",
            "snd_mss",
            "rcv_mss",
            "unacked",
            "sacked",
            "lost",
            "retrans",
            "fackets",
            "last_data_sent",
            "last_ack_sent",
            "last_data_recv",
            "last_ack_recv",
            "pmtu",
            "rcv_ssthresh",
            "rtt",
            "rttvar",
            "snd_ssthresh",
            "snd_cwnd",
            "advmss",
            "reordering",
            "rcv_rtt",
            "rcv_space",
            "total_retrans",
        ]
        words = dict(zip(names, struct.unpack("=24I", raw[8:104]), strict=True))
        (min_rtt,) = struct.unpack("=I", raw[148:152])
        return octets | words | {"min_rtt": min_rtt}

    def close(self) -> None:
        """End the connection with a reset, so that nothing lingers."""
        loop = asyncio.get_running_loop()
        loop.remove_reader(self.sock)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()
        if self.listener:
            self.listener.close()
