"""Prints how many samples a timer needs to follow a change of the probes' length.

The timer is replayed, which means that it is applied to recorded delays.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netspurt.cli.output import columns, paint, width, wrapped
from netspurt.cli.programs import Form
from netspurt.wording import number

if TYPE_CHECKING:
    from netspurt.analysis import Adaptation as Followed
    from netspurt.timers import Replay

Adaptation = Annotated[
    bool,
    typer.Option(
        "--adaptation",
        help="For probes in bursts of two lengths: print how many samples of a new length each "
        "timer needs to exceed the delays of this length.",
    ),
]

#: Lengths come in bursts if on average at least `_LEAST` consecutive probes have the same length.
_LEAST = 2


#: For each replayed recording, a dictionary. It has the names of the timers, and how each timer
#: followed each change of length.
Adapted = list[tuple["Replay", dict[str, list["Followed"]]]]


def adapted(replays: list[Replay]) -> Adapted:
    """Return how each timer followed the changes of length in each recording.

    Raises
    ------
    ValueError
        If a recording has no lengths, or they do not come in bursts.
    """
    return [(replay, _changes(replay)) for replay in replays]


def tell_adaptations(found: Adapted, form: Form) -> None:
    """Print, for each timer, how many samples it needed to exceed the delays of a new length."""
    if not form.for_people:
        told = [_data(replayed, changes) for replayed, changes in found]
        form.print(told, (row for data in told for row in _rows(data)))
        return
    for place, (replayed, changes) in enumerate(found):
        for line in [*([""] if place else []), *_lines(replayed, changes)]:
            typer.echo(line)


def _changes(replayed: Replay) -> dict[str, list[Followed]]:
    """Return how each timer followed each change of length. The keys are the timers' names."""
    from netspurt.analysis import adaptations

    octets = replayed.delays.wire_bytes
    if not octets.all():
        raise ValueError(
            f"{replayed.delays.name}: the lengths of probes are not known: record with "
            "`netspurt probe --length bursts:8`"
        )
    found = {
        one.estimator: adaptations(octets, replayed.delays.rtt_s, one.waits)
        for one in replayed.algorithms
    }
    changes = len(next(iter(found.values())))
    if changes == 0:
        raise ValueError(
            f"{replayed.delays.name}: all probes have one length: record with `netspurt probe "
            "--length bursts:8`"
        )
    if len(octets) < _LEAST * (changes + 1):
        raise ValueError(
            f"{replayed.delays.name}: the length changes from probe to probe: record with "
            "`netspurt probe --length bursts:8`"
        )
    return found


def _data(replayed: Replay, changes: dict[str, list[Followed]]) -> dict[str, Any]:
    numbers = replayed.delays.number
    return {
        "recording": replayed.delays.name,
        "estimators": [
            {
                "estimator": name,
                "changes": [
                    {
                        "first_probe": int(numbers[one.start]),
                        "from_octets": one.octets[0],
                        "to_octets": one.octets[1],
                        "samples": one.samples,
                    }
                    for one in found
                ],
            }
            for name, found in changes.items()
        ],
    }


def _rows(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for one in data["estimators"]:
        for change in one["changes"]:
            yield {
                "recording": data["recording"],
                "estimator": one["estimator"],
                **change,
            }


def _lines(replayed: Replay, changes: dict[str, list[Followed]]) -> Iterator[str]:
    pairs = sorted({one.octets for found in changes.values() for one in found})
    yield paint(
        f"{replayed.delays.name}: samples until the timer exceeds the delays of a new length",
        "bold",
    )
    counts = [sum(one.octets == pair for one in next(iter(changes.values()))) for pair in pairs]
    heads = [f"{a} to {b} B, {number(n)} times" for (a, b), n in zip(pairs, counts, strict=True)]
    rows = [["", *heads]]
    rows += [
        [name, *(_cell([one.samples for one in found if one.octets == pair]) for pair in pairs)]
        for name, found in changes.items()
    ]
    lines = columns(rows, right=range(1, len(rows[0])))
    yield paint(next(lines), "dim")
    yield from lines
    note = (
        "Each cell has the median number of samples, and the range in brackets. 0: the timer "
        "exceeded all delays of the new length from the start. never: the timer was still below "
        "the last of these delays, or no probe of the new length was answered."
    )
    yield from wrapped([[paint(note, "dim")]], [width(100)])


def _cell(samples: list[int | None]) -> str:
    """Return the median and the range of some counts.

    A count is `None` if the timer was below the last delay of the new length, or if there was no
    such delay. `None` counts as the largest value.
    """
    ordered = sorted(samples, key=lambda n: (n is None, n))
    low, middle, high = (_word(ordered[place]) for place in (0, (len(ordered) - 1) // 2, -1))
    return middle if low == high else f"{middle} ({low} .. {high})"


def _word(samples: int | None) -> str:
    return "never" if samples is None else str(samples)
