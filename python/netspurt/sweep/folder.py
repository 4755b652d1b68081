"""A sweep's folder: `sweep.json`, `scenario.toml`, and in `cases/` a Parquet file for each chunk.

A case is one combination of the sweep's values, with one seed. A chunk is a series of consecutive
cases. A chunk is finished when its file exists. The folder also has the files of algorithms in
Python that the scenario uses. Files appear under their names only when they are complete. The
SHA-256 of `sweep.json` is in `sweep.json` itself. For each other file, `checksums/` has the
SHA-256, as a line that `sha256sum --check` reads.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field

import numpy as np

from netspurt import _core
from netspurt.markup import html_lines
from netspurt.stored import is_sealed, sealed
from netspurt.sweep.cases import Cases
from netspurt.sweep.engines import Chunk
from netspurt.sweep.plan import Label, Sweep, html_axes
from netspurt.sweep.store import BusyError, Folder, Store, SweepError, open_store
from netspurt.table import Table
from netspurt.toml_text import values_of
from netspurt.typed import TypedError, parse, read
from netspurt.wording import counted

MANIFEST = "sweep.json"
SCENARIO = "scenario.toml"
CASES = "cases/"
CHECKSUMS = "checksums/"
FORMAT = 2

#: The maximum of a count in `sweep.json`.
_COUNT_MAX = 2**53


@dataclass
class Tally:
    """The numbers of cases by the way in which they ended.

    Attributes
    ----------
    done
        The number of cases that ran to their end.
    cut
        The number of cases that were cut at a limit of the sweep.
    late
        The number of live cases (in real time) that do not count because their runs were not valid.
    errors
        The number of cases with an error.
    first_error
        The number of the first case with an error, and the error.
    """

    done: int = 0
    cut: int = 0
    late: int = 0
    errors: int = 0
    first_error: tuple[int, str] | None = None

    @property
    def cases(self) -> int:
        """The number of cases that ended."""
        return self.done + self.cut + self.late + self.errors

    def add(self, outcome: _core.Outcome) -> None:
        """Add the cases of a chunk."""
        _, done, cut, late, errors, first, _ = outcome
        self.done += done
        self.cut += cut
        self.late += late
        self.errors += errors
        if first is not None and (self.first_error is None or first < self.first_error):
            self.first_error = first


@dataclass
class SweepFolder:
    """A sweep's folder, finished or not.

    Attributes
    ----------
    where
        The folder's path or URL.
    title
        One line that says what the sweep shows.
    cases
        The number of all cases.
    chunk
        The number of cases per file.
    names
        The names of the axes. An axis is a setting that the sweep varies.
    labels
        The labels of each axis, in order. A label is a value of the axis, as text.
    seeds
        The number of runs of each combination of labels.
    paired
        True if the runs of all combinations have the same seeds.
    fingerprint
        The sweep's fingerprint. Sweeps with equal fingerprints have the same cases and limits.
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

    def _repr_html_(self) -> str:
        ended = sum(chunk.count for chunk in self.there())
        progress = f"{ended:,} of {self.cases:,} cases have ended, kept in {self.where}"
        return html_lines(self.title or self.where, [progress]) + html_axes(self.labels)

    def scenario(self) -> str:
        """Return the text of the sweep's scenario, or an empty text if the folder has none."""
        there = SCENARIO in self._store.names()
        return _read(self._store, SCENARIO).decode() if there else ""

    @property
    def drawn(self) -> list[str]:
        """The names of the axes whose values every run draws at random."""
        over = values_of(self.scenario()).get("sweep", {}).get("over", {})
        return [name for name, axis in over.items() if axis.get("draw")]

    @property
    def varied(self) -> str:
        """What varies, in words: the axes, the number of runs, and what each run draws."""
        axes = [f"{name} ({len(self.labels[name])})" for name in self.names]
        pairing = "paired" if self.paired else "not paired"
        runs = f"{counted(self.seeds, 'run')} of each combination, {pairing}"
        drawing = f"; each run draws {', '.join(self.drawn)}" if self.drawn else ""
        return ", ".join([*axes, runs]) + drawing

    def chunks(self) -> Iterator[Chunk]:
        """Yield all chunks."""
        for first in range(0, self.cases, self.chunk):
            yield self._chunk(first)

    def _chunk(self, first: int) -> Chunk:
        return Chunk(first, min(self.chunk, self.cases - first))

    def there(self) -> list[Chunk]:
        """Return the finished chunks."""
        matches = (re.fullmatch(rf"{CASES}([0-9]+)\.parquet", name) for name in self._store.names())
        starts = sorted(int(match[1]) for match in matches if match)
        return [self._chunk(first) for first in starts if first in range(0, self.cases, self.chunk)]

    def write(self, chunk: Chunk, content: bytes) -> None:
        """Store the cases of a chunk."""
        _write(self._store, _file(chunk), content)

    def tally(self) -> Tally:
        """Count the stored cases by the way in which they ended. Files are read one at a time."""
        tally = Tally()
        for chunk in self.there():
            table = self._table(chunk)
            status = table["status"]
            counts = [int(np.sum(status == word)) for word in ("done", "cut", "late", "error")]
            first_error = np.flatnonzero(status == "error")[:1]
            first = [(int(table["case"][n]), str(table["why"][n])) for n in first_error]
            tally.add((b"", *counts, first[0] if first else None, 0.0))  # type: ignore[arg-type]
        return tally

    def read(self) -> Cases:
        """Return the stored cases, in order.

        Raises
        ------
        SweepError
            If no case has been stored yet, or if a file is damaged.
        """
        tables = [self._table(chunk) for chunk in self.there()]
        if not tables:
            raise SweepError(f"{self.where} has no cases yet")
        return Cases.of(tables, self)

    def _table(self, chunk: Chunk) -> Table:
        content = _read(self._store, _file(chunk))
        message = f"{self.where}/{_file(chunk)} is damaged: remove it, and sweep again"
        try:
            table = Table(_core.Table.parse("cases", content))
        except OSError as error:
            raise SweepError(f"{message} ({error})") from error
        has_these_cases = len(table) == chunk.count and np.array_equal(
            table["case"], np.arange(chunk.first, chunk.first + chunk.count)
        )
        if not has_these_cases:
            raise SweepError(f"{message} (it has other cases)")
        return table


def _file(chunk: Chunk) -> str:
    return f"{CASES}{chunk.first:09}.parquet"


def _checksum_file(name: str) -> str:
    return f"{CHECKSUMS}{name}.sha256"


def _checksum(name: str, content: bytes) -> bytes:
    return f"{hashlib.sha256(content).hexdigest()}  {name}\n".encode()


def _write(store: Store, name: str, content: bytes) -> None:
    """Write a file after its checksum, so that no file is ever without a checksum."""
    store.write(_checksum_file(name), _checksum(name, content))
    store.write(name, content)


def _read(store: Store, name: str) -> bytes:
    """Return the content of a file, after a check against its checksum.

    Raises
    ------
    SweepError
        If the checksum is missing or does not agree with the file.
    """
    content = store.read(name)
    message = f"{store.where}/{name} is damaged: remove it, and sweep again"
    try:
        checksum = store.read(_checksum_file(name))
    except FileNotFoundError:
        raise SweepError(f"{message} (there is no {_checksum_file(name)})") from None
    if checksum != _checksum(name, content):
        raise SweepError(f"{message} (its checksum differs from {_checksum_file(name)})")
    return content


def open_sweep(where: str | os.PathLike[str]) -> SweepFolder:
    """Open a sweep's folder, finished or not.

    Raises
    ------
    SweepError
        If the folder has no sweep, or if the sweep is damaged or has the format of another version.
    """
    store = open_store(where)
    folder = _folder(store, _manifest(store))
    with suppress(FileNotFoundError):
        _read(store, SCENARIO)
    return folder


@contextmanager
def held(where: str | os.PathLike[str]) -> Iterator[None]:
    """Prevent other programs on this machine from running a sweep into the folder.

    An object store is not locked.

    Raises
    ------
    SweepError
        If another program is writing to the folder, or if `where` is a file.
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
    """Return the folder of a sweep. Create the folder if it does not exist.

    Parameters
    ----------
    where
        The folder's path or URL.
    sweep
        The sweep.
    chunk
        A function that returns the number of cases per file, for a new folder.

    Raises
    ------
    SweepError
        If the folder has files but no sweep, or if its sweep is another one or is damaged. Also if
        another version of netspurt started the sweep, or if two files with algorithms have one
        name.
    """
    store = open_store(where)
    names = list(store.names())
    if MANIFEST in names:
        folder = open_sweep(where)
        if folder.fingerprint != sweep.fingerprint:
            raise SweepError(
                f"{where} has another sweep: name another folder, or remove that sweep"
            )
        version = _manifest(store).netspurt
        if version != _core.__version__:
            raise SweepError(
                f"{where} was started by netspurt {version}, and this is netspurt "
                f"{_core.__version__}: continue with version {version}, or name another folder"
            )
        if folder.cases != len(sweep):
            raise _damaged(store, f"`cases` = {folder.cases}, and the sweep has {len(sweep)}")
    else:
        if names:
            raise SweepError(f"{where} is not empty and has no sweep: name another folder")
        _refuse_equal_names(sweep)
        manifest = _manifest_of(sweep, chunk())
        store.write(MANIFEST, sealed(asdict(manifest)))
        folder = _folder(store, manifest)
    if sweep.scenario_text and SCENARIO not in names:
        for name, text in sweep.code:
            _write(store, name.rpartition("/")[2], text.encode())
        _write(store, SCENARIO, sweep.scenario_text.encode())
    if isinstance(store, Folder):
        store.clear_leftovers()
    return folder


def _refuse_equal_names(sweep: Sweep) -> None:
    """Refuse two files with algorithms that would be one file in the folder of the sweep.

    Raises
    ------
    SweepError
        If only the folders of two files differ.
    """
    first: dict[str, str] = {}
    for name, _ in sweep.code:
        other = first.setdefault(name.rpartition("/")[2], name)
        if other != name:
            raise SweepError(
                f"{other} and {name} would be one file in the sweep's folder: rename one of them"
            )


@dataclass(frozen=True)
class SweepManifest:
    """The content of `sweep.json`.

    `sha256` is the SHA-256 of the text of `sweep.json` with an empty value of `sha256`.
    """

    format: int
    netspurt: str
    title: str
    fingerprint: str
    cases: int
    chunk: int
    seeds: int
    paired: bool
    names: list[str]
    labels: dict[str, list[Label]]
    sha256: str


def _manifest_of(sweep: Sweep, chunk: int) -> SweepManifest:
    return SweepManifest(
        format=FORMAT,
        netspurt=_core.__version__,
        title=sweep.title,
        fingerprint=sweep.fingerprint,
        cases=len(sweep),
        chunk=chunk,
        seeds=sweep.seeds,
        paired=sweep.paired,
        names=sweep.names,
        labels=sweep.labels,
        sha256="",
    )


def _damaged(store: Store, why: str) -> SweepError:
    return SweepError(
        f"{store.where}/{MANIFEST} is damaged: {why}; remove the folder, and sweep again"
    )


def _manifest(store: Store) -> SweepManifest:
    """Return the content of `sweep.json`, after a check that it is complete and undamaged.

    Raises
    ------
    SweepError
        If the file is missing or damaged, or has the format of another version.
    """
    try:
        content = store.read(MANIFEST)
    except (FileNotFoundError, NotADirectoryError):
        raise SweepError(
            f"{store.where} has no sweep: make one with `netspurt sweep FILE --out DIR`"
        ) from None
    try:
        values = parse(content)
        if not isinstance(values, dict) or values.get("format") != FORMAT:
            raise SweepError(
                f"{store.where}/{MANIFEST} is damaged, or has the format of another version: use "
                "that version, or remove the folder and sweep again"
            )
        manifest = read(SweepManifest, values)
    except TypedError as error:
        raise _damaged(store, str(error)) from error
    for key in ("cases", "chunk", "seeds"):
        if not 1 <= values[key] <= _COUNT_MAX:
            raise _damaged(store, f"`{key}` = {values[key]} is not from 1 to {_COUNT_MAX}")
    if manifest.cases % manifest.seeds:
        raise _damaged(store, f"`cases` = {manifest.cases} is not a multiple of `seeds`")
    if list(manifest.labels) != manifest.names:
        raise _damaged(store, "`labels` and `names` have different axes")
    if not is_sealed(content):
        raise _damaged(store, "its checksum `sha256` does not match its text")
    return manifest


def _folder(store: Store, manifest: SweepManifest) -> SweepFolder:
    return SweepFolder(
        where=store.where,
        title=manifest.title,
        cases=manifest.cases,
        chunk=manifest.chunk,
        names=manifest.names,
        labels=manifest.labels,
        seeds=manifest.seeds,
        paired=manifest.paired,
        fingerprint=manifest.fingerprint,
        _store=store,
    )
