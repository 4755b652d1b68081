"""Tests the page of a sweep: its answer in words, its units, and tables that fit the page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import netspurt as ns
from netspurt.analysis.bootstrap import Interval
from netspurt.analysis.grouping import seeds_change_nothing
from netspurt.pictures.cases import Figures, of_cases
from netspurt.pictures.measures import alike, in_words
from netspurt.report import page, sweep_section
from netspurt.report.best import ComparedAxis, best_of
from netspurt.report.parts import Section
from netspurt.report.sweeps import _best_first
from netspurt.sweep import Sweep, SweepFolder, run_sweep
from netspurt.sweep.randomness import is_exact

from conftest import Command
from report_pages import opened, rows_of

#: A web page loses some of its last segments. The sweep varies the losses and the TCP stack.
TAIL = ns.load("tail-loss").replace({"sweep.seeds": 3})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> SweepFolder:
    """Run the sweep `TAIL`; return its folder."""
    found, _ = run_sweep(Sweep.of(TAIL), str(tmp_path_factory.mktemp("sweeps") / "tail"))
    return found


@pytest.fixture(scope="module")
def section(folder: SweepFolder) -> Section:
    """Return the section of the page about the sweep `TAIL`."""
    return sweep_section(folder, "tail", ["Nothing is random."])


def test_the_page_of_a_sweep_begins_with_the_best_value_of_each_axis(section: Section) -> None:
    (part,) = section.parts
    best = re.match(
        r"By mean time to the whole reply, stack = linux-sfr is best: "
        r"\S+ ms \(95 %: \S+ \.\. \S+\)\.",
        part.answer,
    )
    assert best
    assert re.search(r"Cannot be told apart from stack = linux-sfr: .*linux\.", part.answer)
    assert re.search(r"Worse: reno, .*rack\.", part.answer)
    varied = "tail (4), stack (10), 3 runs of each combination, paired; each run draws delay"
    assert part.words[0] == f"120 cases: {varied}."
    assert "Nothing is random." in part.words


def test_a_condition_of_the_path_is_never_called_best_or_worse(section: Section) -> None:
    """The axis `tail` says which segments are lost. A user cannot choose this."""
    (part,) = section.parts
    told = " ".join([part.answer, *part.words])
    assert not re.search(r"tail = \S+ is best|from tail = |values of tail", told)
    (table,) = (table for table in part.tables if table.caption.startswith("Differences from tail"))
    assert "higher, lower, same or cannot tell" in table.caption
    cells = " ".join(cell for row in table.rows for cell in row)
    assert "higher" in cells
    assert not re.search("better|worse", cells)
    (stacks,) = (one for one in part.tables if one.caption.startswith("Differences from stack"))
    assert "better" in " ".join(cell for row in stacks.rows for cell in row)


def test_the_page_of_a_sweep_says_what_the_values_of_its_axes_set(
    section: Section, tmp_path: Path
) -> None:
    text = page([section], tmp_path / "page.html")
    rows = dict(rows_of(text, "The values of stack"))
    assert len(rows) == 10
    assert rows["reno"] == "nothing; the values of the file apply"
    assert rows["sfr"] == 'flows.page.tcp.sfr = { factor = 3.0, cutout = "80 kB" }'
    assert rows["floor"] == 'flows.page.tcp.rto.min = "200 ms"'
    assert re.fullmatch(r'flows\.page\.profile = "linux-6" \(Linux 6 .*\)', rows["linux"])
    assert dict(rows_of(text, "The values of tail"))["9"] == "nothing; the values of the file apply"


def test_dots_are_sorted_and_their_axis_ends_near_the_values() -> None:
    figures: Figures = {
        (name,): Interval(value, value - 0.01, value + 0.01, 0.95, 1)
        for name, value in {"b": 0.96, "a": 0.99, "c": 0.94, "d": float("nan")}.items()
    }
    shown = of_cases("dot", figures, ["timer"], "fairness")
    assert [text for _, text in shown.y.ticks] == ["c", "b", "a"]
    (low, high), _ = shown.ends
    assert 0.9 < low < 0.93
    assert 1.0 <= high < 1.02
    with pytest.raises(ValueError, match="a dot shows one name, and not 2"):
        of_cases("dot", {}, ["one", "two"], "fairness")


def test_a_best_value_needs_two_labels_and_is_decided_if_another_value_is_worse(
    folder: SweepFolder,
) -> None:
    cases = folder.read()
    shown = alike({"completion_ns_mean": 1e9})["completion_ns_mean"]
    found = best_of(ComparedAxis(cases, folder, "stack", "completion_ns_mean", shown, exact=False))
    assert found is not None
    assert found.decided
    first = {name: column[:1] for name, column in cases.items()}
    only = best_of(ComparedAxis(first, folder, "stack", "completion_ns_mean", shown, exact=False))
    assert only is None  # one label leaves nothing to compare


def test_all_times_on_the_page_of_a_sweep_have_one_unit(section: Section) -> None:
    (part,) = section.parts
    heads = {text for rows in part.tables for text in rows.head}
    labels = {
        one
        for group in section.groups
        for panel in group.sides[0].flows[0].panels
        for one in (panel.picture.y.label, panel.picture.marks[0].label)
    }
    units = re.findall(r"\[(\S*s)\]", " ".join(heads | labels))
    assert set(units) - {"kbit/s"} == {"ms"}
    assert {"mean time to the whole reply [ms]", "waited for timeouts [ms]"} <= heads & labels


def test_figures_in_a_common_unit_are_legible_for_the_smallest_and_the_largest_measure() -> None:
    told = alike({"request_ns_p50": 142e6, "request_ns_p99": 1.9e9, "goodput_bps": 5e6})
    assert [one.unit for one in told.values()] == ["ms", "ms", "Mbit/s"]
    assert told["request_ns_p99"].factor * 1.9e9 == pytest.approx(1900)
    # Nine hours in milliseconds would have too many digits.
    assert alike({"request_ns_p50": 0.5e6, "request_ns_max": 32e12})["request_ns_p50"].unit == "s"
    assert in_words("connection_ns_mean")[0] == "mean duration of a connection"


def test_the_interval_in_a_table_of_a_sweep_has_its_own_line(
    section: Section, tmp_path: Path
) -> None:
    text = page([section], tmp_path / "page.html")
    cell = rows_of(text, "Differences from stack reno")[0][1]
    assert re.fullmatch(r"-[\d.,]+, better\n-[\d.,]+ \.\. -[\d.,]+", cell)
    assert 'class="right lines"' in text


def test_no_table_of_a_sweep_is_cut_in_a_wide_window_or_on_paper(
    browser: Any, section: Section, tmp_path: Path
) -> None:
    file = tmp_path / "page.html"
    file.write_text(page([section], file))
    script = """
    const every = [...document.querySelectorAll(".scroll")];
    return every.map((one) => one.scrollWidth - one.clientWidth);
    """
    opened(browser, file, 1400)
    assert browser.execute_script(script) == [0, 0, 0, 0, 0]
    opened(browser, file, 718)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert browser.execute_script(script) == [0, 0, 0, 0, 0]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    # In a narrow window, the first tables have a scroll bar and scroll sideways. The page does not
    # scroll sideways.
    opened(browser, file, 400)
    assert min(browser.execute_script(script)[:3]) > 0
    bar = "const one = document.querySelector('.scroll'); return getComputedStyle(one).overflowX"
    assert browser.execute_script(bar) == "scroll"
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 400


#: Changes to the scenario of RFC 2416. Nothing is random. With a short queue, Reno is better than
#: SACK recovery.
CERTAIN = {
    "stop": "240 s",
    "sweep": {
        "seeds": 3,
        "over": {
            "queue": {
                "path": "links.modem.queue",
                "values": ["3 packets", "10 packets", "30 packets"],
            },
            "recovery": {"path": "flows.transfer.tcp.recovery", "values": ["reno", "sack"]},
        },
    },
}


def test_the_page_of_a_sweep_without_randomness_agrees_with_the_command_sweep_compare(
    netspurt: Command, tmp_path: Path
) -> None:
    folder, _ = run_sweep(Sweep.of(ns.new_scenario().replace(CERTAIN)), str(tmp_path / "own"))
    (part,) = sweep_section(folder, "own").parts
    text = " ".join([part.answer, *part.words, *part.notes])
    assert "95 %" not in text
    assert "chance" not in text
    assert part.answer.endswith(
        "By goodput, recovery = sack is best: 8.96 kbit/s. reno is worse. But with queue = 3 "
        "packets, reno is better: 8.64 kbit/s against 8.512 kbit/s."
    )
    cells = [cell for table in part.tables[:3] for row in table.rows for cell in row]
    assert not [cell for cell in cells if ".." in cell]
    assert "0" in cells, "a count that is zero in all runs must have no interval"
    words = ("-m", "goodput_bps", "-m", "retransmissions", "--axis", "recovery")
    told = netspurt("sweep", "compare", "own", *words).stdout
    assert told.count("all equal") == 6
    assert ".." not in told


def test_equal_runs_with_rare_losses_keep_their_intervals(tmp_path: Path) -> None:
    """No run has a loss, but a run with another seed may have a loss."""
    rare = {**CERTAIN, "links.lan.loss": {"probability": 1e-9}}
    folder, _ = run_sweep(Sweep.of(ns.new_scenario().replace(rare)), str(tmp_path / "rare"))
    assert seeds_change_nothing(folder.read(), folder.labels)
    assert not is_exact(folder, folder.read())
    (part,) = sweep_section(folder, "rare").parts
    assert any("0\n0 .. 1.23" in cell for row in part.tables[0].rows for cell in row)


@pytest.mark.parametrize(
    ("axis", "exact"),
    [
        ({"path": "links.lan.loss.probability", "values": [0, 1e-9]}, False),
        ({"path": ["links.lan.loss.probability"], "values": [0, 1e-9]}, False),
        ({"path": "links.modem.queue", "values": ["3 packets", "9 packets"]}, True),
        ({"sets": {"a": {}, "b": {"links.lan.loss": {"probability": 1e-9}}}}, False),
        ({"sets": {"a": {}, "b": {"links.lan.loss": {"probability": 0}}}}, True),
    ],
)
def test_a_sweep_is_not_exact_if_an_axis_has_random_losses(
    axis: dict[str, Any], exact: bool, tmp_path: Path
) -> None:
    values = {"stop": "5 s", "sweep": {"seeds": 2, "over": {"one": axis}}}
    folder, _ = run_sweep(Sweep.of(ns.new_scenario().replace(values)), str(tmp_path / "s"))
    assert is_exact(folder, folder.read()) == exact


def test_all_pictures_of_an_axis_sort_their_dots_like_the_first_picture(tmp_path: Path) -> None:
    values = {
        "stop": "60 s",
        "sweep": {
            "seeds": 1,
            "over": {
                "recovery": {
                    "path": "flows.transfer.tcp.recovery",
                    "values": ["tahoe", "reno", "newreno", "sack"],
                }
            },
        },
    }
    folder, _ = run_sweep(Sweep.of(ns.new_scenario().replace(values)), str(tmp_path / "s"))
    section = sweep_section(folder, "s")
    drawn = [group.sides[0].flows[0] for group in section.groups]
    assert [one.panels[0].kind for one in drawn] == ["apart-dot"] * len(drawn)
    orders = {tuple(text for _, text in one.panels[0].picture.y.ticks) for one in drawn}
    assert len(drawn) > 3
    assert len(orders) == 1
    goodput = folder.read()["goodput_bps"]
    best = folder.labels["recovery"][int(goodput.argmax())]
    assert drawn[0].name == "goodput_bps"
    assert next(iter(orders))[-1] == best, "the best value must be at the top"


def test_labels_of_a_picture_with_two_axes_are_sorted_by_their_mean_figures() -> None:
    values = {("a", "x"): 1.0, ("a", "y"): 9.0, ("b", "x"): 5.0, ("b", "y"): 2.0}
    figures: Figures = {labels: Interval.without(value) for labels, value in values.items()}
    assert _best_first(figures, "completion_ns_mean") == ["b", "a"]
    assert _best_first(figures, "goodput_bps") == ["a", "b"]


def test_the_page_of_a_sweep_shows_the_mean_time_of_requests(tmp_path: Path) -> None:
    over = {"profile": {"path": "flows.web.profile", "values": ["linux-6", "reno-1998"]}}
    requests = ns.load("requests").replace({"sweep": {"seeds": 2, "over": over}})
    folder, _ = run_sweep(Sweep.of(requests), str(tmp_path / "s"))
    (part,) = sweep_section(folder, "s").parts
    assert part.tables[0].head[1] == "mean time to the whole reply [ms]"
    assert part.answer.startswith("By mean time to the whole reply, profile = ")
