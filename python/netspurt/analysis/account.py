"""Reads a row of RFC 889's table of runs, and checks the equations that its figures must fulfil."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

#: The maximum error of a number that is rounded or truncated to tenths of a second.
_TENTH = 0.1

#: Comparisons and truncations allow for this error of a sum of floating-point numbers.
_ROUNDING_ERROR = 1e-9


@dataclass(frozen=True)
class Sums:
    """The times of a run's probes before rounding.

    Attributes
    ----------
    good_s, lost_s, spurious_s
        Three sums [s]: the good time, which is the sum of all delays; the waits for lost probes;
        the delays of probes that were retransmitted spuriously. `good_s` includes `spurious_s`.
    """

    good_s: float
    lost_s: float
    spurious_s: float

    @property
    def total_s(self) -> float:
        """The sum of the good time and the times of losses and of spurious retransmissions."""
        return self.good_s + self.lost_s + self.spurious_s

    @property
    def efficiency(self) -> float:
        """The good time as a share of the total time."""
        return self.good_s / self.total_s


@dataclass(frozen=True)
class Account:
    """A row of RFC 889's table, as printed.

    The total is in whole seconds, the times of losses and of spurious retransmissions are in tenths
    of a second, and the mean is in whole ms. All numbers are truncated. The efficiency has two
    digits.

    Attributes
    ----------
    name
        The run's name.
    total_s, lost_s, spurious_s
        The total time, and the times of losses and of spurious retransmissions.
    lost, spurious
        The numbers of losses and of spurious retransmissions.
    mean_ms, cov, efficiency
        The mean delay over all probes, the coefficient of variation, and the good time divided by
        the total.
    """

    name: str
    total_s: float
    lost: int
    lost_s: float
    spurious: int
    spurious_s: float
    mean_ms: float
    cov: float
    efficiency: float

    @classmethod
    def of(cls, row: Mapping[str, str]) -> Account:
        """Read a row of texts whose columns have the attributes' names.

        Raises
        ------
        KeyError, ValueError
            If a column is missing or is not a number.
        """
        return cls(
            name=row["name"],
            total_s=float(row["total_s"]),
            lost=int(row["lost"]),
            lost_s=float(row["lost_s"]),
            spurious=int(row["spurious"]),
            spurious_s=float(row["spurious_s"]),
            mean_ms=float(row["mean_ms"]),
            cov=float(row["cov"]),
            efficiency=float(row["efficiency"]),
        )

    @property
    def good_s(self) -> float:
        """The total time minus the times of losses and of spurious retransmissions."""
        return self.total_s - self.lost_s - self.spurious_s

    @property
    def good_s_between(self) -> tuple[float, float]:
        """The bounds of the good time [s]. The times in the row are truncated."""
        parts = sum(count > 0 for count in (self.lost, self.spurious))
        return self.good_s - _TENTH * parts, self.good_s + 1

    def implied(self, probes: int = 512) -> tuple[float, float]:
        """Return the mean in ms and the efficiency that follow from the printed times.

        Examples
        --------
        >>> row = Account("FACC", 368, 196, 222.1, 6, 9.2, 267, 1.1, 0.37)
        >>> mean, efficiency = row.implied()
        >>> round(mean), round(efficiency, 3)
        (267, 0.371)
        """
        return 1000 * self.good_s / probes, self.good_s / self.total_s


#: The rules that a row must follow: the keys of :func:`contradictions`.
RULES = ("total", "mean", "efficiency")


def contradictions(row: Account, probes: int = 512) -> dict[str, str]:
    """Return the contradictions within a row: a sentence for each broken rule.

    ``total``: the total is the mean multiplied by the number of probes, plus lost time and spurious
    time. ``mean``: the mean is the good time divided by the number of probes. ``efficiency``:
    the efficiency is the good time divided by the total. A rule is broken if the printed figure
    lies outside the range that the truncated times allow. Each sentence names the row.

    Examples
    --------
    >>> row = Account("FACC", 368, 196, 222.1, 6, 9.2, 267, 1.1, 0.37)
    >>> contradictions(row)
    {}
    >>> from dataclasses import replace
    >>> contradictions(replace(row, efficiency=0.61))
    {'efficiency': 'FACC: efficiency 0.61, but the good time divided by the total is 0.3715'}
    """
    mean, efficiency = row.implied(probes)
    good_min, good_max = row.good_s_between
    sentences = {}
    if (
        not good_min - _ROUNDING_ERROR < (row.mean_ms + 1) * probes / 1000
        or row.mean_ms * probes / 1000 > good_max
    ):
        sentences["total"] = (
            f"{row.name}: total {row.total_s:g} s, but the mean of {row.mean_ms:g} ms times "
            f"{probes} probes, plus lost and spurious time, is "
            f"{row.mean_ms * probes / 1000 + row.lost_s + row.spurious_s:.1f} s"
        )
    if (
        not int(1000 * good_min / probes + _ROUNDING_ERROR)
        <= row.mean_ms
        <= 1000 * good_max / probes
    ):
        sentences["mean"] = (
            f"{row.name}: mean {row.mean_ms:g} ms, but the good time gives {mean:.1f} ms"
        )
    # The printed total is truncated. If the true total is a second longer, the good time is also a
    # second longer, and its share of the total is larger.
    low, high = (
        int(100 * good_min / row.total_s + _ROUNDING_ERROR),
        100 * good_max / (row.total_s + 1),
    )
    if not low <= round(100 * row.efficiency) <= high:
        sentences["efficiency"] = (
            f"{row.name}: efficiency {row.efficiency:g}, but the good time divided by the total "
            f"is {efficiency:.4f}"
        )
    return sentences
