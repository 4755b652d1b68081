"""Reads the page of a report: its description, its columns, the rows of its tables."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import numpy as np

from netspurt.report.payload import decoded


def data(text: str, kind: str) -> str:
    match = re.search(rf'<script type="{kind}" id="\w+">(.*?)</script>', text, re.DOTALL)
    assert match
    return match[1]


def description(text: str) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(data(text, "application/json"))
    return parsed


def columns_of(text: str) -> list[np.ndarray]:
    column_list = description(text)["columns"]
    return decoded(column_list, data(text, "application/octet-stream"))


def rows_of(text: str, caption: str) -> list[list[str]]:
    """Return the cells of the table whose caption begins with this text."""
    match = re.search(rf"<caption>[^<]*{re.escape(caption)}.*?</table>", text, re.DOTALL)
    assert match, caption
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", match[0].partition("<tbody>")[2], re.DOTALL)
    tags = re.compile("<[^>]+>")
    return [
        [unescape(tags.sub("", cell)) for cell in re.findall(r"<td.*?</td>", row)] for row in rows
    ]
