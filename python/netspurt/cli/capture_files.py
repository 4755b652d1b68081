"""Finds the captures of a folder."""

from __future__ import annotations

import os
from pathlib import Path

from netspurt.cli.output import complain, named

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
