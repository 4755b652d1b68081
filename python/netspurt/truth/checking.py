"""Explains captures of a collection or a run, and compares the explanations with the truth.

A collection is a folder of cases with captures, which `make_collection` makes. The truth of a
capture is the cause and the verdict of each retransmission in it, from the tables of the run.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path

from netspurt.run import MANIFEST, open_run
from netspurt.truth.answers import Explainer, answers, match
from netspurt.truth.cases import TruthError
from netspurt.truth.labels import NodeRows, addresses, ends_of_connections, read_labels
from netspurt.truth.ledger import sums
from netspurt.truth.making import LABELS, TRUTH
from netspurt.truth.pcapng import CollectionError, read_packets
from netspurt.truth.scoring import Score
from netspurt.wording import unknown_name

#: The file in a run folder with the addresses and names of the hosts on which programs ran.
HOSTS = "hosts"

#: A function that takes the number of finished cases and the number of all cases.
Progress = Callable[[int, int], None]


def check_collection(
    folder: str | os.PathLike[str],
    explainer: Explainer,
    *,
    only: str = "*",
    progress: Progress | None = None,
) -> Score:
    """Explain the captures of a collection and compare the explanations with the truth.

    Parameters
    ----------
    folder
        A folder of cases, as `make_collection` makes it.
    explainer
        A function that explains the capture in a file.
    only
        A pattern of names of cases, such as `tails-*`.
    progress
        A function that is called after each case.

    Raises
    ------
    TruthError
        If the folder was not made by `make_collection`, or has no case that matches the pattern
        `only`.
    """
    folder = Path(folder)
    found = sorted(folder.glob(f"*/{TRUTH}"))
    cases = [file.parent for file in found if fnmatchcase(file.parent.name, only)]
    if not found:
        raise TruthError(
            f"{folder} is neither a folder of `netspurt truth make` nor a run folder with captures"
        )
    if not cases:
        names = [file.parent.name for file in found]
        raise TruthError(unknown_name("case", only, names, where=f"of {folder}", most=_NAMED))
    score = Score()
    for done, case in enumerate(cases, 1):
        _check(score, case, explainer)
        if progress is not None:
            progress(done, len(cases))
    return score


def check_run(folder: str | os.PathLike[str], explainer: Explainer) -> Score:
    """Explain the captures of a run, and compare the explanations with the run's own tables.

    Parameters
    ----------
    folder
        A run folder with captures and the table `segments`.
    explainer
        A function that explains the capture in a file.

    Raises
    ------
    TruthError
        If the run kept no capture or no table `segments`, or if its tables are not the truth: the
        live run is not valid, its labels differ from the kernel's counters, or a capture has other
        packets than the tables.
    OSError, RunError
        If a file cannot be read.
    """
    folder = Path(folder)
    run = open_run(folder)
    manifest = json.loads((folder / MANIFEST).read_bytes())
    captures = manifest.get("captures") or {}
    if not captures or "segments" not in run.tables:
        raise TruthError(
            f"{folder}: this run kept no capture with the table `segments`: run it with "
            "--set record.capture=true --set 'record.tables=[\"segments\"]'"
        )
    if run.live is not None and (why_not := run.live.why_not()):
        raise TruthError(f"{folder}: the tables of this run are not the truth: {why_not}")
    if wrong := [str(one) for one in sums(run) if not one.agrees]:
        raise TruthError(f"{folder}: the labels differ from the kernel's counters: {wrong[0]}")
    ends = manifest["flows"] or ends_of_connections(run, folder / HOSTS)
    score = Score()
    for node, name in captures.items():
        file, rows = folder / name, NodeRows(run, node)
        try:
            packets = read_packets(file)
            rows.check(packets)
        except CollectionError as error:
            raise TruthError(f"{file}: {error}") from error
        labels = list(rows.labels(name, range(len(packets)), packets, ends))
        own = addresses(run, ends, node)
        score.add(name, match(own, labels, answers(explainer(file))), options_cut=False)
    return score


#: The maximum number of cases that an error names.
_NAMED = 5


def _check(score: Score, case: Path, explainer: Explainer) -> None:
    truth = json.loads((case / TRUTH).read_bytes())
    labels = read_labels(case / LABELS)
    for capture in truth["captures"]:
        file = case / capture["file"]
        own = [label for label in labels if label.capture == file.name]
        matched = match(capture["addresses"], own, answers(explainer(file)))
        name = f"{case.name}/{file.name}"
        score.add(name, matched, options_cut=capture["without_options"])
