"""The work of `netspurt explain`, after its command line has been read."""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netspurt.cli.capture_files import captures_of
from netspurt.cli.opening import is_recording
from netspurt.cli.output import complain, fitted, named, print_json_in_parts, raw, width
from netspurt.wording import without_tcp

if TYPE_CHECKING:
    from netspurt.captures import Explained

#: Each connection gets tables of its own if there are at most `FEW` connections.
FEW = 2


def explain_files(
    files: Sequence[Path],
    *,
    as_csv: str | None = None,
    as_json: bool = False,
    parquet: Path | None = None,
    as_one: bool = False,
    connection: int | None = None,
) -> int:
    """Explain captures, print or write the results, and return the exit status.

    `netspurt explain --help` explains the files and the options.

    Raises
    ------
    ValueError
        If the options are wrong or contradict each other, or if no connection has the number
        `connection`. Also if a file is a recording of delays, or if a folder has no capture.
    OSError
        If a file cannot be read or written.
    """
    # The user may name a file twice, or name a file and its folder. Each file is read once.
    own: dict[Path, str] = {}
    for file in _files(files):
        own.setdefault(Path(file).resolve(), file)
    found = list(own.values())
    captures = [found] if as_one else [[file] for file in found]
    _check(captures, as_csv, parquet, connection, as_json=as_json)
    try:
        if as_csv is not None:
            return _print_rows(captures, as_csv)
        return _print_captures(captures, parquet, connection, as_json=as_json)
    except OSError as error:
        if recording := next(filter(is_recording, found), None):
            name = named(recording)
            raise ValueError(
                f"{name}: a recording of delays, not a capture: `netspurt delays {name}` shows it, "
                f"and `netspurt replay {name}` tries timers on it"
            ) from error
        raise


def _check(
    captures: list[list[str]],
    as_csv: str | None,
    parquet: Path | None,
    connection: int | None,
    *,
    as_json: bool,
) -> None:
    """Check that the options do not contradict each other.

    Raises
    ------
    ValueError
        If two options contradict each other, or if an option has an unknown value.
    """
    from netspurt.captures import LAYOUTS

    given = {"--csv": as_csv is not None, "--json": as_json, "--parquet": parquet is not None}
    several = [name for name, there in given.items() if there]
    if len(several) > 1:
        raise ValueError(f"{' and '.join(several)} each say how to give results: choose one")
    if as_csv and as_csv not in LAYOUTS:
        raise ValueError(f"--csv={as_csv}: the layouts are {', '.join(LAYOUTS)}")
    if as_csv is not None and connection is not None:
        raise ValueError("--connection does not apply to --csv: each row names its connection")
    if parquet is not None and connection is not None:
        raise ValueError("--connection does not apply to --parquet: each row has its connection")
    alone = {
        "--connection": connection is not None,
        "--parquet": parquet is not None,
        f"--csv={as_csv}": bool(as_csv) and as_csv != LAYOUTS[0],
    }
    for name in (name for name, there in alone.items() if there and len(captures) > 1):
        raise ValueError(f"{name} takes one capture: name one, or join them with --as-one")


def _files(paths: Sequence[Path]) -> Iterator[str]:
    """Yield the captures that paths name. Other files in folders are ignored.

    Raises
    ------
    ValueError
        If a folder has no capture.
    """
    for path in paths:
        if not path.is_dir():
            yield os.fspath(path)
            continue
        found = captures_of(path)
        if not found:
            raise ValueError(f"{path}: no file of this folder is a capture{_of_a_run(path)}")
        yield from found


def _of_a_run(folder: Path) -> str:
    """Return a text on how a run keeps captures. It is empty if the folder is not a run's."""
    if not (folder / "run.json").exists():
        return ""
    tables = """--set 'record.tables=["segments", "drops"]'"""
    return f"; a run keeps captures with {tables} --set record.capture=true"


def _print_rows(captures: list[list[str]], layout: str) -> int:
    """Print the rows of captures while they are read; return the exit status."""
    from netspurt.captures import LAYOUTS, ConnectionRows, heading

    layout = layout or LAYOUTS[0]
    if layout != LAYOUTS[0]:
        return _print_tcptrace(captures[0], layout)
    several = len(captures) > 1
    status, above = 0, heading(layout, file=several)
    for paths in captures:
        try:
            rows = ConnectionRows(paths, layout, named(paths[0]) if several else None)
        except OSError as error:
            status = _leave_out(error, several=several)
            continue
        # If no capture can be read, no heading is printed.
        _write(above)
        above = b""
        for some in rows:
            _write(some)
        _note(paths, rows.core.notes)
        if rows.core.passed[1] == 0:
            _note(paths, without_tcp(rows.core.passed[4]))
        status = max(status, _complain_of_fault(paths, rows.core.fault))
    return 2 if above else status


def _leave_out(error: OSError, *, several: bool) -> int:
    """Warn that one of several captures is left out, and return the exit status.

    Raises
    ------
    OSError
        The given error, if it concerns the only capture.
    """
    from netspurt.captures import left_out

    if not several:
        raise error
    complain(ValueError(left_out(error)), "warning:")
    return 1


def _print_tcptrace(paths: list[str], layout: str) -> int:
    """Print tcptrace's preface with the sums, and then rows in the layout of tcptrace."""
    from netspurt._core import __version__
    from netspurt.captures import ConnectionRows, heading

    began = time.perf_counter()
    rows = ConnectionRows(paths, layout)
    all_rows = list(rows)
    packets, tcp = rows.core.passed[:2]
    took, count = time.perf_counter() - began, rows.core.connections
    noun = "connection" if count == 1 else "connections"
    args = "1 arg" if len(paths) == 1 else f"{len(paths)} args"
    preface = (
        f"#{args} remaining, starting with '{named(paths[0])}'\n"
        f"#netspurt {__version__}, in the layout of tcptrace 6.6.7\n\n"
        f"#{packets} packets seen, {tcp} TCP packets traced\n"
        f"#elapsed wallclock time: {_clock(took)}, {int(packets / took)} pkts/sec analyzed\n"
        f"#trace file elapsed time: {_clock(rows.core.span_ns / 1e9)}\n"
    )
    if tcp == 0:
        _write(f"{preface}#no traced TCP packets\n".encode())
    else:
        preface += f"#TCP connection info:\n#{count} TCP {noun} traced:\n"
        _write(preface.encode() + heading(layout))
        for some in all_rows:
            _write(some)
    _note(paths, rows.core.notes)
    return _complain_of_fault(paths, rows.core.fault)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(seconds, 60)
    return f"{int(minutes // 60)}:{int(minutes % 60):02}:{rest:09.6f}"


def _write(octets: bytes) -> None:
    """Write octets to the standard output itself, without the check for control characters."""
    stream = raw(sys.stdout)
    buffer: Any = getattr(stream, "buffer", None)
    if buffer is None:
        stream.write(octets.decode())
    else:
        stream.flush()
        buffer.write(octets)
        buffer.flush()


def _complain_of_fault(paths: Sequence[str], fault: str | None) -> int:
    """Print where reading stopped early, and return the exit status."""
    if fault is None:
        return 0
    # If several files were joined, the text of the fault names the file.
    where = f"{named(paths[0])}: " if len(paths) == 1 else ""
    complain(ValueError(f"{where}{fault}; what came before is explained"), "warning:")
    return 1


def _note(paths: Sequence[str], notes: Sequence[str]) -> None:
    """Print the notes on limits of the results, because the rows have no place for notes."""
    for note in notes:
        complain(ValueError(f"{', '.join(map(named, paths))}: {note}"), "note:")


def _print_captures(
    captures: list[list[str]], parquet: Path | None, connection: int | None, *, as_json: bool
) -> int:
    """Print captures for people or as JSON, or write tables; return the exit status."""
    from netspurt import _core
    from netspurt import captures as explaining

    if not as_json:
        # From now on the memory of large arrays returns to the system when they are freed. For JSON
        # this would save little memory, and would take a tenth more time.
        _core.keep_large_allocations_apart()
    if len(captures) > 1 and not as_json:
        pooled = explaining.explain_pooled(captures)
        from netspurt.cli import explained

        for fault in (pooled.fault or "").splitlines():
            complain(ValueError(fault), "warning:")
        for line in fitted([*explained.pooled(pooled, width()), *_runs(captures)]):
            print(line)
        return 1 if pooled.fault else 0
    status, all_found = 0, []
    for paths in captures:
        try:
            found = explaining.explain(*paths)
        except OSError as error:
            status = _leave_out(error, several=len(captures) > 1)
            continue
        from netspurt.cli import explained

        status = max(status, _complain_of_fault(paths, found.fault))
        if as_json:
            all_found.append(found)
        elif parquet is not None:
            explained.write_tables(found, parquet)
        else:
            for line in fitted(explained.lines(found, connection, few=FEW, room=width())):
                print(line)
            for line in fitted(_runs(captures)):
                print(line)
    if as_json and all_found:
        _print_json(all_found, connection)
    return 2 if as_json and not all_found else status


def _print_json(captures: Sequence[Explained], connection: int | None) -> None:
    """Print the results for captures, or for one connection of a capture, as JSON."""
    # Only `--json` needs these imports. At the top of the file, they would delay the first rows of
    # `--csv`: they would take a fifth of the time until then.
    from dataclasses import asdict

    from netspurt.cli.explained import document
    from netspurt.shared import COLUMNS, shared_connections

    rows = (
        (named(found.path), row["connection"], row)
        for found in captures
        for row in found.table("connections").records(COLUMNS)
    )
    shared = [asdict(one) for one in shared_connections(rows)] if len(captures) > 1 else []
    documents = [document(found, connection) for found in captures]
    print_json_in_parts({"captures": documents, "in_common": shared})


def _runs(captures: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield a line for each run that made these captures and recorded causes of retransmissions."""
    folders = dict.fromkeys(Path(file).parent for paths in captures for file in paths)
    for folder in filter(_knows_causes, folders):
        yield (
            "Compare with the causes that the run recorded: netspurt truth check "
            f"{named(shlex.quote(str(folder)))}"
        )


def _knows_causes(folder: Path) -> bool:
    """Return whether a folder is a run folder with captures and the table `segments`."""
    try:
        run = json.loads((folder / "run.json").read_bytes())
        return bool(run["captures"]) and "segments" in run["tables"]
    except (OSError, ValueError, LookupError, TypeError):
        return False
