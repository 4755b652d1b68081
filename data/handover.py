"""Makes up handover.txt: what ping prints on a path that changes every 15 seconds.

    python3 data/handover.py > data/handover.txt

All constants are invented, in the manner of a constellation of satellites in low orbits. The path
has a level of delay for each 15 seconds, drawn from 40 to 90 ms, and an exponential tail of 3 ms.
Each change begins with 0.5 s in which nothing comes back; then the delay is 60 ms longer, and that
decays with a time constant of 0.4 s. Besides, one probe in 100 is lost. The same seed makes the
same file.
"""

import math
import random

SEED = 15
BEGAN = 1_790_000_000.0
INTERVAL_S = 0.1
PROBES = 1200
FIRST_CHANGE_S, PERIOD_S = 3.0, 15.0
LEVEL_MS, TAIL_MS = (40.0, 90.0), 3.0
DEAD_S, LONGER_MS, DECAY_S = 0.5, 60.0, 0.4
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
        after = slot >= 0
        if lost or (after and since < DEAD_S):
            stamp = BEGAN + sent + INTERVAL_S
            print(f"[{stamp:.6f}] no answer yet for icmp_seq={number}")
            continue
        longer = LONGER_MS * math.exp(-(since - DEAD_S) / DECAY_S) if after else 0.0
        delay = levels[int(slot) + 1] + longer + tail
        delays.append(delay)
        stamp = BEGAN + sent + delay / 1000
        told = f"{delay:.1f}" if delay < 100 else f"{delay:.0f}"
        print(f"[{stamp:.6f}] 64 bytes from 10.99.0.2: icmp_seq={number} ttl=64 time={told} ms")
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
