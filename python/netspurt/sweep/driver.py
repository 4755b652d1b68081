"""Runs the cases of a sweep that its folder does not have yet.

A case is one combination of the sweep's values, with one seed. The cases are run in chunks. A chunk
is a series of consecutive cases, and has one file.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from netspurt import _core
from netspurt.sweep.engines import Chunk, Engine, Threads
from netspurt.sweep.folder import SweepFolder, Tally, held, prepare
from netspurt.sweep.plan import Sweep
from netspurt.sweep.store import SweepError
from netspurt.table import Table

#: A function that takes the number of finished cases and the number of all cases.
Progress = Callable[[float, float], None]

#: The approximate number of wake-ups in a chunk. A wake-up is an event of the simulation. A chunk
#: then takes a quarter of a second on a machine of 2024. So an interrupt loses little work, and
#: there are few files.
_CHUNK_EVENTS = 1_000_000

#: The cost of reading and building a case, in wake-ups, and the maximum number of wake-ups that are
#: run to estimate the cost of a case.
_CASE_EVENTS = 1000
_TRIAL_EVENTS_MAX = 250_000

#: The minimum number of chunks of a long sweep, so that all threads end at about the same time, and
#: the maximum number of cases in a chunk.
_CHUNKS_MIN = 32
_CHUNK_CASES_MAX = 5000

#: The time for which cases are run to estimate the time of a case, and the maximum wait for the
#: first case [s].
_TIMED_S = 0.2
_FIRST_CASE_MAX_S = 1.0


class SweepFailedError(ValueError):
    """A case of a strict sweep failed. Such a sweep stops at its first error."""


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

    After any interruption, the finished chunks are kept. The same call then continues the sweep.

    Parameters
    ----------
    sweep
        The sweep.
    out
        A folder, which is made if it does not exist, or a URL of an object store.
    engine
        A function that makes the engine, which runs the cases. It is called only if there are cases
        to run. By default, the engine is threads of this process, one per core.
        `functools.partial(Threads, threads=1)` uses one thread. `Live` runs cases live (in real
        time) if an end of one of their flows runs the kernel's TCP.
    chunk
        The number of cases in a file of a new folder, at least 1; by default `guess_chunk(sweep)`.
    strict
        True if the sweep stops at the first case with an error. If the folder already has a case
        with an error, no case is run.
    progress
        A function that is called with the number of finished cases and the number of all cases.

    Returns
    -------
    SweepFolder, Tally
        The folder, and how the newly run cases ended.

    Raises
    ------
    SweepError
        If the folder has other content, a damaged file or another number of cases per file. Also if
        another program runs a sweep into the folder.
    SweepFailedError
        If the sweep is strict and a case fails.
    ScenarioError
        If an end of a flow in a case runs the kernel's TCP, and the engine only simulates.
    TypeError
        If `sweep` is not a sweep, but for example a scenario.
    """
    if not isinstance(sweep, Sweep):
        raise TypeError("use `Sweep.of(scenario)` for the sweep of a scenario")
    with held(out):
        folder = prepare(out, sweep, lambda: chunk or guess_chunk(sweep))
        if chunk not in (None, folder.chunk):
            raise SweepError(
                f"the files of {folder.where} have {folder.chunk} cases each, and not {chunk}: "
                "leave out the number of cases (--chunk), or name another folder"
            )
        # The tally reads all stored chunks, so a damaged chunk raises an error and does not count
        # as finished.
        failed = folder.tally().first_error
        if strict and failed is not None:
            raise SweepFailedError(_strict_message(failed))
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
    finished = set(folder.there())
    missing = (chunk for chunk in folder.chunks() if chunk not in finished)
    kept = sum(chunk.count for chunk in finished)
    tally = Tally()
    if kept == folder.cases:
        return tally
    running = engine(sweep)
    running.prepare(folder.chunk)
    try:
        for done, outcome in _completed(running, missing):
            failed = outcome[5]
            if strict and failed is not None:
                raise SweepFailedError(_strict_message(failed))
            folder.write(done, outcome[0])
            tally.add(outcome)
            if progress is not None:
                progress(kept + tally.cases, folder.cases)
    finally:
        running.cancel()
    return tally


def _completed(engine: Engine, chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, _core.Outcome]]:
    """Yield finished chunks, and submit further chunks when the engine has room."""
    waiting = iter(chunks)
    for chunk in islice(waiting, engine.room):
        engine.submit(chunk)
    for chunk, outcome in engine.as_completed():
        for another in islice(waiting, 1):
            engine.submit(another)
        yield chunk, outcome


def _strict_message(first_error: tuple[int, str]) -> str:
    case, message = first_error
    return (
        f"case {case} failed: {message}; without --strict the error is recorded and the other "
        "cases run"
    )


def guess_chunk(sweep: Sweep) -> int:
    """Return a suitable number of cases for a chunk, from the wake-ups of a few cases.

    Wake-ups are counted and not timed, so that the files of a sweep are the same on all machines.
    Each live case has its own file, so that an interrupt costs at most one case.
    """
    if sweep.is_live:
        return 1
    cases = len(sweep)
    costs = [_cost(sweep, case) for case in _sample_of(cases)]
    wanted = _CHUNK_EVENTS * len(costs) // sum(costs)
    return max(1, min(wanted, _CHUNK_CASES_MAX, -(-cases // _CHUNKS_MIN)))


def _sample_of(cases: int) -> Iterable[int]:
    """Return the numbers of at most four cases, evenly spread over all cases."""
    return dict.fromkeys((0, cases // 3, 2 * cases // 3, cases - 1))


def _cost(sweep: Sweep, case: int) -> int:
    """Return the cost of a case in wake-ups. For a long case, this is a lower bound."""
    try:
        one_case = Sweep.listed([({}, sweep.scenario(case))], events=_TRIAL_EVENTS_MAX)
    except ValueError:
        return _CASE_EVENTS
    content, finished, was_cut, *_ = one_case.run_chunk(0, 1)
    if not finished:
        return _CASE_EVENTS + (_TRIAL_EVENTS_MAX if was_cut else 0)
    return _CASE_EVENTS + int(Table(_core.Table.parse("cases", content))["events"][0])


def seconds_per_case(sweep: Sweep) -> float:
    """Return the approximate time of a case, measured on a few cases from all parts of the sweep.

    A long case is interrupted, and then the result is a lower bound.
    """
    engine = _core.SweepEngine(sweep._core, 1)
    for case in _sample_of(len(sweep)):
        engine.submit(case, 1)
    started = time.monotonic()
    spent, count = 0.0, 0
    try:
        while engine.underway and time.monotonic() - started < (
            _TIMED_S if count else _FIRST_CASE_MAX_S
        ):
            done = engine.next(_TIMED_S / 2)
            if done is not None:
                spent, count = spent + done[1][6], count + 1
    finally:
        engine.cancel()
    return spent / count if count else time.monotonic() - started
