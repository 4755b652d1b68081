"""Reads what the page of a report has: its description, its columns, the rows of its tables."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import numpy as np

from netspurt.report.payload import decoded


def data(text: str, kind: str) -> str:
    found = re.search(rf'<script type="{kind}" id="\w+">(.*?)</script>', text, re.DOTALL)
    assert found
    return found[1]


def description(text: str) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(data(text, "application/json"))
    return parsed


def columns_of(text: str) -> list[np.ndarray]:
    told = description(text)["columns"]
    return decoded(told, data(text, "application/octet-stream"))


def rows_of(text: str, caption: str) -> list[list[str]]:
    """Return the cells of the table whose caption begins so."""
    found = re.search(rf"<caption>[^<]*{re.escape(caption)}.*?</table>", text, re.DOTALL)
    assert found, caption
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", found[0].partition("<tbody>")[2], re.DOTALL)
    tags = re.compile("<[^>]+>")
    return [
        [unescape(tags.sub("", cell)) for cell in re.findall(r"<td.*?</td>", row)] for row in rows
    ]
