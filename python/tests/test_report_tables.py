"""Tests the tables of repairs, and the HTML of tables, lines and links.

A loss is repaired by the next transmission of its octets. The transmissions in these tests are
written by hand.
"""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netspurt.causes import TIMERS, begun
from netspurt.report.flows import directions_with_data
from netspurt.report.markup import Spot, section_markup
from netspurt.report.page import page
from netspurt.report.parts import MOST_ROWS, Link, Part, Place, Rows, Section
from netspurt.report.repairs import Drawn, missed_rows, spurious_rows

from made_up_papers import made_run, table

#: A transmission: its time [s], its first octet, its number of octets and its cause.
Sent = tuple[float, int, int, str]


def run_of(
    sent: list[Sent], gone: list[int], *, acked: int = 10**6, why: str = "loss", **more: Any
) -> Any:
    """Return a run of one flow. The transmissions in `gone` are lost 0.1 s after they leave."""
    count = len(sent)
    t, seq, octets, cause = (list(column) for column in zip(*sent, strict=True))
    segments = {
        "node": ["a"] * count,
        "flow": ["x"] * count,
        "direction": ["forward"] * count,
        "way": ["out"] * count,
        "kind": ["data"] * count,
        "flags": np.full(count, 16),
        "ack": np.ones(count, np.int64),
        "t_s": t,
        "id": [100 + n for n in range(count)],
        "packet": list(range(1, count + 1)),
        "seq": np.array(seq, np.int64),
        "len_bytes": np.array(octets, np.int64),
        "cause": cause,
        "spurious": np.zeros(count, bool),
    }
    drops = {
        "t_s": [t[n] + 0.1 for n in gone],
        "flow": ["x"] * len(gone),
        "direction": ["forward"] * len(gone),
        "kind": ["data"] * len(gone),
        "reason": [why] * len(gone),
        "id": [100 + n for n in gone],
    }
    flows = {
        "flow": ["x"],
        "direction": ["forward"],
        "from": ["a"],
        "sent": [count],
        "acked_bytes": [acked],
        "retransmissions": [sum(map(bool, cause))],
        "spurious": [0],
        "timeouts": [0],
    }
    columns = {"segments": segments, "drops": drops, "flows": flows}
    tables: Any = {name: table(**own | more.get(name, {})) for name, own in columns.items()}
    return made_run(**tables)


def missed(run: Any) -> list[tuple[str, ...]]:
    """Return the rows of losses that a timer repaired or that were never repaired."""
    rows = missed_rows(run, directions_with_data(run), Drawn({"x"}))
    assert rows is not None
    return [tuple(row) for row in rows.rows]


# Repairs.

#: Two segments of 1,000 octets, sent at 1 s and at 1.5 s.
FIRST, SECOND = (1.0, 1, 1000, ""), (1.5, 1001, 1000, "")


def test_a_loss_before_a_spurious_retransmission_is_not_listed() -> None:
    """The original arrived, but its ACKs were lost. The first retransmission was lost, too."""
    retransmissions = (2.0, 1, 1000, "rto"), (3.0, 1, 1000, "rto")
    for spurious, count in ([False, True, True], 0), ([False, False, False], 1):
        told = {"spurious": np.array(spurious)}
        rows = missed(run_of([FIRST, *retransmissions], gone=[1], acked=1000, segments=told))
        assert len(rows) == count


@pytest.mark.parametrize(
    ("causes", "waits"),
    [
        (["fast"], False),
        (["tlp"], False),
        (["rto"], True),
        (["shim"], True),
        # Go-back-N continues the repair that began before it.
        (["fast", "go-back-n"], False),
        (["go-back-n"], True),
    ],
)
def test_a_loss_is_listed_if_a_retransmission_timer_began_its_repair(
    causes: list[str], waits: bool
) -> None:
    """All causes except the last belong to another segment, which is retransmitted earlier."""
    earlier = [(2.0, 1001, 1000, cause) for cause in causes[:-1]]
    run = run_of([FIRST, SECOND, *earlier, (3.1, 1, 1000, causes[-1])], [0])
    rows = missed(run)
    assert bool(rows) == waits
    if waits:
        assert rows[0][:7] == ("1.100000 s", "x", "1", "1", "1,000", "loss", "3.100000 s")
        assert rows[0][8] == "2 s"


@pytest.mark.parametrize(("acked", "told"), [(2000, []), (1999, ["never"]), (0, ["never"])])
def test_a_loss_without_a_retransmission_counts_as_repaired_only_if_its_data_is_acknowledged(
    acked: int, told: list[str]
) -> None:
    rows = missed(run_of([FIRST, SECOND], [1], acked=acked))
    assert [row[6] for row in rows] == told
    assert all(row[7:] == ("-", "-") for row in rows)


@pytest.mark.parametrize(
    ("changes", "listed"),
    [
        ({}, 1),
        ({"kind": ["ack"]}, 0),
        ({"reason": ["reassembly"]}, 0),
        ({"id": [99]}, 0),
        ({"flow": ["y"]}, 0),
    ],
)
def test_the_losses_of_a_direction_are_only_the_drops_of_its_data(
    changes: dict[str, Any], listed: int
) -> None:
    assert len(missed(run_of([FIRST], [0], acked=0, drops=changes))) == listed


def test_repairs_are_those_that_a_search_through_all_transmissions_finds() -> None:
    random = np.random.default_rng(6298)
    listed = 0
    for _ in range(40):
        count = int(random.integers(2, 25))
        causes = random.choice(["", "fast", "rto", "go-back-n", "tlp", "syn"], count).tolist()
        seq, octets = random.integers(1, 60, count) * 10, random.integers(1, 30, count) * 10
        t = np.cumsum(random.integers(0, 3, count) / 8)
        sent = list(zip(t.tolist(), seq.tolist(), octets.tolist(), causes, strict=True))
        gone = sorted(random.choice(count, count // 2, replace=False).tolist())
        acked = int(random.integers(0, 700))
        began, expected = begun(causes), []
        for n in gone:
            later = (
                m for m in range(count) if t[m] > t[n] and seq[m] <= seq[n] < seq[m] + octets[m]
            )
            first = next(later, None)
            if first is None:
                if acked + 1 < seq[n] + octets[n]:
                    expected.append((n, "never"))
            elif began[first] in TIMERS:
                expected.append((n, f"{t[first]:.6f} s"))
        rows = missed(run_of(sent, gone, acked=acked))
        found = sorted((int(row[2]) - 1, row[6]) for row in rows)
        assert found == sorted(expected), (sent, gone, acked)
        listed += len(found)
    assert listed > 50


@pytest.mark.parametrize(
    ("gone", "drops", "words"),
    [
        ([], {}, "No packet was lost."),
        ([0], {}, "Every loss of data was repaired without a timeout."),
        ([0], {"reason": ["reassembly"]}, "No packet was lost."),
        (
            [0, 1, 1],
            {"kind": ["syn", "ack", "ack"], "id": [7, 8, 9]},
            "No data was lost. Other packets that were lost: SYN 1, ACK 2.",
        ),
        (
            [0, 0],
            {"kind": ["data", "ack"], "id": [100, 9], "direction": ["forward", "reverse"]},
            "Every loss of data was repaired without a timeout. "
            "Other packets that were lost: ACK 1.",
        ),
    ],
)
def test_an_empty_table_of_losses_says_why_it_is_empty(
    gone: list[int], drops: dict[str, Any], words: str
) -> None:
    run = run_of([FIRST, (2.0, 1, 1000, "fast")], gone, drops=drops)
    rows = missed_rows(run, directions_with_data(run), Drawn(set()))
    assert rows is not None
    assert (list(rows.rows), rows.empty) == ([], words)


def test_a_lost_syn_or_fin_is_listed_although_it_has_no_octets() -> None:
    sent = [(0.0, 0, 0, ""), (1.0, 0, 0, "syn"), (1.5, 1, 1000, ""), (1.6, 1001, 0, "")]
    told = {"flags": np.array([2, 2, 16, 17]), "kind": ["syn", "syn", "data", "fin"]}
    rows = missed(run_of(sent, [0, 2, 3], acked=1000, segments=told))
    assert rows == [
        ("0.100000 s", "x", "1", "0", "0", "loss, SYN", "1.000000 s", "SYN", "900 ms"),
        ("1.700000 s", "x", "4", "1,001", "0", "loss, FIN", "never", "-", "-"),
    ]
    # The FIN has the number 1,001, so its ACK has the number 1,002.
    told |= {"way": ["in"] + 3 * ["out"], "ack": np.array([1002, 0, 1, 1])}
    assert len(missed(run_of(sent, [3], acked=1000, segments=told))) == 0


def test_losses_are_unknown_without_drops_or_if_another_node_recorded_the_segments() -> None:
    run = run_of([FIRST], [0])
    elsewhere = run_of([FIRST], [0], segments={"node": ["r"]})
    assert missed_rows(elsewhere, directions_with_data(run), Drawn(set())) is None
    unrecorded = made_run(segments=run.segments, flows=run.flows)
    assert missed_rows(unrecorded, directions_with_data(run), Drawn(set())) is None


def spurious(run: Any, drawn: Drawn) -> Rows:
    """Return the table of spurious retransmissions."""
    return spurious_rows(run, directions_with_data(run), drawn)


def test_the_place_of_a_spurious_retransmission_is_the_middle_of_its_octets() -> None:
    sent = [FIRST, SECOND, (2.0, 1001, 1000, "rto"), (0.5, 0, 0, "syn")]
    flags = {"spurious": np.array([False, False, True, True]), "kind": ["data"] * 3 + ["syn"]}
    rows = spurious(run_of(sent, [], segments=flags), Drawn({"x"}, side=1))
    assert list(rows.rows) == [
        ("0.500000 s", "x", "4", "0", "0", "SYN, SYN"),
        ("2.000000 s", "x", "3", "1,001", "1,000", "timeout"),
    ]
    assert rows.places == [Place(1, "x", 0.5, 0), Place(1, "x", 2.0, 1501)]
    assert rows.caption == "Spurious retransmissions: 2"


def test_a_table_of_spurious_retransmissions_keeps_the_first_500() -> None:
    sent = [(600.0 - n, 1, 10, "rto") for n in range(502)]
    run = run_of(sent, [], segments={"spurious": np.ones(502, bool)})
    rows = spurious(run, Drawn(set()))
    assert (len(rows.rows), rows.more, set(rows.places)) == (MOST_ROWS, 2, {None})
    assert rows.rows[0][0] == "99.000000 s"


@pytest.mark.parametrize(
    ("cause", "counted", "words"),
    [
        ("", 0, "Nothing was retransmitted."),
        ("rto", 0, "No retransmission was spurious."),
        ("", 1200, "None of the 1,200 spurious retransmissions was recorded."),
    ],
)
def test_an_empty_table_of_spurious_retransmissions_says_why_it_is_empty(
    cause: str, counted: int, words: str
) -> None:
    run = run_of([FIRST, (2.0, 1, 9, cause)], [], flows={"spurious": [counted]})
    assert spurious(run, Drawn(set())).empty == words


# HTML.


def markup(part: Part) -> str:
    """Return the HTML of a section with this part."""
    return section_markup(Section("A heading", [part]), Spot(3, 7, Path("/o/p.html")))


def test_the_cells_of_a_table_are_escaped_and_aligned() -> None:
    rows = Rows("a < b", ("name", "figure"), [("x & y", "1\n0 .. 2")], right=(1,))
    text = markup(Part("p", tables=[rows]))
    assert "<caption>a &lt; b</caption>" in text
    assert '<td>x &amp; y</td><td class="right lines">1\n0 .. 2</td>' in text
    assert '<th scope=col>name</th><th scope=col class="right">figure</th>' in text


@pytest.mark.parametrize(("more", "words"), [(1, "1 more row"), (1234, "1,234 more rows"), (0, "")])
def test_a_sentence_counts_the_omitted_rows_and_says_where_they_are(more: int, words: str) -> None:
    rows = Rows("c", ("h",), [("x",)], more=more, elsewhere="`netspurt table` prints all.")
    text = markup(Part("p", tables=[rows]))
    sentence = (
        f'<p class="more">Not shown: {words}, because a table has at most 500 rows. '
        "<code>netspurt table</code> prints all.</p>"
    )
    assert (sentence in text) == bool(more)
    assert ("Not shown" in text) == bool(more)


def test_a_row_has_a_button_to_its_place_or_a_link_to_its_section() -> None:
    placed = Rows("c", ("h",), [("x",), ("y",)], places=[Place(1, 'a"b', 2.5, 3.0), None])
    led = Rows("d", ("h",), [("u",), ("v",)], sections=[2, 0])
    text = markup(Part("p", places=[placed], tables=[led]))
    (data,) = re.findall(r'data-place="([^"]*)"', text)
    assert json.loads(unescape(data)) == {"group": 7, "side": 1, "flow": 'a"b', "x": 2.5, "y": 3.0}
    assert text.count("<button") == 1
    assert '<a href="#part-5">u</a>' in text
    assert "<td>v</td>" in text
    assert "<td>y</td>" in text


def test_a_table_without_rows_becomes_a_sentence_or_nothing() -> None:
    part = Part("p", places=[Rows("c", ("h",), [], empty="No `x` here."), Rows("d", ("h",), [])])
    text = markup(part)
    assert '<p class="empty">No <code>x</code> here.</p>' in text
    assert "<table>" not in text


@pytest.mark.parametrize(
    ("path", "href"),
    [
        ("/o/run/a.parquet", "./run/a.parquet"),
        ("/o/a:b.parquet", "./a%3Ab.parquet"),
        ("/x/a b.toml", "../x/a%20b.toml"),
        ("/o/a?b#c<d", "./a%3Fb%23c%3Cd"),
    ],
)
def test_links_are_relative_to_the_page_and_quoted(path: str, href: str) -> None:
    text = markup(Part("p", links=[Link("a < b", path)]))
    assert f'<a href="{href}">a &lt; b</a>' in text


@pytest.mark.parametrize(
    ("width", "style"),
    [
        (100, ""),
        (101, "wide-120"),
        (120, "wide-120"),
        (121, "wide-150"),
        (151, "wide-180"),
        (999, "wide-180"),
    ],
)
def test_only_wide_tables_have_smaller_type_on_paper(width: int, style: str) -> None:
    text = markup(Part("p", lines=["a" * (width - 3) + "  b", "a sentence " * 99]))
    assert re.findall(r"<pre(?: class=(\S+))? role", text) == [style]


def test_the_lines_of_a_table_stay_together() -> None:
    lines = ["Timers:", "rto:min=1  20 ms", "fixed      3 s", "           9 s", "  So run `x`."]
    text = markup(Part("p", lines=lines))
    assert text.count('<span class="cells"') == 1
    names = re.findall(r'<span class="own">(.*?)</span>', text)
    assert names == ["rto:<wbr>min=1", "fixed"]
    assert '<span class="prose">  So run <code>x</code>.\n</span>' in text


def sections(*headings: str, within: str = "") -> list[Section]:
    """Return sections with these headings; those in `within` belong to a folder."""
    return [Section(one, [Part(one)], within=one in within) for one in headings]


@pytest.mark.parametrize(
    ("headings", "title"),
    [("a", "a"), ("abc", "a · b · c"), ("abcd", "a and 3 more")],
)
def test_the_title_of_a_page_names_three_headings_at_most(headings: str, title: str) -> None:
    text = page(sections(*headings), "/o/p.html")
    assert f"<title>{title}" in text
    assert ('aria-label="Contents"' in text) == (len(headings) > 1)
    assert (f"<h2>{headings[0]}</h2>" in text) == (len(headings) > 1)


def test_sections_within_a_folder_have_a_link_back_to_the_list_of_the_folder() -> None:
    text = page(sections("F", "x", "G", "y", within="xy"), "/o/p.html")
    assert "<title>F · G" in text
    back = re.findall(r'<a href="#(part-\d)">Back to the list</a>', text)
    assert back == ["part-0", "part-2"]
    assert re.findall(r'<li><a href="#(part-\d)">', text) == ["part-0", "part-2"]


def test_a_text_that_looks_like_a_placeholder_of_the_page_is_not_replaced() -> None:
    text = page([Section("{{style}} {{nothing}}", [Part("p", words=["{{script}}"])])], "/o/p.html")
    assert "<p>{{script}}</p>" in text
    with pytest.raises(ValueError, match="a report needs something to show"):
        page([], "/o/p.html")
