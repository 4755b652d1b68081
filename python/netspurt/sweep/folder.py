"""A sweep's folder: `sweep.json`, `scenario.toml`, and `cases/`, a Parquet file for each chunk.

A chunk is done when its file is there. Files appear under their names only when they are whole.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from netspurt import _core
from netspurt.sweep.cases import Cases
from netspurt.sweep.engines import Chunk
from netspurt.sweep.plan import Label, Sweep
from netspurt.sweep.store import BusyError, Folder, Store, open_store
from netspurt.table import Table

MANIFEST = "sweep.json"
SCENARIO = "scenario.toml"
CASES = "cases/"
FORMAT = 1


class SweepError(ValueError):
    """A folder that cannot be used as asked: no sweep, another sweep, or an unfinished one."""


@dataclass
class Tally:
    """How cases ended.

    Attributes
    ----------
    done, cut, errors
        At their end, at their budget, with an error.
    first_error
        The least number of a case with an error, and what it was.
    """

    done: int = 0
    cut: int = 0
    errors: int = 0
    first_error: tuple[int, str] | None = None

    @property
    def cases(self) -> int:
        """How many there are."""
        return self.done + self.cut + self.errors

    def add(self, outcome: _core.Outcome) -> None:
        """Count a chunk."""
        _, done, cut, errors, first, _ = outcome
        self.done += done
        self.cut += cut
        self.errors += errors
        if first is not None and (self.first_error is None or first < self.first_error):
            self.first_error = first


@dataclass
class SweepFolder:
    """A sweep's folder, finished or not.

    Attributes
    ----------
    where
        Its path or URL.
    title
        What the sweep shows, in a line.
    cases, chunk
        How many cases there are, and how many a file.
    names, labels
        What is varied, and its labels in order.
    seeds, paired
        How many times each combination is run, and whether runs of all share their seeds.
    """

    where: str
    title: str
    cases: int
    chunk: int
    names: list[str]
    labels: dict[str, list[Label]]
    seeds: int
    paired: bool
    fingerprint: str
    _store: Store = field(repr=False)

    def chunks(self) -> list[Chunk]:
        """Return all chunks."""
        starts = range(0, self.cases, self.chunk)
        return [Chunk(first, min(self.chunk, self.cases - first)) for first in starts]

    def there(self) -> list[Chunk]:
        """Return the chunks that are done."""
        names = set(self._store.names())
        return [chunk for chunk in self.chunks() if _file(chunk) in names]

    def write(self, chunk: Chunk, content: bytes) -> None:
        """Keep what came of a chunk."""
        self._store.write(_file(chunk), content)

    def tally(self) -> Tally:
        """Count how the cases ended that are there, a file at a time."""
        tally = Tally()
        for chunk in self.there():
            table = self._table(chunk)
            status = table["status"]
            counts = [int(np.sum(status == word)) for word in ("done", "cut", "error")]
            wrong = np.flatnonzero(status == "error")[:1]
            first = [(int(table["case"][n]), str(table["why"][n])) for n in wrong]
            tally.add((b"", *counts, first[0] if first else None, 0.0))  # type: ignore[arg-type]
        return tally

    def read(self) -> Cases:
        """Return the cases that are there, in order.

        Raises
        ------
        SweepError
            When there are none yet.
        """
        tables = [self._table(chunk) for chunk in self.there()]
        if not tables:
            raise SweepError(f"{self.where} has no cases yet")
        return Cases.of(tables, self)

    def _table(self, chunk: Chunk) -> Table:
        content = self._store.read(_file(chunk))
        try:
            return Table(_core.Table.parse("cases", content))
        except OSError as error:
            raise SweepError(
                f"{self.where}/{_file(chunk)} is damaged: remove it, and sweep again ({error})"
            ) from error


def _file(chunk: Chunk) -> str:
    return f"{CASES}{chunk.first:09}.parquet"


def open_sweep(where: str | os.PathLike[str]) -> SweepFolder:
    """Open a sweep's folder, finished or not.

    Raises
    ------
    SweepError
        When it holds no sweep.
    """
    store = open_store(where)
    try:
        about = json.loads(store.read(MANIFEST))
    except (FileNotFoundError, NotADirectoryError):
        raise SweepError(
            f"{where} holds no sweep: `netspurt sweep FILE --out DIR` makes one"
        ) from None
    except ValueError as error:
        raise SweepError(f"{where}/{MANIFEST} is damaged: {error}") from error
    return _folder(store, about)


@contextmanager
def held(where: str | os.PathLike[str]) -> Iterator[None]:
    """Keep other programs of this machine out of a sweep's folder.

    Raises
    ------
    SweepError
        When another one sweeps into it.
    """
    try:
        with open_store(where).held():
            yield
    except BusyError:
        raise SweepError(
            f"another netspurt sweeps into {where}: wait for it, or end it and sweep again"
        ) from None


def prepare(where: str | os.PathLike[str], sweep: Sweep, chunk: Callable[[], int]) -> SweepFolder:
    """Return the folder of a sweep, made if it is not there yet.

    Parameters
    ----------
    where
        Its path or URL.
    sweep
        The sweep.
    chunk
        Tells how many cases a file has, if the folder is made now.

    Raises
    ------
    SweepError
        When something else is there.
    """
    store = open_store(where)
    names = list(store.names())
    if MANIFEST in names:
        folder = open_sweep(where)
        if folder.fingerprint != sweep.fingerprint:
            raise SweepError(f"{where} holds another sweep: name another folder, or remove it")
        about = json.loads(store.read(MANIFEST))
        if about["netspurt"] != _core.__version__:
            raise SweepError(
                f"{where} was begun by netspurt {about['netspurt']}, and this is "
                f"{_core.__version__}: go on with that one, or name another folder"
            )
    else:
        if names:
            raise SweepError(f"{where} holds something else: name another folder")
        about = _about(sweep, chunk())
        store.write(MANIFEST, (json.dumps(about, indent=2) + "\n").encode())
        folder = _folder(store, about)
    if sweep.scenario_text and SCENARIO not in names:
        store.write(SCENARIO, sweep.scenario_text.encode())
    if isinstance(store, Folder):
        store.clear_leftovers()
    return folder


def _about(sweep: Sweep, chunk: int) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "netspurt": _core.__version__,
        "title": sweep.title,
        "fingerprint": sweep.fingerprint,
        "cases": len(sweep),
        "chunk": chunk,
        "seeds": sweep.seeds,
        "paired": sweep.paired,
        "names": sweep.names,
        "labels": sweep.labels,
    }


def _folder(store: Store, about: Any) -> SweepFolder:
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise SweepError(f"{store.where}/{MANIFEST} is damaged, or of another netspurt's format")
    known = ("title", "cases", "chunk", "names", "labels", "seeds", "paired", "fingerprint")
    lacking = [name for name in known if name not in about]
    if lacking:
        raise SweepError(f"{store.where}/{MANIFEST} is damaged: it lacks `{lacking[0]}`")
    return SweepFolder(where=store.where, _store=store, **{name: about[name] for name in known})
