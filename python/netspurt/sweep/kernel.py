"""The engine of live sweeps. It runs a case in real time if a flow's end runs the kernel's TCP.

A case is one combination of the sweep's values, with one seed. A chunk is a series of consecutive
cases. Here, each chunk has one case.
"""

from __future__ import annotations

import tempfile
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from netspurt import _core
from netspurt.live import BUDGET, LiveError, refused_namespaces, run_live
from netspurt.scenario import Scenario
from netspurt.sweep.engines import Chunk
from netspurt.sweep.plan import Sweep

#: The maximum number of runs of a case. A case is run again if its first run is not valid.
RUNS_MAX = 2


class Live:
    """The engine that runs cases live, in real time and one after the other.

    A run ends when its flows have ended, at the latest at the scenario's `stop`. If the run is not
    valid, for example because a delivery was late, the case is run a second time. If the second run
    is not valid either, the case has the status `late` and no measures. The sweep's limit `time`
    may be shorter than `stop`. If the flows of a valid run have not ended within this limit, the
    case has the status `cut`. Cases in which no end of a flow runs the kernel's TCP are simulated.

    Parameters
    ----------
    sweep
        The sweep whose cases are run.
    budget
        The maximum lateness of a delivery (how long after it is due), in seconds. A run with a
        later delivery is not valid.

    Raises
    ------
    LiveError
        If the machine does not allow namespaces.
    ValueError
        If no end of a flow in any case runs the kernel's TCP, or if the sweep limits the events of
        the simulator (`events`).
    """

    def __init__(self, sweep: Sweep, budget: float = BUDGET) -> None:
        self.check(sweep)
        if why := refused_namespaces():
            raise LiveError(f"no live run: {why}")
        self._sweep = sweep
        self._budget = budget
        self._waiting: deque[Chunk] = deque()

    @property
    def room(self) -> int:
        """How many chunks must be submitted so that the engine is not idle: one."""
        return 1

    def prepare(self, chunk: int) -> None:
        """Check that a chunk is one case.

        Raises
        ------
        ValueError
            If a chunk has several cases.
        """
        self.check(self._sweep, chunk)

    @staticmethod
    def check(sweep: Sweep, chunk: int = 1) -> None:
        """Check that a sweep has a live case and no limit `events`, and that a chunk is one case.

        With one case in a chunk, an interrupt loses at most one case.

        Raises
        ------
        ValueError
            If no case is live, if the sweep limits the events of the simulator (`events`), or if a
            chunk has several cases.
        """
        if not sweep.is_live:
            raise ValueError(
                "no case has an end on the kernel's TCP, so no case runs live: add "
                '`endpoint = "kernel"` to a flow, or `--set flows.NAME.endpoint=kernel`'
            )
        if sweep.budget[0] is not None:
            raise ValueError(
                "`events` under [sweep] counts the simulator's wake-ups, and a live case has none: "
                "remove it, and limit the cases by `time`"
            )
        if chunk != 1:
            raise ValueError("a live sweep has one case in each chunk: leave the chunk size out")

    def submit(self, chunk: Chunk) -> None:
        """Schedule a chunk after all other chunks."""
        self._waiting.append(chunk)

    def as_completed(self) -> Iterator[tuple[Chunk, _core.Outcome]]:
        """Run the scheduled chunks, and yield each chunk when it is finished."""
        while self._waiting:
            chunk = self._waiting.popleft()
            yield chunk, self._run(chunk.first)

    def cancel(self) -> None:
        """Remove the waiting chunks. A chunk that already runs is not stopped."""
        self._waiting.clear()

    def _run(self, case: int) -> _core.Outcome:
        try:
            scenario = self._sweep.scenario(case)
        except _core.ScenarioError:
            # `run_chunk` finds the same error in the scenario, and records the error in the
            # outcome.
            return self._sweep.run_chunk(case, 1)
        if scenario.kernel_flow is None:
            return self._sweep.run_chunk(case, 1)
        return self._run_live(case, scenario)

    def _run_live(self, case: int, scenario: Scenario) -> _core.Outcome:
        started_ns = time.monotonic_ns()
        stop_ns = scenario._core.stop_ns
        limit_ns = min(self._sweep.budget[1] or stop_ns, stop_ns)
        try:
            scenario_of_sums = _recording_sums(scenario, limit_ns)
        except _core.ScenarioError:
            # The scenario is invalid, because a flow would start after the limit. The case is cut.
            return self._outcome(case, started_ns)
        try:
            late, counts = self._run_until_valid(scenario_of_sums)
        except LiveError as error:
            return self._outcome(case, started_ns, error=" ".join(str(error).split()))
        if late:
            return self._outcome(case, started_ns, late=late)
        if limit_ns <= counts[1] < stop_ns:
            return self._outcome(case, started_ns)
        return self._outcome(case, started_ns, counts=counts)

    def _run_until_valid(self, scenario: Scenario) -> tuple[str, tuple[list[_core.Table], int]]:
        """Run a scenario until a run is valid, or until the attempts are used up.

        Returns
        -------
        str
            The reason why the last run is not valid, or an empty text if it is valid.
        tuple
            The tables of the last run, and its end [ns].

        Raises
        ------
        LiveError
            If live runs are not possible.
        """
        for _ in range(RUNS_MAX):
            with tempfile.TemporaryDirectory(prefix="netspurt-") as scratch:
                run = run_live(scenario, Path(scratch) / "run", budget=self._budget)
            assert run.live is not None
            late = run.live.why_not()
            if not late:
                break
        return late, ([table._core for table in run.tables.values()], run.stop_ns)

    def _outcome(
        self,
        case: int,
        started_ns: int,
        *,
        counts: tuple[list[_core.Table], int] | None = None,
        late: str | None = None,
        error: str | None = None,
    ) -> _core.Outcome:
        """Return the outcome of a chunk of one case.

        If `counts`, `late` and `error` are all `None`, the case was cut.
        """
        return self._sweep._core.live_chunk(
            case,
            time.monotonic_ns() - started_ns,
            counts=counts,
            late=late,
            error=error,
        )


def _recording_sums(scenario: Scenario, stop_ns: int) -> Scenario:
    """Return a scenario that ends at an instant and records only the tables of sums.

    Raises
    ------
    ScenarioError
        If the scenario cannot end at this instant.
    """
    stop = f"{stop_ns} ns"
    return scenario.replace({"record.tables": [], "record.capture": False, "stop": stop})
