"""Tests the calculator of fragments, `SmallNet`, and the command `netspurt fragments`.

The calculator says into which fragments a net with a small MTU cuts a segment of a given size. It
also says which sizes of segments are best: the full sizes, whose fragments are all full. The
results are compared with simulations and with the fragments that the kernel makes.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys

import pytest

import netspurt as ns
from netspurt.analysis.fragments import SmallNet, UnderLoss, loss_that_pays

from conftest import Command, need, refused

#: A program that sends datagrams over a device with a small MTU and prints the fragments' sizes.
OVER_A_SMALL_DEVICE = """
import json, socket, subprocess, sys
limit, lengths = json.loads(sys.argv[1])
subprocess.run(["ip", "link", "set", "lo", "mtu", str(limit), "up"], check=True)
seen = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003))
seen.bind(("lo", 0))
seen.settimeout(5)
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, 253)
# Fragments are allowed (IP_MTU_DISCOVER, IP_PMTUDISC_DONT).
raw.setsockopt(socket.IPPROTO_IP, 10, 0)
told = []
for length in lengths:
    raw.sendto(bytes(length), ("127.0.0.1", 0))
    sizes, more = [], True
    while more:
        packet, about = seen.recvfrom(2048)
        if about[2] == socket.PACKET_OUTGOING and packet[14 + 9] == 253:
            sizes.append(int.from_bytes(packet[16:18], "big"))
            more = bool(packet[14 + 6] & 0x20)
    told.append(sizes)
print(json.dumps(told))
"""


def by_the_kernel(limit: int, lengths: list[int]) -> list[list[int]]:
    """Return the sizes of the fragments [B] into which Linux cuts datagrams of these lengths.

    The number `limit` is the MTU [B]. The list `lengths` has the number of octets behind the IP
    header of each datagram. Protocol 253 is reserved for experiments (RFC 3692), so no program
    answers.
    """
    words = [need("unshare"), "-Urn", sys.executable, "-c", OVER_A_SMALL_DEVICE]
    need("ip")
    request = json.dumps([limit, lengths])
    result = subprocess.run(
        [*words, request], capture_output=True, text=True, check=False, timeout=60
    )
    if result.returncode:
        pytest.skip(f"no fragments of the kernel: {result.stderr.strip().splitlines()[-1]}")
    data: list[list[int]] = json.loads(result.stdout)
    return data


@pytest.mark.parametrize("limit", [250, 253, 576])
def test_the_kernel_cuts_datagrams_as_the_calculator_says(limit: int) -> None:
    net = SmallNet(limit)
    first, step = net.full_size(1), net.carries
    sizes = [512, 246, 440, *net.full_sizes(5), *(first + step * n + 1 for n in range(3))]
    seen = by_the_kernel(limit, [mss + net.tcp_header for mss in sizes])
    for mss, packets in zip(sizes, seen, strict=True):
        own = net.fragments(mss)
        expected = [own[0] + net.tcp_header + 20, *(part + 20 for part in own[1:])]
        assert packets == expected, mss


@pytest.mark.parametrize("mss", [210, 211, 246, 434, 435, 512, 658])
def test_a_simulated_net_cuts_segments_as_the_calculator_says(mss: int) -> None:
    values = {
        "links.modem.mtu": "250 B",
        "flows.transfer.profile": "reno-1998",
        "flows.transfer.tcp": {"packet_size": f"{mss + 40} B"},
        "flows.transfer.send": "2 segments",
        "links.modem.queue": "100 packets",
        "record": {"spy": ["receiver"], "capture": False},
    }
    run = ns.load("rfc2416").replace(values).run()
    arrivals = run.segments.where(node="receiver", way="in", packet=1)
    arrivals = arrivals.select(arrivals["len_bytes"] > 0)
    arrivals = arrivals.where(id=int(arrivals["id"][0]))
    own = SmallNet(250).fragments(mss)
    assert arrivals["size_bytes"].tolist() == [own[0] + 40, *(part + 20 for part in own[1:])]


def test_the_calculator_gives_the_fragments_in_jacobsons_mail_of_1988() -> None:
    """The mail fills each fragment to the limit. Real fragments have multiples of 8 octets."""
    mail, real = SmallNet(250, unit=1), SmallNet(250)
    assert mail.fragments(512) == (210, 230, 72)
    assert mail.fragments(246) == (210, 36)
    assert real.fragments(512) == (204, 224, 84)
    assert [round(mail.per_packet(mss), 1) for mss in (512, 246, 210, 440)] == [
        170.7,
        123,
        210,
        220,
    ]
    assert round(real.per_packet(440), 1) == 146.7
    assert mail.full_sizes(3) == [210, 440, 670]
    assert real.full_sizes(4) == [210, 434, 658, 882]


@pytest.mark.parametrize("unit", [1, 8])
@pytest.mark.parametrize("limit", [68, 125, 250, 296, 576, 1006, 1500, 9000])
def test_fragments_have_valid_sizes_and_full_sizes_are_the_most_efficient_nearby(
    limit: int, unit: int
) -> None:
    net = SmallNet(limit, unit)
    for mss in range(1, 4 * limit):
        cut = net.fragments(mss)
        behind_ip = [cut[0] + net.tcp_header, *cut[1:]]
        assert sum(cut) == mss
        assert max(behind_ip) + 20 <= limit
        assert all(part % unit == 0 for part in behind_ip[:-1])
    for size in net.full_sizes(3):
        assert net.per_packet(size) > max(net.per_packet(size - 1), net.per_packet(size + 1))
        assert net.packets(size + 1) == net.packets(size) + 1


@pytest.mark.parametrize("unit", [1, 8])
@pytest.mark.parametrize("loss", [0.001, 0.003, 0.01, 0.03, 0.05])
@pytest.mark.parametrize("limit", [125, 250, 400, 576, 1006, 1500])
def test_the_closed_form_differs_from_the_best_number_by_at_most_one_packet(
    limit: int, loss: float, unit: int
) -> None:
    """The closed form is a formula for the best number of packets of one segment under loss."""
    under = UnderLoss(SmallNet(limit, unit), loss)
    best = under.best_count()
    assert abs(best - max(1.0, under.closed_form())) <= 1
    assert under.arriving(best) >= max(under.arriving(n) for n in (1, best + 1, max(1, best - 1)))


def test_the_best_number_of_packets_falls_as_the_loss_grows() -> None:
    net = SmallNet(250, unit=1)
    for loss, packets in ((0.001, 9), (0.005, 4), (0.01, 3), (0.02, 2), (0.05, 1)):
        assert UnderLoss(net, loss).best_count() == packets
        n = (20 + math.sqrt(400 + 80 * 230 / loss)) / (2 * 230)
        assert UnderLoss(net, loss).closed_form() == pytest.approx(n)
    assert loss_that_pays(net) == pytest.approx(10 / 220)


def test_the_command_prints_sizes_for_people_and_programs(netspurt: Command) -> None:
    output = netspurt("fragments", "512", "--limit", "250 B", "--loss", "1%").stdout
    assert "204 + 224 + 84" in output
    assert "210 + 224 n" in output
    as_data = json.loads(netspurt("fragments", "--limit", "250", "--loss", "0.01", "--json").stdout)
    assert as_data["sizes"][2] == {
        "mss_bytes": 658,
        "fragments_bytes": [204, 224, 230],
        "per_packet_bytes": pytest.approx(658 / 3),
    }
    assert as_data["under_loss"][0]["packets"] == 3
    at_largest = {"40000": "best size: 39960; ", "30000": "29960 + 29976 n, for n = 0, 1\n"}
    for limit, told in at_largest.items():
        assert told in netspurt("fragments", "--limit", limit).stdout
    with_stamps = json.loads(netspurt("fragments", "--tcp-header", "32", "--json").stdout)
    assert with_stamps["first_best_bytes"] == 576 - 52


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--limit", "67"], "a net's limit is 68 to 65535 B, not 67 B"),
        (["--limit", "5 s"], "'5 s' is not a number of octets"),
        (["--tcp-header", "64"], "a TCP header has 20, 24, 28, ... or 60 B, not 64 B"),
        (["--tcp-header", "33"], "a TCP header has 20, 24, 28, ... or 60 B, not 33 B"),
        (["--limit", "68", "--tcp-header", "60"], "leave no room for user data"),
        (["0"], "a segment has 1 to 65495 octets"),
        (["--loss", "100%"], "is not a loss above 0 and below 1"),
        (["--loss", "nan"], "is not a loss above 0 and below 1"),
    ],
)
def test_invalid_values_are_refused_with_the_reason(
    netspurt: Command, words: list[str], expected: str
) -> None:
    refused(netspurt("fragments", *words), expected)
