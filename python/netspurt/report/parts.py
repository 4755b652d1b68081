"""The content of a page as data: sections with words, tables and pictures.

What is said here of a run also holds for a capture, a recording and a sweep, if they have pictures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from netspurt.pictures import Picture

#: The maximum number of rows of a table on a page.
MOST_ROWS = 500


@dataclass(frozen=True)
class Panel:
    """A picture with its kind and its heading."""

    kind: str
    title: str
    picture: Picture


@dataclass(frozen=True)
class Flow:
    """The pictures of a flow in one direction.

    Attributes
    ----------
    name
        The flow's name, with the direction if that is not `forward`.
    panels
        Its pictures, one above the other.
    zero_s
        The instant of the run [s] that is the zero of the times in a comparison.
    """

    name: str
    panels: Sequence[Panel]
    zero_s: float = 0.0


@dataclass(frozen=True)
class Side:
    """The pictures of a run's flows; the page shows one flow at a time.

    Attributes
    ----------
    name
        The name of the run.
    flows
        Its flows.
    absent
        If only the other run of a comparison has a picture: the words in place of this run's
        picture.
    """

    name: str
    flows: Sequence[Flow]
    absent: str = "not recorded"


@dataclass(frozen=True)
class Parting:
    """The first difference of two runs.

    Attributes
    ----------
    at_s
        Its time from the first data [s].
    words
        A sentence on the difference.
    flows
        The name of the compared direction in each of the two runs.
    """

    at_s: float
    words: str
    flows: tuple[str, str]


@dataclass(frozen=True)
class Group:
    """Pictures with one x axis: the pictures of one run, or of two runs side by side.

    Attributes
    ----------
    sides
        The runs: one or two.
    x
        `time`, or empty for a picture that stands alone.
    parting
        The first difference of two runs, if they differ.
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
    """A table. Its rows may link to places in the pictures.

    Attributes
    ----------
    caption
        The caption, which says what a row is.
    head
        The headings of the columns.
    rows
        The texts of the cells, row by row.
    right
        The numbers of the columns that are right-aligned.
    places
        The place of each row; `None` for a row of a direction that is not drawn. The sequence is
        empty if no row has a place.
    more
        The number of further rows that are left out.
    empty
        The text for a table without rows.
    sections
        For each row, the section that the row leads to: 1 for the first section after the section
        of the table, and so on. 0 means no section. The sequence is empty if no row leads to a
        section.
    elsewhere
        A sentence that says where the reader finds all rows.
    """

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Sequence[int] = ()
    places: Sequence[Place | None] = ()
    more: int = 0
    empty: str = ""
    sections: Sequence[int] = ()
    elsewhere: str = ""


@dataclass(frozen=True)
class Link:
    """A link to a file or a folder: its words, and the path."""

    words: str
    path: str


@dataclass(frozen=True)
class Part:
    """The words and tables on one run, capture, sweep or recording.

    Attributes
    ----------
    name
        The name of the run, capture, sweep or recording on the page.
    answer
        The answer to the first question of a reader. The page emphasizes it.
    words
        Other sentences.
    lines
        Lines with aligned columns, as a command prints them.
    tables
        Tables that precede the pictures.
    places
        Tables whose rows link to places in the pictures.
    notes
        Sentences on the limits of the results, and on parts that are not shown.
    links
        The files with the numbers.
    foot
        Facts that identify the results, such as the seed and the digest.
    """

    name: str
    answer: str = ""
    words: Sequence[str] = ()
    lines: Sequence[str] = ()
    tables: Sequence[Rows] = ()
    places: Sequence[Rows] = ()
    notes: Sequence[str] = ()
    links: Sequence[Link] = ()
    foot: Sequence[str] = ()


@dataclass(frozen=True)
class Section:
    """A section of a page: one subject, or two subjects that are compared.

    Attributes
    ----------
    heading
        Its heading.
    parts
        The parts of the one or two subjects.
    answers
        The answers to the first question of a reader, for the whole section.
    words
        Other sentences on the whole section.
    tables
        Tables on the whole section, which precede its parts.
    groups
        Its pictures. Places in tables refer to the first group.
    within
        True for a section on a file of a folder. The section on the folder comes before it. The
        title of the page does not contain the heading of such a section.
    """

    heading: str
    parts: Sequence[Part]
    answers: Sequence[str] = ()
    words: Sequence[str] = ()
    tables: Sequence[Rows] = ()
    groups: Sequence[Group] = field(default=())
    within: bool = False
