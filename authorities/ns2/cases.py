"""Random cases for the comparison with ns-2: one flow with a random path, losses and settings.

A case is a dictionary of the settings that `drive.run` takes. The same seed gives the same cases.
"""

import random

RECOVERIES = ("tahoe", "reno", "newreno", "sack", "fack")

#: Each case lasts long enough for the bottleneck to transmit this number of packets. A transfer
#: with a given number of packets may end earlier.
LENGTH_PACKETS = 140


def draw(seed: int, count: int) -> list[dict[str, object]]:
    """Return `count` cases. Successive cases have the five kinds of sender in turn."""
    dice = random.Random(seed)
    return [_case(dice, RECOVERIES[place % len(RECOVERIES)]) for place in range(count)]


def _case(dice: random.Random, recovery: str) -> dict[str, object]:
    packet = dice.choice((296, 500, 576, 1000, 1000, 1460, 1500))
    rate = dice.choice((9600, 28_800, 64_000, 128_000, 400_000, 1_000_000, 1_544_000, 4_321_000))
    delay = round(dice.uniform(0.002, 0.3), dice.choice((3, 4, 6)))
    limit = dice.choice((3, 4, 5, 6, 8, 10, 12, 16, 25, 50, 100))
    packets = dice.choice((0, 0, dice.randint(20, 120)))
    service = packet * 8 / rate
    stop = round(LENGTH_PACKETS * service * 1.3 + 40 * delay + 4, 1)
    hops, bottleneck = _hops(dice, f"{rate},{delay},{limit}")
    return {
        "recovery": recovery,
        "initial_window": dice.randint(1, 10),
        "limited_transmit": dice.randint(0, 1),
        "window": dice.choice((4, 8, 12, 20, 32, 50, 64, 100)),
        "packet": packet,
        "tick": dice.choice((0.5, 0.1, 0.01, 0.001)),
        "minrto": dice.choice((0, 0.2, 1)),
        "bugfix": dice.choice((0, 1, 1)),
        "delayed_ack": dice.choice((0, 0, 0.1, 0.2)),
        "packets": packets,
        "links": " ".join(hops),
        "drops": _drops(dice, bottleneck),
        "delays": _delays(dice, bottleneck, delay, stop),
        "stop": stop,
    }


def _hops(dice: random.Random, slow: str) -> tuple[list[str], int]:
    """Return the links, and the index of the bottleneck among them."""
    return dice.choice(
        (
            (["1e9,0.0005,1000", slow], 1),
            (["10e6,0.001,1000", slow], 1),
            (["100e6,0,1000", "10e6,0.025,1000", slow], 2),
            (["10e6,0.003,1000", slow, "10e6,0.007,1000"], 1),
        )
    )


def _drops(dice: random.Random, at: int) -> str:
    """Return the lost ACKs and the lost data packets. Each loss is `from,to,number`."""
    data: set[int] = set()
    for _ in range(dice.choice((0, 1, 1, 2, 3))):
        first = dice.randint(1, 60)
        data |= set(range(first, first + dice.choice((1, 1, 1, 2, 3, 5))))
    acks = set(dice.sample(range(1, 60), dice.choice((0, 0, 0, 1, 3, 6))))
    lost = [f"{at},{at + 1},{nth}" for nth in sorted(data)]
    return " ".join(lost + [f"{at + 1},{at},{nth}" for nth in sorted(acks)])


def _delays(dice: random.Random, at: int, delay: float, stop: float) -> str:
    """Return steps of the bottleneck's delay as `time,from,to,delay` [s].

    A step makes the delay of one direction of the link longer or shorter.
    """
    steps = []
    for _ in range(dice.choice((0, 0, 0, 1, 2, 4))):
        time = round(dice.uniform(0.3, stop * 0.7), 3)
        ends = (at, at + 1) if dice.random() < 0.6 else (at + 1, at)
        steps.append((time, *ends, round(delay * dice.uniform(0.2, 3), 4)))
    return " ".join(",".join(map(str, step)) for step in sorted(steps))
