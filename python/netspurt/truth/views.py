"""Views: the whole capture of a node's packets, and captures that lack packets or octets.

An incomplete capture is made from the whole capture, so it is known what the capture lacks.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

#: The number of octets that a whole capture keeps of each packet: enough for an IPv4 or IPv6 header
#: without options or extensions, and for a TCP header with all options.
HEADERS = 100

#: For each version of IP, the octets of a header without options or extensions.
IP_HEADER = {4: 20, 6: 40}

#: The octets of a TCP header without options.
TCP_HEADER = 20


@dataclass(frozen=True)
class CaptureView:
    """A way to capture packets.

    Attributes
    ----------
    name
        The name of the view, which is part of file names. It is empty for the whole capture.
    lost
        The approximate share of packets that the capture misses.
    burst
        The number of consecutive packets that the capture misses each time.
    without_options
        True if each packet is cut after the fixed part of TCP's header.
    """

    name: str = ""
    lost: float = 0.0
    burst: int = 1
    without_options: bool = False

    def file(self, node: str) -> str:
        """Return the name of a node's file."""
        return f"{node}.{self.name}.pcapng" if self.name else f"{node}.pcapng"

    def snap_bytes(self, octets: bytes) -> int:
        """Return the number of octets to keep of each packet.

        `octets` is one packet of the file, which shows the version of IP.
        """
        version = octets[0] >> 4 if octets else 4
        return IP_HEADER.get(version, 20) + TCP_HEADER if self.without_options else HEADERS

    def kept(self, packets: int, key: str) -> list[int]:
        """Return the numbers of the packets that the capture keeps, from 0.

        `key`, the names of the case and of the file, decides which packets the capture misses.
        """
        # A node may have no packets, and `np.convolve` refuses an empty array.
        if not self.lost or packets == 0:
            return list(range(packets))
        starts = np.random.default_rng(_number(key)).random(packets) < self.lost / self.burst
        missed = np.convolve(starts, np.ones(self.burst, dtype=int))[:packets] > 0
        return np.flatnonzero(~missed).tolist()


#: The whole capture, and the incomplete captures.
WHOLE = CaptureView()
LOSSY = CaptureView("lossy", lost=0.02)
GAPS = CaptureView("gaps", lost=0.05, burst=10)
SHORT = CaptureView("short", without_options=True)


def views_of(case: str) -> list[CaptureView]:
    """Return the ways in which the packets of a case are captured."""
    further_views: dict[int, list[CaptureView]] = {0: [LOSSY], 1: [GAPS], 2: [SHORT]}
    return [WHOLE, *further_views.get(_number(case) % 6, [])]


def _number(key: str) -> int:
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big")
