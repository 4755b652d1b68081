"""The HTML of a page's sections. All texts are escaped. The HTML is readable without the script.

A section has one part, or two parts that are compared. A part has the words and the tables on one
run, capture, sweep or recording.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from html import escape
from itertools import groupby
from pathlib import Path
from urllib.parse import quote

from netspurt.report.parts import MOST_ROWS, Group, Link, Part, Rows, Section
from netspurt.wording import counted, plain


@dataclass(frozen=True)
class Spot:
    """The place of a section on its page.

    Attributes
    ----------
    number
        The number of the section, from 0.
    group
        The number of the section's first group of pictures.
    out
        The file of the page. Links are relative to it.
    alone
        Whether the page has only this section, so that the page's title serves as the heading.
    home
        The number of the folder's section if the section belongs to a folder, otherwise `None`.
    """

    number: int
    group: int
    out: Path
    alone: bool = False
    home: int | None = None


def anchor(number: int) -> str:
    """Return the name by which links refer to a section of the page."""
    return f"part-{number}"


def section_markup(section: Section, spot: Spot) -> str:
    """Return a section as HTML."""
    beside = len(section.parts) > 1
    lines = [
        f'<section class="subject" id="{anchor(spot.number)}">',
        "" if spot.alone else f"<h2>{_text(section.heading)}</h2>",
        ""
        if spot.home is None
        else f'<p class="links"><a href="#{anchor(spot.home)}">Back to the list</a></p>',
        *(f'<p class="answer">{_prose(words)}</p>' for words in section.answers),
        *(f"<p>{_prose(words)}</p>" for words in section.words),
        *(_table(rows, spot) for rows in section.tables),
        f'<div class="parts{" beside" if beside else ""}">',
        *(_part(part, spot, named=beside) for part in section.parts),
        "</div>",
        *_groups(section.groups, spot.group),
        *(_places(part, spot, named=beside) for part in section.parts),
        *(_foot(part, spot.out, named=beside) for part in section.parts),
        "</section>",
    ]
    return "\n".join(line for line in lines if line)


def _groups(groups: Sequence[Group], first: int) -> Iterator[str]:
    """Yield the elements of groups.

    A picture over time takes the full width, and any other picture takes a column.
    """
    elements = [f'<div class="group" data-group="{first + n}"></div>' for n in range(len(groups))]
    over_time = [text for text, group in zip(elements, groups, strict=True) if group.x]
    others = [text for text, group in zip(elements, groups, strict=True) if not group.x]
    yield from over_time
    if others:
        yield f'<div class="not-over-time">{"".join(others)}</div>'


def _text(text: str) -> str:
    return escape(plain(text))


def _breakable(name: str) -> str:
    """Return a name as HTML. In a narrow window, a line may end after a comma or a colon.

    Examples
    --------
    >>> _breakable("mills:min=70ms,max=60s")
    'mills:<wbr>min=70ms,<wbr>max=60s'
    """
    return re.sub(r"([:,])(?=\w)", r"\1<wbr>", _text(name))


def _prose(text: str) -> str:
    """Return a sentence as HTML. Commands and names between backticks are code.

    Examples
    --------
    >>> _prose("Run `netspurt run x < y` again; a ` alone stays.")
    'Run <code>netspurt run x &lt; y</code> again; a ` alone stays.'
    """
    return re.sub("`([^`]+)`", r"<code>\1</code>", _text(text))


def _printed_lines(lines: Sequence[str]) -> str:
    """Return the HTML of lines that a command prints. Rows of tables do not wrap.

    A table that is wider than the page scrolls separately, and its first column stays in view.
    """
    texts = []
    for in_columns, alike in groupby(lines, _in_columns):
        if in_columns:
            cells = "\n".join(_with_names(list(alike)))
            texts.append(f'<span class="cells" tabindex="0">{cells}\n</span>')
        else:
            texts += [f'<span class="prose">{_prose(line)}\n</span>' for line in alike]
    return "".join(texts)


def _with_names(lines: Sequence[str]) -> Iterator[str]:
    """Yield adjacent lines of tables as HTML.

    If the first cells of all lines form one column, each first cell becomes an element.
    """
    names = [line.partition("  ")[0] for line in lines]
    width = max(map(len, names))
    # The lines may belong to several tables, whose first columns have different widths.
    aligned = all(line[width : width + 2].strip() == "" for line in lines)
    for line in lines:
        if aligned:
            name, rest = line[:width].rstrip(), line[len(line[:width].rstrip()) : width]
            own = f'<span class="own">{_breakable(name)}</span>' if name else ""
            yield f'<span class="name">{own}{rest}</span>{_text(line[width:])}'
        else:
            yield _text(line)


#: Line widths [characters]. For each, the style sheet sets a font size for printed pages.
_WIDTHS = (120, 150, 180)

#: The maximum width of lines that fit a printed page in the usual font size [characters].
_WIDTH_USUAL = 100


def _in_columns(line: str) -> bool:
    """Return whether a line has cells of a table. Cells are at least two spaces apart."""
    return "  " in line.strip()


def _wide_class(lines: Sequence[str]) -> str:
    """Return the class that prints wide tables in a smaller font, or nothing for narrow tables."""
    widest = max((len(line) for line in lines if _in_columns(line)), default=0)
    if widest <= _WIDTH_USUAL:
        return ""
    return f" class=wide-{next((width for width in _WIDTHS if widest <= width), _WIDTHS[-1])}"


def _part(part: Part, spot: Spot, *, named: bool) -> str:
    """Return the words and tables of a part that precede the pictures."""
    lines = ["<div>", f"<h3>{_text(part.name)}</h3>" if named else ""]
    lines += [f'<p class="answer">{_prose(part.answer)}</p>'] if part.answer else []
    lines += [f"<p>{_prose(words)}</p>" for words in part.words]
    if part.lines:
        text = _printed_lines(part.lines)
        wide = _wide_class(part.lines)
        lines.append(f'<pre{wide} role="region" aria-label="Summary">{text}</pre>')
    lines += [_table(replace(rows, places=()), spot) for rows in part.tables]
    return "\n".join([*lines, "</div>"])


def _places(part: Part, spot: Spot, *, named: bool) -> str:
    """Return the tables whose rows link to places in the pictures."""
    prefix = f"{part.name}: " if named else ""
    return "\n".join(_table(rows, spot, prefix) for rows in part.places)


def _foot(part: Part, out: Path, *, named: bool) -> str:
    """Return the end of a part: notes, links, and facts that identify the results."""
    notes = "".join(f"<li>{_prose(note)}</li>" for note in part.notes)
    prefix = f"{_text(part.name)}: " if named else ""
    foot = prefix + " · ".join(_prose(words) for words in part.foot)
    lines = [
        f'<ul class="notes">{notes}</ul>' if notes else "",
        f'<p class="links">Numbers: {", ".join(_links(part.links, out))}</p>' if part.links else "",
        f'<p class="foot">{foot}</p>' if part.foot else "",
    ]
    return "\n".join(line for line in lines if line)


def _links(links: Sequence[Link], out: Path) -> Iterator[str]:
    """Yield links to files, relative to the page."""
    for link in links:
        path = Path(os.path.relpath(link.path, out.parent)).as_posix()
        # Without `./`, a colon in the first part of a link would be read as the end of a scheme.
        target = quote(path if path.startswith(".") else f"./{path}")
        yield f'<a href="{escape(target)}">{_text(link.words)}</a>'


def _table(rows: Rows, spot: Spot, prefix: str = "") -> str:
    """Return a table as HTML.

    A row may have a button that leads to its place in the pictures, or a link to a section.
    `prefix` precedes the caption.
    """
    caption = f"{prefix}{rows.caption}"
    if not rows.rows:
        return f'<p class="empty">{_prose(prefix + rows.empty)}</p>' if rows.empty else ""
    head = "".join(
        f"<th scope=col{_cell_class(n, rows)}>{_text(text)}</th>"
        for n, text in enumerate(rows.head)
    )
    body = "\n".join(_row(n, rows, spot) for n in range(len(rows.rows)))
    more_rows = counted(rows.more, "more row")
    left_out = f"Not shown: {more_rows}, because a table has at most {MOST_ROWS} rows."
    more = f'<p class="more">{_prose(f"{left_out} {rows.elsewhere}")}</p>' if rows.more else ""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{_text(caption)}">'
        f"<table><caption>{_text(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>\n{body}\n</tbody></table></div>{more}"
    )


def _place(rows: Rows, n: int, group: int) -> str:
    """Return the place of a row as an attribute of HTML, or nothing if the row has no place."""
    place = rows.places[n] if rows.places else None
    if place is None:
        return ""
    data = json.dumps({"group": group, **asdict(place), "flow": plain(place.flow)})
    return f' data-place="{escape(data)}"'


def _row(n: int, rows: Rows, spot: Spot) -> str:
    texts = [_text(cell) for cell in rows.rows[n]]
    place = _place(rows, n, spot.group)
    if place:
        texts[0] = f'<button type="button" class="go">{texts[0]}</button>'
    elif rows.sections and rows.sections[n]:
        texts[0] = f'<a href="#{anchor(spot.number + rows.sections[n])}">{texts[0]}</a>'
    cells = "".join(
        f"<td{_cell_class(n, rows, lines=chr(10) in text)}>{text}</td>"
        for n, text in enumerate(texts)
    )
    return f"<tr{place}>{cells}</tr>"


def _cell_class(n: int, rows: Rows, *, lines: bool = False) -> str:
    """Return the class of a cell; `lines` says whether its text has several lines."""
    classes = ["right"] * (n in rows.right) + ["lines"] * lines
    return f' class="{" ".join(classes)}"' if classes else ""
