"""Running what is missing of a sweep."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from netspurt import _core
from netspurt.sweep.engines import Chunk, Engine, Threads
from netspurt.sweep.folder import SweepFolder, Tally, held, prepare
from netspurt.sweep.plan import Sweep

#: Called with how many cases are there and how many there are in all.
Progress = Callable[[float, float], None]

#: A chunk should take so many seconds: little to lose, and few files.
CHUNK_S = 0.25
#: At least so many chunks, so that no thread ends long before the others; at most so many cases.
_CHUNKS = 32
_MOST = 5000
#: Cases are timed for so many seconds, and the first is waited for no longer than that.
_TIMED_S = 0.2
_FIRST_S = 1.0


class SweepFailedError(ValueError):
    """A case failed in a sweep that was to be strict."""


def run_sweep(
    sweep: Sweep,
    out: str | os.PathLike[str],
    *,
    engine: Callable[[Sweep], Engine] = Threads,
    chunk: int | None = None,
    strict: bool = False,
    progress: Progress | None = None,
) -> tuple[SweepFolder, Tally]:
    """Run the cases of a sweep that a folder does not have yet.

    Whatever ends it, each chunk that was done is kept, and the same call goes on from there.

    Parameters
    ----------
    sweep
        The sweep.
    out
        A folder, which is made if it is not there, or a URL of an object store.
    engine
        Makes who runs the cases, if there are any: by default threads of this process, one a
        core; `functools.partial(Threads, threads=1)` is one of them.
    chunk
        How many cases a file has, in a folder that is made now; by default a quarter of a
        second's worth.
    strict
        Whether the first case with an error ends it, or one that the folder has already.
    progress
        Called with how many cases are there and how many there are in all.

    Returns
    -------
    SweepFolder, Tally
        The folder, and how the cases ended that were run now.

    Raises
    ------
    SweepError
        When the folder holds something else, or another program sweeps into it.
    SweepFailedError
        When it is strict and a case fails.
    """
    with held(out):
        folder = prepare(out, sweep, lambda: chunk or guess_chunk(sweep))
        if strict and (failed := folder.tally().first_error) is not None:
            raise SweepFailedError(_told(failed))
        return folder, _run(sweep, folder, engine, strict=strict, progress=progress)


def _run(
    sweep: Sweep,
    folder: SweepFolder,
    engine: Callable[[Sweep], Engine],
    *,
    strict: bool,
    progress: Progress | None,
) -> Tally:
    """Run the chunks that a folder does not have."""
    there = set(folder.there())
    missing = [one for one in folder.chunks() if one not in there]
    tally = Tally()
    if not missing:
        return tally
    running = engine(sweep)
    running.prepare(folder.chunk)
    kept = sum(one.count for one in there)
    try:
        for done, outcome in _completed(running, missing):
            if strict and outcome[4] is not None:
                raise SweepFailedError(_told(outcome[4]))
            folder.write(done, outcome[0])
            tally.add(outcome)
            if progress is not None:
                progress(kept + tally.cases, folder.cases)
    finally:
        running.cancel()
    return tally


def _completed(engine: Engine, chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, _core.Outcome]]:
    """Yield chunks as they are done, while the engine has as many as it has room for."""
    waiting = iter(chunks)
    for chunk in islice(waiting, engine.room):
        engine.submit(chunk)
    for chunk, outcome in engine.as_completed():
        for another in islice(waiting, 1):
            engine.submit(another)
        yield chunk, outcome


def _told(first_error: tuple[int, str]) -> str:
    case, words = first_error
    return f"case {case} failed: {words}; without --strict it is recorded and the rest goes on"


def guess_chunk(sweep: Sweep) -> int:
    """Return how many cases a chunk should have, by timing a few."""
    cases = len(sweep)
    seconds = seconds_a_case(sweep)
    wanted = int(CHUNK_S / max(seconds, 1e-6))
    return max(1, min(wanted, _MOST, -(-cases // _CHUNKS)))


def seconds_a_case(sweep: Sweep) -> float:
    """Return about how long a case takes, by running a few of different combinations.

    Long ones are not waited for: of them it is at least so long.
    """
    cases = len(sweep)
    timed = _core.SweepEngine(sweep._core, 1)
    for case in dict.fromkeys((0, cases // 3, 2 * cases // 3, cases - 1)):
        timed.submit(case, 1)
    began = time.monotonic()
    spent, count = 0.0, 0
    try:
        while timed.underway and time.monotonic() - began < (_TIMED_S if count else _FIRST_S):
            done = timed.next(_TIMED_S / 2)
            if done is not None:
                spent, count = spent + done[1][5], count + 1
    finally:
        timed.cancel()
    return spent / count if count else time.monotonic() - began
