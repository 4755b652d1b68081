"""Tests a report's page in headless Chromium: the page opens, zooms, shows values, loads nothing.

A readout shows the values of a picture at the cursor, and a tip shows the mark at the pointer.
Tests that open a page need Debian's packages chromium and chromium-driver, and are skipped without
these.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netspurt as ns
from netspurt.pictures import constancy, series
from netspurt.pictures import ranges as curves
from netspurt.pictures.lengths import against_length
from netspurt.pictures.marks import (
    Bars,
    Blocks,
    Cells,
    Mark,
    Picture,
    Points,
    Polyline,
    Scale,
    Spans,
)
from netspurt.report import Section, compared_section, page, replay_section, run_section
from netspurt.report.compared import Subject
from netspurt.report.parts import Flow, Group, Panel, Part, Rows, Side

from conftest import ROOT, Command
from report_pages import all_of, opened, settled, wait


@pytest.fixture(scope="module")
def early(tmp_path_factory: pytest.TempPathFactory) -> ns.Run:
    """Return a run with spurious retransmissions and with losses."""
    folder = ns.load("early-timeout").run().save(tmp_path_factory.mktemp("runs") / "early")
    return ns.open_run(folder)


@pytest.fixture(scope="module")
def page_of_one(early: ns.Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the page of a run."""
    file = tmp_path_factory.mktemp("pages") / "one.html"
    file.write_text(page([run_section(early, "early")], file))
    return file


@pytest.fixture(scope="module")
def page_of_two(early: ns.Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the page of two runs that differ."""
    file = tmp_path_factory.mktemp("pages") / "two.html"
    longer = ns.load("early-timeout").replace({"flows.transfer.tcp.rto.min": "1 s"}).run()
    subjects = [Subject(early, "early"), Subject(longer, "patient")]
    file.write_text(page([compared_section(subjects)], file))
    return file


def button(browser: Any, text: str) -> Any:
    """Return the button with this text."""
    return next(element for element in all_of(browser, "button") if element.text.strip() == text)


def span(browser: Any) -> tuple[float, float]:
    """Return the ends of the time that the page shows [s]."""
    settled(browser)
    words = all_of(browser, "output.span")[0].text
    match = re.fullmatch(r"(\S+) to (\S+) s", words)
    assert match, words
    return float(match[1]), float(match[2])


def press(browser: Any, *keys: str, shift: bool = False) -> None:
    """Press keys while the pictures have the focus."""
    from selenium.webdriver.common.keys import Keys

    all_of(browser, ".frame")[0].send_keys(*((Keys.SHIFT,) if shift else ()), *keys)
    settled(browser)


def canvas(browser: Any, title: str) -> Any:
    """Return the canvas that receives the pointer's events, in the panel with this title."""
    panels = (element for element in all_of(browser, ".panel") if title in element.text)
    return next(panels).find_element("css selector", "canvas.over")


def hover(browser: Any, over: Any, x: int, y: int) -> None:
    """Move the pointer to a place; `x` and `y` are pixels from the middle of the canvas."""
    from selenium.webdriver import ActionChains

    ActionChains(browser, duration=0).move_to_element_with_offset(over, x, y).perform()
    settled(browser)


def drawn(browser: Any, n: int = 0) -> str:
    """Return the picture on canvas number `n`, as a data URL."""
    script = (
        "return document.querySelectorAll('.stack canvas:first-child')[arguments[0]].toDataURL()"
    )
    return str(browser.execute_script(script, n))


def test_a_page_opens_without_an_error_and_without_a_request(
    browser: Any, page_of_one: Path
) -> None:
    opened(browser, page_of_one)
    assert browser.get_log("browser") == []
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    messages = (json.loads(entry["message"])["message"] for entry in browser.get_log("performance"))
    sent = [
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    ]
    # A blob is data of the page itself.
    assert [url for url in sent if not url.startswith("blob:")] == [page_of_one.as_uri()]
    assert not all_of(browser, "#trouble:not(:empty)")


def test_a_run_has_five_pictures_and_each_kind_of_mark_has_its_colour(
    browser: Any, page_of_one: Path
) -> None:
    opened(browser, page_of_one)
    titles = [heading.text for heading in all_of(browser, ".panel h4")]
    assert titles == [
        "Time and sequence",
        "Round trip and RTO",
        "Congestion window",
        "Queues",
        "Throughput",
    ]
    script = """
    const seen = new Set();
    const canvas = document.querySelectorAll('.stack canvas:first-child')[arguments[0]];
    const dots = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    for (let n = 0; n < dots.length; n += 4) seen.add(`${dots[n]},${dots[n + 1]},${dots[n + 2]}`);
    return [...seen];
    """
    inks = set(browser.execute_script(script, 0))
    # Each kind of mark has its colour: sent segments, ACKs, drops and retransmissions. The numbers
    # of the axes have a colour, too.
    assert {"26,26,26", "0,158,115", "230,159,0", "211,47,47", "68,74,85"} <= inks


def test_the_readout_calls_the_link_dead_only_while_it_is_dead(
    browser: Any, tmp_path: Path
) -> None:
    run = ns.load("handover-dead").replace({"stop": "20 s"}).run()
    file = tmp_path / "dead.html"
    file.write_text(page([run_section(run, "dead")], file))
    opened(browser, file)
    assert not all_of(browser, "#trouble:not(:empty)")
    assert browser.get_log("browser") == []
    low, high = span(browser)
    over = canvas(browser, "Round trip and RTO")
    width = over.size["width"]
    left, right = 66, width - 10
    for instant, dead in ((11.5, True), (5.0, False)):
        x = left + (instant - low) / (high - low) * (right - left) - width / 2
        hover(browser, over, round(x), 0)
        assert ("dead" in all_of(browser, "output.readout")[0].text) is dead


def test_the_button_of_a_row_zooms_to_the_rows_mark(browser: Any, page_of_one: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    opened(browser, page_of_one)
    whole = span(browser)
    rows = all_of(browser, "tr[data-place]")
    assert len(rows) > 156
    for row in (rows[3], rows[100]):
        cells = [cell.text for cell in row.find_elements("css selector", "td")]
        row.find_element("css selector", "button").send_keys(Keys.ENTER)
        settled(browser)
        tip = wait(lambda: all_of(browser, ".tip:not([hidden])"))[0].text
        at = float(cells[0].removesuffix(" s"))
        low, high = span(browser)
        assert low < at < high
        assert high - low < (whole[1] - whole[0]) / 10
        read = re.search(r"^(\S+) s$", tip, re.MULTILINE)
        assert read
        assert float(read[1]) == pytest.approx(at, abs=1e-6)
        assert f"packet {cells[2]}" in tip
        assert f"{cells[3]} B to " in tip
        assert "spurious" in tip.splitlines()[0]
        spoken = all_of(browser, ".spoken")[0].get_attribute("value")
        assert f"packet {cells[2]}" in spoken


def test_the_button_of_a_loss_shows_its_mark_with_octets_and_packet(
    browser: Any, page_of_one: Path
) -> None:
    opened(browser, page_of_one)
    row = all_of(browser, "tr[data-place]")[-1]
    _, _, packet, first, octets = [
        cell.text for cell in row.find_elements("css selector", "td")[:5]
    ]
    row.find_element("css selector", "button").click()
    settled(browser)
    tip = wait(lambda: all_of(browser, ".tip:not([hidden])"))[0].text.splitlines()
    end = int(first.replace(",", "")) + int(octets.replace(",", ""))
    assert "dropped or lost" in tip[0]
    assert tip[2:] == [f"{first} B to {end:,} B", f"packet {packet}"]


def seconds(text: str) -> float:
    """Return a time that is shown with its unit, in seconds."""
    value, unit = text.split()
    return float(value) * {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}[unit]


def test_the_readouts_show_the_values_of_the_tables_at_the_cursor(
    browser: Any, page_of_one: Path, early: ns.Run
) -> None:
    opened(browser, page_of_one)
    over = canvas(browser, "Round trip and RTO")
    for x in (-300, -100, 0, 210):
        hover(browser, over, x, 0)
        readings = [element.text for element in all_of(browser, ".readout")]
        at = {text.split(" · ")[0] for text in readings if text}
        assert len(at) == 1, "all pictures must show the same cursor"
        t = seconds(at.pop().removeprefix("at "))
        states = early.rto
        last = int(np.searchsorted(states.seconds(), t, side="right") - 1)
        for name, label in {"srtt": "srtt", "rttvar": "rttvar of ns-2", "rto": "rto"}.items():
            value = float(states.seconds(f"{name}_ns")[last])
            read = re.search(rf"\b{label} (\S+ \S+)", readings[1])
            assert read
            assert seconds(read[1]) == pytest.approx(value, abs=1e-9)
        cwnd = early.cwnd
        last = int(np.searchsorted(cwnd.seconds(), t, side="right") - 1)
        assert f"cwnd {int(cwnd['cwnd_bytes'][last]):,} B" in readings[2]


def test_the_pointer_shows_only_times_of_segments_and_drops(
    browser: Any, page_of_one: Path, early: ns.Run
) -> None:
    opened(browser, page_of_one)
    rows = all_of(browser, "tr[data-place]")
    rows[0].find_element("css selector", "button").click()
    over = canvas(browser, "Time and sequence")
    hover(browser, over, -600, -180)
    told: set[str] = set()
    for x in range(-300, 300, 50):
        for y in range(-150, 151, 25):
            hover(browser, over, x, y)
            told |= {element.text for element in all_of(browser, ".tip:not([hidden])")}
    known = {f"{t:.9f}".rstrip("0") for t in early.segments.seconds()}
    read = {re.search(r"^(\S+) s$", text, re.MULTILINE) for text in told}
    times = {found[1] for found in read if found}
    assert len(times) > 3
    drops = {f"{t:.9f}".rstrip("0") for t in early.drops.seconds()}
    assert times <= known | drops


def test_buttons_keys_the_wheel_and_the_pointer_change_the_shown_time(
    browser: Any, page_of_one: Path
) -> None:
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.actions.wheel_input import ScrollOrigin
    from selenium.webdriver.common.keys import Keys

    opened(browser, page_of_one)
    whole = span(browser)
    button(browser, "+").click()
    closer = span(browser)
    assert closer[1] - closer[0] == pytest.approx(0.6 * (whole[1] - whole[0]), rel=1e-3)
    press(browser, "+")
    assert span(browser)[1] - span(browser)[0] < closer[1] - closer[0]
    before = span(browser)
    press(browser, Keys.ARROW_RIGHT)
    assert span(browser)[0] > before[0]
    press(browser, Keys.ARROW_LEFT, "-", "-")
    press(browser, "0")
    assert span(browser) == whole
    over = canvas(browser, "Round trip and RTO")
    ActionChains(browser).drag_and_drop_by_offset(over, 200, 0).perform()
    part = span(browser)
    middle = sum(whole) / 2
    assert part[0] == pytest.approx(middle, abs=1.5)
    assert part[1] - part[0] == pytest.approx(200 / 1170 * (whole[1] - whole[0]), rel=0.1)
    ActionChains(browser).scroll_from_origin(ScrollOrigin.from_element(over), 0, -300).perform()
    assert span(browser)[1] - span(browser)[0] < part[1] - part[0]
    ActionChains(browser).double_click(over).perform()
    assert span(browser) == whole


def test_marks_can_be_read_with_only_the_keyboard(
    browser: Any, page_of_one: Path, early: ns.Run
) -> None:
    from selenium.webdriver.common.keys import Keys

    opened(browser, page_of_one)
    data = early.segments.where(kind="data")
    press(browser, ".")
    spoken = all_of(browser, ".spoken")[0].get_attribute("value")
    assert spoken.startswith(f"Time and sequence: sent, {data.seconds()[0]:g} s, ")
    assert "packet 1" in spoken
    press(browser, Keys.ARROW_DOWN, ".", ".")
    assert all_of(browser, ".spoken")[0].get_attribute("value").startswith("Round trip and RTO: ")
    assert browser.switch_to.active_element == all_of(browser, ".frame")[0]


def test_a_button_of_the_legend_hides_and_shows_its_marks(browser: Any, page_of_one: Path) -> None:
    opened(browser, page_of_one)
    full = drawn(browser)
    name = button(browser, "receive window")
    name.click()
    settled(browser)
    assert name.get_attribute("aria-pressed") == "false"
    assert drawn(browser) != full
    name.click()
    settled(browser)
    assert drawn(browser) == full


def test_two_runs_are_shown_side_by_side_or_one_at_a_time(browser: Any, page_of_two: Path) -> None:
    opened(browser, page_of_two)

    def shown() -> set[str]:
        return {element.text for element in all_of(browser, ".panel .side")}

    assert shown() == {"early", "patient"}
    labels = [
        element.get_attribute("aria-label")
        for element in all_of(browser, ".stack canvas:first-child")
    ]
    ends = [re.search(r"from .* to .*", label) for label in labels[:2]]
    assert {end[0] for end in ends if end} == {ends[0][0] if ends[0] else ""}, (
        "both sides must have the same axes"
    )
    button(browser, "patient").click()
    settled(browser)
    assert shown() == {"patient"}
    press(browser, "s")
    assert shown() == {"early"}
    button(browser, "Side by side").click()
    settled(browser)
    assert shown() == {"early", "patient"}
    button(browser, "First divergence").click()
    low, high = span(browser)
    assert low < 8.954 < high
    assert high - low < 5


def test_the_table_of_two_runs_has_all_its_columns_in_sight(
    browser: Any, page_of_two: Path
) -> None:
    opened(browser, page_of_two, 1280)
    script = """
    const table = document.querySelector(".scroll");
    const head = [...table.querySelectorAll("th")].map((one) => one.textContent);
    return [head, table.scrollWidth - table.clientWidth, table.querySelectorAll("tbody tr").length];
    """
    head, hidden, rows = browser.execute_script(script)
    assert head[:5] == ["flow", "direction", "run", "finished", "goodput"]
    assert (hidden, rows) == (0, 2)


def test_the_button_for_colours_changes_between_light_and_dark(
    browser: Any, page_of_one: Path
) -> None:
    opened(browser, page_of_one)
    theme = all_of(browser, "#theme")[0]
    script = "return getComputedStyle(document.body).backgroundColor"
    found = {}
    for _ in range(3):
        theme.click()
        settled(browser)
        found[theme.text] = (browser.execute_script(script), drawn(browser))
    assert found["Colours: light"][0] == "rgb(255, 255, 255)"
    assert found["Colours: dark"][0] == "rgb(21, 23, 27)"
    assert found["Colours: light"][1] != found["Colours: dark"][1]


@pytest.mark.parametrize("width", [400, 1600])
def test_no_width_makes_the_page_scroll_sideways(
    browser: Any, page_of_two: Path, width: int
) -> None:
    opened(browser, page_of_two, width)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


def test_the_page_of_a_handover_shades_dead_times_of_the_link(browser: Any, tmp_path: Path) -> None:
    run = ns.load("handover-dead").replace({"stop": "20 s"}).run()
    file = tmp_path / "page.html"
    file.write_text(page([run_section(run, "handover")], file))
    opened(browser, file)
    assert browser.get_log("browser") == []
    names = [element.text for element in all_of(browser, ".legend button")]
    assert "link space dead" in names
    full = drawn(browser)
    button(browser, "link space dead").click()
    settled(browser)
    assert drawn(browser) != full
    button(browser, "link space dead").click()
    low, high = span(browser)
    over = canvas(browser, "Round trip and RTO")
    width = over.size["width"]
    dead = []
    for place in range(40, width, 20):
        hover(browser, over, place - width // 2, 0)
        tip = all_of(browser, ".readout")[0].text
        at = re.match(r"at (\S+ \S+)", tip)
        if at and "link space dead" in tip:
            dead.append(seconds(at[1]))
    assert len(dead) > 2
    # The link is dead for three seconds, beginning at 10 s.
    assert low < 10 <= min(dead) < max(dead) <= 13 < high


@pytest.mark.parametrize("kind", Mark.__subclasses__(), ids=lambda kind: str(kind.__name__))
def test_each_type_of_mark_is_drawn_by_the_page(
    browser: Any, tmp_path: Path, kind: type[Mark]
) -> None:
    """The script of the page would end with an error at a type of mark that it does not know."""
    ends = np.array([1.0, 2.0])
    given: dict[str, Any] = {
        field.name: np.array([[1.0, 2.0]])
        if field.name == "values"
        else ends + (field.name == "high")
        for field in fields(kind)
        if field.name in {"x", "y", "low", "high", "left", "right", "values"}
    }
    if "right" in given:
        given["right"] = ends + 0.5
    mark = kind(label="mine", ink="red", **given)
    frame = Points(label="frame", ink="blue", x=np.array([0.0, 3.0]), y=np.array([0.0, 4.0]))
    shown = {"with": Picture((mark, frame), Scale("y", "s")), "bare": Picture((frame,), Scale("y"))}
    pictures = {}
    for name, one in shown.items():
        open_pictures(browser, {"rto": one}, tmp_path / f"{name}.html")
        assert browser.get_log("browser") == []
        reds = """
        const canvas = document.querySelector('.stack canvas');
        const dots = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
        let count = 0;
        for (let n = 0; n < dots.length; n += 4) count += Math.abs(dots[n] - dots[n + 1]) > 20;
        return count;
        """
        pictures[name] = browser.execute_script(reds)
        hover(browser, canvas(browser, "rto"), 0, 0)
        assert browser.get_log("browser") == []
    assert pictures["with"] > pictures["bare"]


def two_scales(file: Path) -> Path:
    """Write a page of two sides: one asks for a linear y axis, the other for a logarithmic axis."""
    x = np.array([0.0, 1.0])
    small = Polyline(label="rto", ink="red", x=x, y=np.array([0.08, 0.2]))
    large = Polyline(label="rto", ink="red", x=x, y=np.array([0.00009, 0.2]))
    scales = Scale("timer", "s", low=0.0), Scale("timer", "s", low=0.00008, high=0.3, log=True)
    sides = [
        Side(name, [Flow("x", [Panel("rto", "Timer", Picture((line,), scale))])])
        for name, line, scale in zip("AB", (small, large), scales, strict=True)
    ]
    file.write_text(page([Section("Two", [Part("A"), Part("B")], groups=[Group(sides)])], file))
    return file


def test_two_sides_have_the_same_axis_even_if_only_one_would_be_logarithmic(
    browser: Any, tmp_path: Path
) -> None:
    opened(browser, two_scales(tmp_path / "page.html"))
    labels = [
        element.get_attribute("aria-label")
        for element in all_of(browser, ".stack canvas:first-child")
    ]
    assert len(labels) == 2
    assert labels[0] == labels[1]
    assert labels[0].endswith("timer from 80 µs to 300 ms.")
    canvases = [drawn(browser, n) for n in range(2)]
    assert canvases[0] != canvases[1]


def test_no_text_of_a_picture_is_cut(browser: Any, page_of_two: Path, tmp_path: Path) -> None:
    """Every text that the script draws lies within its canvas."""
    script = """
    window.cut = [];
    const draw = CanvasRenderingContext2D.prototype.fillText;
    CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
      const wide = this.measureText(text).width;
      const left = { center: x - wide / 2, right: x - wide, left: x }[this.textAlign];
      const { width, height } = this.canvas;
      window.cut.push([text, left > -1 && left + wide < width + 1 && y > 0 && y < height]);
      return draw.call(this, text, x, y);
    };
    """
    added = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": script})
    # A recording of one answer is tested, too: its first and last times are equal.
    (tmp_path / "one.txt").write_text(
        "PING h (10.0.0.1) 56(84) bytes of data.\n"
        "[1700000000.100000] 64 bytes from 10.0.0.1: icmp_seq=1 ttl=64 time=20.1 ms\n"
    )
    (delays,) = ns.read_delays(tmp_path / "one.txt")
    single = tmp_path / "one.html"
    section = replay_section(ns.replay(delays, ["linux"]), "one", [], str(tmp_path / "one.txt"))
    single.write_text(page([section], single))
    try:
        for file in (page_of_two, single):
            for width in (420, 1280):
                opened(browser, file, width)
                told = browser.execute_script("return window.cut")
                assert len(told) > 20
                assert [text for text, inside in told if not inside] == []
    finally:
        browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)


def test_the_table_of_a_capture_shows_all_columns_or_scrolls(
    browser: Any, netspurt: Command
) -> None:
    netspurt("run", "slow-download", "--out", "slow")
    netspurt("report", "slow/server.pcapng", "--out", "page.html")
    script = """
    const table = [...document.querySelectorAll(".scroll")].find(
      (one) => one.textContent.startsWith("Directions with data"));
    return [table.scrollWidth - table.clientWidth, table.querySelector("td").offsetHeight];
    """
    opened(browser, Path("page.html").resolve(), 1100)
    assert browser.execute_script(script)[0] == 0
    # In a narrow window, the table scrolls, and its cells do not grow tall.
    opened(browser, Path("page.html").resolve(), 400)
    hidden, height = browser.execute_script(script)
    assert hidden > 0
    assert height < 30


def test_sentences_wrap_in_a_narrow_window_and_columns_stay_in_line(
    browser: Any, netspurt: Command
) -> None:
    netspurt("run", "slow-download", "--out", "slow")
    netspurt("report", "slow/server.pcapng", "--out", "page.html")
    opened(browser, Path("page.html").resolve(), 500)
    script = """
    const pre = document.querySelector('pre'), edge = pre.getBoundingClientRect().right;
    const sentences = [...pre.querySelectorAll('.prose')];
    const spent = sentences.find((one) => one.textContent.startsWith('Time went to'));
    const range = document.createRange();
    range.selectNodeContents(spent);
    const lines = [...range.getClientRects()], inside = lines.every((one) => one.right <= edge);
    const cells = pre.querySelector('.cells'), name = cells.querySelector('.name:last-of-type');
    const before = name.getBoundingClientRect().left;
    cells.scrollLeft = 100;
    const stays = name.getBoundingClientRect().left === before;
    return [lines.length, inside, cells.scrollWidth > cells.clientWidth, stays];
    """
    lines, inside, scrolls, stays = browser.execute_script(script)
    assert lines > 1
    assert stays, "the names of a table must stay in view"
    assert inside, "the sentence must lie within the window"
    assert scrolls, "the table of causes must scroll instead of breaking its columns"


def test_every_element_that_takes_the_focus_has_a_name(browser: Any, page_of_two: Path) -> None:
    opened(browser, page_of_two)
    script = """
    return [...document.querySelectorAll('button, select, a, canvas[role], [tabindex]')]
      .filter((one) => !(one.textContent.trim() || one.getAttribute('aria-label')))
      .map((one) => one.outerHTML);
    """
    assert browser.execute_script(script) == []


def test_a_printed_page_is_white_and_has_its_pictures(browser: Any, page_of_one: Path) -> None:
    opened(browser, page_of_one)
    dark = {"name": "prefers-color-scheme", "value": "dark"}
    script = """
    window.widths = [];
    addEventListener('beforeprint', () => {
      window.widths.push(document.querySelector('.stack canvas').width);
    });
    """
    browser.execute_script(script)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": [dark]})
    style = "const of = getComputedStyle(document.body); return [of.color, of.backgroundColor]"
    assert browser.execute_script(style) == ["rgb(0, 0, 0)", "rgb(255, 255, 255)"]
    printed = browser.execute_cdp_cmd("Page.printToPDF", {})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    assert len(printed["data"]) > 20_000
    assert browser.execute_script("return window.widths") == [1360]


def test_nothing_is_cut_on_paper(browser: Any, page_of_two: Path, netspurt: Command) -> None:
    timers = [word for g in ("1.5", "1.75") for word in ("-e", f"mills:g={g},min=50ms,max=60s")]
    netspurt("report", ROOT / "data" / "ping.txt", *timers, "-e", "quic", "--out", "ping.html")
    # A sheet of A4 without its margins is 718 pixels wide.
    for file in (page_of_two, Path("ping.html").resolve()):
        opened(browser, file, 718)
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        script = """
        const every = [...document.querySelectorAll("pre, .cells, .scroll, table")];
        const edge = document.body.getBoundingClientRect().right + 1;
        const beyond = (one) => one.getBoundingClientRect().right > edge;
        const cut = every.filter((one) => beyond(one) || one.scrollWidth > one.clientWidth + 1);
        return [every.length, cut.length];
        """
        count, cut = browser.execute_script(script)
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
        assert count >= 1
        assert cut == 0, file


def test_wide_tables_of_a_summary_have_smaller_type_on_paper(tmp_path: Path) -> None:
    kinds = {90: "<pre role", 110: "<pre class=wide-120 ", 149: "<pre class=wide-150 "}
    for width, start in kinds.items():
        line = "timer  " + "x" * (width - 7)
        section = Section("one", [Part("one", lines=["a sentence " * 40, line])])
        assert start in page([section], tmp_path / "page.html")


def test_names_are_whole_in_a_narrow_window(browser: Any, tmp_path: Path) -> None:
    """A long name of a timer takes several lines; a short name is not broken at its hyphen."""
    file = tmp_path / "page.html"
    long = "mills:min=43ms,max=60s,karn=true"
    lines = [f"{'':32}  spurious  cost", f"{long:32}         0  1.2 s", f"{'quic':32}  0  1 s"]
    rows = Rows("Means", ("profile", *"abcdef"), [("linux-6", *["1,234,567 .. 8"] * 6)])
    file.write_text(page([Section("one", [Part("one", lines=lines, tables=[rows])])], file))
    opened(browser, file, 420)
    script = """
    const cut = [...document.querySelectorAll(".own")].filter(
      (one) => one.scrollWidth > one.clientWidth + 1 || one.clientHeight < one.scrollHeight);
    const cell = document.querySelector("td");
    const line = parseFloat(getComputedStyle(cell).lineHeight);
    return [cut.map((one) => one.textContent), cell.clientHeight < 2 * line];
    """
    assert browser.execute_script(script) == [[], True]


def test_commands_in_sentences_are_marked_as_code(tmp_path: Path) -> None:
    words = "Run `netspurt run x` again."
    rows = Rows("Empty", ("a",), [], empty=words)
    part = Part("one", answer=words, words=[words], lines=[words], notes=[words], tables=[rows])
    text = page([Section("one", [part])], tmp_path / "page.html")
    body = text.partition("<main>")[2].partition("</main>")[0]
    assert body.count("Run <code>netspurt run x</code> again.") == 5
    assert "`" not in body


def test_a_menu_shows_one_of_several_flows(browser: Any, tmp_path: Path) -> None:
    from selenium.webdriver.support.ui import Select

    file = tmp_path / "flows.html"
    run = ns.load("slow-download").run()
    file.write_text(page([run_section(run, "slow")], file))
    opened(browser, file)
    choice = Select(all_of(browser, "select")[0])
    names = [option.text for option in choice.options]
    assert names[0] == "lossy"
    assert len(names) == 6
    first = drawn(browser)
    choice.select_by_visible_text("tail (reverse)")
    settled(browser)
    assert drawn(browser) != first
    assert "tail (reverse)" in all_of(browser, ".panel .aside")[0].text


def test_the_page_of_a_recording_shows_timers_and_distributions(
    browser: Any, tmp_path: Path
) -> None:
    file = tmp_path / "ping.html"
    found = ns.replay(ROOT / "data" / "ping.txt")
    file.write_text(page([replay_section(found, "ping", ["told"], "ping.txt")], file))
    opened(browser, file)
    assert browser.get_log("browser") == []
    titles = [heading.text for heading in all_of(browser, ".panel h4")]
    assert titles[:2] == ["Delays and timers", "Distributions"]
    row = all_of(browser, "tr[data-place]")[2]
    cells = [cell.text for cell in row.find_elements("css selector", "td")]
    row.find_element("css selector", "button").click()
    settled(browser)
    (tip,) = [element.text for element in all_of(browser, ".tip:not([hidden])")]
    read = re.search(r"^(\S+ m?s)$", tip, re.MULTILINE)
    assert read
    assert seconds(read[1]) == pytest.approx(seconds(cells[0]), abs=1e-6)
    # On a logarithmic axis, the cursor shows the value, not its logarithm.
    hover(browser, canvas(browser, "Distributions"), 0, 40)
    at = all_of(browser, ".readout")[1].text.split(" · ")[0]
    rtt = found.delays.rtt_s
    assert 0 < seconds(at.removeprefix("at ")) < 10 * np.nanmax(rtt)


def test_the_page_of_a_recording_omits_timers_that_netspurt_replay_does_not_print(
    netspurt: Command, tmp_path: Path
) -> None:
    """The advice also replays timers that it then does not mention."""
    rng = np.random.default_rng(7)
    rows, rtt = [], 45.0
    for n in range(1800):
        rtt = 45 + 0.9 * (rtt - 45) + float(rng.normal(0, 4))
        ms = max(20.0, rtt) + (150 * float(rng.exponential()) if rng.random() < 0.01 else 0)
        gone = 400 <= n < 425 or 1100 <= n < 1112 or rng.random() < 0.006
        rows.append("" if gone else f"{ms:.2f}")
    text = "\n".join(f"{n / 5},{n},{row}" for n, row in enumerate(rows))
    (tmp_path / "d.csv").write_text(f"time,seq,rtt_ms\n{text}\n")
    told = netspurt("replay", "d.csv").stdout
    (data,) = json.loads(netspurt("replay", "d.csv", "--json").stdout)
    replayed = [cost["estimator"] for cost in data["advice"]["costs"]]
    absent = [name for name in replayed if f"\n{name} " not in told]
    assert absent, "the advice must have replayed a timer that it does not mention"
    assert netspurt("report", "d.csv", "--out", "page.html").returncode == 0
    text = (tmp_path / "page.html").read_text()
    assert not [name for name in absent if name in text]


def open_pictures(browser: Any, shown: dict[str, Picture], file: Path) -> None:
    """Open a page that shows each picture by itself, under its name."""
    groups = [
        Group([Side("one", [Flow(name, [Panel(f"apart-{name}", name, picture)])])], "")
        for name, picture in shown.items()
    ]
    file.write_text(page([Section("Kinds", [Part("kinds")], groups=groups)], file))
    opened(browser, file)
    assert browser.get_log("browser") == []


def test_blocks_cells_and_intervals_are_drawn_and_have_tips(browser: Any, tmp_path: Path) -> None:
    """No picture of a run has blocks, cells or intervals, so the test makes pictures with them."""
    at = np.arange(3.0)
    ticks = tuple((float(n), f"label {n}") for n in range(3))
    blocks = Blocks(label="low", ink="blue", left=at - 0.4, right=at + 0.4, y=at + 1, hatched=True)
    ends = Bars(label="", ink="black", x=at, low=at, high=at + 2, caps=True)
    spans = Spans(label="share", ink="red", y=at, left=at, right=at + 1)
    table = np.array([[1.0, 2.0, 3.0], [4.0, np.nan, 6.0]])
    cells = Cells(label="heat", ink="black", values=table, texts=(("a", "b", "c"), ("d", "", "f")))
    rows = Scale("row", low=-0.5, high=1.5, ticks=((0.0, "r0"), (1.0, "r1")))
    columns = Scale("column", low=-0.5, high=2.5, ticks=ticks)
    shown = {
        "blocks": Picture((blocks, ends), Scale("height", "s"), Scale("name", ticks=ticks)),
        "spans": Picture((spans,), Scale("y"), Scale("share", "%")),
        "cells": Picture((cells,), rows, columns),
    }
    open_pictures(browser, shown, tmp_path / "kinds.html")
    hover(browser, canvas(browser, "blocks"), 25, 50)
    assert "label 1" in all_of(browser, ".tip:not([hidden])")[0].text
    hover(browser, canvas(browser, "cells"), 230, -60)
    tip = all_of(browser, ".tip:not([hidden])")[-1].text
    assert tip.splitlines() == ["heat", "column label 2", "row r1", "6"]


@dataclass(frozen=True)
class Steady:
    """A change-free period: its start and end in seconds, and the median of its values."""

    start_s: float
    end_s: float
    median: float


def test_pictures_of_papers_and_of_constancy_are_drawn(browser: Any, tmp_path: Path) -> None:
    x = np.arange(20.0)
    fitted = curves.FitPanel("c", x, x, x + 1)
    panel = series.SeriesPanel("queue", [series.Series("one", x, x)], mark=4.0, mark_label="half")
    found = [Steady(0, 10, 4.5), Steady(10, 20, 14.5)]
    probes = ns.Delays.of(x / 100 + 0.1, wire_bytes=x.astype(int) + 40)
    bars = {name: [curves.Range(1, 0, 2), curves.Range(2, 1, 3)] for name in ("one", "two")}
    shown = {
        "ranges": curves.ranges(["a", "b"], bars, label="Mbit/s", beneath="of"),
        "curves": curves.over_time(fitted, label="ms", beneath="min"),
        "series": series.below_each_other([panel], beneath="part")[0],
        "periods": constancy.periods(x, x, found, what="round trip"),
        "shares": constancy.lengths_of_periods({"one": [60, 600]}, mark=(100.0, "2001")),
        "lengths": against_length(probes, (), what="round trip"),
    }
    open_pictures(browser, shown, tmp_path / "kinds.html")
    assert len({drawn(browser, n) for n in range(len(shown))}) == len(shown)
    words = browser.find_element("css selector", "body").text
    for label in ("median of a change-free period", "20 probes", "polynomial", "half", "2001"):
        assert label in words


def test_the_page_of_a_sweep_has_a_table_and_pictures(
    browser: Any, netspurt: Command, tmp_path: Path
) -> None:
    Path("sweep.toml").write_text(SWEEP)
    netspurt("sweep", "sweep.toml", "--out", "sweep")
    result = netspurt("report", "sweep")
    assert result.stdout == "sweep/report.html\n", result.stderr
    opened(browser, tmp_path / "sweep" / "report.html")
    assert browser.get_log("browser") == []
    rows = [row.text for row in all_of(browser, "tbody tr")]
    assert len(rows) == 4 + 2
    assert rows[0].startswith("2400 bit/s 1 segment")
    assert rows[4].startswith("9600 bit/s")
    assert re.search(r" better| worse| cannot tell| same", rows[4])
    titles = [heading.text for heading in all_of(browser, ".panel h4")]
    assert "Goodput, by rate and window" in titles
    assert "no value of this measure: mean completion time. Its mean leaves" in browser.page_source


#: A sweep over two rates of a link and two initial windows; each run draws a delay.
SWEEP = """
title = "Windows and rates"
stop = "30 s"
[links]
modem = { between = ["a", "b"], rate = "9600 bit/s", delay = "150 ms", queue = "4 packets" }
[flows.transfer]
from = "a"
to = "b"
send = "20 kB"
[sweep]
seeds = 2
[sweep.over]
rate = { path = "links.modem.rate", values = ["2400 bit/s", "9600 bit/s"] }
window = { path = "flows.transfer.tcp.initial_window", values = ["1 segment", "4 segments"] }
delay = { path = "links.modem.delay", from = "50 ms", to = "300 ms", draw = true }
"""
