"""Writes replays as HTML, for notebooks. A replay has the results of timers on recorded delays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netspurt.markup import html_lines, html_table

if TYPE_CHECKING:
    from netspurt.timers import Replay


def html_replay(replay: Replay) -> str:
    """Return a replay as HTML: a row for each timer, and the recommendation."""
    head = ["timer", "spurious", "mean timer [ms]", "waited per loss [ms]", "efficiency"]
    rows = [
        [
            algorithm.estimator,
            f"{algorithm.spurious:,}",
            f"{1e3 * algorithm.timer.value:.4g}",
            f"{1e3 * algorithm.waited_per_loss:.4g}",
            f"{algorithm.efficiency:.3f}",
        ]
        for algorithm in replay.algorithms
    ]
    delays = replay.delays
    counts = f"{delays.sent:,} probes, {delays.received:,} answered, {delays.lost:,} lost"
    text = html_lines(delays.name, [counts]) + html_table(head, rows, range(1, 5))
    return text + html_lines("", replay.recommendation())
