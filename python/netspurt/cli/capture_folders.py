"""The captures of a folder, for `netspurt explain` and `netspurt report`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from netspurt.cli.output import complain, named, warn_of_cut

if TYPE_CHECKING:
    from netspurt.report import Section

#: The marks of compressed captures. The name of such a file contains one of these texts.
_ENDINGS = (".pcap", ".cap", ".dmp")
#: The endings of names of captures. A file with such a name should be a capture.
_NAMED = {".pcap", ".pcapng", ".cap", ".dmp"}


def captures_of(folder: Path) -> list[str]:
    """Return the captures of a folder and of the folders in it; an empty list for a file.

    A warning names each file that has the name of a capture but is not a capture.
    """
    from netspurt.captures import is_capture

    def is_named(file: Path) -> bool:
        # `is_capture` does not look into compressed files, so the name must show what they contain.
        packed = file.suffix in {".gz", ".zst"}
        return is_capture(file) and (not packed or any(end in file.name for end in _ENDINGS))

    if not folder.is_dir():
        return []
    files = sorted(folder.rglob("*"))
    found = [file for file in files if is_named(file)]
    chosen = set(found)
    for file in files:
        if file.suffix in _NAMED and not file.is_dir() and file not in chosen:
            what = f"{named(os.fspath(file))}: neither pcap nor pcapng; left out"
            complain(ValueError(what), "warning:")
    return [os.fspath(file) for file in found]


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
