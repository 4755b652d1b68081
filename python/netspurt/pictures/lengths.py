"""The picture of delay against datagram length: a point for each answer, and fitted lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from netspurt.pictures.marks import Floats, Ink, Mark, Picture, Points, Polyline, Scale
from netspurt.wording import counted

#: The colours (inks) of the lines. Each line belongs to a class (a range) of lengths.
_LINES: tuple[Ink, ...] = ("blue", "red")


class RecordingWithLengths(Protocol):
    """A recording of probes with their lengths."""

    @property
    def name(self) -> str:
        """The name of the recording."""

    @property
    def wire_bytes(self) -> NDArray[np.uint32]:
        """The octets of each probe; zero if they are unknown."""

    @property
    def rtt_s(self) -> Floats:
        """The delays in seconds; NaN if lost."""

    @property
    def late_replies(self) -> NDArray[np.bool_]:
        """True for each probe whose reply arrived after the tool had stopped waiting."""


class LengthLine(Protocol):
    """A fitted line: delay against length, for one class of lengths."""

    @property
    def shortest(self) -> int:
        """The smallest length of the class."""

    @property
    def longest(self) -> int:
        """The largest length of the class."""

    def at(self, octets: float) -> float:
        """Return the delay at a length, in seconds."""


def against_length(
    recording: RecordingWithLengths, lines: Sequence[LengthLine], *, what: str
) -> Picture:
    """Return a picture with a point for each answered probe of known length, and the lines.

    Parameters
    ----------
    recording
        The probes.
    lines
        The lines that were fitted to the delays of `recording`.
    what
        The label of the axis of delays.
    """
    known = ~np.isnan(recording.rtt_s) & (recording.wire_bytes > 0)
    late = known & recording.late_replies
    kinds: tuple[tuple[NDArray[np.bool_], Ink, str], ...] = (
        (known & ~late, "grey", "probe"),
        (late, "orange", "late answer"),
    )
    marks: list[Mark] = []
    for shown, ink, label in kinds:
        if shown.any():
            x, y = recording.wire_bytes[shown].astype(np.float64), recording.rtt_s[shown]
            marks.append(Points(label=counted(int(shown.sum()), label), ink=ink, x=x, y=y, size=2))
    for line, ink in zip(lines, _LINES, strict=False):
        x = np.array([line.shortest, line.longest], dtype=float)
        y = np.array([line.at(end) for end in x])
        marks.append(Polyline(label=f"{line.shortest} to {line.longest} B", ink=ink, x=x, y=y))
    # The lengths of datagrams are exact numbers, so the axis shows octets and never kB.
    return Picture(tuple(marks), Scale(what, "s", low=0.0), Scale("length of the datagram [B]"))
