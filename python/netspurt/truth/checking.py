"""Checks explanations: each capture of a collection is explained and compared with its truth."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path

from netspurt.truth.answers import Explainer, answers, match
from netspurt.truth.cases import TruthError
from netspurt.truth.labels import read_labels
from netspurt.truth.making import LABELS, TRUTH
from netspurt.truth.scoring import Score
from netspurt.wording import unknown_name

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
        If the folder was not made by `make_collection`, or has no such case.
    """
    folder = Path(folder)
    found = sorted(folder.glob(f"*/{TRUTH}"))
    cases = [file.parent for file in found if fnmatchcase(file.parent.name, only)]
    if not found:
        raise TruthError(
            f"{folder} was not made by `netspurt truth make`, which makes captures to check"
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


#: The maximum number of cases that an error names.
_NAMED = 5


def _check(score: Score, case: Path, explainer: Explainer) -> None:
    truth = json.loads((case / TRUTH).read_bytes())
    labels = read_labels(case / LABELS)
    for capture in truth["captures"]:
        file = case / capture["file"]
        own = [label for label in labels if label.capture == file.name]
        matched = match(file, capture["addresses"], own, answers(explainer(file)))
        name = f"{case.name}/{file.name}"
        score.add(name, matched, options_cut=capture["without_options"])
