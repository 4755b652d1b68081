"""The output of `netspurt compare` for two runs with populations.

A population is many connections of one kind. Each of its connections in one run is compared with
the same connection in the other run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from netspurt.cli.opening import is_run
from netspurt.cli.output import columns
from netspurt.wording import counted, number

if TYPE_CHECKING:
    from netspurt.analysis.paired import Pairs
    from netspurt.captures import Explained
    from netspurt.run import Run

#: The sums of a population that are shown for both runs.
_SUMS = ("complete", "retransmissions", "spurious", "timeouts")


def paired(runs: list[Run | Explained]) -> list[Pairs] | None:
    """Return the pairs of connections of each population that both runs have.

    The result is `None` if a run is a capture, has flows, or has no populations.

    Raises
    ------
    ValueError
        If the two runs have no population of the same name.
    """
    from netspurt.analysis.paired import pairs_of

    first, second = runs
    if not (is_run(first) and is_run(second)):
        return None
    if any(len(run.flows) or "populations" not in run.tables for run in (first, second)):
        return None
    names = [run.populations["population"].tolist() for run in (first, second)]
    both = [name for name in names[0] if name in names[1]]
    if not both:
        first_has, second_has = (", ".join(some) for some in names)
        raise ValueError(
            f"no population is in both runs: the first has {first_has}, the second {second_has}"
        )
    return [pairs_of(first, second, name) for name in both]


def as_data(pairs: list[Pairs]) -> list[dict[str, Any]]:
    """Return the comparison of populations as data."""
    return [
        {
            "population": one.population,
            "pairs": len(one.durations_s[0]),
            "unlike": one.unlike,
            "incomplete": list(one.incomplete),
            "difference_s": one.difference_s().data(),
            "shorter_same_longer": one.later.tolist(),
            "quantiles_s": {f"{share:g}": _known(a, b) for share, a, b in one.quantiles_s()},
        }
        for one in pairs
    ]


def lines(runs: list[Any], pairs: list[Pairs], names: list[str]) -> Iterator[str]:
    """Yield the comparison of populations as lines of text."""
    for one in pairs:
        count = len(one.durations_s[0])
        are = "connection that is" if count == 1 else "connections that are"
        yield f"{one.population}: {number(count)} {are} complete in both runs"
        if any(one.incomplete):
            counts = zip(one.incomplete, names, strict=True)
            missing = ", ".join(f"{number(count)} of {name}" for count, name in counts)
            yield f"left out, because they are not complete: {missing}"
        if one.unlike:
            unlike = f"{counted(one.unlike, 'connection')} of {names[0]}"
            verb = "is" if one.unlike == 1 else "are"
            same = "the same number, the same sizes and the same start"
            yield f"{unlike} {verb} not in {names[1]}: no connection of {names[1]} has {same}"
        yield ""
        rows: list[tuple[str, ...]] = [("duration", *names)]
        words = {0.5: "median", 0.9: "90 %", 0.99: "99 %"}
        rows += [(words[share], _ms(a), _ms(b)) for share, a, b in one.quantiles_s()]
        tables = [run.populations.where(population=one.population) for run in runs]
        rows += [(name, *(number(table[name][0]) for table in tables)) for name in _SUMS]
        yield from columns(rows, right=(1, 2))
        yield ""
        told = one.difference_s().scaled(1e3)
        shorter, same, longer = (number(each) for each in one.later)
        ends = f"95 % interval of the difference {told.low:+.1f} .. {told.high:+.1f} ms"
        if math.isnan(told.low):
            ends = "one connection gives" if count == 1 else f"{count} connections give"
            ends += " no interval"
        yield (
            f"in {names[1]} a connection takes {abs(told.value):.1f} ms "
            f"{'less' if told.value < 0 else 'more'} on average "
            f"({ends}). Of the connections, {shorter} are shorter, {longer} are longer, and {same} "
            "are the same to 1 %"
        )
        yield "durations: from the first SYN to the last acknowledgment of data"


def _known(*values: float) -> list[float | None]:
    return [None if math.isnan(value) else value for value in values]


def _ms(span_s: float) -> str:
    return "-" if math.isnan(span_s) else f"{1e3 * span_s:.1f} ms"
