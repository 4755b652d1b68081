"""The cases that measure the kernel. Each case is one connection; its results are named numbers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from kernel_peer import ACK, FULL, JIFFY_NS, PSH, SYN, Flow, Packet


@dataclass
class Answers:
    """The results of one run of a case."""

    jiffies_offset: int  # how far the jiffies are ahead of CLOCK_MONOTONIC [ns]
    values: dict[str, int] = field(default_factory=dict)
    timers: list[tuple[str, int, int, int]] = field(default_factory=list)

    def timer(self, name: str, nominal_us: int, armed: int, fired: int) -> None:
        """Store a timer's nominal and measured length [us], and when it was armed [ns].

        `armed` and `fired` are instants of CLOCK_MONOTONIC [ns]. The stored instant counts from the
        last jiffy whose number is a multiple of 4096.
        """
        count = (armed + self.jiffies_offset) % (4096 * JIFFY_NS)
        self.timers.append((name, nominal_us, count, (fired - armed) // 1000))
        self.values[name] = (fired - armed) // 1000


Case = Callable[[Flow, Answers], Awaitable[None]]
# How long a case waits for an immediate ACK [s].
GIVE_UP_S = 0.004
# The time that the kernel adds to the wait before a tail loss probe and to RACK's wait. For a
# flight of one segment, the kernel adds `RTO_MIN_US` to the wait before the probe instead.
SLACK_US, RTO_MIN_US = 2_000, 200_000


def at_once(packets: list[Packet]) -> int:
    """Return the highest acknowledgment number of these packets, or 0 if there are no packets."""
    return max((p.ack for p in packets), default=0)


async def stream(flow: Flow, segments: int, gap: float, length: int = FULL) -> list[int]:
    """Send segments `gap` seconds apart.

    Return for each segment the acknowledgment number that the kernel sent at once. If the kernel
    sent none at once, the number is 0.
    """
    acks = []
    due = time.monotonic()
    for _ in range(segments):
        flow.send(length)
        acks.append(at_once(await flow.quiet(min(GIVE_UP_S, gap * 0.8))))
        due += gap
        await asyncio.sleep(max(0.0, due - time.monotonic()))
    return acks


def quick_count(acks: list[int]) -> int:
    """Return how many segments, starting with the first, were each acknowledged immediately."""
    return next((n for n, ack in enumerate(acks) if ack == 0), len(acks))


async def quick(flow: Flow, out: Answers) -> None:
    """Count the immediate ACKs at the start (quick ACKs), then the segments per ACK.

    The application reads data as it arrives.
    """
    flow.read_at_once()
    acks = await stream(flow, 30, 0.005)
    n = quick_count(acks)
    out.values["acks_at_once"] = n
    later = acks[n:]
    out.values["then_every"] = len(later) // max(1, sum(a > 0 for a in later))


async def quick_passive(flow: Flow, out: Answers) -> None:
    """Count the quick ACKs of a kernel that accepts the connection."""
    await flow.accept()
    await quick(flow, out)


async def quick_active(flow: Flow, out: Answers) -> None:
    """Count the quick ACKs of a kernel that opens the connection."""
    await flow.connect()
    await quick(flow, out)


async def quick_small_buffer(flow: Flow, out: Answers) -> None:
    """Count the quick ACKs with a small receive window: there are about window / (2 * segment)."""
    syn_ack = await flow.accept(receive_buffer=12_000)
    out.values["window"] = syn_ack.window
    await quick(flow, out)


async def quick_short_segments(flow: Flow, out: Answers) -> None:
    """Count the quick ACKs for segments of 600 octets."""
    await flow.accept()
    flow.read_at_once()
    out.values["acks_at_once"] = quick_count(await stream(flow, 30, 0.005, 600))


async def delayed(flow: Flow, out: Answers) -> None:
    """Send more segments after the quick ACKs, to an application that reads at once.

    The ACK of a full segment is delayed. The ACK of a short segment or of a segment with PSH is not
    delayed.
    """
    await flow.accept()
    flow.read_at_once()
    await stream(flow, 30, 0.005)
    await flow.quiet(0.1)
    sent = flow.send(FULL)
    out.timer("full_us", 40_000, sent, (await flow.get()).t)
    await flow.quiet(0.1)
    sent = flow.send(100)
    out.values["short_us"] = ((await flow.get()).t - sent) // 1000
    await flow.quiet(0.1)
    sent = flow.send(FULL, flags=ACK | PSH)
    out.values["pushed_us"] = ((await flow.get()).t - sent) // 1000


async def delayed_unread(flow: Flow, out: Answers) -> None:
    """Send a short segment and a segment with PSH to an application that does not read.

    The ACKs of both segments are delayed.
    """
    await flow.accept()
    await stream(flow, 20, 0.005)
    await flow.quiet(0.1)
    for name, length, flags in (("short_us", 100, ACK), ("pushed_us", FULL, ACK | PSH)):
        sent = flow.send(length, flags=flags)
        out.values[name] = ((await flow.get()).t - sent) // 1000
        await flow.quiet(0.1)


def adapting(gap_ms: int) -> Case:
    """Send segments `gap_ms` apart, so that the delayed ACK's timer adapts.

    The round trip is 150 ms.
    """

    async def case(flow: Flow, out: Answers) -> None:
        await flow.accept(rtt=0.15)
        flow.read_at_once()
        await stream(flow, 30, 0.005)
        await flow.quiet(0.15)
        due = time.monotonic()
        for n in range(1, 9):
            sent = flow.send(FULL)
            out.values[f"ato_{n}_us"] = flow.info()["ato"]
            due += gap_ms / 1000
            acks = await flow.quiet(due - time.monotonic())
            out.values[f"ack_{n}_us"] = (acks[0].t - sent) // 1000 if acks else 0

    return case


async def inflating(flow: Flow, out: Answers) -> None:
    """Send each segment after the delayed-ACK timer fired for the segment before.

    Each time that this timer fires, the next delay is twice as long, up to a limit. The round trip
    is 400 ms.
    """
    await flow.accept(rtt=0.4)
    flow.read_at_once()
    await stream(flow, 30, 0.005)
    await flow.quiet(0.25)
    for n in range(1, 6):
        sent = flow.send(FULL)
        out.values[f"ack_{n}_us"] = ((await flow.get()).t - sent) // 1000
        await flow.quiet(0.25 - (time.monotonic_ns() - sent) / 1e9)


async def interactive(flow: Flow, out: Answers) -> None:
    """Send requests to a server that answers only the first two.

    The first request's ACK leaves before the answer. The second answer carries the ACK of the
    second request. The ACK of the first unanswered request waits until the delayed-ACK timer fires.
    The ACK of the next unanswered request leaves at once.
    """
    await flow.accept()
    answers = [True, True, False, False]

    def answer(_: bytes) -> None:
        if answers.pop(0):
            flow.write(100)

    flow.read_at_once(answer)
    for n in (1, 2):
        flow.send(100, flags=ACK | PSH)
        out.values[f"answer_{n}_packets"] = len(await flow.quiet(0.01))
        flow.rcv += 100
        flow.send()
        await flow.quiet(0.01)
    for n in (1, 2):
        sent = flow.send(100, flags=ACK | PSH)
        out.values[f"unanswered_{n}_us"] = ((await flow.get()).t - sent) // 1000
        await flow.quiet(0.02)


async def out_of_order(flow: Flow, out: Answers) -> None:
    """Send segments 2 to 21 but not segment 1, and count ACKs. The round trip is 100 ms."""
    await flow.accept(rtt=0.1)
    flow.read_at_once()
    for n in range(1, 21):
        flow.send(FULL, seq=1 + n * FULL)
    acks = await flow.quiet(0.02)
    out.values["acks"] = len(acks)
    out.values["last_us"] = (acks[-1].t - acks[0].t) // 1000


async def duplicate(flow: Flow, out: Answers) -> None:
    """Send the first segment again when the quick ACKs are over.

    The repeated segment is acknowledged at once, like the next 16 segments.
    """
    await flow.accept()
    flow.read_at_once()
    await stream(flow, 30, 0.005)
    await flow.quiet(0.1)
    flow.send(FULL, seq=1)
    again = await flow.get()
    out.values["reported"] = int(again.sack[:1] == [(1, 1 + FULL)])
    out.values["acks_at_once"] = quick_count(await stream(flow, 30, 0.005))


async def unanswered(flow: Flow, out: Answers) -> None:
    """Measure the gaps between the copies of a short segment that stays without an answer."""
    await flow.connect()
    rto = flow.info()["rto"]
    out.values["rto_us"] = rto
    await asyncio.sleep(0.01)
    flow.write(100)
    last = await flow.get()
    for n in range(1, 6):
        copy = await flow.get(8)
        out.values[f"gap_{n}_us"] = (copy.t - last.t) // 1000
        last = copy


async def unanswered_timers(flow: Flow, out: Answers) -> None:
    """Do the same as `unanswered` without tail loss probes: each gap is a timer of known length."""
    await flow.connect()
    rto = flow.info()["rto"]
    out.values["rto_us"] = rto
    await asyncio.sleep(0.01)
    flow.write(100)
    last = await flow.get()
    for n in range(5):
        copy = await flow.get(8)
        out.timer(f"gap_{n + 1}_us", rto << n, last.t, copy.t)
        last = copy


async def syn(flow: Flow, out: Answers) -> None:
    """Do not answer the kernel's SYN, and measure the gaps between its copies."""
    flow.open()
    last = await flow.get()
    for n in range(1, 7):
        copy = await flow.get(8)
        out.timer(f"gap_{n}_us", 2_000_000 if n == 6 else 1_000_000, last.t, copy.t)
        last = copy


async def syn_ack(flow: Flow, out: Answers) -> None:
    """Do not answer the kernel's SYN-ACK, and measure the gaps between its copies."""
    last = await flow.ask()
    for n in range(1, 4):
        copy = await flow.get(8)
        out.timer(f"gap_{n}_us", 500_000 << n, last.t, copy.t)
        last = copy


async def after_handshake(flow: Flow, out: Answers) -> None:
    """Answer nothing after a handshake of 400 ms: the first RTO is three times 400 ms."""
    await flow.connect(rtt=0.4)
    info = flow.info()
    out.values["rto_us"], out.values["cwnd"] = info["rto"], info["snd_cwnd"]
    flow.write(100)
    first = await flow.get()
    out.timer("gap_us", info["rto"], first.t, (await flow.get()).t)


def late_syn_ack(rtt: float, drops: int, echo: bool) -> Case:
    """Ignore `drops` SYNs and answer the next one after `rtt` seconds.

    If `echo` is true, the answer echoes the timestamp of the SYN that it answers. Otherwise, the
    answer has no timestamps.
    """

    async def case(flow: Flow, out: Answers) -> None:
        flow.stamps = echo
        flow.open()
        first = await flow.get()
        for _ in range(drops):
            first = await flow.get()
        await asyncio.sleep(max(0.0, rtt - (time.monotonic_ns() - first.t) / 1e9))
        await flow.quiet(0.001)
        flow.send(seq=0, ack=1, flags=SYN | ACK, syn=True, echo=first.tsval)
        await flow.get()
        info = flow.info()
        out.values["rto_us"], out.values["cwnd"] = info["rto"], info["snd_cwnd"]

    return case


async def zero_window(flow: Flow, out: Answers) -> None:
    """Close the receive window, and measure when window probes come, and how long they are."""
    await flow.connect()
    flow.send(window=0)
    rto = flow.info()["rto"]
    last = flow.write(100)
    for n in range(1, 4):
        probe = await flow.get(8)
        out.timer(f"gap_{n}_us", rto << (n - 1), last, probe.t)
        out.values[f"probe_{n}_octets"] = probe.len
        flow.send(window=0)
        last = probe.t


async def restart(flow: Flow, out: Answers) -> None:
    """Acknowledge only the first of two segments that the kernel sent 50 ms apart.

    The time from that ACK to the retransmission shows from which instant the timer counts.
    """
    await flow.connect(rtt=0.1)
    flow.write(FULL)
    first = await flow.get()
    await asyncio.sleep(0.05)
    flow.write(FULL)
    await flow.get()
    await asyncio.sleep(0.1 - (time.monotonic_ns() - first.t) / 1e9)
    acked = flow.send(ack=1 + FULL)
    out.timer("gap_us", flow.info()["rto"], acked, (await flow.get()).t)


async def initial_window(flow: Flow, out: Answers) -> None:
    """Count the segments that leave before any ACK."""
    await flow.connect(rtt=0.02)
    flow.write(60 * FULL)
    out.values["segments"] = len(await flow.quiet(0.02))


def probe(segments: int) -> Case:
    """Let the kernel send segments without an answer: a tail loss probe comes, then a timeout.

    The round trip is 300 ms.
    """

    async def case(flow: Flow, out: Answers) -> None:
        await flow.connect(rtt=0.3)
        slack = RTO_MIN_US if segments == 1 else SLACK_US
        nominal = 2 * flow.info()["rtt"] + slack
        flow.write(segments * FULL)
        sent = [await flow.get() for _ in range(segments)]
        copy = await flow.get()
        out.timer("probe_us", nominal, sent[-1].t, copy.t)
        out.values["probes_last"] = int(copy.seq == sent[-1].seq)
        rto = flow.info()["rto"]
        out.values["rto_us"] = rto
        after = await flow.get()
        out.timer("timeout_us", rto, copy.t, after.t)
        out.values["retransmissions_first"] = int(after.seq == 1)

    return case


async def reordering(flow: Flow, out: Answers) -> None:
    """Report the second of five segments by SACK, and leave the first segment unacknowledged.

    The kernel retransmits the first segment a little more than a quarter of the minimum round trip
    later.
    """
    await flow.connect(rtt=0.2)
    flow.write(5 * FULL)
    sent = [await flow.get() for _ in range(5)]
    await asyncio.sleep(0.2 - (time.monotonic_ns() - sent[1].t) / 1e9)
    reported = flow.send(ack=1, sack=((1 + FULL, 1 + 2 * FULL),))
    again = await flow.get()
    quarter = flow.info()["min_rtt"] // 4
    out.timer("wait_us", quarter + SLACK_US, reported, again.t)
    out.values["beyond_a_quarter_us"] = out.values.pop("wait_us") - quarter
    out.values["retransmissions_first"] = int(again.seq == 1)


async def three_reports(flow: Flow, out: Answers) -> None:
    """Report three segments after a missing segment: the kernel then retransmits without a wait."""
    await flow.connect(rtt=0.2)
    flow.write(5 * FULL)
    sent = [await flow.get() for _ in range(5)]
    await asyncio.sleep(0.2 - (time.monotonic_ns() - sent[3].t) / 1e9)
    reported = 0
    for n in (2, 3, 4):
        reported = flow.send(ack=1, sack=((1 + FULL, 1 + n * FULL),))
    again = await flow.get()
    out.values["wait_us"] = (again.t - reported) // 1000


def spurious(stamps: bool) -> Case:
    """Acknowledge the originals after a timeout: they were late, and the timeout was spurious."""

    async def case(flow: Flow, out: Answers) -> None:
        flow.stamps = stamps
        await flow.connect(rtt=0.03)
        full = FULL if stamps else FULL + 12
        flow.write(30 * full)
        sent = [await flow.get() for _ in range(10)]
        await flow.get()
        out.values["lost_cwnd"] = flow.info()["snd_cwnd"]
        new = 0
        for n in range(1, 4):
            flow.send(ack=1 + n * full, echo=sent[n - 1].tsval)
            new += sum(p.seq > sent[-1].seq for p in await flow.quiet(0.004))
            info = flow.info()
            out.values[f"ack_{n}_ca_state"] = info["ca_state"]
            out.values[f"ack_{n}_cwnd"] = info["snd_cwnd"]
            out.values[f"ack_{n}_new_segments"] = new
        out.values["backoff"] = flow.info()["backoff"]

    return case


def fresh_sample(stamps: bool) -> Case:
    """Acknowledge the last copy after two timeouts, and read whether the backoff has ended."""

    async def case(flow: Flow, out: Answers) -> None:
        flow.stamps = stamps
        await flow.connect(rtt=0.03)
        flow.write(100)
        for _ in range(3):
            copy = await flow.get()
        await asyncio.sleep(0.03 - (time.monotonic_ns() - copy.t) / 1e9)
        flow.send(ack=101, echo=copy.tsval)
        info = flow.info()
        out.values["backoff"], out.values["rto_us"] = info["backoff"], info["rto"]

    return case


TRIPS = [50] * 6 + [120, 50, 50, 200, 200, 200] + [50] * 6 + [20] * 4 + [400, 400, 30, 30, 30, 30]


async def estimator(flow: Flow, out: Answers) -> None:
    """Acknowledge single segments after the times of `TRIPS` [ms], and read the RTO after each."""
    await flow.connect(rtt=0.05)
    for n, trip in enumerate(TRIPS, 1):
        await flow.quiet(0.002)  # discards copies of the last segment
        flow.write(100)
        sent = await flow.get()
        flow.rcv += 100
        await asyncio.sleep(max(0.0, trip / 1000 - (time.monotonic_ns() - sent.t) / 1e9))
        flow.send(echo=sent.tsval)
        info = flow.info()
        out.values[f"rto_{n}_us"] = info["rto"]
        out.values[f"rtt_{n}_us"] = info["rtt"]
        out.values[f"rttvar_{n}_us"] = info["rttvar"]


async def recovery(flow: Flow, out: Answers) -> None:
    """Leave segments 1 and 5 of ten missing, and report the others one by one.

    The result of each report is a number in base 100. Its digits are the segments that the kernel
    sent after this report and before the next, in order.
    """
    await flow.connect(rtt=0.05)
    flow.write(40 * FULL)
    sent = [await flow.get() for _ in range(10)]
    await asyncio.sleep(0.05 - (time.monotonic_ns() - sent[9].t) / 1e9)

    def edge(n: int) -> int:
        return 1 + n * FULL

    for arrived in (2, 3, 4, 6, 7, 8, 9, 10):
        low = (edge(1), edge(min(arrived, 4)))
        blocks = (low,) if arrived <= 4 else ((edge(5), edge(arrived)), low)
        flow.send(ack=1, sack=blocks)
        code = 0
        for packet in await flow.quiet(0.003):
            code = code * 100 + (packet.seq - 1) // FULL + 1
        out.values[f"after_{arrived}"] = code
    info = flow.info()
    out.values["cwnd"], out.values["ssthresh"] = info["snd_cwnd"], info["snd_ssthresh"]


async def tcp_info(flow: Flow, out: Answers) -> None:
    """Read TCP_INFO after a handshake of 50 ms and one round trip of 50 ms."""
    await flow.connect(rtt=0.05)
    flow.write(FULL)
    sent = await flow.get()
    await asyncio.sleep(0.05 - (time.monotonic_ns() - sent.t) / 1e9)
    flow.send(ack=1 + FULL)
    flow.send(FULL)
    await flow.quiet(0.005)
    info = flow.info()
    names = "rto ato snd_mss rcv_mss advmss pmtu rtt rttvar snd_cwnd snd_ssthresh reordering"
    for name in names.split():
        out.values[name] = info[name]


DEFAULT: dict[str, Case] = {
    "quick_passive": quick_passive,
    "quick_active": quick_active,
    "quick_small_buffer": quick_small_buffer,
    "quick_short_segments": quick_short_segments,
    "delayed": delayed,
    "delayed_unread": delayed_unread,
    "adapting_10": adapting(10),
    "adapting_30": adapting(30),
    "adapting_60": adapting(60),
    "adapting_100": adapting(100),
    "inflating": inflating,
    "interactive": interactive,
    "out_of_order": out_of_order,
    "duplicate": duplicate,
    "black": unanswered,
    "syn": syn,
    "syn_ack": syn_ack,
    "syn_late_echo": late_syn_ack(1.2, 0, True),
    "syn_late": late_syn_ack(1.2, 0, False),
    "syn_lost_once_echo": late_syn_ack(0.0, 1, True),
    "syn_lost_once": late_syn_ack(0.0, 1, False),
    "syn_lost_twice_echo": late_syn_ack(0.0, 2, True),
    "syn_lost_twice": late_syn_ack(0.0, 2, False),
    "zero_window": zero_window,
    "initial_window": initial_window,
    "probe_of_one": probe(1),
    "probe_of_three": probe(3),
    "reordering": reordering,
    "three_reports": three_reports,
    "estimator": estimator,
    "recovery": recovery,
    "told": tcp_info,
}
# Cases for a kernel without tail loss probes.
NO_PROBES: dict[str, Case] = {
    "black_timers": unanswered_timers,
    "restart": restart,
    "after_handshake": after_handshake,
    "spurious_stamps": spurious(True),
    "spurious_sack": spurious(False),
    "fresh_sample_stamps": fresh_sample(True),
    "fresh_sample": fresh_sample(False),
}
