"""Captures explained: connections, and why each segment was sent again."""

from __future__ import annotations

from os import PathLike, fspath
from typing import TYPE_CHECKING

from netspurt import _core
from netspurt.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping


class Explained:
    """A capture and what was found in it.

    Attributes
    ----------
    path
        The file.
    tables
        `connections`, a row for each direction of each connection; `retransmissions`, a row for
        each retransmission with its cause, a verdict and the evidence.
    fault
        Where and why the reading stopped early, or None.
    """

    def __init__(self, path: str, core: _core.Explanation) -> None:
        self.path = path
        self.fault = core.fault
        self.packets, self.tcp, self.no_ip, self.other = core.passed
        self.tables: Mapping[str, Table] = {one.name: Table(one) for one in core.tables()}

    def table(self, name: str) -> Table:
        """Return a table.

        Raises
        ------
        KeyError
            If there is none of that name.
        """
        return self.tables[name]


def explain(path: str | PathLike[str]) -> Explained:
    """Explain a capture.

    Raises
    ------
    OSError
        If the file cannot be opened or is no capture.
    """
    return Explained(fspath(path), _core.explain(fspath(path)))
