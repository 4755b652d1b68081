"""The options of a replay. A replay applies retransmission timers to recorded delays.

The folder of the replay keeps its options, so a report uses the same options.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netspurt.cli.recordings import REPLAYED
from netspurt.stored import is_sealed, sealed

if TYPE_CHECKING:
    from netspurt.advice import Price

#: The file with the options of a replay, beside the file with all numbers.
SETTINGS = "replay.json"


@dataclass(frozen=True)
class Settings:
    """How the timers of a replay were replayed and weighed.

    Attributes
    ----------
    clock, told
        The parameters of the same names of `netspurt.replay`.
    cost_s
        The price of a spurious retransmission [s]. `None` means the default of `netspurt.Price`.
    loss
        The share of losses, from 0 to 1. `None` means the default of `netspurt.Price`.
    tune
        True if computed constants were also weighed for a recommendation.
    pool
        True if one timer was recommended for all recordings together.
    """

    clock: str = "exact"
    told: bool = False
    cost_s: float | None = None
    loss: float | None = None
    tune: bool = False
    pool: bool = False

    @property
    def price(self) -> Price:
        """The price of a spurious retransmission, and the share of losses."""
        from netspurt.advice import Price

        return Price(self.cost_s, self.loss)

    def write(self, folder: Path) -> Path:
        """Write the settings into a folder, and return their file."""
        file = folder / SETTINGS
        file.write_bytes(sealed(asdict(self)))
        return file


def settings_of(table: Path) -> Settings | None:
    """Return the settings of the replay whose table is `table`.

    The result is `None` if the file is not the table of a replay, or if no settings are beside it.

    Raises
    ------
    ValueError
        If the file of the settings was changed.
    """
    file = table.with_name(SETTINGS)
    if table.name != REPLAYED or not file.is_file():
        return None
    try:
        content = file.read_bytes()
        read: dict[str, Any] = json.loads(content) if is_sealed(content) else {}
    except (ValueError, TypeError):
        read = {}
    names = [one.name for one in fields(Settings)]
    if not all(name in read for name in names):
        raise ValueError(f"{file} was changed or is not complete: replay the recording again")
    return Settings(**{name: read[name] for name in names})
