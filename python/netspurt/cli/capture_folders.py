"""The sections on a folder of captures, for `netspurt report`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from netspurt.cli.output import named, warn_of_cut

if TYPE_CHECKING:
    from netspurt.report import Section


def capture_folder(folder: Path, captures: Sequence[str], room: int) -> Iterator[Section]:
    """Yield the sections of a report's page for a folder of captures.

    Parameters
    ----------
    folder, captures
        The folder and its captures.
    room
        The maximum number of marks, such as points, in all pictures together.
    """
    from netspurt.captures import explain, explain_pooled
    from netspurt.cli.explained import pooled
    from netspurt.report import captures_sections
    from netspurt.report.folders import Opener

    every = explain_pooled([file] for file in captures)
    for fault in (every.fault or "").splitlines():
        warn_of_cut(named(fault))
    how = Opener(
        lambda file, segments: explain(file, segments=segments), lambda one: list(pooled(one))
    )
    yield from captures_sections(every, folder, how, room)
