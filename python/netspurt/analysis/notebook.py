"""Replays in notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netspurt.markup import html_lines, html_table

if TYPE_CHECKING:
    from netspurt.timers import Replay


def html_replay(of: Replay) -> str:
    """Return a replay as HTML: a row for each timer, and the recommendation."""
    head = ["timer", "spurious", "mean timer [ms]", "waited per loss [ms]", "efficiency"]
    rows = [
        [
            one.estimator,
            f"{one.spurious:,}",
            f"{1e3 * one.timer.value:.4g}",
            f"{1e3 * one.waited_per_loss:.4g}",
            f"{one.efficiency:.3f}",
        ]
        for one in of.algorithms
    ]
    it = of.delays
    told = f"{it.sent:,} probes, {it.received:,} answered, {it.lost:,} lost"
    text = html_lines(it.name, [told]) + html_table(head, rows, range(1, 5))
    return text + html_lines("", of.recommendation())
