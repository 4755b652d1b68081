"""Imitates the explanation of a capture, with the answers that a test gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netspurt.truth.answers import Answer


class Explained:
    """Imitates an explained capture. Each source of the answers has a connection of its own."""

    def __init__(self, answers: Sequence[Answer]) -> None:
        self.answers = answers

    def table(self, name: str) -> Mapping[str, NDArray[np.generic]]:
        """Return the table `connections` or the table `retransmissions`."""
        sources = sorted({answer.source for answer in self.answers})
        columns: dict[str, list[Any]]
        if name == "connections":
            ends = [source.rpartition(":") for source in sources]
            columns = {
                "connection": list(range(len(sources))),
                "direction": ["forward"] * len(sources),
                "source": [address.strip("[]") for address, _, _ in ends],
                "source_port": [int(port) for _, _, port in ends],
            }
        else:
            assert name == "retransmissions"
            columns = {key: [getattr(one, key) for one in self.answers] for key in _OWN}
            columns["connection"] = [sources.index(one.source) for one in self.answers]
            columns["direction"] = ["forward"] * len(self.answers)
        return {key: np.array(values) for key, values in columns.items()}


#: The fields of an answer that are columns of the table `retransmissions`.
_OWN = [name for name in Answer.__dataclass_fields__ if name != "source"]
