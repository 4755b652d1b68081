"""The measure and the axis that a command on a sweep needs.

A measure is a column of the sweep's results. An axis is a setting that the sweep varies. A
label names a value of an axis.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import typer

from netspurt.cli.sweep_words import suggested

if TYPE_CHECKING:
    from netspurt.sweep import SweepFolder


def no_measure(folder: SweepFolder, option: str = "--measure") -> NoReturn:
    """Raise the error that a measure is missing. The message suggests a measure.

    Raises
    ------
    ValueError
        If `option` is `--measure`.
    typer.BadParameter
        If `option` is another option, which needs a measure.
    """
    first = suggested(folder.read(), folder)
    told = f"-m {first}; `netspurt sweep show {folder.where}` lists all"
    if option == "--measure":
        raise ValueError(f"--measure is missing: take one, such as {told}")
    raise typer.BadParameter(f"it needs a measure, such as {told}", param_hint=option)


def compared_axis(folder: SweepFolder, axis: str | None) -> str:
    """Return the axis that the user names.

    By default it is the only axis whose labels can be compared.

    Raises
    ------
    typer.BadParameter
        If no axis has labels that can be compared.
    ValueError
        If several axes have such labels, or if each run draws its value of the named axis.
    """
    if axis in folder.drawn:
        others = f", or compare {' or '.join(folder.names)}" if folder.names else ""
        raise ValueError(
            f"--axis {axis}: each run draws its own value of {axis}, so no groups can be compared: "
            f"show the values with `netspurt sweep show DIR --by {axis}`{others}"
        )
    if axis is not None:
        return axis
    several = [name for name in folder.names if len(folder.labels[name]) > 1]
    if len(several) == 1:
        return several[0]
    if several:
        raise ValueError(f"--axis is missing: name one of {', '.join(several)}")
    raise typer.BadParameter("no axis has labels to compare", param_hint="--axis")
