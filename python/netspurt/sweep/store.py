"""The storage of a sweep's files: a folder, or an object store by its URL."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Protocol

from netspurt.stored import locked, refuse_link, replace_file


class Store(Protocol):
    """Named files. Each file exists completely or not at all."""

    where: str

    def names(self) -> Iterator[str]:
        """Yield all names, with `/` between folders."""

    def read(self, name: str) -> bytes:
        """Return a file."""

    def write(self, name: str, content: bytes) -> None:
        """Write a file. It appears only when it is complete."""

    def held(self) -> AbstractContextManager[object]:
        """Lock the store against other programs, if it can be locked.

        Raises
        ------
        BusyError
            If another program has the lock.
        """


class SweepError(ValueError):
    """A folder cannot be used as requested: for example, it has no sweep, or a damaged file."""


class BusyError(Exception):
    """Another program is writing to the store."""


def open_store(where: str | os.PathLike[str]) -> Store:
    """Return the store at a path or at a URL such as `s3://bucket/folder`. A URL needs fsspec.

    Raises
    ------
    ImportError
        If the package for this kind of URL is not installed.
    """
    kind, url, path_or_name = str(where).partition("://")
    if url and kind in ("file", "local"):
        return Folder(Path(path_or_name))
    return Remote(str(where)) if url else Folder(Path(where))


class Folder:
    """A folder on this machine."""

    def __init__(self, path: Path) -> None:
        self.where = str(path)
        self._path = path

    def names(self) -> Iterator[str]:
        """Yield all names, except those that begin with a dot, such as partly written files."""
        for path in sorted(self._path.glob("**/*")):
            name = path.relative_to(self._path).as_posix()
            refuse_link(path, "sweep", SweepError)
            if path.is_file() and not name.startswith("."):
                yield name

    def read(self, name: str) -> bytes:
        """Return a file."""
        return self._place(name).read_bytes()

    def _place(self, name: str) -> Path:
        """Return the path of a name, after a check that no part of it is a symbolic link."""
        path = self._path
        for part in name.split("/"):
            path /= part
            refuse_link(path, "sweep", SweepError)
        return path

    def write(self, name: str, content: bytes) -> None:
        """Write a file under another name, and rename it when it is on the disk."""
        path = self._place(name)
        partial = self._path / f".{os.getpid()}-{uuid.uuid4().hex[:8]}.partial"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, content, partial)
        except OSError as error:
            # The error for a full disk does not name a file, so the name is added.
            raise OSError(error.errno, error.strerror, str(path)) from error

    @contextmanager
    def held(self) -> Iterator[None]:
        """Lock the folder against other programs on this machine, until the context ends."""
        self._path.mkdir(parents=True, exist_ok=True)
        folder = os.open(self._path, os.O_RDONLY)
        try:
            if not locked(folder):
                raise BusyError
            yield
        finally:
            os.close(folder)

    def clear_leftovers(self) -> None:
        """Remove partly written files of killed programs. The caller must have the lock."""
        for partial in self._path.glob(".*.partial"):
            partial.unlink(missing_ok=True)


class Remote:
    """An object store. A file appears when it is completely sent."""

    def __init__(self, url: str) -> None:
        try:
            from fsspec.core import url_to_fs
        except ImportError as missing:
            raise ImportError(f"{url} needs fsspec: pip install fsspec") from missing
        self.where = url
        self._files: Any
        self._files, self._root = url_to_fs(url)

    def names(self) -> Iterator[str]:
        """Yield all names."""
        root = self._root.rstrip("/") + "/"
        if self._files.exists(self._root):
            for path in sorted(self._files.find(self._root)):
                yield path.removeprefix(root)

    def read(self, name: str) -> bytes:
        """Return a file."""
        content: bytes = self._files.cat_file(f"{self._root}/{name}")
        return content

    def write(self, name: str, content: bytes) -> None:
        """Send a file. It appears when it is completely sent."""
        self._files.makedirs(f"{self._root}/{name}".rpartition("/")[0], exist_ok=True)
        self._files.pipe_file(f"{self._root}/{name}", content)

    def held(self) -> AbstractContextManager[object]:
        """Do nothing: object stores have no locks."""
        return nullcontext()
