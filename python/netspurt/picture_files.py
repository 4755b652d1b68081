"""The names of picture files: their endings, and a check that needs nothing that draws."""

from __future__ import annotations

from pathlib import Path

#: The endings of picture files.
ENDINGS = (".png", ".svg", ".pdf")

#: The endings in words.
IN_WORDS = f"{', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"


def check_ending(file: Path) -> None:
    """Check the name of a picture's file, before anything is computed or written.

    Raises
    ------
    ValueError
        If it has none of the endings.
    """
    if file.suffix not in ENDINGS:
        raise ValueError(f"{file}: the name of a plot's file must end in {IN_WORDS}")
