"""Where measures get their runs: each is made once, when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from netspurt.papers.data import Paper
from netspurt.run import Run
from netspurt.scenario import Scenario

T = TypeVar("T")


@dataclass(frozen=True)
class Case:
    """A combination of a grid's values, and its run."""

    values: dict[str, Any]
    run: Run


@dataclass
class Bench:
    """The runs of a paper."""

    paper: Paper
    #: Called with a few words before each run.
    announce: Callable[[str], None] = lambda _: None
    _runs: dict[str, Run] = field(default_factory=dict)
    _grids: dict[str, list[Case]] = field(default_factory=dict)
    _scenarios: dict[str, Scenario] = field(default_factory=dict)
    _kept: dict[str, Any] = field(default_factory=dict)

    def run(self, name: str) -> Run:
        """Return the run called `name`."""
        if name not in self._runs:
            self.announce(f"running {name}")
            self._runs[name] = self.scenario(name).run()
        return self._runs[name]

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

    def keep(self, name: str, make: Callable[[], T]) -> T:
        """Return what was made under a name; what measures share is made once."""
        if name not in self._kept:
            self._kept[name] = make()
        found: T = self._kept[name]
        return found
