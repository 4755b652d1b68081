"""Tests `lateness.py`, which repeats a test that failed while the machine was late.

A second process, the sleeper, measures how late the machine is.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import lateness
from lateness import Lateness, TimelessError, real_time

HERE = Path(__file__).parent


def on_a_machine(late_s: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every sleeper report that it woke too late by `late_s` seconds.

    Also pretend that no processor time goes to other machines.
    """
    monkeypatch.setattr(
        lateness, "SLEEPER", f"import sys; print(flush=True); sys.stdin.read(); print({late_s})"
    )
    monkeypatch.setattr(lateness, "_processor_times", lambda: (0, 0))


def test_a_test_that_fails_on_a_machine_without_delays_is_not_repeated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    on_a_machine(0.0, monkeypatch)
    tries = []

    @real_time
    def fails() -> None:
        tries.append(1)
        raise AssertionError("wrong")

    with pytest.raises(AssertionError, match="wrong"):
        fails()
    assert len(tries) == 1


def test_a_test_that_failed_on_a_late_machine_runs_again_in_an_empty_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    on_a_machine(0.05, monkeypatch)
    found = []

    @real_time
    def fails_once(tmp_path: Path) -> None:
        found.append(sorted(tmp_path.iterdir()))
        (tmp_path / "folder").mkdir()
        (tmp_path / "folder" / "file").touch()
        (tmp_path / "link").symlink_to(HERE)
        assert len(found) == 2

    fails_once(tmp_path=tmp_path)
    assert found == [[], []]
    assert (HERE / "lateness.py").exists()


def test_a_failed_test_is_skipped_if_the_machine_is_always_late_and_the_reason_states_the_lateness(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    on_a_machine(0.05, monkeypatch)
    tries = []

    @real_time
    def fails() -> None:
        tries.append(1)
        raise AssertionError("wrong")

    with pytest.raises(pytest.skip.Exception, match=r"up to 50\.0 ms late.*AssertionError wrong"):
        fails()
    assert len(tries) == lateness.TRIES


def test_a_test_that_fails_for_a_reason_other_than_time_is_not_repeated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    on_a_machine(0.05, monkeypatch)
    tries = []

    @real_time
    def fails() -> None:
        tries.append(1)
        raise TimelessError("wrong")

    with pytest.raises(TimelessError, match="wrong"):
        fails()
    assert len(tries) == 1


def test_a_skip_does_not_count_as_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    on_a_machine(0.05, monkeypatch)

    @real_time
    def skips() -> None:
        pytest.skip("no tool")

    with pytest.raises(pytest.skip.Exception, match="no tool"):
        skips()


def test_a_stopped_sleeper_counts_as_late() -> None:
    with Lateness() as late:
        assert late._sleeper.stdout is not None
        os.kill(late._sleeper.pid, signal.SIGSTOP)
        subprocess.run(["sleep", "0.2"], check=True)
        os.kill(late._sleeper.pid, signal.SIGCONT)
        subprocess.run(["sleep", "0.1"], check=True)
    assert late.worst_s > 0.1
    assert late.says_nothing


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc: no signals to read")
def test_children_of_tests_can_be_interrupted_even_if_their_parent_ignores_sigint() -> None:
    script = "import conftest, subprocess; subprocess.run(['cat', '/proc/self/status'])"
    output = subprocess.run(
        ["sh", "-c", "trap '' INT; exec \"$@\"", "sh", sys.executable, "-c", script],
        cwd=HERE,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    (ignored,) = [line.split()[1] for line in output.splitlines() if line.startswith("SigIgn:")]
    assert int(ignored, 16) >> (signal.SIGINT - 1) & 1 == 0
