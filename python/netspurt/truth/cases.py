"""The cases of a collection of captures (`make_collection`): each path with each TCP.

`shelf/truth/paths` has a scenario for each kind of path. The scenario's `[sweep]` varies the path.
`shelf/truth/stacks.toml` has the TCPs: the kernel's, and simulated ones.
"""

from __future__ import annotations

import hashlib
import itertools
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from netspurt.scenario import Scenario, load
from netspurt.sweep import Sweep
from netspurt.wording import unknown_name

#: The paths and the TCPs that are installed with netspurt.
SHELF = Path(__file__).parent.parent / "shelf" / "truth"

#: The flow, or the group of flows, that each path has.
FLOW = "transfer"

#: The only key of a TCP in `stacks.toml` that is not a key of a flow.
_OFFLOAD = "offload"


class TruthError(ValueError):
    """A collection cannot be made or checked as requested."""


@dataclass(frozen=True)
class Case:
    """One run of a collection: a path with one choice of its varied values, a TCP, and a seed.

    Attributes
    ----------
    path, number
        The path's name, and the number of the choice in the path's sweep.
    stack
        The TCP's name.
    values
        The TCP's settings: the full name of each key in the scenario, with dots, and its value.
    live
        True if the TCP is the kernel's.
    offload
        True if the hosts' devices take many segments at a time (segmentation offload).
    seed
        The seed in the case's name. The seed of the run is computed from this name.
    """

    path: str
    number: int
    stack: str
    values: Mapping[str, Any]
    live: bool
    offload: bool
    seed: int

    @property
    def name(self) -> str:
        """The name of the case, which is also the name of its folder."""
        return f"{self.path}-{self.number:02}-{self.stack}-s{self.seed}"

    def scenario(self) -> Scenario:
        """Return the scenario of the run."""
        digest = hashlib.sha256(self.name.encode()).digest()
        seed = int.from_bytes(digest[:7], "big")
        return _sweep(self.path).scenario(self.number).replace({**self.values, "seed": seed})


def cases(
    count: int, *, live: bool, seed: int = 1, only: str = "*", stacks: str = "*"
) -> list[Case]:
    """Return the first cases of a collection. The paths alternate.

    The combinations of a path's choices and TCPs have a fixed order that looks random. So the first
    combinations already contain many of the path's choices and many of the TCPs. When all
    combinations are used, they are repeated with the next seed, in another order.

    Parameters
    ----------
    count
        The number of cases.
    live
        True for the kernel's TCPs, false for simulated ones.
    seed
        The first seed.
    only, stacks
        Patterns of names of paths and of TCPs, such as `tail*`.

    Raises
    ------
    TruthError
        If no path or no TCP has such a name.
    """
    paths = [name for name in path_names() if fnmatchcase(name, only)]
    if not paths:
        raise TruthError(unknown_name("path", only, path_names()))
    chosen = {
        name: settings for name, settings in _stacks(live).items() if fnmatchcase(name, stacks)
    }
    if not chosen:
        raise TruthError(unknown_name("TCP", stacks, _stacks(live)))
    ordered = [_endless(path, chosen, live, seed) for path in paths]
    alternating = (next(of_path) for of_path in itertools.cycle(ordered))
    return list(itertools.islice(alternating, count))


def path_names() -> list[str]:
    """Return the names of all paths, sorted."""
    return sorted(file.stem for file in (SHELF / "paths").glob("*.toml"))


def _endless(path: str, stacks: Mapping[str, Any], live: bool, seed: int) -> Iterator[Case]:
    """Yield the cases of a path endlessly: all combinations with one seed, then the next seed."""
    numbers = range(len(_sweep(path)))
    for seed_of_round in itertools.count(seed):
        combinations = [
            _case(path, number, name, settings, live, seed_of_round)
            for number, (name, settings) in itertools.product(numbers, stacks.items())
        ]
        yield from sorted(
            combinations, key=lambda case: hashlib.sha256(case.name.encode()).digest()
        )


def _case(  # noqa: PLR0913 - a case has all these parts
    path: str, number: int, stack: str, settings: Mapping[str, Any], live: bool, seed: int
) -> Case:
    values = {f"flows.{FLOW}.{key}": value for key, value in settings.items() if key != _OFFLOAD}
    tcp = values.pop(f"flows.{FLOW}.tcp", {})
    values |= {f"flows.{FLOW}.tcp.{key}": value for key, value in tcp.items()}
    if live:
        values[f"flows.{FLOW}.endpoint"] = "kernel"
    return Case(path, number, stack, values, live, bool(settings.get(_OFFLOAD)), seed)


@cache
def _sweep(path: str) -> Sweep:
    return Sweep.of(load(SHELF / "paths" / f"{path}.toml"))


@cache
def _stacks(live: bool) -> dict[str, dict[str, Any]]:
    text = (SHELF / "stacks.toml").read_text(encoding="utf-8")
    stacks: dict[str, dict[str, Any]] = tomllib.loads(text)["kernel" if live else "model"]
    return stacks
