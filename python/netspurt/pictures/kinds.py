"""Kinds of pictures by name."""

from __future__ import annotations

from collections.abc import Iterable


def check_kind(kind: str, kinds: Iterable[str]) -> None:
    """Check the name of a kind of picture.

    Raises
    ------
    ValueError
        If there is no such kind.
    """
    if kind not in (known := tuple(kinds)):
        raise ValueError(f"no kind of plot is called {kind!r}; the kinds are {', '.join(known)}")
