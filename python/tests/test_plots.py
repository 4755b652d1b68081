"""Plots show what the tables say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.collections import LineCollection

import netspurt as ns
from netspurt.plots import KINDS, View, draw


def labels(run: ns.Run, kind: str, view: View | None = None) -> dict[str, object]:
    axes = draw(run, kind, view).axes[0]
    handles, names = axes.get_legend_handles_labels()
    return dict(zip(names, handles, strict=True))


def test_a_time_sequence_plot_has_a_bar_for_each_segment(start_run: ns.Run) -> None:
    shown = labels(start_run, "time-sequence")
    assert set(shown) == {"sent", "resent", "ACK", "duplicate ACK", "dropped or lost"}
    sent, resent = shown["sent"], shown["resent"]
    assert isinstance(sent, LineCollection)
    assert isinstance(resent, LineCollection)
    counts = len(sent.get_segments()), len(resent.get_segments())
    flows = start_run.flows
    assert counts == (int(flows["sent"][0] - flows["resends"][0]), int(flows["resends"][0]))
    first = sent.get_segments()[0]
    assert np.allclose(first, [[0, 1], [0, 961]])


def test_sack_blocks_are_drawn(start: ns.Scenario) -> None:
    run = start.replace({"flows.transfer.tcp.recovery": "sack"}).run()
    assert "SACK block" in labels(run, "time-sequence")


def test_every_kind_draws_and_keeps_to_the_view(start_run: ns.Run) -> None:
    for kind in KINDS:
        axes = draw(start_run, kind, View(start=5.0, end=30.0)).axes[0]
        low, high = axes.dataLim.intervalx
        assert 5.0 <= low <= high <= 30.0, kind


def test_what_cannot_be_drawn_says_why(start_run: ns.Run) -> None:
    for view, says in [
        (View(flow="x"), "no flow 'x'"),
        (View(node="r1"), "no spied node 'r1'"),
        (View(start=500.0), "nothing of flow transfer"),
    ]:
        with pytest.raises(ValueError, match=says):
            draw(start_run, "time-sequence", view)
    with pytest.raises(ValueError, match="no plot of kind 'pie'"):
        draw(start_run, "pie")


def test_a_run_draws_itself(start_run: ns.Run, tmp_path: Path) -> None:
    start_run.plot.time_sequence(tmp_path / "a.png")
    start_run.plot.cwnd(tmp_path / "b.svg", View(end=20.0))
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "b.svg").read_text()[:500]
    assert len(list(tmp_path.iterdir())) == 2


def test_the_same_run_draws_the_same_svg(start_run: ns.Run, tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg"):
        start_run.plot.queue(tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
