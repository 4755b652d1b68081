"""The page of a report: sections, numbers and script in one file of HTML."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Collection, Sequence
from dataclasses import asdict
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from netspurt._core import __version__
from netspurt.pictures.marks import INKS, Picture
from netspurt.pictures.measures import LONG
from netspurt.report.drawn import BUDGET, drawn, kept_of, numbers, share_of
from netspurt.report.flows import TITLES
from netspurt.report.markup import Spot, anchor, section_markup
from netspurt.report.parts import Group, Section
from netspurt.report.payload import Payload
from netspurt.wording import number, plain

#: The files of the script, in the order in which they are joined.
_SCRIPTS = (
    *("numbers", "payload", "axes", "draw", "areas", "samples", "panel", "read", "over", "span"),
    *("hand", "group", "page"),
)


#: The maximum number of octets of a page's numbers, as text. The whole page is then below 4 MB.
_MOST_OCTETS = 3_700_000

#: The maximum number of trials, each with a smaller share of marks. The number of octets is roughly
#: proportional to the share, so the second trial nearly always fits.
_TRIALS = 4


def page(sections: Sequence[Section], out: str | os.PathLike[str], room: int = BUDGET) -> str:
    """Return a page of HTML.

    Parameters
    ----------
    sections
        The sections of the page.
    out
        The file of the page. Links are relative to it.
    room
        The maximum number of marks (points and bars). If there are more, some are left out, but no
        losses, repairs or extreme values.

    Raises
    ------
    ValueError
        If there are no sections.
    """
    if not sections:
        raise ValueError("a report needs something to show")
    groups = [group for section in sections for group in section.groups]
    # The directions of a run share the pictures of the whole run. The payload (all numbers of the
    # page) has each of these pictures once.
    pictures = {id(one): one for group in groups for one in _pictures(group)}.values()
    share, document, payload = _fitting(groups, share_of(pictures, room))
    texts = {
        "title": escape(plain(_title(sections))),
        "contents": _contents(sections),
        "sections": _sections(sections, Path(out)),
        "thinned": _thinned(pictures, share),
        "version": escape(__version__),
        "description": _data(document),
        "payload": payload,
        "style": _style(),
        "script": _script(),
    }
    texts["policy"] = _policy(texts["style"], texts["script"])
    return _filled(_resource("page.html"), texts)


def _fitting(groups: Sequence[Group], share: float) -> tuple[float, dict[str, Any], str]:
    """Return the share of marks to keep, and the description and the numbers of these marks.

    If the numbers hardly compress, the page would be too large. In that case, a smaller share is
    kept.
    """
    for _ in range(_TRIALS):
        payload = Payload()
        document: dict[str, Any] = {
            "inks": {name: list(both) for name, both in INKS.items()},
            "groups": [_group(group, payload, share) for group in groups],
        }
        document["columns"] = payload.told()
        text = payload.text()
        if len(text) <= _MOST_OCTETS:
            break
        share *= 0.97 * _MOST_OCTETS / len(text)
    return share, document, text


def _pictures(group: Group) -> list[Any]:
    return [panel.picture for side in group.sides for flow in side.flows for panel in flow.panels]


#: The maximum number of headings that a title names.
_NAMED = 3


def _title(sections: Sequence[Section]) -> str:
    """Return the title of the page: all headings, or the first one and the number of others."""
    headings = [section.heading for section in sections if not section.within]
    if len(headings) <= _NAMED:
        return " · ".join(headings)
    return f"{headings[0]} and {number(len(headings) - 1)} more"


def _contents(sections: Sequence[Section]) -> str:
    """Return the list of contents, or an empty text if the page has one subject."""
    every = [(n, section) for n, section in enumerate(sections) if not section.within]
    if len(every) < 2:
        return ""
    told = "".join(
        f'<li><a href="#{anchor(n)}">{escape(plain(one.heading))}</a></li>' for n, one in every
    )
    return f'<nav aria-label="Contents"><ul class="contents">{told}</ul></nav>'


def _sections(sections: Sequence[Section], out: Path) -> str:
    """Return the HTML of all sections. Groups of pictures have consecutive numbers on the page."""
    alone = sum(not section.within for section in sections) == 1
    texts, group, home = [], 0, 0
    for n, section in enumerate(sections):
        home = home if section.within else n
        of = home if section.within else None
        place = Spot(n, group, out, alone=alone and not section.within, home=of)
        texts.append(section_markup(section, place))
        group += len(section.groups)
    return "\n".join(texts)


def _group(group: Group, payload: Payload, share: float) -> dict[str, Any]:
    """Return a group of pictures as data."""
    parting = None if group.parting is None else asdict(group.parting)
    sides = [
        {
            "name": plain(side.name),
            "absent": side.absent,
            "flows": [
                {
                    "name": plain(flow.name),
                    "zero": flow.zero_s,
                    "panels": [
                        {
                            "kind": panel.kind,
                            "title": panel.title,
                            **drawn(panel.picture, payload, share),
                        }
                        for panel in flow.panels
                    ],
                }
                for flow in side.flows
            ],
        }
        for side in group.sides
    ]
    return {"sides": sides, "x": group.x, "kinds": list(_kinds(group)), "parting": parting}


def _kinds(group: Group) -> dict[str, None]:
    """Return the kinds of the pictures of a group, in their order, each once."""
    found = [panel.kind for side in group.sides for flow in side.flows for panel in flow.panels]
    known = [kind for kind in TITLES if kind in found]
    return dict.fromkeys([*known, *found])


def _thinned(pictures: Collection[Picture], share: float) -> str:
    """Return the sentence on marks that the page leaves out, or nothing if it has all marks."""
    if share >= 1.0:
        return ""
    every, kept = numbers(pictures), kept_of(pictures, share)
    return (
        f"<p>Of {number(every)} marks this page keeps {kept / every:.0%}: in each short span of "
        "time the first, the last, the lowest and the highest. Retransmissions, losses and "
        "timeouts are all kept. The run, the capture or the recording itself has all values.</p>"
    )


def _data(document: dict[str, Any]) -> str:
    """Return data as JSON in which no text can end the HTML element around it."""
    text = json.dumps(document, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")


@cache
def _resource(name: str) -> str:
    return (files("netspurt.report") / "shell" / name).read_text(encoding="utf-8")


def _style() -> str:
    return _resource("page.css")


def _script() -> str:
    """Return the script. Its files are joined in one scope, which is hidden from other scripts."""
    parts = "\n".join(_resource(f"{name}.js") for name in _SCRIPTS)
    parts = f"const LONG = {json.dumps(LONG)};\n{parts}"
    return f'"use strict";\n(() => {{\n{parts}\n}})();\n'


def _policy(style: str, script: str) -> str:
    """Return a content security policy: only this style and this script, and no requests."""
    return (
        "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"style-src {_hash(style)}; script-src {_hash(script)}"
    )


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
    return f"'sha256-{digest}'"


def _filled(frame: str, texts: dict[str, str]) -> str:
    """Return the frame with each `{{name}}` replaced by its text.

    A `{{name}}` inside a text is not replaced.
    """
    parts = frame.split("{{")
    filled = [parts[0]]
    for part in parts[1:]:
        name, _, rest = part.partition("}}")
        filled += [texts[name], rest]
    return "".join(filled)
