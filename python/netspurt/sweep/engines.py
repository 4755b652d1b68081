"""Engines: three calls, whoever computes.

`submit` a chunk, take chunks `as_completed`, and `cancel`. A chunk's bytes are the same from each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from netspurt import _core
from netspurt.sweep.plan import Sweep


@dataclass(frozen=True)
class Chunk:
    """Cases that follow each other."""

    first: int
    count: int


class Engine(Protocol):
    """Who runs chunks."""

    @property
    def room(self) -> int:
        """How many chunks it should have at once, so that nobody waits."""

    def prepare(self, chunk: int) -> None:
        """Learn how many cases a chunk has."""

    def submit(self, chunk: Chunk) -> None:
        """Have a chunk run."""

    def as_completed(self) -> Iterator[tuple[Chunk, _core.Outcome]]:
        """Yield chunks as they are done, until none is left; more may be submitted meanwhile."""

    def cancel(self) -> None:
        """Give up what is under way."""


#: How long one wait lasts, so that an interrupt is heard.
_POLL_S = 0.1


class Threads:
    """The engine in this process: threads of the core, while Python only writes files.

    Parameters
    ----------
    sweep
        Whose chunks are run.
    threads
        How many; 0 for one a core.
    """

    def __init__(self, sweep: Sweep, threads: int = 0) -> None:
        self._engine = _core.SweepEngine(sweep._core, threads)
        self._counts: dict[int, int] = {}

    @property
    def room(self) -> int:
        """How many chunks it should have at once."""
        return 2 * self._engine.threads + 2

    def prepare(self, chunk: int) -> None:
        """Learn how many cases a chunk has, which changes nothing here."""

    def submit(self, chunk: Chunk) -> None:
        """Have a chunk run as soon as a thread is free."""
        self._counts[chunk.first] = chunk.count
        self._engine.submit(chunk.first, chunk.count)

    def as_completed(self) -> Iterator[tuple[Chunk, _core.Outcome]]:
        """Yield chunks as they are done, until none is left."""
        while self._engine.underway:
            done = self._engine.next(_POLL_S)
            if done is not None:
                first, outcome = done
                yield Chunk(first, self._counts.pop(first)), outcome

    def cancel(self) -> None:
        """End every chunk within moments."""
        self._engine.cancel()
