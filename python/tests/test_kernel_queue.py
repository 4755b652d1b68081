"""Tests that the kernel's queue and token bucket drop the same packets as a simulated link."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import netspurt as ns

from lateness import real_time

#: A frame takes 84.5 ms. As in RFC 2416, there are three buffers. One of them is for the frame that
#: is in transmission.
RATE_BPS, FRAME, BUFFERS = 96_000, 1014, 3

#: Each frame may be sent too early or too late by half of this time [s]. With the seeds of `SEEDS`,
#: a link then still drops the same frames.
MARGIN_S = 0.012

#: Seeds for the function `instants`. With these 3 of the first 60 seeds, the drops do not depend on
#: a few milliseconds.
SEEDS = (8, 48, 55)

#: Commands that succeed only on a machine with the features that the test needs.
NEEDED = (
    "ip link add near type veth peer name far && "
    "tc qdisc add dev near root handle 1: tbf rate 1mbit burst 2000 limit 9000 && "
    "tc qdisc add dev near parent 1:1 pfifo limit 2"
)


def dropped(times: list[float]) -> set[int]:
    """Return the numbers of the frames that a link drops. The first frame has the number 0."""
    flows = {
        f"n{number}": {
            "from": "a",
            "to": "b",
            "send": "1 segments",
            "start": f"{round(at * 1e9)} ns",
            "tcp": {"packet_size": f"{FRAME} B", "rto": {"initial": "60 s"}},
        }
        for number, at in enumerate(times)
    }
    scenario = ns.Scenario.parse(
        f"""
        stop = "30 s"
        links = {{ wire = {{ between = ["a", "b"], rate = "{RATE_BPS} bit/s", delay = "1 ms", \
queue = "{BUFFERS} packets" }} }}
        record = {{ tables = ["drops"], capture = false }}
        [flows.n0]
        from = "a"
        to = "b"
        """
    )
    run = scenario.replace({"flows": flows}).run()
    return {int(name[1:]) for name in run.drops["flow"].tolist()}


def instants(seed: int, count: int = 40) -> list[float]:
    """Return instants of sending in bursts and pauses, 77 ms apart on average."""
    rng, at, times = random.Random(seed), 0.0, []
    for _ in range(count):
        times.append(at)
        at += rng.choice((0.013, 0.021, 0.034, 0.055, 0.13, 0.21))
    return times


def is_clear(times: list[float], seed: int) -> bool:
    """Return True if random shifts by half the margin do not change which frames are dropped."""
    rng, expected = random.Random(seed), dropped(times)
    shaken = (
        sorted(max(0.0, at + rng.choice((-1, 0, 1)) * MARGIN_S / 2) for at in times)
        for _ in range(12)
    )
    return all(dropped(other) == expected for other in shaken)


def unavailable() -> str:
    """Return why the kernel's queue cannot be used here, or an empty text if it can be used."""
    missing = [name for name in ("unshare", "ip", "tc") if shutil.which(name) is None]
    if missing:
        return f"no command {', '.join(missing)}"
    tried = subprocess.run(
        ["unshare", "-Urn", "sh", "-c", NEEDED], capture_output=True, text=True, check=False
    )
    return tried.stderr.strip() if tried.returncode else ""


def test_drops_do_not_depend_on_a_few_milliseconds_if_the_chosen_seeds_are_used() -> None:
    for seed in SEEDS:
        assert is_clear(instants(seed), seed), seed
        assert len(dropped(instants(seed))) >= 3, seed


@real_time
def test_the_kernels_queue_drops_the_packets_that_a_link_drops() -> None:
    why = unavailable()
    if why:
        pytest.skip(f"the kernel's pfifo and tbf cannot be used here: {why}")
    for seed in SEEDS:
        times = instants(seed)
        order = {
            "rate_bps": RATE_BPS,
            "wait": BUFFERS - 1,
            "frame": FRAME,
            "times": times,
        }
        script = Path(__file__).with_name("kernel_queue.py")
        result = subprocess.run(
            ["unshare", "-Urn", sys.executable, str(script)],
            input=json.dumps(order),
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, result.stderr
        data = json.loads(result.stdout)
        expected = dropped(times)
        assert set(range(len(times))) - set(data["arrived"]) == expected, (seed, data)
