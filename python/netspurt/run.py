"""Runs, in memory and in folders.

A run folder contains `run.json`, `scenario.toml` (the scenario with all defaults) and a Parquet
file for each table. If the scenario records captures, it has a pcapng file for each spied node. The
packets that pass a spied node are recorded. `run.json` has the version, the seed, checksums of
results, the names of the tables and of the captures, the SHA-256 of each file, and its own
checksum. A live run also has `live.json`. A simulated run also has the `.py` files of its
algorithms. The folder appears under its name only when it is complete.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import tomllib
from collections.abc import Iterator
from dataclasses import astuple, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from netspurt import _core
from netspurt.algorithms import files_named, read_code
from netspurt.interrupts import interruptible
from netspurt.live_report import LiveReport
from netspurt.markup import html_lines
from netspurt.stored import is_sealed, new_folder, refuse_link, replace_file, sealed
from netspurt.table import Table
from netspurt.typed import TypedError, parse, read
from netspurt.wording import counted, rounded

if TYPE_CHECKING:
    from netspurt.analysis.crossings import Crossing
    from netspurt.plots import RunPlots
    from netspurt.timelines import Timeline

#: In a run folder: the name of the file `run.json`, the name of the file with the scenario, and the
#: number of the format that `run.json` has.
MANIFEST = _core.RUN_MANIFEST
SCENARIO = _core.RUN_SCENARIO
FORMAT = _core.RUN_FORMAT

#: The tables that a scenario can leave out with `tables` under `[record]`.
RECORDED = (
    "segments",
    "sack_blocks",
    "syns",
    "cwnd",
    "rto",
    "rtt",
    "queue",
    "drops",
    "connections",
)

#: The tables that are recorded with `segments`.
OF_SEGMENTS = ("sack_blocks", "syns")

#: The file with the report of a live run.
LIVE = _core.RUN_LIVE


class RunError(ValueError):
    """A folder has no finished run, or a run is damaged or cannot do what was requested."""


class UnrecordedTableError(RunError):
    """A run did not record a table.

    Attributes
    ----------
    recorded
        The name to add to `tables` under `[record]`.
    """

    def __init__(self, name: str, recorded: str, tables: str) -> None:
        """Make an error that names the table, what to record for it, and the run's tables."""
        super().__init__(
            f"this run has no table {name!r}, only {tables}: "
            f'add "{recorded}" to `tables` under [record] and run again'
        )
        self.recorded = recorded


@dataclass(frozen=True)
class Origin:
    """An algorithm of a run that does not come with netspurt.

    Attributes
    ----------
    text
        The text that names the algorithm in the scenario.
    file, sha256
        The file of its code, and the SHA-256 of the file.
    """

    text: str
    file: str
    sha256: str


@dataclass(frozen=True, repr=False)
class Run:
    """The results of a scenario.

    Attributes
    ----------
    title
        One line that says what the run shows.
    source
        The name of the scenario. If the scenario is from a file, it is the path.
    seed
        The seed of the random draws.
    version
        The version of netspurt that ran the scenario.
    stop_ns
        When the run ended, in nanoseconds since its start.
    digest, flows_digest
        `digest` is the checksum of all tables. `flows_digest` is the checksum of the flows'
        results, and does not depend on which tables were recorded.
    scenario
        The scenario with all defaults, as TOML.
    tables
        The tables by name.
    folder
        The folder from which the run was opened, or `None` if it was not opened from a folder.
    live
        For a live run: how late packets were, whether it is valid, and the settings of the kernel.
    algorithms
        The algorithms of the run that do not come with netspurt.
    """

    title: str
    source: str
    seed: int
    version: str
    stop_ns: int
    digest: str
    flows_digest: str
    scenario: str
    tables: dict[str, Table]
    folder: Path | None = None
    live: LiveReport | None = None
    algorithms: list[Origin] = field(default_factory=list)
    _results: _core.Results | None = field(default=None, repr=False)
    _code: list[tuple[str, str]] = field(default_factory=list, repr=False)

    def __str__(self) -> str:
        return "\n".join([self.title or self.source, *self._lines()])

    def lasted(self) -> str:
        """Return in words how long the run took, and whether it was simulated or live."""
        stop_s = self.stop_ns / 1e9
        # A live run ends at any nanosecond of the wall clock, so its duration is rounded.
        return f"{stop_s:g} s simulated" if self.live is None else f"{rounded(stop_s)} s live"

    def _lines(self) -> list[str]:
        return [
            f"{self.lasted()}, seed {self.seed}, digest {self.digest[:16]}",
            *self._summary(),
            "tables: " + ", ".join(f"{name} {len(t)}" for name, t in self.tables.items()),
        ]

    def _repr_html_(self) -> str:
        text = html_lines(self.title or self.source, self._lines())
        return text + (self.flows._repr_html_() if len(self.flows) else "")

    def _summary(self) -> Iterator[str]:
        """Yield a line each for flows, populations (many connections each) and echo probes."""
        flows, echo_probes = self.flows, self.tables.get("echo_probes")
        populations = self.tables.get("populations")
        if len(flows) or (echo_probes is None and populations is None):
            flow_count = len(set(flows["flow"].tolist()))
            count = "1 flow" if flow_count == 1 else f"{flow_count} flows"
            yield (
                f"{count}: {int(flows['sent'].sum()):,} sent, "
                f"{int(flows['retransmissions'].sum()):,} retransmitted, "
                f"timeouts: {int(flows['timeouts'].sum()):,}"
            )
        if populations is not None:
            made, complete = (int(populations[c].sum()) for c in ("connections", "complete"))
            yield f"{made:,} connections of populations: {complete:,} complete"
        if echo_probes is not None:
            yield f"{len(echo_probes):,} echo probes: {int(echo_probes['lost'].sum()):,} lost"

    def __repr__(self) -> str:
        return f"<Run {self.title or self.source!r}, {self.stop_ns / 1e9:g} s, {self.digest[:16]}>"

    @classmethod
    def of(cls, results: _core.Results, scenario: _core.Scenario) -> Run:
        """Return the run of `scenario` with these results."""
        return cls(
            title=scenario.title,
            source=scenario.name,
            seed=scenario.seed,
            version=_core.__version__,
            stop_ns=results.stop_ns,
            digest=interruptible(results.digest, "computing a digest"),
            flows_digest=results.flows_digest(),
            scenario=scenario.resolved(),
            algorithms=[Origin(*parts) for parts in scenario.algorithms()],
            tables={table.name: Table(table) for table in results.tables()},
            _results=results,
            _code=[pair for pair in scenario.source()[2] if pair[0].endswith(".py")],
        )

    def table(self, name: str) -> Table:
        """Return a table.

        Raises
        ------
        RunError
            If the run does not have the table.
        """
        if name not in self.tables:
            kept = ", ".join(self.tables)
            if name == "requests":
                raise RunError(
                    'this run has no requests: add `app = { reply = "20 kB" }` to a flow'
                )
            if name == "echo_probes":
                raise RunError(
                    "this run has no echo probes: add `[echo_probes.NAME]` to its scenario"
                )
            if name == "populations":
                raise RunError("this run has no populations: add `[populations.NAME]`")
            if name == "connections" and "populations" not in self.tables:
                raise RunError(
                    "this run has no connections that come and go: add `[populations.NAME]`"
                )
            if name == "shims":
                raise RunError(_no_shims(self.scenario))
            if name == "crossings":
                raise RunError("`crossings` is computed from other tables: call run.crossings()")
            if name not in RECORDED:
                raise RunError(f"there is no table {name!r}; this run has {kept}")
            recorded = "segments" if name in OF_SEGMENTS else name
            raise UnrecordedTableError(name, recorded, kept)
        return self.tables[name]

    @property
    def flows(self) -> Table:
        """A row for each direction with data: its counts of sent and delivered data."""
        return self.table("flows")

    @property
    def echo_probes(self) -> Table:
        """A row for each echo probe: when it left, and its round trip."""
        return self.table("echo_probes")

    @property
    def requests(self) -> Table:
        """A row for each request: when it was written, and how long its reply took."""
        return self.table("requests")

    @property
    def populations(self) -> Table:
        """A row for each population: its connections, their durations, and the octets sent.

        A duration is the time from a connection's first SYN to the last acknowledgment of data.
        A quantile of durations exceeds the exact value by at most 0.1 %.
        """
        return self.table("populations")

    @property
    def connections(self) -> Table:
        """A row for each connection of a population or of real programs: octets and times.

        The connections of populations also have their durations and retransmissions.
        """
        return self.table("connections")

    @property
    def links(self) -> Table:
        """A row for each direction of a link: packets carried, dropped and lost."""
        return self.table("links")

    @property
    def segments(self) -> Table:
        """A row for each segment that passed a spied node."""
        return self.table("segments")

    @property
    def sack_blocks(self) -> Table:
        """A row for each SACK block of the segments in `segments`."""
        return self.table("sack_blocks")

    @property
    def syns(self) -> Table:
        """The TCP options that the SYNs in `segments` offer."""
        return self.table("syns")

    @property
    def cwnd(self) -> Table:
        """A row for each change of a sender's congestion state."""
        return self.table("cwnd")

    @property
    def rto(self) -> Table:
        """A row for each change of a sender's retransmission timer."""
        return self.table("rto")

    @property
    def rtt(self) -> Table:
        """A row for each round-trip sample of a sender."""
        return self.table("rtt")

    @property
    def queue(self) -> Table:
        """A row for each change of the length of a queue."""
        return self.table("queue")

    @property
    def drops(self) -> Table:
        """A row for each packet that a queue or a host dropped, or that a link lost."""
        return self.table("drops")

    def crossings(
        self,
        flow: str | None = None,
        direction: str | None = None,
        *,
        start: float | None = None,
        end: float | None = None,
    ) -> list[Crossing]:
        """Return the crossings: when a segment had no ACK within the RTO, and what the sender did.

        Parameters
        ----------
        flow, direction
            The flow, by default the first, and its `forward` or `reverse` direction.
        start, end
            The span of the returned crossings [s]. By default, all crossings are returned.

        Raises
        ------
        RunError
            If the run lacks `rto` or `rtt`.
        ValueError
            If the run has no such flow.

        Examples
        --------
        >>> import netspurt as ns
        >>> run = ns.load("early-timeout").run()
        >>> [round(one.t, 3) for one in run.crossings() if one.spurious]
        [8.954]
        """
        from netspurt.analysis.crossings import crossings
        from netspurt.pictures.view import View, first_flow, pick

        rto, rtt = self.table("rto"), self.table("rtt")
        shown = flow or first_flow(self, "rto")
        own = {"flow": pick(rto, "flow", shown, "flow"), "direction": direction or "forward"}
        sender = self.flows.where(**own)["from"].tolist()
        segments, sent = self.tables.get("segments"), None
        if segments is not None and sender and sender[0] in segments["node"]:
            sent = segments.where(node=sender[0], way="out", kind="retransmission", **own)
        found = crossings(rto.where(**own), rtt.where(**own), sent)
        view = View(start=start, end=end)
        low, high = view.start or -math.inf, math.inf if view.end is None else view.end
        return [crossing for crossing in found if low <= crossing.t <= high]

    def timelines(self) -> dict[str, Timeline]:
        """Return how links change during the run: the timeline of each, by the links' names.

        Links are left out if only their duplicates change. The result is empty if the code of one
        of the run's algorithms is missing.

        Examples
        --------
        >>> import netspurt as ns
        >>> run = ns.load("handover-dead").replace({"stop": "1 s"}).run()
        >>> [(one.at_ns, one.dead_ns) for one in run.timelines()["space"].forward.outages]
        [(10000000000, 3000000000)]
        """
        return dict(self._timelines)

    @cached_property
    def _timelines(self) -> dict[str, Timeline]:
        """The timelines. They are read once, because each picture shows when links send nothing."""
        from netspurt.timelines import read_followed

        known = dict(self._code)
        if self.folder is not None:
            in_folder = {name: self.folder / Path(name).name for name in files_named(self.scenario)}
            known |= {name: read_code(file) for name, file in in_folder.items() if file.is_file()}
        try:
            scenario = _core.Scenario(SCENARIO, self.scenario, list(known.items()))
        except _core.ScenarioError:
            # A scenario cannot be read if the code of one of its algorithms is missing.
            return {}
        names = scenario.changing_links()
        return {name: read_followed(scenario.link_changes(name), name) for name in names}

    @property
    def plot(self) -> RunPlots:
        """The run's plots: `run.plot.time_sequence("picture.png")`."""
        from netspurt.plots import RunPlots

        return RunPlots(self)

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write the run to a new folder.

        Raises
        ------
        RunError
            If the run was opened from a folder.
        FileExistsError
            If a file or a folder of this name exists.
        OSError
            If the folder cannot be written. In that case, no part of the folder is left.
        """
        if self._results is None:
            raise RunError(f"this run is already saved in {self.folder}: copy that folder")
        with new_folder(folder) as partial:
            self._results.save(
                str(partial),
                title=self.title,
                source=self.source,
                seed=self.seed,
                scenario=self.scenario,
                algorithms=[astuple(origin) for origin in self.algorithms],
                code=self._code,
            )
            seal(partial)
        return Path(folder)


def _no_shims(scenario: str) -> str:
    """Return why a run of this scenario has no table `shims`.

    A shim is a retransmission timer between a host's TCP and the path.
    """
    parts = tomllib.loads(scenario)
    named = [*parts.get("flows", {}).values(), *parts.get("populations", {}).values()]
    shims = [one.get("shim", "off") for one in named]
    if all(shim in ("off", ["off", "off"]) for shim in shims):
        return "this run has no shims: add `shim` to a flow of the kernel, and run it live"
    return "no shim of this run retransmitted anything, so the run has no table 'shims'"


def open_run(folder: str | os.PathLike[str]) -> Run:
    """Open a run that was saved.

    Raises
    ------
    RunError
        If the folder has no finished run, or if the run is damaged or has the format of another
        version.
    """
    from netspurt.timelines.followed import is_followed, use_of_followed

    folder = Path(folder)
    if folder.suffix == ".toml" and folder.is_file():
        if is_followed(folder):
            raise RunError(use_of_followed(str(folder)))
        raise RunError(
            f"{folder} is a scenario, not a run: make a run with `netspurt run {folder}`"
        )
    manifest = _manifest(folder)
    try:
        _check_files(folder, manifest)
        tables = {
            name: Table(_core.Table.read(name, str(folder / f"{name}.parquet")))
            for name in manifest.tables
        }
        for name, rows in manifest.tables.items():
            if len(tables[name]) != rows:
                raise RunError(
                    f"{folder / MANIFEST} is damaged: `tables.{name}` = {rows}, and the file has "
                    f"{counted(len(tables[name]), 'row')}"
                )
        scenario = (folder / SCENARIO).read_text(encoding="utf-8")
        live = LiveReport.load(folder / LIVE) if LIVE in manifest.files else None
    except TypedError as error:
        raise RunError(f"{folder / LIVE} is damaged: {error}") from error
    except OSError as error:
        raise RunError(f"{folder} is damaged: {error}") from error
    return Run(
        title=manifest.title,
        source=manifest.source,
        seed=manifest.seed,
        stop_ns=manifest.stop_ns,
        digest=manifest.digest,
        flows_digest=manifest.flows_digest,
        version=manifest.netspurt,
        scenario=scenario,
        tables=tables,
        folder=folder,
        live=live,
        algorithms=manifest.algorithms,
    )


@dataclass(frozen=True)
class Manifest:
    """The content of `run.json`: the properties of the run, its files, and their SHA-256.

    `tables` has the number of rows of each table, and `captures` the file of each spied node.
    `nodes` has the address of each node, and `flows` the address and the port of both ends.
    """

    format: int
    netspurt: str
    title: str
    source: str
    seed: int
    stop_ns: int
    digest: str
    flows_digest: str
    tables: dict[str, int]
    files: dict[str, str]
    captures: dict[str, str] = field(default_factory=dict)
    nodes: dict[str, str] = field(default_factory=dict)
    flows: dict[str, dict[str, str]] = field(default_factory=dict)
    algorithms: list[Origin] = field(default_factory=list)
    sha256: str = ""


def seal(folder: Path) -> None:
    """Write the checksum of `run.json` into `run.json`, as the last step of making a run folder."""
    file = folder / MANIFEST
    replace_file(file, sealed(json.loads(file.read_bytes())), folder / f".{MANIFEST}.partial")


def _check_files(folder: Path, manifest: Manifest) -> None:
    """Check every file of a run, including captures, against the checksums in its manifest.

    Raises
    ------
    RunError
        If a file is damaged or a symbolic link, or a table or the scenario has no checksum.
    OSError
        If a file cannot be read.
    """
    read = [SCENARIO, *(f"{table}.parquet" for table in manifest.tables)]
    for name in dict.fromkeys([*read, *manifest.files]):
        refuse_link(folder / name, "run", RunError)
        if _sha256(folder / name) != manifest.files.get(name):
            raise RunError(f"{folder / name} is damaged: it differs from what the run wrote")


def _manifest(folder: Path) -> Manifest:
    """Return the content of `run.json`, after a check that it is complete and undamaged."""
    file = folder / MANIFEST
    refuse_link(file, "run", RunError)
    try:
        content = file.read_bytes()
        values = parse(content)
    except (FileNotFoundError, NotADirectoryError):
        if (folder / "sweep.json").is_file():
            raise RunError(
                f"{folder} has a sweep, which keeps figures and no runs: make a run with "
                "`netspurt run SCENARIO --out DIR`"
            ) from None
        missing = "is not a folder" if folder.exists() else "does not exist"
        mistake = "has no finished run" if folder.is_dir() else missing
        fix = "make a run with `netspurt run SCENARIO --out DIR`"
        raise RunError(f"{folder} {mistake}: {fix}") from None
    except OSError as error:
        raise RunError(f"{folder} cannot be read: {error.strerror}") from error
    except TypedError as error:
        raise RunError(f"{file} is damaged: {error}") from error
    if isinstance(values, dict) and values.get("format") != FORMAT:
        raise RunError(
            f"{folder} was written by netspurt {values.get('netspurt')} in another format: "
            "run its scenario.toml again"
        )
    try:
        manifest = read(Manifest, values)
    except TypedError as error:
        raise RunError(f"{file} is damaged: {error}") from error
    for key in ("seed", "stop_ns"):
        if getattr(manifest, key) < 0:
            raise RunError(f"{file} is damaged: `{key}` is below zero")
    strange = [name for name in manifest.tables if not name.isidentifier()]
    if strange:
        raise RunError(f"{file} is damaged: no table is called {strange[0]!r}")
    if not is_sealed(content):
        raise RunError(f"{file} is damaged: its checksum `sha256` does not match its text")
    return manifest


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
