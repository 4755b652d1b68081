"""The section of a recording: timers replayed on it, in words and pictures.

The front of the replayed timers has the timers that no other timer beats. A timer beats another one
if it is better in one of two figures and at least as good in the other. The figures are the number
of spurious retransmissions and the mean timer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from netspurt.pictures.replay import MOST_OF_PAGE, histogram, pareto, timeline
from netspurt.report.parts import (
    MOST_ROWS,
    Flow,
    Group,
    Link,
    Panel,
    Part,
    Place,
    Rows,
    Section,
    Side,
)
from netspurt.report.words import instant, span
from netspurt.timers import Algorithm, Replay
from netspurt.wording import plain


def replay_section(
    replay: Replay, name: str, lines: Sequence[str], path: str, pick: str = ""
) -> Section:
    """Return the section of a recording.

    Parameters
    ----------
    replay
        The replay of timers on the recording.
    name
        The name of the recording on the page.
    lines
        The lines that `netspurt replay` prints of the recording.
    path
        The file of the recording.
    pick
        The timer that is recommended. If `replay` does not have this timer, it is replayed as well.
    """
    replay = replay.with_estimators([pick] if pick else [])
    part = Part(
        name=name,
        answer=plain(_answer(lines)),
        lines=[plain(line) for line in lines],
        places=[_spurious(replay, one, pick) for one in _timers_with_tables(replay, pick)],
        links=[Link("the recording", path)],
    )
    return Section(plain(name), [part], groups=list(_groups(replay, pick)))


#: The beginning of the advice if a recording cannot decide.
_UNDECIDED = "This recording cannot decide"


def _answer(lines: Sequence[str]) -> str:
    """Return the sentences of `lines` that recommend a setting for Linux, and a timer.

    If the recording cannot decide, return the sentences that say so.
    """
    undecided = next((line for line in lines if line.startswith(_UNDECIDED)), "")
    if undecided:
        return undecided
    starts = ("On a Linux server: ",), ("Take ", "None of these ")
    linux, take = (next((line for line in lines if line.startswith(s)), "") for s in starts)
    linux = linux.partition(" With QUIC")[0]
    told = [linux, re.split(r"(?<=[\w)]\.) ", take, maxsplit=1)[0]]
    computed = re.search(r"The value of (\S+ ms) was computed from these delays", linux)
    if computed and take.startswith("Take ") and not re.search(r"[Ii]ts constants? w", told[1]):
        told.append(
            f"The value of {computed[1]} is not recommended, because it was computed from this "
            "recording."
        )
    return " ".join(filter(None, told))


def _groups(replay: Replay, pick: str) -> Iterator[Group]:
    """Yield the picture over time, and the pictures of the distributions and of the front.

    The last two exist only if a probe was answered.
    """
    over = Panel("timeline", "Delays and timers", timeline(replay, pick, MOST_OF_PAGE))
    yield _group(over, replay.delays.name, "time")
    if not np.isnan(replay.delays.rtt_s).all():
        apart = histogram(replay, pick, MOST_OF_PAGE)
        yield _group(Panel("apart-histogram", "Distributions", apart), replay.delays.name, "")
        title, front = "Spurious retransmissions against the timer", pareto(replay, pick)
        yield _group(Panel("apart-pareto", title, front), replay.delays.name, "")


def _group(panel: Panel, name: str, x: str) -> Group:
    return Group([Side(name, [Flow(name, [panel])])], x)


def _timers_with_tables(replay: Replay, pick: str) -> list[Algorithm]:
    """Return the timers that have tables: the recommended timer, and up to three of the front.

    A timer of the front has a table only if it has spurious retransmissions.
    """
    best = [one for one in replay.front() if one.spurious and one.estimator != pick]
    return [*([replay[pick]] if pick else []), *best[:3]]


def _spurious(replay: Replay, one: Algorithm, pick: str) -> Rows:
    """Return a table of a timer's spurious retransmissions. Rows link to places in the picture."""
    delays = replay.delays
    with np.errstate(invalid="ignore"):
        early = np.flatnonzero(delays.rtt_s > one.waits)
    counted = delays.send_times == "unknown"
    rows, places = [], []
    for n in early[:MOST_ROWS].tolist():
        at = float(n) if counted else float(delays.sent_s[n])
        delay, timer = float(delays.rtt_s[n]), float(one.waits[n])
        rows.append((f"{n:,}" if counted else instant(at), span(delay), span(timer)))
        places.append(Place(0, delays.name, at, delay))
    told = one.estimator + (", which is recommended" if one.estimator == pick else "")
    return Rows(
        f"Spurious retransmissions of {told}: {len(early):,}",
        ("probe" if counted else "sent", "delay", "timer"),
        rows,
        (0, 1, 2),
        places,
        len(early) - len(rows),
        f"{told}, retransmits no probe spuriously.",
        elsewhere="`netspurt replay --out FOLDER` writes all rows.",
    )
