"""The events of a trace of qlog as columns: each event has an instant, a name and data.

A trace has the events of one connection at one node.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netspurt.qlog.forms import QlogForm
from netspurt.qlog.texts import TEXT, Texts, member, milliseconds, of, quoted

#: The order of kinds at one instant: first arrivals, then the sender's timers, changes and losses,
#: then the packets that are sent.
_RANKS = ("received", "timer", "rto", "metrics", "state", "lost", "sent")


@dataclass(frozen=True)
class Events:
    """All events of one kind.

    Attributes
    ----------
    what
        The kind: a word of `netspurt.qlog.forms.EVENTS`.
    t_ns
        When the events happened [ns], shape (n,).
    data
        The data of the events as JSON objects, shape (n,).
    """

    what: str
    t_ns: NDArray[np.int64]
    data: Texts


def in_order(kinds: Sequence[Events], form: QlogForm) -> Texts:
    """Return the events as JSON objects in the order of time.

    Events of a kind without a name in the form are left out.
    """
    written = [kind for kind in kinds if kind.what in form.names and len(kind.t_ns)]
    if not written:
        return np.array([], dtype=TEXT)
    t = np.concatenate([kind.t_ns for kind in written])
    ranks = [np.full(len(kind.t_ns), _RANKS.index(kind.what)) for kind in written]
    names = [np.full(len(kind.t_ns), form.names[kind.what], TEXT) for kind in written]
    events = of(
        member("time", milliseconds(t)),
        member("name", quoted(np.concatenate(names))),
        member("data", np.concatenate([kind.data for kind in written])),
    )
    ordered: Texts = events[np.lexsort((np.arange(len(t)), np.concatenate(ranks), t))]
    return ordered
