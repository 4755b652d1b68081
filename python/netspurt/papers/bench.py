"""The bench makes the runs that the measures of a paper need.

A measure is a function that returns the value that decides a claim (`registry.py`). A simulated run
is made when a measure first needs it. All live runs are made when a measure first needs one of
them.

A grid is one scenario, run with every combination of some values. A study is a long series of
simulated transfers or sweeps, whose results are kept in a folder. A contact is the time in which a
spacecraft can communicate over relay satellites.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from netspurt.live import LiveError, run_live
from netspurt.papers.data import Paper, PaperError
from netspurt.papers.study import Study, Transfers
from netspurt.papers.swept import Sweeps, Swept
from netspurt.run import Run
from netspurt.scenario import Scenario
from netspurt.wording import listed

T = TypeVar("T")


#: The maximum number of attempts at a live run. An attempt fails if its run is not valid.
ATTEMPTS_MAX = 3


class NoLiveRunError(Exception):
    """The machine cannot make a valid live run. The error's text says why."""


class GridValues(dict[str, Any]):
    """The value of each axis of a grid, by the name of the axis. An unknown name is an error."""

    def __init__(self, grid: str, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self._grid = grid

    def __missing__(self, axis: str) -> Any:
        raise PaperError(
            f"the grid {self._grid} has no axis `{axis}`: its axes are {listed([*self])}"
        )


@dataclass(frozen=True)
class BenchCase:
    """One combination of a grid's values, and its run."""

    values: Mapping[str, Any]
    run: Run


@dataclass
class Bench:
    """The runs of a paper."""

    paper: Paper
    #: A function that is called with a few words before runs are made, and before each claim with a
    #: measure is judged.
    announce: Callable[[str], None] = lambda _: None
    #: The folder with the results of the paper's whole study. If `None`, a few transfers or quick
    #: sweeps are run.
    study: Path | None = None
    _runs: dict[str, Run] = field(default_factory=dict)
    _grids: dict[str, list[BenchCase]] = field(default_factory=dict)
    _scenarios: dict[str, Scenario] = field(default_factory=dict)
    _kept: dict[str, Any] = field(default_factory=dict)
    _live: dict[str, Run | str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check that the folder has results of the paper's study.

        Raises
        ------
        PaperError
            If the paper has no study, or the folder has no part of it.
        """
        if self.study is None:
            return
        key = self.paper.key
        names = self.paper.sweeps or (self.of_study.contacts if self.paper.study else {})
        if not names:
            raise PaperError(f"{key} has no study: leave out the folder {self.study}")
        if not any((self.study / name).is_dir() for name in names):
            raise PaperError(
                f"{self.study} has no results of the study of {key}: name the folder that "
                f"`netspurt papers study {key}` made"
            )

    def run(self, name: str) -> Run:
        """Return the run called `name`.

        Raises
        ------
        NoLiveRunError
            If the run is live and the machine cannot make a valid live run.
        """
        if self.scenario(name).kernel_flow is not None:
            return self._run_live(name)
        if name not in self._runs:
            self.announce(f"running {name}")
            self._runs[name] = self.scenario(name).run()
        return self._runs[name]

    def _run_live(self, name: str) -> Run:
        """Return a live run. The first call makes all live runs of the paper at the same time."""
        if not self._live:
            self.announce("running live")
            names = [name for name in self.paper.runs if self.scenario(name).kernel_flow]
            with ThreadPoolExecutor(max(1, len(names))) as pool:
                results = pool.map(_live_run, [self.scenario(name) for name in names])
                self._live = dict(zip(names, results, strict=True))
        result = self._live[name]
        if isinstance(result, str):
            raise NoLiveRunError(result)
        return result

    def scenario(self, name: str) -> Scenario:
        """Return the scenario of the run called `name`."""
        if name not in self._scenarios:
            self._scenarios[name] = self.paper.scenario(name)
        return self._scenarios[name]

    def grid(self, name: str) -> list[BenchCase]:
        """Return the runs of the grid called `name`."""
        if name not in self._grids:
            self.announce(f"running the grid {name}")
            self._grids[name] = [
                BenchCase(GridValues(name, values), scenario.run())
                for values, scenario in self.paper.grid(name)
            ]
        return self._grids[name]

    def transfers(self, contact: str) -> Transfers:
        """Return a contact's transfers: all of them if the whole study was run, or else a few."""
        study = self.of_study
        folder, of_contact = self.study, study.contacts[contact]

        def make() -> Transfers:
            if folder is not None:
                return study.read(folder, of_contact)
            self.announce(f"transfers of {contact}")
            return study.quickly(study.sweep(of_contact, whole=False))

        return self.keep(f"transfers of {contact}", make)

    def varied(
        self,
        contact: str,
        study: Study,
        values: Mapping[str, Any] | None = None,
        *,
        static: bool = False,
    ) -> Transfers:
        """Run a few transfers of a contact with changed values of its scenario, and return them.

        Parameters
        ----------
        contact
            The contact.
        study
            The study, with the sizes, the clocks and the number of starts.
        values
            Values of the scenario by their dotted paths.
        static
            True if the delay is constant: the mean delay of the contact.
        """
        name = f"{contact}, {study.sizes}, {study.clocks}, {study.quick}, {static}, {values}"

        def make() -> Transfers:
            self.announce(f"transfers of {name}")
            of_contact = study.contacts[contact]
            sweep = study.sweep(of_contact, whole=False, static=static, values=values)
            return study.quickly(sweep)

        return self.keep(name, make)

    def swept(self, name: str) -> Swept:
        """Return a sweep's cases, from the whole study if it was run, or else from a quick run."""
        sweeps, folder = Sweeps.of(self.paper), self.study

        def make() -> Swept:
            if folder is not None:
                return sweeps.read(folder, name)
            self.announce(f"the sweep {name}")
            return sweeps.quickly(name)

        return self.keep(f"sweep {name}", make)

    @property
    def of_study(self) -> Study:
        """The paper's study."""
        return self.keep("study", lambda: Study.of(self.paper))

    def keep(self, name: str, make: Callable[[], T]) -> T:
        """Return the result called `name`, which measures share. `make` is called only once."""
        if name not in self._kept:
            self._kept[name] = make()
        result: T = self._kept[name]
        return result


def _live_run(scenario: Scenario) -> Run | str:
    """Run a scenario live until a run is valid. If no run is valid, return the reason."""
    why_not = ""
    with tempfile.TemporaryDirectory() as scratch:
        for attempt in range(ATTEMPTS_MAX):
            try:
                run = run_live(scenario, Path(scratch) / str(attempt))
            except LiveError as error:
                return str(error)
            assert run.live is not None
            if run.live.valid:
                return run
            why_not = run.live.why_not()
    return f"none of {ATTEMPTS_MAX} live runs is valid; the last one: {why_not}"
