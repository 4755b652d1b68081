"""Tests the summary of `netspurt probe`: its figures and its notes."""

from __future__ import annotations

import itertools
import json
import socket
import subprocess
from pathlib import Path

import pytest

from netspurt.cli.path_report import bars
from netspurt.cli.probing import _summary, _told
from netspurt.probe import Histogram, Watch
from netspurt.probe_lines import read_line
from netspurt.timers import replay

from conftest import NETSPURT, ROOT


def watched(kind: str, **more: str) -> Watch:
    """Return the state after a run with the probes of data/probe.jsonl, marked as this kind."""
    first, *rest = (ROOT / "data" / "probe.jsonl").read_text().splitlines(keepends=True)
    lines = [json.dumps(json.loads(first) | {"kind": kind} | more) + "\n", *rest]
    watch = Watch([], kept=lines)
    for line in lines:
        watch.take(read_line(line))
    watch.files = []
    return watch


@pytest.mark.parametrize(("kind", "has_line"), [("icmp", True), ("udp", True), ("tcp", False)])
def test_delay_is_related_to_length_only_if_answers_are_as_long_as_probes(
    kind: str, has_line: bool
) -> None:
    watch = watched(kind)
    data = _told(watch, ["mills"])
    assert (data["line"] is not None) is has_line
    assert ("delay by length" in "\n".join(_summary(watch, data))) is has_line


def test_the_summary_explains_its_columns_and_names_the_next_command() -> None:
    watch = watched("udp")
    data = _told(watch, ["mills"])
    assert "netspurt replay" not in "".join(_summary(watch, data))
    watch.files = ["a b.jsonl"]
    text = " ".join(" ".join(_summary(watch, data)).split())
    for name in ("spurious", "timer", "per loss", "efficiency"):
        assert f"{name}: " in text
    assert "`netspurt replay 'a b.jsonl'` recommends a timer; " in text
    assert text.endswith("889's table. Their times are one-way: half of each round trip.")


def test_a_closed_port_is_reported_with_the_command_that_serves_it(tmp_path: Path) -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["probe", "127.0.0.1", "--kind", "udp", "--port", str(port), "-n", "2"]
    command = [str(NETSPURT), *words, "--calibrate", "0", "--timeout", "2s", "--out", "p.jsonl"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    output = " ".join(result.stdout.split())
    assert "2 lost probes: port unreachable, says 127.0.0.1" in output
    assert f"`netspurt serve echo --port {port} --address 127.0.0.1`" in output


def test_the_summary_says_in_words_what_timers_would_have_done() -> None:
    watch = watched("icmp")
    text = " ".join(_summary(watch, _told(watch, ["rfc6298", "rfc6298:min=0s"])))
    recording = watch.recording()
    assert recording is not None
    (usual, early) = replay(recording, ["rfc6298", "rfc6298:min=0s"]).algorithms
    assert usual.spurious == 0
    assert early.spurious
    told = f"rfc6298:min=0s {early.spurious}; rfc6298: never."
    assert f"retransmitted although the reply came, and how often: {told}" in text
    assert text.index("Timers that would") < text.index("round trip"), (
        "the sentence must come before the table"
    )
    assert "is this machine" not in text


def test_the_summary_says_that_this_machines_kernel_made_the_delays() -> None:
    watch = watched("icmp", address="127.0.0.1")
    text = " ".join(_summary(watch, _told(watch, ["mills"])))
    assert "127.0.0.1 is this machine, so the delays show its own kernel and not a path" in text


def test_adjacent_empty_bins_of_a_histogram_share_a_row() -> None:
    histogram = Histogram()
    for rtt in (0.001, 0.0011, 0.1):
        for _ in range(50):
            histogram.add(rtt)
    counts = [int(line.split()[5]) for line in bars(histogram)]
    assert sum(counts) == 150
    assert all(any(pair) for pair in itertools.pairwise(counts)), counts
