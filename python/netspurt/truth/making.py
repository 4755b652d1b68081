"""Makes a collection: runs each case, and keeps its captures with their truth.

A collection is a folder of captures whose retransmissions have known causes. A case is a run of a
scenario with one TCP and one seed. The truth of a capture has a label for each retransmission in
it: the cause and the verdict, from the tables of the run.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from netspurt import _core
from netspurt.live import run_live
from netspurt.run import MANIFEST, SCENARIO, Run, open_run
from netspurt.stored import new_folder
from netspurt.truth.cases import Case
from netspurt.truth.labels import Label, NodeRows, addresses, write_labels
from netspurt.truth.ledger import drops, sums
from netspurt.truth.pcapng import CollectionError, read_packets, write_part
from netspurt.truth.views import views_of

#: The files of a case in addition to its captures.
LABELS, TRUTH = "truth.csv", "truth.json"

#: The file that describes the whole collection.
COLLECTION = "collection.json"

#: A function that takes the number of finished cases and the number of all cases.
Progress = Callable[[int, int], None]


@dataclass
class Collection:
    """The counts of a collection that was made.

    Attributes
    ----------
    cases, captures, retransmissions
        The numbers of kept cases, of their captures, and of retransmissions in these captures.
    left_out
        The cases that are not kept, each with the reason.
    causes
        The numbers of retransmissions by cause, in captures at the sender's side.
    """

    cases: int = 0
    captures: int = 0
    retransmissions: int = 0
    left_out: dict[str, str] = field(default_factory=dict)
    causes: Counter[str] = field(default_factory=Counter)

    def as_json(self) -> dict[str, Any]:
        """Return all counts."""
        return {**vars(self), "causes": dict(self.causes)}


@dataclass(frozen=True)
class Kept:
    """The result of one case: the kept files, or the reason why no file is kept."""

    case: Case
    captures: int = 0
    labels: Sequence[Label] = ()
    why_not: str = ""


def make_collection(
    folder: str | os.PathLike[str],
    cases: Sequence[Case],
    *,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Collection:
    """Run cases and keep their captures and truth in a new folder.

    A case is left out if its live run is not valid, or if a capture has other packets than the
    tables. A live case is also left out if the numbers of its retransmissions by cause do not agree
    with the kernel's counters.

    Parameters
    ----------
    folder
        The folder to create. It gets a folder for each case.
    cases
        The cases.
    jobs
        The number of cases that run at the same time.
    progress
        A function that is called after each case with the number of finished cases and the number
        of all cases.

    Raises
    ------
    LiveError
        If the machine does not allow live runs.
    FileExistsError
        If a file or a folder with this name exists.
    """
    collection = Collection()
    with new_folder(folder) as partial:
        with tempfile.TemporaryDirectory(dir=partial) as scratch:
            for done, kept in enumerate(_all(partial, Path(scratch), cases, jobs), 1):
                _count(collection, kept)
                if progress is not None:
                    progress(done, len(cases))
        content = {"netspurt": _core.__version__, **collection.as_json()}
        (partial / COLLECTION).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return collection


def _all(folder: Path, scratch: Path, cases: Sequence[Case], jobs: int) -> Iterator[Kept]:
    """Run all cases, and yield their results in the order of the cases."""
    pool = ThreadPoolExecutor(jobs)
    try:
        yield from pool.map(lambda case: _make(folder, scratch, case), cases)
    finally:
        pool.shutdown(cancel_futures=True)


def _count(collection: Collection, kept: Kept) -> None:
    if kept.why_not:
        collection.left_out[kept.case.name] = kept.why_not
        return
    collection.cases += 1
    collection.captures += kept.captures
    collection.retransmissions += len(kept.labels)
    collection.causes.update(label.cause for label in kept.labels if label.side == "sender")


def _make(folder: Path, scratch: Path, case: Case) -> Kept:
    """Run a case, and keep its captures and truth in its folder if the case is not left out."""
    with tempfile.TemporaryDirectory(dir=scratch) as case_scratch:
        run = _run(case, Path(case_scratch) / "run")
        why_not = run.live.why_not() if run.live is not None else ""
        if not why_not:
            try:
                return _keep(folder / case.name, case, run)
            except CollectionError as error:
                shutil.rmtree(folder / case.name, ignore_errors=True)
                why_not = str(error)
        return Kept(case, why_not=why_not)


def _run(case: Case, folder: Path) -> Run:
    """Run a case into a new folder, and return the run."""
    scenario = case.scenario()
    if case.live:
        return run_live(scenario, folder, offload=case.offload)
    scenario.run().save(folder)
    return open_run(folder)


def _keep(folder: Path, case: Case, run: Run) -> Kept:
    """Write the captures and the truth of a run.

    Raises
    ------
    CollectionError
        If captures and tables disagree.
    """
    assert run.folder is not None
    manifest = json.loads((run.folder / MANIFEST).read_bytes())
    checked = sums(run)
    wrong = [compared for compared in checked if not compared.agrees]
    if wrong:
        return Kept(case, why_not="; ".join(map(str, wrong)))
    labels: list[Label] = []
    captures: list[dict[str, Any]] = []
    folder.mkdir()
    for node, file in manifest["captures"].items():
        packets, rows = read_packets(run.folder / file), NodeRows(run, node)
        rows.check(packets)
        for view in views_of(case.name):
            name = view.file(node)
            kept = view.kept(len(packets), f"{case.name}/{name}")
            snap_bytes = view.snap_bytes(packets[0].octets if packets else b"")
            write_part(run.folder / file, folder / name, kept, snap_bytes)
            labels += rows.labels(name, kept, packets, manifest["flows"])
            missed = sorted(set(range(len(packets))) - set(kept))
            captures.append(
                {
                    "file": name,
                    "node": node,
                    "addresses": addresses(run, manifest["flows"], node),
                    "packets": len(kept),
                    "snap_bytes": snap_bytes,
                    "without_options": view.without_options,
                    "missed_packets": [number + 1 for number in missed],
                }
            )
    write_labels(folder / LABELS, labels)
    (folder / SCENARIO).write_text(run.scenario, encoding="utf-8")
    content = {
        "case": case.name,
        "path": case.path,
        "stack": case.stack,
        "live": case.live,
        "kernel": run.live.kernel if run.live is not None else None,
        "offload": case.offload,
        "captures": captures,
        "sums": [asdict(compared) for compared in checked],
        "drops": drops(run),
    }
    (folder / TRUTH).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return Kept(case, len(captures), labels)
