"""Events of a trace: an instant, a name and data for each, as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netspurt.qlog.forms import Form
from netspurt.qlog.texts import TEXT, Texts, member, milliseconds, of, quoted

#: The order of events at one instant: what arrives comes before what it changes, and that before
#: what is sent.
_RANKS = ("received", "timer", "rto", "metrics", "state", "lost", "sent")


@dataclass(frozen=True)
class Events:
    """Events of one kind, a word of `netspurt.qlog.forms.EVENTS`.

    Attributes
    ----------
    what
        The kind.
    t_ns
        When they happened [ns], shape (n,).
    data
        Their data as JSON objects, shape (n,).
    """

    what: str
    t_ns: NDArray[np.int64]
    data: Texts


def in_order(kinds: Sequence[Events], form: Form) -> Texts:
    """Return all events as JSON objects in the order of time."""
    known = [one for one in kinds if one.what in form.names and len(one.t_ns)]
    if not known:
        return np.array([], dtype=TEXT)
    t = np.concatenate([one.t_ns for one in known])
    rank = np.concatenate([np.full(len(one.t_ns), _RANKS.index(one.what)) for one in known])
    names = np.concatenate([np.full(len(one.t_ns), form.names[one.what], TEXT) for one in known])
    data = np.concatenate([one.data for one in known])
    made = of(member("time", milliseconds(t)), member("name", quoted(names)), member("data", data))
    ordered: Texts = made[np.lexsort((np.arange(len(t)), rank, t))]
    return ordered
