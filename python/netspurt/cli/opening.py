"""Opens the inputs of commands that read tables: run folders and captures."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard

from netspurt.cli.output import complain, named, warn_of_cut
from netspurt.wording import counted

if TYPE_CHECKING:
    from netspurt.captures import Explained
    from netspurt.run import Run


def open_tables(path: Path, flow: str | None = None) -> Run | Explained:
    """Open a run folder, or a capture with the packets of one connection or of all.

    Raises
    ------
    RunError
        If a run folder cannot be opened, if the path is another folder or a scenario file, or if
        nothing is at the path.
    ValueError
        If the file is neither a capture nor a scenario file, or if a capture has no such
        connection.
    """
    from netspurt.captures import explain, is_capture
    from netspurt.cli.capture_files import captures_of
    from netspurt.run import MANIFEST, open_run

    if not is_capture(path):
        if path.is_file() and path.suffix != ".toml":
            what = f"{named(str(path))} is neither a run folder nor a capture"
            hint = f", but a recording of delays: `netspurt report {named(str(path))}` draws it"
            raise ValueError(what + hint * is_recording(path))
        captures = captures_of(path) if path.is_dir() and not (path / MANIFEST).exists() else []
        if captures:
            raise ValueError(
                f"{named(str(path))} has {counted(len(captures), 'capture')} and no run: name one "
                f"of its captures, such as {named(captures[0])}"
            )
        return open_run(path)
    number = flow[1:] if flow is not None and flow.startswith("c") else ""
    # Several flows, as in `c0,c3`, need the packets of all connections.
    only = int(number) if number.isdecimal() else None
    found = explain(path, segments=True, connection=only)
    if found.fault is not None:
        warn_of_cut(f"{named(str(path))}: {found.fault}; what came before is shown")
    for note in found.notes:
        complain(ValueError(f"{named(str(path))}: {note}"), "note:")
    count = len(set(found.table("connections")["connection"].tolist()))
    if only is not None and only >= count:
        raise ValueError(f"{path}: no connection is called {flow}; {there('c', count)}")
    return found


def flow_of(path: Path, flow: str | None) -> str | None:
    """Return the name of a flow. For a capture, a number such as `3` means the connection `c3`."""
    from netspurt.captures import is_capture

    return f"c{flow}" if flow is not None and flow.isdecimal() and is_capture(path) else flow


def is_recording(file: str | os.PathLike[str]) -> bool:
    """Return whether a file is a recording of delays and not a capture."""
    return recorded_as(file) is not None


def recorded_as(file: str | os.PathLike[str]) -> str | None:
    """Return the format of a recording of delays, or `None` if the file is no recording."""
    from netspurt.captures import is_capture
    from netspurt.delays import read_delays

    if not Path(file).is_file() or is_capture(file):
        return None
    try:
        return next((recording.format for recording in read_delays(file)), None)
    except (ValueError, OSError):
        return None


def there(prefix: str, count: int) -> str:
    """Return a text that lists the existing connections: a prefix, and numbers from 0.

    Examples
    --------
    >>> there("c", 3), there("", 1), there("", 0)
    ('the connections are c0 to c2', 'the only connection is 0', 'there are no connections')
    """
    if count > 1:
        return f"the connections are {prefix}0 to {prefix}{count - 1}"
    return f"the only connection is {prefix}0" if count else "there are no connections"


def is_explained(opened: Run | Explained) -> TypeGuard[Explained]:
    """Return whether this is a capture, and not a run."""
    from netspurt.captures import Explained

    return isinstance(opened, Explained)


def is_run(opened: Run | Explained) -> TypeGuard[Run]:
    """Return whether this is a run."""
    return not is_explained(opened)


def busiest(opened: Run | Explained, flow: str | None = None) -> tuple[str, str] | None:
    """Return the flow and the direction that carried the most octets of data in a capture.

    If a flow is named, only the direction is chosen. The result is None for a capture without data.
    It is also None for a run, because commands take the first flow of a run by default.
    """
    if not is_explained(opened):
        return None
    connections = opened.table("connections")
    if flow is not None:
        connections = connections.where(connection=int(flow.removeprefix("c")))
    if len(connections) == 0 or not connections["data_bytes"].any():
        return None
    most = int(connections["data_bytes"].argmax())
    number, direction = connections["connection"][most], connections["direction"][most]
    return f"c{number}", str(direction)
