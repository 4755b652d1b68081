"""Writes plots to files."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure

from netspurt.picture_files import check_ending
from netspurt.plots.style import SETTINGS
from netspurt.stored import replacing

#: Where a plot is written; `None` if it is only returned.
File = str | os.PathLike[str] | None


def save(figure: Figure, files: Iterable[Path]) -> None:
    """Write a figure to files. The ending of a file names its format.

    A file appears under its name only when it is complete.

    Raises
    ------
    ValueError
        If a name does not end in a known ending.
    OSError
        If a file cannot be written.
    """
    files = list(files)
    for file in files:
        check_ending(file)
    for file in files:
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            why = f"{error.filename}: {error.strerror}"
            raise type(error)(f"{file} cannot be written: {why}: name a folder") from error
        metadata = {"Date": None} if file.suffix == ".svg" else {}
        with replacing(file) as partial, rc_context(SETTINGS):
            figure.savefig(partial, metadata=metadata)


def saved(figure: Figure, file: File) -> Figure:
    """Write a figure if a file is named, and return the figure.

    Raises
    ------
    ValueError
        If the file's name does not end in a known ending.
    """
    if file is not None:
        save(figure, [Path(file)])
    return figure
