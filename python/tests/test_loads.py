"""Tests how a run of probes is recognised as busy or quiet: by its name, or by its delays.

The names are those of RFC 889.
"""

from __future__ import annotations

import math

import pytest

from netspurt.analysis.load import RunName, busy_against_quiet, label_by_delay


@pytest.mark.parametrize(
    ("name", "run"),
    [
        ("FOE", RunName("FOE", None, busy=False)),
        ("FOE-1", RunName("FOE", 40, busy=False)),
        ("FOE-2 *", RunName("FOE", 256, busy=True)),
        ("FOE-3", RunName("FOE-3", None, busy=False)),
    ],
)
def test_the_suffix_of_a_runs_name_gives_the_length_of_probes_and_says_whether_the_run_was_busy(
    name: str, run: RunName
) -> None:
    assert RunName.parse(name) == run


def test_a_busy_run_is_compared_with_probes_of_the_same_length_only() -> None:
    assert busy_against_quiet(["FOE-1", "FOE-2 *", "FOE *"]) == []
    assert busy_against_quiet(["FOE-2 *", "FOE-1", "FOE-2"]) == [("FOE-2 *", "FOE-2")]


def test_a_recording_whose_delay_equals_the_bound_between_quiet_and_busy_is_quiet() -> None:
    labels = label_by_delay({"a": [1.0], "b": [2.0], "c": [2.01, math.nan]}, times=2.0)
    assert list(labels.values()) == ["quiet", "quiet", "busy"]
    assert label_by_delay({}) == {}
