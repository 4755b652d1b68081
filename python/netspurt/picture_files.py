"""The endings of picture files, and a check of file names that needs no drawing library."""

from __future__ import annotations

from pathlib import Path

#: The endings of picture files.
ENDINGS = (".png", ".svg", ".pdf")

#: The endings in words.
IN_WORDS = f"{', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"


def check_ending(file: Path, besides: str = "") -> None:
    """Check the name of a picture's file, before anything is computed or written.

    The message also names the endings in `besides`, which the caller accepts.

    Raises
    ------
    ValueError
        If the name has none of the endings.
    """
    if file.suffix not in ENDINGS:
        raise ValueError(f"{file}: the name of a plot's file must end in {IN_WORDS}{besides}")
