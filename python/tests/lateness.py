"""Repeats a test that failed while the machine was late, which means that timers fired late.

A test that waits for real packets needs a machine on which timers fire on time. If other programs
use the processor, timers fire late and packets wait. So a second process, the sleeper, runs during
such a test. The sleeper only sleeps, and measures how late it wakes.

If the test fails and the sleeper woke late, the failure proves nothing, so the test is repeated. A
failed test is also repeated if a hypervisor gave more than 0.5 % of the processors' time to other
machines. If the machine was late in each attempt, the test is skipped, and the reason says how late
the machine was. If the test fails while the machine is on time, the failure counts.
"""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

#: If the sleeper woke late by more than this time [s], a failure proves nothing.
ALLOWED_S = 0.003
#: The share of the processors' time that a hypervisor may give to other machines.
ALLOWED_STOLEN = 0.005
#: The number of attempts at each test.
TRIES = 3

#: A program that sleeps for 2 ms at a time until its input ends. Then it prints the largest time by
#: which it woke too late [s].
SLEEPER = """
import select, sys, time
worst, span = 0.0, 0.002
began = time.monotonic()
print("ready", flush=True)
over = False
while not over:
    over = bool(select.select([sys.stdin], [], [], span)[0])
    now = time.monotonic()
    worst = max(worst, now - began - span)
    began = now
print(worst)
"""


class Lateness:
    """Measures how late this machine was while a `with` block ran."""

    #: The largest time by which the sleeper woke too late, in seconds.
    worst_s = 0.0
    #: The share of the processors' time that a hypervisor gave to other machines.
    stolen = 0.0

    def __enter__(self) -> Lateness:
        words = [sys.executable, "-ISc", SLEEPER]
        self._sleeper = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._sleeper.stdout is not None
        self._sleeper.stdout.readline()
        self._before = _processor_times()
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        output = self._sleeper.communicate()[0]
        self.worst_s = float(output)
        stolen, whole = (
            now - then for now, then in zip(_processor_times(), self._before, strict=True)
        )
        self.stolen = stolen / whole if whole else 0.0

    @property
    def says_nothing(self) -> bool:
        """Return True if a failure proves nothing, because the machine was too busy.

        The machine was too busy if the sleeper woke too late, or if other machines got too much
        processor time.
        """
        return self.worst_s > ALLOWED_S or self.stolen > ALLOWED_STOLEN

    def __str__(self) -> str:
        return (
            f"a sleeper woke up to {self.worst_s * 1e3:.1f} ms late, "
            f"and {self.stolen:.1%} of the processors' time went to other machines"
        )


def _processor_times() -> tuple[int, int]:
    """Return the stolen time and the total time of all processors, in the same unit."""
    try:
        fields = [int(field) for field in Path("/proc/stat").read_text().split("\n")[0].split()[1:]]
    except OSError:
        return 0, 0
    return fields[7], sum(fields[:8])


class TimelessError(AssertionError):
    """Reports a failure that does not depend on time, so a late machine cannot be its cause."""


def real_time(test: Callable[..., None]) -> Callable[..., None]:
    """Run a test again if it fails on a late machine, and skip it if the machine stays late.

    A :class:`TimelessError` fails the test at once.
    """

    @functools.wraps(test)
    def tried(*words: Any, **fixtures: Any) -> None:
        for attempt in range(1, TRIES + 1):
            lateness = Lateness()
            try:
                with lateness:
                    test(*words, **fixtures)
                return
            except TimelessError:
                raise
            except Exception as error:
                if not lateness.says_nothing:
                    raise
                failure = " ".join(f"{type(error).__name__} {error}".split())[:200]
                print(f"attempt {attempt} of {TRIES}: {lateness}: {failure}")
            if "tmp_path" in fixtures:
                _empty(fixtures["tmp_path"])
        pytest.skip(f"the machine was too late {TRIES} times; the last time {lateness}: {failure}")

    marked: Callable[..., None] = pytest.mark.real_time(tried)
    return marked


def _empty(folder: Path) -> None:
    """Remove everything in a folder."""
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
