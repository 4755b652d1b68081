"""A study: transfers of several sizes, with several clock ticks, that start during a contact.

A contact is the time in which a spacecraft can communicate over relay satellites (`contacts.py`).
The transfers of each contact are a sweep. A quick study uses only some of the start times. The
whole study is run once, and its results are stored in a folder and read from it.
"""

from __future__ import annotations

import tempfile
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netspurt.papers.contacts import Contact, contacts, stored
from netspurt.papers.data import Paper, PaperError
from netspurt.papers.swept import check_ended
from netspurt.quantities import quantity
from netspurt.scenario import Scenario, load, read_text
from netspurt.sweep import Cases, Sweep, Threads, open_sweep, run_sweep
from netspurt.sweep.folder import SCENARIO

#: A function that takes the number of finished transfers and the number of all transfers.
Progress = Callable[[float, float], None]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: The keys of the flow, and of the link whose delay changes (the moving link), in the scenarios of
#: studies.
FLOW = "flows.transfer"
_SPACE = "space"
LINK = f"links.{_SPACE}"

#: A run ends this long after the end of its contact [s]. No transfer of a study takes longer than
#: this.
_AFTER_CONTACT_S = 1000


@dataclass(frozen=True)
class Transfers:
    """The transfers of a contact, one in each row.

    Attributes
    ----------
    size
        The size of each transfer in segments, shape (n,).
    clock
        The tick of the clock of each transfer, in text form, shape (n,).
    start, seconds
        The start of each transfer, and its duration [s]. The duration is NaN if the transfer did
        not end.
    delivered
        The number of segments that the receiver received. Each segment counts once.
    sent, spurious, timeouts
        The numbers of segments sent, of spurious retransmissions and of timeouts.
    window_limited
        The number of times that cwnd allowed data but the receive window did not. It is 0 if the
        profile is not `ns-2`.
    """

    size: Ints
    clock: NDArray[np.str_]
    start: Floats
    seconds: Floats
    delivered: Ints
    sent: Ints
    spurious: Ints
    timeouts: Ints
    window_limited: Ints

    def __len__(self) -> int:
        return len(self.size)

    def where(self, *, size: int | None = None, clock: str | None = None) -> Transfers:
        """Return the transfers with this size, with this tick of the clock, or with both."""
        keep = np.ones(len(self), dtype=np.bool_)
        if size is not None:
            keep &= self.size == size
        if clock is not None:
            keep &= self.clock == clock
        return Transfers(*(column[keep] for column in vars(self).values()))

    def throughput(self, packet_bytes: float) -> Floats:
        """Return the throughput of each transfer [bit/s]. Each packet counts once."""
        return np.asarray(8 * packet_bytes * self.size / self.seconds)

    @classmethod
    def of(cls, cases: Cases) -> Transfers:
        """Return the transfers of a sweep.

        Raises
        ------
        PaperError
            If a case did not run to its end.
        """
        check_ended(cases["status"], cases.about.where)
        seconds = np.ma.filled(cases["completion_ns_max"].astype(float), np.nan) / 1e9
        return cls(
            size=np.array([int(quantity(text)[1]) for text in cases["size"]]),
            clock=np.asarray(cases["clock"]),
            start=np.array([quantity(text)[1] for text in cases["start"]]),
            seconds=np.asarray(seconds),
            delivered=np.asarray(cases["delivered_bytes"]) // _PAYLOAD,
            sent=np.asarray(cases["sent"]),
            spurious=np.asarray(cases["spurious"]),
            timeouts=np.asarray(cases["timeouts"]),
            window_limited=np.ma.filled(cases["window_limited"], 0),
        )


#: The payload of a full packet [octets].
_PAYLOAD = 1460


@dataclass(frozen=True)
class Study:
    """The study of a paper.

    Attributes
    ----------
    paper
        The paper.
    sizes, clocks
        Sizes in segments, ticks in text form.
    every, shift
        The time between two starts, and the maximum shift of a start [s].
    seed
        The seed of the shifts.
    quick
        The maximum number of starts of a contact in a quick study.
    """

    paper: Paper
    sizes: tuple[int, ...]
    clocks: tuple[str, ...]
    every: float
    shift: float
    seed: int
    quick: int

    @classmethod
    def of(cls, paper: Paper) -> Study:
        """Return the study that a paper's `paper.toml` describes.

        Raises
        ------
        PaperError
            If the file describes no study.
        """
        settings = paper.study
        if not settings:
            raise PaperError(f"{paper.key} has no study: there is no [study] in its paper.toml")
        return cls(
            paper,
            tuple(settings["sizes"]),
            tuple(settings["clocks"]),
            settings["every"],
            settings["shift"],
            settings["seed"],
            settings["quick"],
        )

    @property
    def contacts(self) -> dict[str, Contact]:
        """The contacts by name."""
        return contacts(self.paper)

    def lasts(self, contact: Contact) -> float:
        """Return how long a contact lasts [s]."""
        return stored(self.paper, contact).lasts

    def swing(self, contact: Contact) -> float:
        """Return the maximum one-way delay of a contact minus the minimum one-way delay [s]."""
        return float(np.ptp(stored(self.paper, contact).delay_ns)) / 1e9

    def fixed_delay(self, contact: Contact) -> float:
        """Return the sum of the one-way delays [s] of the links whose delay is constant."""
        links = tomllib.loads(read_text(self.paper.folder / contact.scenario))["links"]
        return sum(quantity(link["delay"])[1] for link in links.values() if "delay" in link)

    def starts(self, contact: Contact, *, whole: bool) -> Floats:
        """Return when transfers start [s].

        Transfers start at intervals of `every` seconds. Each start is earlier or later by a random
        time of at most `shift`. The last start is at least `every` minus `shift` before the end of
        the contact. A quick study uses every nth of these starts, so that there are at most `quick`
        of them.
        """
        count = int(self.lasts(contact) // self.every) - 1
        nominal = self.every * np.arange(1, count + 1)
        place = list(self.contacts).index(contact.name)
        shifts = np.random.default_rng([self.seed, place]).uniform(-self.shift, self.shift, count)
        starts = np.round(nominal + shifts, 6)
        return starts if whole else starts[:: -(-count // self.quick)]

    def scenario(
        self, contact: Contact, values: Mapping[str, Any] | None = None, *, static: bool = False
    ) -> Scenario:
        """Return the scenario of a contact's transfers, with some values replaced.

        If `static` is true, the delay of the moving link is constant: the contact's mean delay.
        """
        file = self.paper.folder / contact.scenario
        if static:
            fixed = dict(tomllib.loads(read_text(file))["links"][_SPACE])
            del fixed["follows"]
            mean = stored(self.paper, contact).mean()
            overrides: dict[str, Any] = {LINK: {**fixed, "delay": f"{mean * 1e3:.6f} ms"}}
        else:
            overrides = self.paper.placed({f"{LINK}.follows": contact.file})
        overrides["stop"] = f"{self.lasts(contact) + _AFTER_CONTACT_S:.0f} s"
        overrides["title"] = f"{contact.name}: transfers"
        return load(file).replace({**overrides, **(values or {})})

    def sweep(
        self,
        contact: Contact,
        *,
        whole: bool,
        static: bool = False,
        values: Mapping[str, Any] | None = None,
    ) -> Sweep:
        """Return the transfers of a contact as a sweep over `size`, `clock` and `start`.

        Parameters
        ----------
        contact
            The contact.
        whole
            True for all starts, false for a quick study.
        static
            True if the delay of the moving link is constant: the contact's mean delay.
        values
            Values of the scenario to replace.
        """
        axes = self._axes(contact, whole=whole)
        changes = {**(values or {}), "sweep": {"over": axes}}
        return Sweep.of(self.scenario(contact, changes, static=static))

    def _axes(self, contact: Contact, *, whole: bool) -> dict[str, Any]:
        starts = [f"{start:.6f} s" for start in self.starts(contact, whole=whole)]
        sizes = [f"{size} segments" for size in self.sizes]
        return {
            "size": {"path": f"{FLOW}.send", "values": sizes},
            "clock": {"path": f"{FLOW}.tcp.clock.tick", "values": list(self.clocks)},
            "start": {"path": f"{FLOW}.start", "values": starts},
        }

    def _document(self, contact: Contact) -> dict[str, Any]:
        return tomllib.loads(self.scenario(contact)._core.text)

    def quickly(self, sweep: Sweep) -> Transfers:
        """Run a sweep of transfers without keeping its files."""
        with tempfile.TemporaryDirectory() as scratch:
            folder, _ = run_sweep(sweep, Path(scratch) / "sweep")
            return Transfers.of(folder.read())

    def whole(self, out: Path, progress: Progress | None = None, threads: int = 0) -> int:
        """Run all transfers of all contacts. In the folder, each contact has its own sweep.

        Parameters
        ----------
        out
            The folder. Its unfinished sweeps are continued, and its finished sweeps stay unchanged.
        progress
            A function that is called with the number of finished transfers and the number of all
            transfers.
        threads
            The number of threads; 0 for one per core.

        Returns
        -------
        int
            The number of packet-hops: each packet counts once on each link that carried it.
        """
        sweeps = {name: self.sweep(contact, whole=True) for name, contact in self.contacts.items()}
        total, before, carried = sum(map(len, sweeps.values())), 0, 0
        for name, sweep in sweeps.items():

            def update(done: float, _: float, before: int = before) -> None:
                if progress is not None:
                    progress(before + done, total)

            folder, _ = run_sweep(
                sweep, out / name, engine=partial(Threads, threads=threads), progress=update
            )
            before += len(sweep)
            carried += int(folder.read()["carried"].sum())
        return carried

    def count(self, out: Path) -> int:
        """Return the number of transfers in the folder of a whole study."""
        return sum(len(self.read(out, contact)) for contact in self.contacts.values())

    def read(self, out: Path, contact: Contact) -> Transfers:
        """Read the transfers of a contact from the folder of a whole study.

        Raises
        ------
        PaperError
            If a transfer is missing or did not run to its end, or if the transfers belong to
            another study.
        """
        folder = open_sweep(out / contact.name)
        document = tomllib.loads(read_text(out / contact.name / SCENARIO))
        axes = document.pop("sweep", {}).get("over", {})
        # A new sweep is not made for the comparison, because it would check each start, which is
        # slow. It is enough to compare the axes and the rest of the scenario.
        if axes != self._axes(contact, whole=True) or document != self._document(contact):
            raise PaperError(f"{folder.where} belongs to another study: name another folder")
        cases = folder.read()
        if len(cases) < folder.cases:
            fix = f"continue it with `netspurt papers study {self.paper.key} --out {out}`"
            raise PaperError(f"{folder.where} has {len(cases)} of {folder.cases} cases: {fix}")
        return Transfers.of(cases)
