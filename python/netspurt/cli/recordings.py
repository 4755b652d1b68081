"""The recordings given to a command: files, folders, runs, and the output of replays.

A recording has the measured delays of probes. A replay applies retransmission timers to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from netspurt import _core
from netspurt.cli.output import complain
from netspurt.picture_files import ENDINGS
from netspurt.wording import counted

if TYPE_CHECKING:
    from netspurt.delays import Recordings

#: Endings of pictures and of reports, which may be in a folder of recordings.
_PICTURES = {*ENDINGS, ".jpg", ".jpeg", ".html"}

#: The file with all numbers of a replay.
REPLAYED = "replay.parquet"

#: The file that is read in place of `-`.
_STDIN = Path("/dev/stdin")

#: The maximum number of files of a folder whose errors are printed.
_TOLD = 5


@dataclass(frozen=True)
class How:
    """The options for reading files.

    Attributes
    ----------
    format, interval, columns
        The parameters of the same names of `netspurt.read_delays`.
    lost_after
        The maximum delay of a reply, in seconds. A later reply counts as lost.
    captures
        True if captures in a folder are read as recordings. If it is false, captures are ignored,
        and a folder without a recording is not an error.
    """

    format: str | None
    interval: float | None
    columns: dict[str, str]
    lost_after: float | None = None
    captures: bool = True


def files_of(path: Path) -> list[Path]:
    """Return the files that may be recordings: a folder's files, or the table of a run or replay.

    Raises
    ------
    ValueError
        If a folder has no file that may be a recording.
    """
    if not path.is_dir():
        return [path]
    if (path / REPLAYED).is_file():
        return [path / REPLAYED]
    if (path / "run.json").is_file():
        tables = [path / f"{name}.parquet" for name in ("echo_probes", "rtt")]
        kept = next((table for table in tables if table.is_file()), None)
        if kept is None:
            raise ValueError(
                f"{path}: this run kept neither `echo_probes` nor `rtt`: add the table `rtt` to "
                "its scenario's `[record]`"
            )
        return [kept]
    if (path / "sweep.json").is_file():
        raise ValueError(
            f"{path}: this is the folder of a sweep: it has a table of results, and no recordings: "
            f"`netspurt sweep show {path}` and `netspurt report {path}` show them"
        )
    found = [
        file
        for file in sorted(path.rglob("*"))
        if file.is_file()
        and file.suffix.lower() not in _PICTURES
        and not any(part.startswith(".") for part in file.relative_to(path).parts)
    ]
    if not found:
        raise ValueError(f"{path}: the folder has no recording: name a file, or another folder")
    return found


def read_all(paths: Sequence[Path], how: How) -> Iterator[tuple[Path, Recordings | Exception]]:
    """Yield each file with its recordings, or with the error of reading it.

    A folder may contain other files. They are left out, and messages name the first `_TOLD` of
    them. If no file of the folder is a recording, an error follows for the folder. If `how` ignores
    captures, there is no such error.
    """
    from netspurt.captures import is_capture

    said: set[str] = set()
    for path in paths:
        try:
            files = files_of(path)
        except (ValueError, OSError) as error:
            yield path, error
            continue
        if files == [path]:
            yield path, _read(path, how)
            continue
        read = left_out = 0
        for file in files:
            if not how.captures and is_capture(file):
                continue
            found = _read(file, how)
            if isinstance(found, _core.DelaysError):
                beside = ValueError(f"{file}: neither a capture nor a recording of delays")
                left_out += 1
                if left_out <= _TOLD:
                    complain(_hint_once(found, said) if how.captures else beside, "left out:")
                continue
            read += not isinstance(found, Exception)
            yield file, found
        if left_out > _TOLD:
            complain(ValueError(f"{counted(left_out - _TOLD, 'more file')} of {path}"), "left out:")
        if not read and how.captures:
            where = "its only file" if len(files) == 1 else f"each of its {len(files)} files"
            yield path, ValueError(f"{path}: {where} is not a recording")


def _hint_once(error: _core.DelaysError, said: set[str]) -> Exception:
    """Return an error. If its hint is in `said`, leave the hint out; otherwise add it to `said`."""
    if error.fix not in said:
        said.add(error.fix)
        return error
    return ValueError(str(error).removesuffix(f": {error.fix}"))


def _read(file: Path, how: How) -> Recordings | Exception:
    from netspurt.delays import Recordings, read_delays

    source = _STDIN if str(file) == "-" else file
    try:
        found = read_delays(source, format=how.format, interval=how.interval, columns=how.columns)
    except (ValueError, OSError) as error:
        return error
    if how.lost_after is None:
        return found
    return Recordings([one.lost_after(how.lost_after) for one in found], found.malformed)
