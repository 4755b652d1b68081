"""Checks the names of kinds of pictures."""

from __future__ import annotations

from collections.abc import Iterable

from netspurt.wording import unknown_name


def check_kind(kind: str, kinds: Iterable[str]) -> None:
    """Check the name of a kind of picture.

    Raises
    ------
    ValueError
        If there is no such kind.
    """
    if kind not in (known := tuple(kinds)):
        raise ValueError(unknown_name("kind", kind, known, where="of plot"))
