"""Engines, which run the cases of a sweep in chunks: in threads, in real time, or on a cluster.

A case is one combination of the sweep's values, with one seed. A chunk is a series of consecutive
cases. `submit` takes a chunk, and `as_completed` yields finished chunks. `cancel` removes the
waiting chunks and, if the engine can, stops the running chunks. All engines give the same bytes for
a chunk of simulated cases, unless a limit of wall-clock time cuts a case.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from netspurt import _core
from netspurt.sweep.plan import Sweep


@dataclass(frozen=True)
class Chunk:
    """A series of consecutive cases.

    Attributes
    ----------
    first, count
        The number of the first case, and the number of cases.
    """

    first: int
    count: int


class Engine(Protocol):
    """An object that runs chunks."""

    @property
    def room(self) -> int:
        """The number of chunks that must be submitted so that no worker is idle."""

    def prepare(self, chunk: int) -> None:
        """Set the number of cases of a chunk."""

    def submit(self, chunk: Chunk) -> None:
        """Schedule a chunk."""

    def as_completed(self) -> Iterator[tuple[Chunk, _core.Outcome]]:
        """Yield finished chunks until all are finished. A caller may submit more while it reads."""

    def cancel(self) -> None:
        """Cancel all chunks."""


#: The maximum duration of one wait, in seconds; interrupts are handled after it.
_POLL_S = 0.1


class Threads:
    """The engine in this process. Threads in Rust run the cases, and Python writes the files.

    Parameters
    ----------
    sweep
        The sweep whose chunks are run.
    threads
        The number of threads; 0 for one per core.

    Raises
    ------
    ScenarioError
        If an end of a flow in a case runs the kernel's TCP.
    """

    def __init__(self, sweep: Sweep, threads: int = 0) -> None:
        sweep.check_simulated()
        self._engine = _core.SweepEngine(sweep._core, threads)
        self._counts: dict[int, int] = {}

    @property
    def room(self) -> int:
        """The number of chunks that must be submitted so that no thread is idle."""
        return 2 * self._engine.threads + 2

    def prepare(self, chunk: int) -> None:
        """Set the number of cases of a chunk. This has no effect on this engine."""

    def submit(self, chunk: Chunk) -> None:
        """Schedule a chunk for the next free thread."""
        self._counts[chunk.first] = chunk.count
        self._engine.submit(chunk.first, chunk.count)

    def as_completed(self) -> Iterator[tuple[Chunk, _core.Outcome]]:
        """Yield finished chunks until all submitted chunks are finished."""
        while self._engine.underway:
            done = self._engine.next(_POLL_S)
            if done is not None:
                first, outcome = done
                yield Chunk(first, self._counts.pop(first)), outcome

    def cancel(self) -> None:
        """Cancel all chunks. Running chunks stop almost immediately."""
        self._engine.cancel()
