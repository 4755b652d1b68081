"""Tests how commands print tables, numbers and units for people, and CSV and JSON for programs."""

from __future__ import annotations

import csv
import io
import math
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_output import Terminal

from netspurt import wording
from netspurt.cli.output import (
    columns,
    complain,
    fitted,
    harmless,
    named,
    paint,
    unstyled,
    width,
    wrapped,
)
from netspurt.cli.programs import Form, cell, print_csv
from netspurt.cli.words import first_sentence

#: Strategies that draw words, sentences and tables of sentences.
WORD = st.text("abcdefghij0123456789", min_size=1, max_size=12)
SENTENCE = st.lists(WORD, min_size=1, max_size=12).map(" ".join)
TABLE = st.integers(1, 4).flatmap(
    lambda n: st.lists(st.lists(SENTENCE, min_size=n, max_size=n), min_size=1, max_size=5)
)


@given(TABLE)
@settings(max_examples=40, deadline=None)
def test_columns_begin_at_the_same_place_in_every_line(rows: list[list[str]]) -> None:
    lines = list(columns(rows))
    assert len(lines) == len(rows)
    starts = [0]
    for n in range(len(rows[0]) - 1):
        starts.append(starts[-1] + max(len(row[n]) for row in rows) + 2)
    for line, row in zip(lines, rows, strict=True):
        assert [line[at : at + len(text)] for at, text in zip(starts, row, strict=True)] == row


@given(TABLE, st.integers(10, 120))
@settings(max_examples=60, deadline=None)
def test_only_long_words_make_a_table_wider_than_the_given_width(
    rows: list[list[str]], room: int
) -> None:
    lines = list(columns(rows, room=room))
    places = range(len(rows[0]))
    least = sum(max(len(word) for row in rows for word in row[n].split()) for n in places)
    assert max(map(len, lines)) <= max(room, least + 2 * (len(rows[0]) - 1))
    # No word is lost or cut: the lines have the words of all cells, in any order.
    words = sorted(word for row in rows for text in row for word in text.split())
    assert sorted(word for line in lines for word in line.split()) == words


def test_a_number_stays_with_its_unit_in_a_narrow_column() -> None:
    told = list(columns([("delay", "x"), ("about 25 ms here", "y")], room=12))
    assert told == ["delay      x", "about      y", "25 ms", "here"]
    # `s` is a unit, `seconds` is a word.
    assert list(columns([("25 seconds",)], room=7)) == ["25", "seconds"]


@pytest.mark.parametrize("unit", ["s", "ms", "µs", "ns", "B", "kB", "MB", "GB", "Mbit/s", "%"])
def test_no_line_ends_between_a_number_and_a_unit(unit: str) -> None:
    text = " ".join(f"word 12 {unit}" for _ in range(20))
    lines = list(fitted([text], 61))
    assert len(lines) > 1
    assert not any(re.search(r"\d$", line) for line in lines)
    assert " ".join(lines) == text


def test_right_aligned_cells_end_at_the_same_place() -> None:
    told = list(columns([("n", "bytes"), ("1", "20"), ("300", "4")], right=(1,)))
    assert told == ["n    bytes", "1       20", "300      4"]


def test_a_line_ends_without_spaces() -> None:
    assert list(columns([("a", ""), ("long", "b")])) == ["a", "long  b"]
    assert list(wrapped([["a", "b"]], [10, 10])) == ["a           b"]


def test_a_wrapped_row_has_as_many_lines_as_its_longest_cell() -> None:
    told = list(wrapped([["one two three", "x"], ["", "y z"]], [7, 1]))
    assert told == ["one two  x", "three", "         y", "         z"]


def test_short_lines_and_lines_of_tables_and_commands_are_not_wrapped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    long = " ".join(["word"] * 20)
    table, command, indented = f"a  {long}", f"See: {long}", f"  {long}"
    assert list(fitted([table, command, "", "short"])) == [table, command, "", "short"]
    lines = list(fitted([indented]))
    assert lines[0].startswith("  word")
    assert all(line.startswith("    word") for line in lines[1:])
    assert max(map(len, lines)) <= 60
    exact = "x" * 60
    assert list(fitted([exact])) == [exact]


@pytest.mark.parametrize(
    ("terminal", "most", "wide"),
    [(80, None, 80), (200, None, 200), (200, 100, 100), (80, 100, 80), (20, None, 60)],
)
def test_the_width_of_lines_follows_the_terminal_between_two_limits(
    monkeypatch: pytest.MonkeyPatch, terminal: int, most: int | None, wide: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(terminal))
    assert width(most) == wide


# Errors and names.


def test_an_error_about_a_file_shows_its_name_and_the_reason(
    capsys: pytest.CaptureFixture[str],
) -> None:
    complain(FileNotFoundError(2, "No such file or directory", "here.pcap"))
    complain(ValueError("here.pcap: No such file (os error 2): name another"))
    complain(ValueError("\x1b[31mred.pcap"), "warning:")
    complain(OSError("without a number"))
    assert capsys.readouterr().err.splitlines() == [
        "error: here.pcap does not exist",
        "error: here.pcap: No such file: name another",
        r"warning: \x1b[31mred.pcap",
        "error: without a number",
    ]


def test_the_name_of_a_file_is_printed_in_one_line_without_styles(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert named("a\tb\nc\x1b[2Jd\x9be") == r"a\x09b\x0ac\x1b[2Jd\x9be"
    style = paint("x", "bold red", Terminal())
    assert "\x1b" not in named(harmless(style)), "a name has no styles of its own"
    assert unstyled(f"{style} \x1b[2J") == "x \x1b[2J"


# Numbers and units.


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (-12345.0, "-12,345"),
        (999_999_999_999_999, "999,999,999,999,999"),
        (1e15, "1e+15"),
        (0.5, "0.5"),
        (12345.6, "1.235e+04"),
        (math.nan, "nan"),
        (math.inf, "inf"),
    ],
)
def test_whole_numbers_below_1e15_have_commas_and_other_numbers_have_four_digits(
    value: float, text: str
) -> None:
    assert wording.number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(1090.4, "1,090"), (123_456, "123,000"), (0.00012345, "0.000123"), (99.96, "100"), (0, "0")],
)
def test_a_rounded_number_has_three_significant_digits_and_no_exponent(
    value: float, text: str
) -> None:
    assert wording.rounded(value) == text


@pytest.mark.parametrize(
    ("told", "text"),
    [
        (wording.rate(0), "0 bit/s"),
        (wording.rate(999), "999 bit/s"),
        (wording.rate(1000), "1 kbit/s"),
        (wording.rate(1e9), "1 Gbit/s"),
        (wording.rate(2.5e12), "2,500 Gbit/s"),
        (wording.octets(999), "999 B"),
        (wording.octets(1000), "1 kB"),
        (wording.octets(0.4), "0 B"),
        (wording.duration(0), "0 ms"),
        (wording.duration(1), "1 s"),
        (wording.duration(0.0004), "0.4 ms"),
        (wording.counted(0, "drop"), "0 drops"),
        (wording.counted(1, "retry", "retries"), "1 retry"),
        (wording.counted(1000, "retry", "retries"), "1,000 retries"),
        (wording.by_chance(19), "0.9"),
        (wording.by_chance(20), "1"),
        (wording.by_chance(0), "0.0"),
    ],
)
def test_rates_sizes_times_counts_and_chances_are_printed_for_people(told: str, text: str) -> None:
    assert told == text


@given(st.floats(1e-3, 1e13))
@settings(max_examples=60, deadline=None)
def test_a_printed_rate_is_wrong_by_at_most_half_a_unit_of_its_third_digit(bps: float) -> None:
    scales = {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}
    figure, unit = wording.rate(bps).split()
    told = float(figure.replace(",", "")) * scales[unit]
    assert told == pytest.approx(bps, rel=0.0051)


def test_the_error_for_an_unknown_name_lists_the_first_known_names() -> None:
    known = [f"f{n}" for n in range(3)]
    assert wording.unknown_name("flow", "x", known, most=3) == (
        "no flow is called 'x'; the flows are f0, f1, f2"
    )
    assert wording.unknown_name("flow", "x", known, most=1).endswith("the flows are f0, and more")


@pytest.mark.parametrize(
    ("character", "shown"),
    [("\x00", r"\x00"), ("\x7f", r"\x7f"), ("\x9b", r"\x9b"), ("\u2066", r"\u2066")],
)
def test_a_control_character_is_shown_by_its_code(character: str, shown: str) -> None:
    assert wording.plain(f"a{character}b") == f"a{shown}b"
    assert wording.plain("a\tb\nc é") == "a\tb\nc é"


@pytest.mark.parametrize(
    ("text", "first"),
    [
        (
            "Replay timers (e.g. linux) on delays. Exit with 1.",
            "Replay timers (e.g. linux) on delays.",
        ),
        ("Is it valid? Yes.", "Is it valid?"),
        ("Read RFC 889.5 first.\n\nMore.", "Read RFC 889.5 first."),
        ("One\nline only", "One line only"),
        ("", ""),
    ],
)
def test_the_first_sentence_of_a_help_text_is_one_line(text: str, first: str) -> None:
    assert first_sentence(text) == first


# Rows for programs.


#: A strategy that draws values of all types that a cell may have.
VALUE = st.one_of(
    st.none(), st.booleans(), st.integers(), st.text("ab,;\"'\n", max_size=5), st.floats(0, 9)
)


@given(st.lists(st.dictionaries(st.sampled_from("abc"), VALUE), min_size=1, max_size=4))
@settings(max_examples=40, deadline=None)
def test_rows_of_csv_have_each_value_below_its_name(rows: list[dict[str, Any]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        out = io.StringIO()
        patch.setattr("sys.stdout", out)
        print_csv(rows)
    names = list(dict.fromkeys(name for row in rows for name in row))
    head, *read = csv.reader(io.StringIO(out.getvalue(), newline=""))
    assert head == names
    # A row without any column is an empty line. Empty lines are not compared.
    wanted = [[cell(row.get(name)) for name in names] for row in rows]
    assert [row for row in read if row] == [row for row in wanted if row]


def test_tables_within_a_row_become_columns(capsys: pytest.CaptureFixture[str]) -> None:
    rows: list[dict[str, Any]] = [
        {"name": "a", "timer": {"value": 1.5, "ends": {"low": 1, "high": math.nan}}},
        {"name": "b", "more": [1, None, True]},
    ]
    print_csv(rows)
    assert capsys.readouterr().out.splitlines() == [
        "name,timer.value,timer.ends.low,timer.ends.high,more",
        "a,1.5,1,,",
        "b,,,,1; ; true",
    ]
    print_csv(rows, ["timer.value", "none"])
    assert capsys.readouterr().out.splitlines() == ["timer.value,none", "1.5,", ","]
    print_csv([], ["a", "b"])
    assert capsys.readouterr().out == "a,b\n"


def test_output_is_json_or_csv_but_not_both(capsys: pytest.CaptureFixture[str]) -> None:
    assert Form().for_people
    assert not Form(as_csv=True).for_people
    Form(as_json=True).print({"a": [1, None]}, [{"b": 2}])
    assert capsys.readouterr().out == '{\n  "a": [\n    1,\n    null\n  ]\n}\n'
    Form(as_csv=True).print({"a": 1}, [{"b": 2}])
    assert capsys.readouterr().out == "b\n2\n"
    with pytest.raises(ValueError, match="--csv and --json both say how to print"):
        Form(as_json=True, as_csv=True)
    with pytest.raises(ValueError, match="Out of range float values are not JSON"):
        Form(as_json=True).print({"a": math.nan}, [])
