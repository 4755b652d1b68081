"""What a page consists of, as data: sections with words, tables and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from netspurt.pictures import Picture


@dataclass(frozen=True)
class Panel:
    """A picture with its kind and its heading."""

    kind: str
    title: str
    picture: Picture


@dataclass(frozen=True)
class Flow:
    """What is drawn of a flow in one direction.

    Attributes
    ----------
    name
        Its name, and its direction if that is not `forward`.
    panels
        Its pictures, one above the other.
    zero_s
        The instant from which a comparison counts.
    """

    name: str
    panels: Sequence[Panel]
    zero_s: float = 0.0


@dataclass(frozen=True)
class Side:
    """What is drawn of a run: its flows, of which one is shown at a time."""

    name: str
    flows: Sequence[Flow]


@dataclass(frozen=True)
class Parting:
    """Where two runs first differ, in seconds from the first data, and the difference in words."""

    at_s: float
    words: str


@dataclass(frozen=True)
class Group:
    """Pictures on one x axis: those of one run, or of two side by side.

    Attributes
    ----------
    sides
        One or two.
    x
        `time`, or empty for a picture that stands alone.
    parting
        Of two runs, where they first differ, if they do.
    """

    sides: Sequence[Side]
    x: str = "time"
    parting: Parting | None = None


@dataclass(frozen=True)
class Place:
    """A place in the pictures of a section: the side, the flow, and the coordinates of a mark."""

    side: int
    flow: str
    x: float
    y: float


@dataclass(frozen=True)
class Rows:
    """A table; rows with a place lead to it.

    Attributes
    ----------
    caption
        What its rows are.
    head, rows
        The texts of the cells.
    right
        The numbers of the columns that are right-aligned.
    places
        The place of each row; empty if the rows have none.
    more
        How many rows there are beyond those given.
    empty
        What is said if there are no rows.
    """

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Sequence[int] = ()
    places: Sequence[Place] = ()
    more: int = 0
    empty: str = ""


@dataclass(frozen=True)
class Link:
    """A file beside the page."""

    words: str
    path: str


@dataclass(frozen=True)
class Part:
    """What is told of one run, capture, sweep or recording.

    Attributes
    ----------
    name
        Its name on the page.
    words
        Sentences.
    lines
        Lines with aligned columns, as a command prints them.
    tables
        Tables that precede the pictures.
    places
        Tables whose rows lead into the pictures.
    notes
        What limits the answer, and what is not shown.
    links
        Where the numbers are.
    foot
        The version, the seed and the digest.
    """

    name: str
    words: Sequence[str] = ()
    lines: Sequence[str] = ()
    tables: Sequence[Rows] = ()
    places: Sequence[Rows] = ()
    notes: Sequence[str] = ()
    links: Sequence[Link] = ()
    foot: Sequence[str] = ()


@dataclass(frozen=True)
class Section:
    """A part of a page: one subject, or two that are compared.

    Attributes
    ----------
    heading
        Its heading.
    parts
        One subject or two.
    words
        Sentences on all of it.
    groups
        Its pictures; places in tables are in the first.
    """

    heading: str
    parts: Sequence[Part]
    words: Sequence[str] = ()
    groups: Sequence[Group] = field(default=())
