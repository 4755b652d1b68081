"""The receive window of `linux-6` over a transfer, beside the kernel's."""

from __future__ import annotations

import sys

import pytest

from netspurt.scenario import Scenario

from conftest import ROOT

AUTHORITY = ROOT / "authorities" / "linux" / "windows"
sys.path.insert(0, str(AUTHORITY))

from transfer import SCENARIO, filed, told  # noqa: E402

#: The share of a buffer that is window depends on the devices; so much the two may differ.
SHARE = 0.03


def test_the_window_begins_grows_and_ends_as_the_kernels() -> None:
    kernel, model = filed(), list(told(Scenario.parse(SCENARIO.read_text()).run()))
    assert len(model) == pytest.approx(len(kernel), rel=0.02)
    assert [row[1:] for row in model[:5]] == [row[1:] for row in kernel[:5]]
    for select in (min, max):
        ours, theirs = (select(window for _, _, window in rows) for rows in (model, kernel))
        assert ours == pytest.approx(theirs, rel=SHARE)


def test_the_window_is_full_grown_at_the_same_octet_and_never_far_off() -> None:
    kernel, model = filed(), list(told(Scenario.parse(SCENARIO.read_text()).run()))
    grown = []
    for rows in (model, kernel):
        most = max(window for _, _, window in rows)
        grown.append(next(ack for _, ack, window in rows if window >= 0.95 * most))
    assert grown[0] == pytest.approx(grown[1], rel=SHARE)
    theirs = {ack: window for _, ack, window in kernel}
    common = [(window, theirs[ack]) for _, ack, window in model if ack in theirs]
    assert len(common) > 500
    assert all(ours == other for ours, other in common)


def test_a_buffer_of_one_size_does_not_do_so() -> None:
    """Without autotuning the window is far from the kernel's from the first round trips on."""
    values = {"flows.f.tcp": {"receive": {"autotuning": False}}}
    model = list(told(Scenario.parse(SCENARIO.read_text()).replace(values).run()))
    assert max(window for _, _, window in model) > 2 * max(window for _, _, window in filed())
