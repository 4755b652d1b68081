"""Printed tables of probed paths: delay against length, and the accounts of runs.

An account has the total time of a run of probes, and the numbers and the times of its losses and of
its spurious retransmissions (`netspurt.analysis.account`).
"""

from __future__ import annotations

from dataclasses import dataclass

from netspurt.analysis import Account, RunName
from netspurt.papers.data import Paper, PaperError

#: The lengths at which printed lines begin and end, in octets.
SHORTEST, LAST_SHORT, LONGEST = 40, 125, 256


@dataclass(frozen=True)
class PrintedLine:
    """A printed straight line of delay against length.

    Attributes
    ----------
    octets
        The lengths of probes at the two ends of the line.
    delay_ms
        The delays at these lengths, printed in whole milliseconds.
    rate_bps
        The printed rate of the line.
    """

    octets: tuple[int, int]
    delay_ms: tuple[float, float]
    rate_bps: float

    @property
    def bits(self) -> int:
        """The difference between the two lengths in `octets`, in bits."""
        return 8 * (self.octets[1] - self.octets[0])

    @property
    def rise_s(self) -> float:
        """The difference between the two delays in `delay_ms`, in seconds."""
        return (self.delay_ms[1] - self.delay_ms[0]) / 1000


@dataclass(frozen=True)
class PathRow:
    """A path's row: one line, or one line for each class of lengths.

    `nominal_bps` is the nominal rate of the transmission line; `None` if it is not known.
    """

    name: str
    group: str
    lines: tuple[PrintedLine, ...]
    nominal_bps: float | None

    @property
    def ends_ms(self) -> tuple[float, float]:
        """The delays of the shortest and the longest probes."""
        return self.lines[0].delay_ms[0], self.lines[-1].delay_ms[1]

    @property
    def ratio(self) -> float:
        """The ratio of the longest probes' delay to the shortest probes' delay."""
        return self.ends_ms[1] / self.ends_ms[0]

    def at(self, octets: int) -> float:
        """Return the delay at a length, in ms."""
        line = self.lines[-1 if octets > LAST_SHORT else 0]
        (short, long), (short_ms, long_ms) = line.octets, line.delay_ms
        return short_ms + (long_ms - short_ms) * (octets - short) / (long - short)

    def points(self) -> list[tuple[int, float]]:
        """Return the ends of the lines for a surrogate: each length [octets] with its delay [s]."""
        corners = [SHORTEST, LAST_SHORT, LAST_SHORT + 1, LONGEST]
        used = corners if len(self.lines) > 1 else [SHORTEST, LONGEST]
        return [(octets, self.at(octets) / 1e3) for octets in used]


def path_rows(paper: Paper, table: str) -> dict[str, PathRow]:
    """Return the rows of a table of delay against length, by name."""
    return {row["name"]: _path_row(row) for row in paper.rows(table)}


def _path_row(row: dict[str, str]) -> PathRow:
    delays = {key: float(text) for key, text in row.items() if key.endswith("_ms") and text}
    end = delays["delay256_ms"]
    long = float(row["long_rate_bps"])
    if "delay125_ms" in delays:
        short = (delays["delay40_ms"], delays["delay125_ms"])
        lines = (
            PrintedLine((SHORTEST, LAST_SHORT), short, float(row["short_rate_bps"])),
            PrintedLine((LAST_SHORT, LONGEST), (delays["delay125_long_ms"], end), long),
        )
    else:
        lines = (PrintedLine((SHORTEST, LONGEST), (delays["delay40_ms"], end), long),)  # type: ignore[assignment]
    nominal = float(row["nominal_bps"]) if row["nominal_bps"] else None
    return PathRow(row["name"], row["group"], lines, nominal)


@dataclass(frozen=True)
class AccountRow:
    """The row of a run, and the host that measured the run."""

    account: Account
    source: str

    @property
    def run(self) -> RunName:
        """The properties of the run that the run's name contains."""
        return RunName.parse(self.account.name)

    @property
    def key(self) -> str:
        """The name of the run. If the measuring host is not `USUAL`, this host comes first."""
        return self.account.name if self.source == USUAL else f"{self.source}:{self.account.name}"

    def mean_answered_ms(self, probes: int) -> float:
        """Return the mean delay of the answered probes [ms]; `probes` is the number of sent probes.

        The printed mean is truncated to a whole millisecond, so half a millisecond is added.
        """
        account = self.account
        return (account.mean_ms + 0.5) * probes / (probes - account.lost)


#: The host that measured most runs.
USUAL = "DCN1"


def account_rows(paper: Paper, table: str) -> dict[str, AccountRow]:
    """Return the rows of a table of accounts, by key."""
    rows = [AccountRow(Account.of(row), row["from"]) for row in paper.rows(table)]
    return {row.key: row for row in rows}


def names_in(argument: str) -> list[str]:
    """Split an argument of a measure at its commas, and return the names.

    Arguments contain no spaces, so `_*` stands for ` *`, the star of a busy run.

    Examples
    --------
    >>> names_in("DCN6,FOE_*")
    ['DCN6', 'FOE *']
    """
    return [name.replace("_*", " *") for name in argument.split(",")]


def aliases(paper: Paper, table: str) -> dict[str, str]:
    """Return the catalogued host for each name or alias."""
    hosts: dict[str, str] = {}
    for row in paper.rows(table):
        hosts |= dict.fromkeys([row["name"], *row["aliases"].split()], row["name"])
    return hosts


def path_of(row: AccountRow, paths: dict[str, PathRow], hosts: dict[str, str]) -> PathRow:
    """Return the printed row of a run's path.

    A host may have a row for busy and a row for quiet periods. In this case, the kind of the run
    decides.

    Raises
    ------
    PaperError
        If no line is printed for the host.
    """
    host = hosts.get(row.run.host, row.run.host)
    for name in (f"{host}-{'H' if row.run.busy else 'L'}", host):
        if name in paths:
            return paths[name]
    raise PaperError(f"{row.account.name}: no line of delay against length for {host}")
