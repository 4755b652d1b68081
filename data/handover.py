"""Writes the invented handover.txt: the output of ping on a path that changes every 15 seconds.

    python3 data/handover.py > data/handover.txt

All constants are invented; they resemble the delays and losses over a constellation of satellites
in low orbits. The path has a level of delay for each 15 seconds, drawn from 40 to 90 ms, plus an
exponential tail with a mean of 3 ms. In the first 0.5 s after each change all probes are lost. Then
the delay is 60 ms longer, and this excess decays with a time constant of 0.4 s. In addition, each
probe is lost with a probability of 1 %. The same seed makes the same file.
"""

import math
import random

SEED = 15
START_S = 1_790_000_000.0
INTERVAL_S = 0.1
PROBES = 1200
FIRST_CHANGE_S, PERIOD_S = 3.0, 15.0
LEVEL_MS, TAIL_MS = (40.0, 90.0), 3.0
DEAD_S, EXCESS_MS, DECAY_S = 0.5, 60.0, 0.4
LOSS = 0.01


def main() -> None:
    """Print the recording."""
    draw = random.Random(SEED)
    changes = 1 + math.ceil((PROBES * INTERVAL_S - FIRST_CHANGE_S) / PERIOD_S)
    levels = [draw.uniform(*LEVEL_MS) for _ in range(changes + 1)]
    print("PING 10.99.0.2 (10.99.0.2) 56(84) bytes of data.")
    delays: list[float] = []
    for number in range(1, PROBES + 1):
        sent = (number - 1) * INTERVAL_S
        slot, since = divmod(sent - FIRST_CHANGE_S, PERIOD_S)
        tail, lost = draw.expovariate(1 / TAIL_MS), draw.random() < LOSS
        has_changed = slot >= 0
        if lost or (has_changed and since < DEAD_S):
            stamp = START_S + sent + INTERVAL_S
            print(f"[{stamp:.6f}] no answer yet for icmp_seq={number}")
            continue
        excess = EXCESS_MS * math.exp(-(since - DEAD_S) / DECAY_S) if has_changed else 0.0
        delay = levels[int(slot) + 1] + excess + tail
        delays.append(delay)
        stamp = START_S + sent + delay / 1000
        text = f"{delay:.1f}" if delay < 100 else f"{delay:.0f}"
        print(f"[{stamp:.6f}] 64 bytes from 10.99.0.2: icmp_seq={number} ttl=64 time={text} ms")
    mean = sum(delays) / len(delays)
    mdev = math.sqrt(sum((delay - mean) ** 2 for delay in delays) / len(delays))
    share = 100 * (1 - len(delays) / PROBES)
    print("\n--- 10.99.0.2 ping statistics ---")
    print(
        f"{PROBES} packets transmitted, {len(delays)} received, {share:.5f}% packet loss, "
        f"time {(PROBES - 1) * INTERVAL_S * 1000:.0f}ms"
    )
    numbers = "/".join(f"{value:.3f}" for value in (min(delays), mean, max(delays), mdev))
    print(f"rtt min/avg/max/mdev = {numbers} ms")


if __name__ == "__main__":
    main()
