"""The bench, which provides runs to measures. Each run is made when it is first needed."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from netspurt.live import LiveError, run_live
from netspurt.papers.data import Paper
from netspurt.papers.study import Study, Transfers
from netspurt.papers.swept import Sweeps, Swept
from netspurt.run import Run
from netspurt.scenario import Scenario

T = TypeVar("T")


#: How often a live run is repeated if the machine is late.
TRIES = 3


class NotRunError(Exception):
    """The machine cannot make a valid live run. The text is the reason."""


@dataclass(frozen=True)
class Case:
    """One combination of a grid's values, and its run."""

    values: dict[str, Any]
    run: Run


@dataclass
class Bench:
    """The runs of a paper."""

    paper: Paper
    #: A function that is called with a few words before each run.
    announce: Callable[[str], None] = lambda _: None
    #: The folder of the paper's whole study. Without such a folder a few transfers are run.
    study: Path | None = None
    _runs: dict[str, Run] = field(default_factory=dict)
    _grids: dict[str, list[Case]] = field(default_factory=dict)
    _scenarios: dict[str, Scenario] = field(default_factory=dict)
    _kept: dict[str, Any] = field(default_factory=dict)
    _live: dict[str, Run | str] = field(default_factory=dict)

    def run(self, name: str) -> Run:
        """Return the run called `name`.

        Raises
        ------
        NotRunError
            If it is a live run and the machine does not allow it.
        """
        if self.scenario(name).kernel_flow is not None:
            return self._run_live(name)
        if name not in self._runs:
            self.announce(f"running {name}")
            self._runs[name] = self.scenario(name).run()
        return self._runs[name]

    def _run_live(self, name: str) -> Run:
        """Make all live runs of the paper at the same time, since they run in real time."""
        if not self._live:
            self.announce("running live")
            names = [name for name in self.paper.runs if self.scenario(name).kernel_flow]
            with ThreadPoolExecutor(max(1, len(names))) as pool:
                made = pool.map(_live_run, [self.scenario(name) for name in names])
                self._live = dict(zip(names, made, strict=True))
        found = self._live[name]
        if isinstance(found, str):
            raise NotRunError(found)
        return found

    def scenario(self, name: str) -> Scenario:
        """Return the scenario of the run called `name`."""
        if name not in self._scenarios:
            self._scenarios[name] = self.paper.scenario(name)
        return self._scenarios[name]

    def grid(self, name: str) -> list[Case]:
        """Return the runs of the grid called `name`."""
        if name not in self._grids:
            self.announce(f"running the grid {name}")
            self._grids[name] = [
                Case(values, scenario.run()) for values, scenario in self.paper.grid(name)
            ]
        return self._grids[name]

    def transfers(self, contact: str) -> Transfers:
        """Return a contact's transfers: all of them if the whole study was run, or else a few."""
        study = self.of_study
        whole, about = self.study, study.contacts[contact]

        def make() -> Transfers:
            if whole is not None:
                return study.read(whole, about)
            self.announce(f"transfers of {contact}")
            return study.quickly(study.sweep(about, whole=False))

        return self.keep(f"transfers of {contact}", make)

    def varied(
        self,
        contact: str,
        study: Study,
        values: Mapping[str, Any] | None = None,
        *,
        static: bool = False,
    ) -> Transfers:
        """Return a few transfers of a contact with other values of its scenario.

        Parameters
        ----------
        contact
            The contact.
        study
            The study, with the sizes, the clocks and the number of starts.
        values
            Values of the scenario by their dotted paths.
        static
            Whether the delay is the contact's mean delay all the time.
        """
        name = f"{contact}, {study.sizes}, {study.clocks}, {study.quick}, {static}, {values}"

        def make() -> Transfers:
            self.announce(f"transfers of {name}")
            one = study.contacts[contact]
            return study.quickly(study.sweep(one, whole=False, static=static, values=values))

        return self.keep(name, make)

    def swept(self, name: str) -> Swept:
        """Return a sweep's cases: all of them if the whole study was run, or else quick ones."""
        sweeps, whole = Sweeps.of(self.paper), self.study

        def make() -> Swept:
            if whole is not None:
                return sweeps.read(whole, name)
            self.announce(f"the sweep {name}")
            return sweeps.quickly(name)

        return self.keep(f"sweep {name}", make)

    @property
    def of_study(self) -> Study:
        """The paper's study."""
        return self.keep("study", lambda: Study.of(self.paper))

    def keep(self, name: str, make: Callable[[], T]) -> T:
        """Return a result that several measures share, by its name. It is computed only once."""
        if name not in self._kept:
            self._kept[name] = make()
        found: T = self._kept[name]
        return found


def _live_run(scenario: Scenario) -> Run | str:
    """Run a scenario live until a run is valid. If none is, return the reason."""
    late = 0.0
    with tempfile.TemporaryDirectory() as scratch:
        for attempt in range(TRIES):
            try:
                run = run_live(scenario, Path(scratch) / str(attempt))
            except LiveError as error:
                return str(error)
            assert run.live is not None
            if run.live.valid:
                return run
            late = run.live.lateness.max_ns / 1e6
    return f"the machine was too late in {TRIES} runs, in the last one by {late:.1f} ms"
