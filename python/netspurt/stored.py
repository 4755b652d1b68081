"""Stored files and their checksums. Files and folders get their names when they are complete.

A folder is filled under a hidden name, which identifies the machine and the process that fill it.
If a process is killed, its partial folder is removed when the next folder is made beside it.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import platform
import re
import shutil
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

#: The key for the SHA-256 of a JSON text. The checksum is computed with an empty value of the key.
SEAL = "sha256"


def sealed(content: Mapping[str, Any]) -> bytes:
    """Return an object as JSON that contains its own checksum.

    Examples
    --------
    >>> is_sealed(sealed({"seed": 1}))
    True
    >>> is_sealed(sealed({"seed": 1}).replace(b"1", b"3"))
    False
    """
    checksum = hashlib.sha256(_rendered({**content, SEAL: ""})).hexdigest()
    return _rendered({**content, SEAL: checksum})


def is_sealed(content: bytes) -> bool:
    """Return whether `sealed` returned exactly these octets for an object."""
    return content == sealed(json.loads(content))


def _rendered(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, indent=2) + "\n").encode()


def refuse_link(path: Path, what: str, error: type[ValueError]) -> None:
    """Raise an error if a path within a stored folder is a symbolic link.

    Parameters
    ----------
    path
        The path.
    what
        The content of the folder: `run` or `sweep`.
    error
        The class of the error, which is raised if the path is a link.
    """
    if path.is_symlink():
        raise error(
            f"{path} is a symbolic link, and a {what} folder has none: replace it by the file"
        )


def sync_folder(path: Path) -> None:
    """Write a folder's list of names to the disk, so that renamed files survive a power loss."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def replace_file(path: Path, content: bytes, partial: Path) -> None:
    """Write a file under the name `partial`, and rename it to `path` when it is on the disk."""
    try:
        with partial.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        discard(partial)
        raise
    sync_folder(path.parent)


def discard(partial: Path) -> None:
    """Remove a file that is not complete, if it exists and can be removed.

    A file system that cannot be written refuses to remove even a file that does not exist. The
    caller reports the error of writing.
    """
    with suppress(OSError):
        partial.unlink()


@contextmanager
def replacing(file: Path) -> Iterator[Path]:
    """Provide a hidden name with the file's ending, and rename the file when it is complete.

    Raises
    ------
    OSError
        If the file cannot be written. In that case, no part of it is left.
    """
    partial = file.with_name(f".{file.stem}.partial-{os.getpid()}{file.suffix}")
    try:
        yield partial
        partial.replace(file)
    except OSError as error:
        raise type(error)(f"{file} cannot be written: {error.strerror or error}") from error
    finally:
        discard(partial)


def locked(opened: int) -> bool:
    """Take the lock of an open folder, and return whether it was free.

    On file systems without locks, the lock counts as free.
    """
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.EWOULDBLOCK, errno.EACCES)
    return True


@contextmanager
def new_folder(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """Provide a hidden folder to fill, and rename it when it is complete.

    First, partial folders beside it are removed if killed processes of this machine left them.

    Raises
    ------
    FileExistsError
        If a file or a folder of this name exists.
    OSError
        If the folder cannot be written. In that case, no part of it is left.
    """
    folder = check_free(folder)
    remove_leftovers(folder.parent)
    unique = f"{_machine()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
    partial = folder.with_name(f".{folder.name}.partial-{unique}")
    try:
        partial.mkdir()
    except OSError as error:
        raise type(error)(f"{folder} cannot be made: {error.strerror}") from error
    try:
        with _held(partial):
            yield partial
            check_free(folder)
            partial.rename(folder)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        # The error names the requested folder, because the partial folder is removed.
        message = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        raise type(error)(message.replace(str(partial), str(folder))) from error
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Hold a folder's lock, so that no other process removes the folder as a leftover."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        locked(opened)
        yield
    finally:
        os.close(opened)


def write_new(path: str | os.PathLike[str], text: str) -> None:
    """Write a text to a new file, which appears under its name when it is complete.

    Raises
    ------
    FileExistsError
        If a file or a folder of this name exists.
    OSError
        If the file cannot be written. In that case, no part of it is left.
    """
    path = check_free(path, "file")
    partial = path.with_name(f".{path.name}.partial-{os.getpid()}-{uuid.uuid4().hex[:8]}")
    try:
        with partial.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        check_free(path, "file")
        partial.rename(path)
    except OSError as error:
        discard(partial)
        message = f"{path} cannot be written: {error.strerror}" if error.strerror else str(error)
        raise type(error)(message) from error
    except BaseException:
        discard(partial)
        raise


def check_free(folder: str | os.PathLike[str], what: str = "folder") -> Path:
    """Check that a folder or a file can be made, make its parent folders, and return its path.

    Raises
    ------
    FileExistsError
        If a file or a folder of this name exists.
    OSError
        If its parent cannot be written.
    """
    folder = Path(folder)
    if folder.exists() or folder.is_symlink():
        raise FileExistsError(f"{folder} exists already: name another {what}, or remove it")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = f"{error.filename}: {error.strerror}"
        raise type(error)(f"{folder} cannot be made: {why}: name a {what} elsewhere") from error
    if not os.access(folder.parent, os.W_OK | os.X_OK):
        raise PermissionError(f"{folder.parent} cannot be written: name a {what} elsewhere")
    return folder


def _machine() -> str:
    """Return eight hexadecimal digits that identify this machine on a shared file system."""
    return hashlib.sha256(platform.node().encode()).hexdigest()[:8]


def is_partial(folder: Path) -> bool:
    """Return whether a folder has the name of a folder that is not complete.

    Examples
    --------
    >>> is_partial(Path("runs/.early.partial-5bce98f7-1-2")), is_partial(Path("runs/early"))
    (True, False)
    """
    return re.fullmatch(r"\..+\.partial-[0-9a-f-]+", folder.resolve().name) is not None


def leftovers(folder: Path) -> list[Path]:
    """Return the partial folders that killed processes of this machine have left in a folder.

    No process runs that has the number in the folder's name, and no process holds the folder's
    lock. The lock must be checked, too, because the process may run in another PID namespace, where
    its number differs.
    """
    named = re.compile(rf"\..+\.partial-{_machine()}-(\d+)-[0-9a-f]{{8}}")
    found = [(path, named.fullmatch(path.name)) for path in folder.glob(".*.partial-*")]
    dead = sorted(path for path, match in found if match and not _alive(int(match[1])))
    return [path for path in dead if path.is_dir() and not path.is_symlink() and _is_free(path)]


def remove_leftovers(folder: Path) -> None:
    """Remove the partial folders that killed processes have left in a folder."""
    for path in leftovers(folder):
        shutil.rmtree(path, ignore_errors=True)


def _is_free(folder: Path) -> bool:
    """Return whether the folder can be opened and its lock is free."""
    try:
        opened = os.open(folder, os.O_RDONLY)
    except OSError:
        return False
    try:
        return locked(opened)
    finally:
        os.close(opened)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def bounded_octets(path: str | os.PathLike[str], max_octets: int) -> bytes:
    """Return the content of a file. The reading is bounded, because the file may be endless.

    Raises
    ------
    ValueError
        If the file has more than `max_octets` octets.
    OSError
        If the file cannot be read.
    """
    with Path(path).open("rb") as file:
        found = file.read(max_octets + 1)
    if len(found) > max_octets:
        raise ValueError(
            f"{os.fspath(path)}: the file has more than {max_octets:,} octets, which is the maximum"
        )
    return found


#: The maximum number of octets that are read from a device, such as a terminal.
_DEVICE_OCTETS_MAX = 1 << 26


def whole_octets(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a file. If the file is a device, the reading is bounded.

    Raises
    ------
    ValueError
        If the file is a device with more than 64 MiB, such as ``/dev/zero``.
    OSError
        If the file cannot be read.
    """
    if Path(path).is_char_device():
        return bounded_octets(path, _DEVICE_OCTETS_MAX)
    return Path(path).read_bytes()


#: The maximum number of octets of a text that people write: a scenario or a script.
TEXT_OCTETS_MAX = 1 << 28


class NotTextError(ValueError):
    """A file is not UTF-8. `line` and `column`, from 1, are the place of the first wrong octet."""

    def __init__(self, line: int, column: int) -> None:
        super().__init__(f"not a text file: line {line} is not UTF-8")
        self.line, self.column = line, column


def bounded_text(path: str | os.PathLike[str]) -> str:
    """Return the text of a file. Each end of a line is a line feed.

    Raises
    ------
    NotTextError
        If the file is not UTF-8.
    ValueError
        If the file has more than `TEXT_OCTETS_MAX` octets.
    OSError
        If the file cannot be read.
    """
    octets = bounded_octets(path, TEXT_OCTETS_MAX)
    try:
        text = octets.decode()
    except UnicodeDecodeError as error:
        before = octets[: error.start].split(b"\n")
        raise NotTextError(len(before), len(before[-1]) + 1) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")
