"""Decides whether the results of a sweep are exact because nothing in it draws random numbers.

A sweep runs each combination of its values several times, with different seeds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from netspurt.analysis.grouping import Columns, seeds_change_nothing
from netspurt.sweep.folder import SweepFolder
from netspurt.toml_text import values_of

#: The keys of a scenario that may draw random numbers, or that run a case in real time.
_DRAWING = {
    "probability",
    "bit_error_rate",
    "bursts",
    "follows",
    "slots",
    "red",
    "pie",
    "fq-codel",
    "spread",
    "populations",
    "echo_probes",
    "draw",
    "endpoint",
    "programs",
}

#: The values with which a key of `_DRAWING` draws nothing.
_NOTHING = (0, "none", "0 s", "0 ms", "model")


def is_exact(folder: SweepFolder, cases: Columns) -> bool:
    """Return whether all runs of each combination are equal because nothing draws random numbers.

    Equal runs alone are no proof: rare losses may have had no effect in any of them. So the result
    is false if the scenario has a key that draws, or if the folder has no scenario.
    """
    return seeds_change_nothing(cases, folder.labels) and draws_nothing(folder)


def draws_nothing(folder: SweepFolder) -> bool:
    """Return whether the scenario of a sweep has no key that draws random numbers.

    The result is false if the folder has no scenario.
    """
    text = folder.scenario()
    return bool(text) and not any(_draws(values_of(text)))


def _draws(value: Any) -> Iterator[str]:
    """Yield the keys below a value that draw random numbers, including those that a sweep sets."""
    if isinstance(value, dict):
        for key, below in value.items():
            paths = below if isinstance(below, list) else [below]
            set_by_path = [path for path in paths if key == "path" and isinstance(path, str)]
            parts = {part for path in (key, *set_by_path) for part in path.split(".")}
            if parts & _DRAWING and below not in _NOTHING:
                yield key
            yield from _draws(below)
    elif isinstance(value, list):
        for below in value:
            yield from _draws(below)
