"""Measures what a Linux receiver gets and acknowledges, with and without receive offload.

``.venv/bin/python authorities/linux/gro.py`` makes two network namespaces with a veth pair between
them, and sends 500 000 octets over one connection, segment by segment (without TSO and GSO). It
does this three times with generic receive offload (GRO) and three times without. It writes
``gro.csv``: a row for each data packet that the receiver's device passed on, with its octets of
payload and its flags. Each row also has the number of ACKs that the receiver sent in the run.
The program needs root and `ip`, and takes five seconds.
"""

from __future__ import annotations

import csv
import ctypes
import fcntl
import os
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

FILE = Path(__file__).resolve().parent / "gro.csv"
OCTETS = 500_000
RUNS = 3
PORT = 5001
#: The namespace of the sender, its device and its address; then the same for the receiver.
SENDER = ("netspurt-gro-a", "va", "10.9.0.1")
RECEIVER = ("netspurt-gro-b", "vb", "10.9.0.2")
#: Numbers from Linux's headers: `SIOCETHTOOL`, `ETHTOOL_STSO`, `ETHTOOL_SGSO`, `ETHTOOL_SGRO`.
SIOCETHTOOL, STSO, SGSO, SGRO = 0x8946, 0x1F, 0x24, 0x2C
#: Numbers from Linux's headers: `CLONE_NEWNET`, `ETH_P_ALL`, `SO_RCVBUFFORCE`.
CLONE_NEWNET, ALL, RCVBUFFORCE = 0x40000000, 3, 33


def command(words: str) -> None:
    """Run `ip` with these words."""
    subprocess.run(["ip", *words.split()], check=True)


def enter(namespace: str) -> None:
    """Move this thread into a namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    with Path(f"/var/run/netns/{namespace}").open() as file:
        if libc.setns(file.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"setns {namespace}")


def switch(device: str, feature: int, on: bool) -> None:
    """Switch one offload feature of a device on or off."""
    value = ctypes.create_string_buffer(struct.pack("II", feature, on))
    request = struct.pack("16sP", device.encode(), ctypes.addressof(value))
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, SIOCETHTOOL, request)


def send(ready: threading.Event) -> None:
    """Send the octets, segment by segment."""
    namespace, device, _ = SENDER
    enter(namespace)
    switch(device, STSO, False)
    switch(device, SGSO, False)
    ready.wait()
    with socket.create_connection((RECEIVER[2], PORT)) as connection:
        connection.sendall(bytes(OCTETS))


def receive(ready: threading.Event, gro: bool, packets: list[tuple[int, bytes]]) -> None:
    """Read the octets. Add the kind and the octets of each captured packet to `packets`."""
    namespace, device, address = RECEIVER
    enter(namespace)
    switch(device, SGRO, gro)
    capture = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL))
    capture.setsockopt(socket.SOL_SOCKET, RCVBUFFORCE, 1 << 26)
    capture.bind((device, ALL))
    capture.settimeout(0.2)
    listener = socket.create_server((address, PORT))
    ready.set()
    connection, _ = listener.accept()
    over = threading.Event()
    threading.Thread(target=drain, args=(connection, over)).start()
    while not over.is_set():
        try:
            packet, origin = capture.recvfrom(70_000)
        except TimeoutError:
            continue
        packets.append((origin[2], packet))


def drain(connection: socket.socket, over: threading.Event) -> None:
    """Read until the connection ends, wait 0.2 s for the last packets, and set `over`."""
    while connection.recv(1 << 16):
        pass
    time.sleep(0.2)
    over.set()


def tcp_packets(packets: list[tuple[int, bytes]]) -> Iterator[tuple[bool, int, int]]:
    """Yield for each TCP packet: whether the receiver sent it, its payload [octets], its flags."""
    for kind, packet in packets:
        if packet[12:14] != b"\x08\x00" or packet[23] != socket.IPPROTO_TCP:
            continue
        at = 14 + 4 * (packet[14] & 15)
        payload = int.from_bytes(packet[16:18], "big") - (at - 14) - 4 * (packet[at + 12] >> 4)
        yield kind == socket.PACKET_OUTGOING, payload, packet[at + 13]


def measure(gro: bool) -> list[tuple[bool, int, int]]:
    """Return the packets of one transfer, as `tcp_packets` yields them."""
    names = [name for name, *_ in (SENDER, RECEIVER)]
    for name in names:
        command(f"netns add {name}")
    try:
        peer = f"peer name {RECEIVER[1]} netns {names[1]}"
        command(f"link add {SENDER[1]} netns {names[0]} type veth {peer}")
        for name, device, address in (SENDER, RECEIVER):
            command(f"-n {name} addr add {address}/24 dev {device}")
            command(f"-n {name} link set {device} up")
        ready = threading.Event()
        packets: list[tuple[int, bytes]] = []
        threads = [threading.Thread(target=receive, args=(ready, gro, packets))]
        threads.append(threading.Thread(target=send, args=(ready,)))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        parsed = list(tcp_packets(packets))
        captured = sum(payload for sent, payload, _ in parsed if not sent)
        if captured != OCTETS:
            raise RuntimeError(f"{captured} of {OCTETS} octets were captured: run it again")
        return parsed
    finally:
        for name in names:
            command(f"netns del {name}")


def main() -> None:
    """Measure, and write the file."""
    with FILE.open("w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(("gro", "run", "acks", "payload_bytes", "flags"))
        for gro in (False, True):
            for run in range(RUNS):
                packets = measure(gro)
                acks = sum(sent and not payload for sent, payload, _ in packets)
                data = [
                    (payload, flags) for sent, payload, flags in packets if payload and not sent
                ]
                out.writerows((int(gro), run, acks, *packet) for packet in data)
                switched = f"GRO {'on' if gro else 'off'}"
                print(f"{os.uname().release}, {switched}: {len(data)} packets, {acks} ACKs")


if __name__ == "__main__":
    main()
