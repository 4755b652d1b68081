"""Labels recordings of a path as busy or quiet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike


class Load(StrEnum):
    """The traffic on a path during a recording."""

    BUSY = "busy"
    QUIET = "quiet"


@dataclass(frozen=True)
class RunName:
    """The name of a run in the notation of RFC 889 §3.1.

    Attributes
    ----------
    host
        The name of the probed host, without a suffix.
    octets
        The length of all probes, which is 40 or 256, or `None` if lengths were random.
    busy
        True if the name has the star of a busy period.
    """

    host: str
    octets: int | None
    busy: bool

    @classmethod
    def parse(cls, name: str) -> RunName:
        """Read a name such as ``FOE``, ``FOE-1`` (40 octets), ``FOE-2`` (256) or ``ISID *`` (busy).

        Examples
        --------
        >>> RunName.parse("FOE-2")
        RunName(host='FOE', octets=256, busy=False)
        >>> RunName.parse("ISID *").busy
        True
        """
        host, star, _ = name.partition("*")
        host = host.strip()
        octets = {"-1": 40, "-2": 256}.get(host[-2:])
        return cls(host if octets is None else host[:-2], octets, bool(star))


def busy_against_quiet(names: Iterable[str]) -> list[tuple[str, str]]:
    """Return the name of each busy run with the name of the quiet run of the same host and length.

    A busy run is left out if there is no such quiet run.

    Examples
    --------
    >>> busy_against_quiet(["ISID", "ISID-1", "ISID *", "FOE"])
    [('ISID *', 'ISID')]
    """
    parsed = {name: RunName.parse(name) for name in names}
    quiet = {(run.host, run.octets): name for name, run in parsed.items() if not run.busy}
    pairs = ((name, quiet.get((run.host, run.octets))) for name, run in parsed.items() if run.busy)
    return [(name, other) for name, other in pairs if other is not None]


def label_by_delay(recordings: Mapping[str, ArrayLike], *, times: float = 1.2) -> dict[str, Load]:
    """Label each recording of a path as busy or quiet by its median delay.

    Parameters
    ----------
    recordings
        Delays in seconds by name, or NaN if a probe is lost.
    times
        The factor by which the median of a busy recording exceeds the lowest median.

    Raises
    ------
    ValueError
        If a recording has no reply.

    Examples
    --------
    >>> labels = label_by_delay({"night": [0.1, 0.1, 0.2], "noon": [0.2, 0.3, 0.2]})
    >>> str(labels["noon"]), str(labels["night"])
    ('busy', 'quiet')
    """
    medians = {}
    for name, delays in recordings.items():
        values = np.asarray(delays, dtype=float)
        if not np.isfinite(values).any():
            raise ValueError(f"{name} has no reply: leave this recording out")
        medians[name] = float(np.nanmedian(values))
    lowest = min(medians.values(), default=0.0)
    return {
        name: Load.BUSY if median > times * lowest else Load.QUIET
        for name, median in medians.items()
    }
