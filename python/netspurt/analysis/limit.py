"""The interface of a limit: a finding on what limited the rate of a captured connection."""

from __future__ import annotations

from typing import Protocol


class Limit(Protocol):
    """What limited the rate of a connection."""

    @property
    def connection(self) -> int:
        """The number of the connection."""

    def sentence(self, who: str) -> str:
        """Return sentences on what limited the connection. `who` is its name in the sentences."""
