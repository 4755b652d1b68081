"""What commands open that read tables: run folders and captures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard

if TYPE_CHECKING:
    from netspurt.captures import Explained
    from netspurt.run import Run


def open_tables(path: Path, flow: str | None = None) -> Run | Explained:
    """Open a run folder, or a capture with the packets of the connection `flow`, or of all.

    Raises
    ------
    RunError
        If the path is neither.
    """
    from netspurt.captures import explain, is_capture
    from netspurt.run import open_run

    if not is_capture(path):
        return open_run(path)
    number = flow[1:] if flow is not None and flow.startswith("c") else ""
    # Several flows, as in `c0,c3`, need the packets of all.
    return explain(path, segments=True, connection=int(number) if number.isdecimal() else None)


def is_explained(opened: Run | Explained) -> TypeGuard[Explained]:
    """Return whether it is a capture."""
    from netspurt.captures import Explained

    return isinstance(opened, Explained)


def is_run(opened: Run | Explained) -> TypeGuard[Run]:
    """Return whether it is a run."""
    return not is_explained(opened)


def busiest(opened: Run | Explained) -> tuple[str, str] | None:
    """Return the flow and the direction of a capture with the most octets of data.

    None for a run, whose flows have an order, and for a capture without data.
    """
    if not is_explained(opened):
        return None
    connections = opened.table("connections")
    if len(connections) == 0 or not connections["data_bytes"].any():
        return None
    most = int(connections["data_bytes"].argmax())
    number, direction = connections["connection"][most], connections["direction"][most]
    return f"c{number}", str(direction)
