"""The section of a recording: timers replayed on it, in words and pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from netspurt.pictures import Picture
from netspurt.pictures.replay import Judged, histogram, pareto, timeline
from netspurt.report.parts import Flow, Group, Link, Panel, Part, Place, Rows, Section, Side
from netspurt.report.repairs import MOST_ROWS
from netspurt.report.words import instant, span
from netspurt.timers import Algorithm, Replay
from netspurt.wording import plain

#: The pictures below the picture over time, each with its heading.
_APART: dict[str, tuple[str, Callable[[Judged], Picture]]] = {
    "apart-histogram": ("Distributions", histogram),
    "apart-pareto": ("Spurious retransmissions against the timer", pareto),
}


def replay_section(replay: Replay, name: str, lines: Sequence[str], path: str) -> Section:
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
    """
    part = Part(
        name=name,
        lines=[plain(line) for line in lines],
        places=[_spurious(replay, one) for one in _best(replay)],
        links=[Link("the recording", path)],
    )
    return Section(plain(name), [part], groups=list(_groups(replay)))


def _groups(replay: Replay) -> Iterator[Group]:
    """Yield the picture over time, and the other pictures that can be drawn from the replay."""
    over = Panel("timeline", "Delays and timers", timeline(replay))
    yield _group(over, replay.delays.name, "time")
    if not np.isnan(replay.delays.rtt_s).all():
        for kind, (title, drawn) in _APART.items():
            yield _group(Panel(kind, title, drawn(replay)), replay.delays.name, "")


def _group(panel: Panel, name: str, x: str) -> Group:
    return Group([Side(name, [Flow(name, [panel])])], x)


def _best(replay: Replay) -> list[Algorithm]:
    """Return up to three timers of the front that have spurious retransmissions."""
    return [one for one in replay.front() if one.spurious][:3]


def _spurious(replay: Replay, one: Algorithm) -> Rows:
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
    return Rows(
        f"Spurious retransmissions of {one.estimator}: {len(early):,}",
        ("probe" if counted else "sent", "delay", "timer"),
        rows,
        (0, 1, 2),
        places,
        len(early) - len(rows),
    )
