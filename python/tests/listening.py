"""Prints the addresses on which the processes of a sweep's cluster listen.

A sweep runs many variants of a scenario, which are called its cases. The cluster belongs to Ray, a
library that runs the cases in several processes.
"""

from __future__ import annotations

import ipaddress
import os
from pathlib import Path

import netspurt as ns
from netspurt.sweep import Chunk, Sweep
from netspurt.sweep.cluster import Ray

from test_sweep import LOSSY


def show() -> None:
    """Start a cluster, run a case on it, and print the addresses on which its processes listen."""
    engine = Ray(Sweep.of(ns.Scenario.parse(LOSSY, "x.toml")), workers=1)
    try:
        engine.submit(Chunk(0, 1))
        assert len(list(engine.as_completed())) == 1
        owned = {inode for process in descendants(os.getpid()) for inode in sockets(process)}
        print(*(address for inode, address in listeners() if inode in owned))
    finally:
        engine.cancel()


def descendants(root: int) -> list[int]:
    """Return the ids of a process and of all its descendants."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(words[1])
    found = [root]
    for process in found:
        found += [child for child, parent in parents.items() if parent == process]
    return found


def sockets(process: int) -> set[str]:
    """Return the inodes of a process's sockets."""
    found = set()
    try:
        for file in Path(f"/proc/{process}/fd").iterdir():
            name = str(file.readlink())
            if name.startswith("socket:["):
                found.add(name[8:-1])
    except OSError:
        pass
    return found


def listeners() -> list[tuple[str, str]]:
    """Return the inode and the address of each listening TCP socket of this machine."""
    found = []
    for file in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(file).read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A":
                octets = bytes.fromhex(words[1].partition(":")[0])
                turned = b"".join(octets[n : n + 4][::-1] for n in range(0, len(octets), 4))
                address = ipaddress.ip_address(turned)
                mapped = address.ipv4_mapped if address.version == 6 else None
                found.append((words[9], str(mapped or address)))
    return found
