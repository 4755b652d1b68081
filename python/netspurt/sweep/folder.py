"""A sweep's folder: `sweep.json`, `scenario.toml`, and `cases/`, a Parquet file for each chunk.

A chunk is finished when its file exists. Files appear under their names only when they are
complete.
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
    """A folder cannot be used as requested: no sweep, another sweep, or an unfinished one."""


@dataclass
class Tally:
    """How many cases ended in which way.

    Attributes
    ----------
    done, cut, errors
        Cases that ran to their end, that were cut at their budget, and that had an error.
    first_error
        The least number of a case with an error, and the error.
    """

    done: int = 0
    cut: int = 0
    errors: int = 0
    first_error: tuple[int, str] | None = None

    @property
    def cases(self) -> int:
        """The number of cases that ended."""
        return self.done + self.cut + self.errors

    def add(self, outcome: _core.Outcome) -> None:
        """Add the cases of a chunk."""
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
        One line that says what the sweep shows.
    cases, chunk
        The number of cases, and of cases per file.
    names, labels
        The names of the axes, and their labels in order.
    seeds, paired
        How many times each combination is run, and whether runs of all combinations share their
        seeds.
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
        """Return the finished chunks."""
        names = set(self._store.names())
        return [chunk for chunk in self.chunks() if _file(chunk) in names]

    def write(self, chunk: Chunk, content: bytes) -> None:
        """Store the cases of a chunk."""
        self._store.write(_file(chunk), content)

    def tally(self) -> Tally:
        """Count how the stored cases ended, a file at a time."""
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
        """Return the stored cases, in order.

        Raises
        ------
        SweepError
            If there are none yet.
        """
        tables = [self._table(chunk) for chunk in self.there()]
        if not tables:
            raise SweepError(f"{self.where} has no cases yet")
        return Cases.of(tables, self)

    def _table(self, chunk: Chunk) -> Table:
        content = self._store.read(_file(chunk))
        told = f"{self.where}/{_file(chunk)} is damaged: remove it, and sweep again"
        try:
            table = Table(_core.Table.parse("cases", content))
        except OSError as error:
            raise SweepError(f"{told} ({error})") from error
        if not np.array_equal(table["case"], np.arange(chunk.first, chunk.first + chunk.count)):
            raise SweepError(f"{told} (it holds other cases)")
        return table


def _file(chunk: Chunk) -> str:
    return f"{CASES}{chunk.first:09}.parquet"


def open_sweep(where: str | os.PathLike[str]) -> SweepFolder:
    """Open a sweep's folder, finished or not.

    Raises
    ------
    SweepError
        If it holds no sweep.
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
    """Prevent other programs on this machine from running a sweep into the folder.

    Raises
    ------
    SweepError
        If another program does.
    """
    try:
        with open_store(where).held():
            yield
    except BusyError:
        raise SweepError(
            f"another netspurt is writing to {where}: wait until it ends, or end it and try again"
        ) from None
    except FileExistsError:
        raise SweepError(f"{where} is a file: name a folder") from None


def prepare(where: str | os.PathLike[str], sweep: Sweep, chunk: Callable[[], int]) -> SweepFolder:
    """Return the folder of a sweep; make it if it does not exist.

    Parameters
    ----------
    where
        Its path or URL.
    sweep
        The sweep.
    chunk
        A function that returns the number of cases per file, for a new folder.

    Raises
    ------
    SweepError
        If something else exists there.
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
                f"{_core.__version__}: continue with that version, or name another folder"
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


#: What a manifest holds of a sweep.
_HELD: dict[str, type] = {
    "title": str,
    "cases": int,
    "chunk": int,
    "names": list,
    "labels": dict,
    "seeds": int,
    "paired": bool,
    "fingerprint": str,
}


def _folder(store: Store, about: Any) -> SweepFolder:
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise SweepError(f"{store.where}/{MANIFEST} is damaged, or of another netspurt's format")
    for key, kind in _HELD.items():
        if not isinstance(about.get(key), kind):
            what = (
                f"`{key}` is not a value of type {kind.__name__}"
                if key in about
                else f"it lacks `{key}`"
            )
            raise SweepError(f"{store.where}/{MANIFEST} is damaged: {what}")
    for key in ("cases", "chunk", "seeds"):
        if about[key] < 1:
            raise SweepError(f"{store.where}/{MANIFEST} is damaged: `{key}` = {about[key]}")
    labels = about["labels"]
    if list(labels) != about["names"] or not all(isinstance(one, list) for one in labels.values()):
        raise SweepError(f"{store.where}/{MANIFEST} is damaged: `labels` are not those of `names`")
    return SweepFolder(where=store.where, _store=store, **{key: about[key] for key in _HELD})
