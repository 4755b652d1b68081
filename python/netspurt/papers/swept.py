"""The sweeps that a paper's `paper.toml` describes: whole sweeps in a folder, or quick ones.

A quick sweep has fewer seeds and ends sooner. The whole sweeps (a *study*) are run once, and their
results are stored in a folder and read from it.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from netspurt.analysis.bootstrap import Interval
from netspurt.analysis.cases import compare, summarise
from netspurt.analysis.grouping import groups
from netspurt.papers.data import Paper, PaperError
from netspurt.scenario import load
from netspurt.sweep import Cases, Sweep, SweepFolder, Threads, open_sweep, run_sweep
from netspurt.wording import counted, listed, number

#: A function that takes the number of finished cases and the number of all cases.
Progress = Callable[[float, float], None]

#: The axis of senders. Its first label is the base, with which the other labels are compared.
SENDER = "sender"


@dataclass(frozen=True)
class Swept:
    """The cases of a sweep with an axis `sender`, whose first label is the base.

    Attributes
    ----------
    cases
        A row for each case.
    order
        The labels of each axis, in order.
    """

    cases: Cases
    order: dict[str, list[Any]]

    @property
    def cells(self) -> list[tuple[str, ...]]:
        """The labels of each cell: one label of each axis, with the label of the sender last."""
        return [labels for labels, _ in groups(self.cases, list(self.order), self.order)]

    def mean(self, measure: str, *labels: str) -> Interval:
        """Return the mean of a measure over the seeds of a cell."""
        summaries = summarise(self.cases, measure, list(self.order), self.order)
        means = {summary.labels: summary.mean for summary in summaries}
        if labels not in means:
            # Arguments of claims write a cell in this way.
            wrong, *cells = ("/".join(cell).replace(" ", "_") for cell in (labels, *means))
            raise PaperError(f"the sweep has no cell {wrong}: its cells are {listed(cells, 8)}")
        return means[labels]

    def gains(self, measure: str) -> dict[tuple[str, ...], Interval]:
        """Return by how much each sender lowers a measure, for each cell [%].

        Each sender is compared with the base sender, in runs with the same seed. The interval is
        the interval of the difference between the two senders. The difference is divided by the
        base's mean, as if this mean were exact.
        """
        gains = {}
        means = {
            summary.labels: summary.mean.value
            for summary in summarise(self.cases, measure, list(self.order), self.order)
        }
        for pair in compare(self.cases, measure, SENDER, self.order, paired=True, better="less"):
            base = means[(*pair.labels, pair.baseline)]
            difference = pair.difference
            value, low, high = (
                -100 * end / base for end in (difference.value, difference.high, difference.low)
            )
            gains[(*pair.labels, pair.label)] = Interval(value, low, high, difference.level, 1)
        return gains


@dataclass(frozen=True)
class Sweeps:
    """The sweeps of a paper by name."""

    paper: Paper

    @classmethod
    def of(cls, paper: Paper) -> Sweeps:
        """Return the sweeps that a paper's `paper.toml` describes.

        Raises
        ------
        PaperError
            If the file describes no sweeps.
        """
        if not paper.sweeps:
            raise PaperError(f"{paper.key} has no study: there is no [sweeps] in its paper.toml")
        return cls(paper)

    def sweep(self, name: str, *, whole: bool) -> Sweep:
        """Return a sweep, whole or quick.

        Raises
        ------
        PaperError
            If no sweep has this name.
        """
        if name not in self.paper.sweeps:
            raise PaperError(f"{self.paper.key}: no sweep in paper.toml is called {name!r}")
        settings = self.paper.sweeps[name]
        quick = {} if whole else {"stop": settings["quick"]["stop"]}
        seeds = settings["seeds"] if whole else settings["quick"]["seeds"]
        base = load(self.paper.folder / settings["scenario"]).replace(
            {**settings.get("set", {}), **quick}
        )
        return Sweep.of(base.replace({"sweep": {"seeds": seeds, "over": settings["over"]}}))

    def whole(self, out: Path, progress: Progress | None = None, threads: int = 0) -> int:
        """Run all sweeps. Each sweep gets a folder inside the given folder.

        Parameters
        ----------
        out
            The folder. Its unfinished sweeps are continued, and its finished sweeps stay unchanged.
        progress
            A function that is called with the number of finished cases and the number of all cases.
        threads
            The number of threads; 0 for one per core.

        Returns
        -------
        int
            The number of packet-hops: each packet counts once on each link that carried it.
        """
        sweeps = {name: self.sweep(name, whole=True) for name in self.paper.sweeps}
        total, before, carried = sum(map(len, sweeps.values())), 0, 0
        for name, sweep in sweeps.items():

            def update(done: float, _: float, before: int = before) -> None:
                if progress is not None:
                    progress(before + done, total)

            engine = partial(Threads, threads=threads)
            folder, _ = run_sweep(sweep, out / name, engine=engine, progress=update)
            before += len(sweep)
            carried += int(folder.read()["carried"].sum())
        return carried

    def count(self, out: Path) -> int:
        """Return the number of cases in the folder of a whole study."""
        return sum(len(self.read(out, name).cases) for name in self.paper.sweeps)

    def quickly(self, name: str) -> Swept:
        """Run the quick form of a sweep without keeping its files."""
        with tempfile.TemporaryDirectory() as scratch:
            folder, _ = run_sweep(self.sweep(name, whole=False), Path(scratch) / "sweep")
            return _swept(folder)

    def read(self, out: Path, name: str) -> Swept:
        """Read the cases of a whole sweep from the folder of the study.

        Raises
        ------
        PaperError
            If a case is missing or did not run to its end, or if the cases belong to another study.
        """
        folder = open_sweep(out / name)
        if folder.fingerprint != self.sweep(name, whole=True).fingerprint:
            raise PaperError(f"{folder.where} belongs to another study: name another folder")
        fix = f"continue it with `netspurt papers study {self.paper.key} --out {out}`"
        return _swept(folder, fix)


def _swept(folder: SweepFolder, fix: str = "") -> Swept:
    """Return the cases of a sweep's folder, if each ran to its end."""
    cases = folder.read()
    if len(cases) < folder.cases:
        raise PaperError(f"{folder.where} has {len(cases)} of {folder.cases} cases: {fix}")
    check_ended(cases["status"], folder.where)
    return Swept(cases, {name: list(labels) for name, labels in folder.labels.items()})


def check_ended(status: NDArray[Any], where: str) -> None:
    """Check that each case of a sweep ran to its end.

    Parameters
    ----------
    status
        How each case ended, of shape (n,).
    where
        The sweep's folder, for the error.

    Raises
    ------
    PaperError
        If a case did not run to its end.
    """
    ends = Counter(status[status != "done"].tolist())
    if ends:
        counts = ", ".join(f"{number(count)} {end}" for end, count in sorted(ends.items()))
        raise PaperError(
            f"{where}: {number(ends.total())} of {counted(len(status), 'case')} did not run to the "
            f"end ({counts})"
        )


def interval_text(interval: Interval, unit: str = "%", places: int = 1) -> str:
    """Return a number with its interval as text."""
    value, low, high = (
        f"{end:z.{places}f}" for end in (interval.value, interval.low, interval.high)
    )
    return f"{value} {unit} ({low} .. {high})".replace("  ", " ")


def cell(labels: Sequence[str]) -> str:
    """Return the labels of a cell as text."""
    return ", ".join(labels)
