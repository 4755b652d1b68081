"""Helps tests to read the HTML page of a report, from its text and in a browser."""

from __future__ import annotations

import json
import re
import time
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np

from netspurt.report.payload import decoded

#: How long a test waits for the page [s]. A busy machine may be slow.
GIVE_UP_S = 30.0


def data(text: str, kind: str) -> str:
    """Return the data of the type `kind` that a page contains in a script element."""
    match = re.search(rf'<script type="{kind}" id="\w+">(.*?)</script>', text, re.DOTALL)
    assert match
    return match[1]


def description(text: str) -> dict[str, Any]:
    """Return the description of the page's pictures, which the page contains as JSON."""
    parsed: dict[str, Any] = json.loads(data(text, "application/json"))
    return parsed


def columns_of(text: str) -> list[np.ndarray]:
    """Return the columns of numbers that the page contains in binary form."""
    column_list = description(text)["columns"]
    return decoded(column_list, data(text, "application/octet-stream"))


def rows_of(text: str, caption: str) -> list[list[str]]:
    """Return the cells of the page's first table whose caption contains the text `caption`."""
    match = re.search(rf"<caption>[^<]*{re.escape(caption)}.*?</table>", text, re.DOTALL)
    assert match, caption
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", match[0].partition("<tbody>")[2], re.DOTALL)
    tags = re.compile("<[^>]+>")
    return [
        [unescape(tags.sub("", cell)) for cell in re.findall(r"<td.*?</td>", row, re.DOTALL)]
        for row in rows
    ]


def opened(browser: Any, file: Path, width: int = 1280) -> Any:
    """Open a page and wait until it is drawn."""
    size = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    for kind in ("browser", "performance"):
        browser.get_log(kind)
    browser.get(file.as_uri())
    wait(lambda: browser.execute_script("return document.documentElement.dataset.ready"))
    return browser


def wait(until: Any) -> Any:
    """Wait until a condition holds, and return its value."""
    end = time.monotonic() + GIVE_UP_S
    while not (found := until()):
        assert time.monotonic() < end, "the page does not answer"
        time.sleep(0.02)
    return found


def settled(browser: Any) -> None:
    """Wait for two frames of the browser, after which the last change of the page is drawn."""
    script = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done))"
    browser.execute_async_script(script)


def all_of(browser: Any, selector: str) -> list[Any]:
    """Return all elements of the open page that a CSS selector selects."""
    found: list[Any] = browser.find_elements("css selector", selector)
    return found
