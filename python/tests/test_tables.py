"""Tests of tables: selection, order, missing values, and values read back exactly from CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netspurt as ns
from netspurt.captures import explain
from netspurt.table import Table, aligned

from conftest import Command, refused

#: Two flows share one bottleneck; one of them consists of requests and replies.
TWO = """
stop = "4 s"
seed = 3
[record]
spy = ["west0", "west1"]
tables = ["segments", "cwnd", "rto", "rtt", "queue", "drops"]
[dumbbell]
pairs = 2
access = { rate = "10 Mbit/s", delay = "1 ms" }
bottleneck = { rate = "400 kbit/s", delay = "20 ms", queue = "5 packets" }
[flows.bulk]
from = "west0"
to = "east0"
send = "60 segments"
[flows.pages]
from = "west1"
to = "east1"
send = "300 B"
app = { reply = "20 kB", requests = 3 }
"""


@pytest.fixture(scope="module")
def two() -> ns.Run:
    """Return the run of two flows."""
    return ns.Scenario.parse(TWO, "two.toml").run()


@pytest.fixture(scope="module")
def saved(two: ns.Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the run of two flows."""
    return two.save(tmp_path_factory.mktemp("two") / "r")


#: A function that prints a table and returns its rows.
Show = Callable[..., list[dict[str, str]]]


@pytest.fixture
def rows(netspurt: Command, saved: Path) -> Show:
    """Return a function that runs `netspurt table` and returns its rows of CSV."""

    def run(*words: object) -> list[dict[str, str]]:
        result = netspurt("table", saved, *words, "--csv")
        assert (result.returncode, result.stderr) == (0, ""), result.stderr
        return list(csv.DictReader(io.StringIO(result.stdout)))

    return run


def as_written(table: Table, name: str) -> list[str]:
    """Return a column's values as texts, with booleans in lower case. A missing value is ""."""
    column = table[name]
    mask = np.ma.getmaskarray(column)
    values = np.ma.getdata(column).tolist()
    words = [str(v).lower() if isinstance(v, bool) else str(v) for v in values]
    return ["" if gone else word for word, gone in zip(words, mask, strict=True)]


def test_every_table_is_read_back_from_its_csv_exactly(two: ns.Run, rows: Show) -> None:
    assert {"flows", "segments", "requests", "queue"} <= set(two.tables)
    for name, table in two.tables.items():
        printed = rows(name)
        assert len(printed) == len(table), name
        for column in table:
            told = [row[column] for row in printed]
            assert told == as_written(table, column), (name, column)


def test_a_whole_number_of_more_than_32_bits_keeps_all_its_digits(two: ns.Run, rows: Show) -> None:
    ids = [int(row["id"]) for row in rows("segments")]
    assert ids == two.segments["id"].tolist()
    assert max(ids) > 2**32, "the ids must exceed 32 bits"


@pytest.mark.parametrize("flow", ["bulk", "pages"])
@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_the_options_flow_and_direction_select_the_rows_of_this_flow_and_direction(
    two: ns.Run, rows: Show, flow: str, direction: str
) -> None:
    every = rows("segments")
    chosen = rows("segments", "--flow", flow, "--direction", direction)
    wanted = [row for row in every if (row["flow"], row["direction"]) == (flow, direction)]
    assert chosen == wanted
    assert len(chosen) == len(two.segments.where(flow=flow, direction=direction)) > 0
    assert rows("segments", "--direction", direction, "--flow", flow) == chosen


def test_a_span_of_time_includes_both_of_its_ends(rows: Show) -> None:
    every = rows("cwnd")
    low, high = int(every[5]["t_ns"]), int(every[20]["t_ns"])
    span = ["--from", f"{low / 1e9:.9f}", "--to", f"{high / 1e9:.9f}"]
    assert rows("cwnd", *span) == [row for row in every if low <= int(row["t_ns"]) <= high]
    assert rows("cwnd", "--from", 5000) == []
    before, after = rows("cwnd", "--to", 1), rows("cwnd", "--from", 1)
    at_one = [row for row in every if int(row["t_ns"]) == 1_000_000_000]
    assert len(before) + len(after) - len(at_one) == len(every)


@pytest.mark.parametrize("limit", [0, 1, 7, 10_000])
def test_the_option_limit_keeps_the_first_rows_and_the_output_counts_the_others(
    netspurt: Command, saved: Path, rows: Show, limit: int
) -> None:
    every = rows("queue")
    assert rows("queue", "--limit", limit) == every[:limit]
    lines = netspurt("table", saved, "queue", "--limit", limit).stdout.splitlines()
    left = len(every) - limit
    assert (lines[-1] == f"... {left:,} more rows") == (left > 0)
    assert len(lines) == 1 + min(limit, len(every)) + (left > 0)


def test_text_is_aligned_left_and_numbers_right(two: ns.Run) -> None:
    head, *lines = aligned(two.queue.take(np.arange(40)))
    for name in ("link", "queue_packets"):
        at = head.index(name)
        end = at + len(name)
        for line in lines:
            if name == "link":
                assert line[at] != " ", "each text must begin where its heading begins"
            else:
                assert line[:end].rstrip() == line[:end], (
                    "each number must end where its heading ends"
                )


def test_a_missing_value_is_a_dash_for_people_and_empty_for_programs(
    netspurt: Command, saved: Path, rows: Show
) -> None:
    (bulk, *_) = rows("flows", "--flow", "bulk")
    assert bulk["failure"] == ""
    names, *lines = netspurt("table", saved, "flows").stdout.splitlines()
    assert lines[0].split()[names.split().index("failure")] == "-"


def test_invalid_selections_are_refused_and_all_tables_are_listed_if_no_table_is_named(
    netspurt: Command, saved: Path
) -> None:
    refused(netspurt("table", saved, "segments", "--flow", "x"), "the flows are bulk, pages")
    refused(netspurt("table", saved, "links", "--flow", "bulk"), "the table links has no flows")
    refused(netspurt("table", saved, "drops", "--direction", "up"), "not one of forward, reverse")
    listed = netspurt("table", saved).stdout.splitlines()
    names = {file.stem for file in saved.glob("*.parquet")}
    assert {line.partition(":")[0] for line in listed} == names


def test_a_table_without_rows_is_printed_as_its_heading_and_the_words_no_rows(
    netspurt: Command, tmp_path: Path
) -> None:
    run = ns.Scenario.parse(TWO.replace('"5 packets"', '"unlimited"'), "two.toml").run()
    folder = run.save(tmp_path / "empty")
    assert netspurt("table", folder, "drops", "--csv").stdout == ",".join(run.drops) + "\n"
    heading, told = netspurt("table", folder, "drops").stdout.splitlines()
    assert (heading.split(), told) == (list(run.drops), "no rows")
    refused(netspurt("table", folder, "drops", "--flow", "bulk"), "the table drops is empty")
    assert len(repr(run.drops).splitlines()) == 2
    assert run.drops.to_polars().height == 0


# Tables in Python, without the command.


def test_a_selection_of_a_selection_has_the_rows_that_both_select(two: ns.Run) -> None:
    own = two.segments.where(flow="bulk", way="out")
    late = own.select(own.seconds() > 1.0)
    retransmissions = late.where(kind="retransmission")
    direct = two.segments.where(flow="bulk", way="out", kind="retransmission")
    kept = direct.select(direct.seconds() > 1.0)
    for column in retransmissions:
        assert np.ma.allequal(retransmissions[column], kept[column]), column
    assert (
        retransmissions.rows
        == len(retransmissions)
        == int((late["kind"] == "retransmission").sum())
    )


def test_rows_are_taken_in_the_given_order_with_repeats(two: ns.Run) -> None:
    numbers = np.array([5, 0, 5, 2])
    taken = two.cwnd.take(numbers)
    assert taken["t_ns"].tolist() == two.cwnd["t_ns"][numbers].tolist()
    assert taken.take(np.array([3, 1]))["t_ns"].tolist() == two.cwnd["t_ns"][[2, 0]].tolist()
    with pytest.raises(IndexError):
        two.cwnd.take(np.array([len(two.cwnd)]))["t_ns"]


def test_the_value_none_selects_all_rows_and_an_unknown_value_selects_no_rows(two: ns.Run) -> None:
    assert len(two.segments.where(flow=None, node=None)) == len(two.segments)
    assert len(two.segments.where(flow="nobody")) == 0
    with pytest.raises(KeyError, match="table segments has no column 'flwo'; it has t_ns, "):
        two.segments.where(flwo="bulk")


def test_rows_can_be_selected_by_booleans_and_numbers(two: ns.Run) -> None:
    fired = two.rto.where(fired=True)
    assert len(fired) == int(two.rto["fired"].sum())
    first = int(two.cwnd["t_ns"][0])
    assert set(two.cwnd.where(t_ns=first)["t_ns"].tolist()) == {first}


def test_a_time_in_seconds_is_a_billionth_of_its_nanoseconds_and_a_missing_time_is_nan(
    two: ns.Run,
) -> None:
    finished: Any = two.flows["finished_ns"]
    seconds = two.flows.seconds("finished_ns")
    assert np.isnan(seconds).tolist() == np.ma.getmaskarray(finished).tolist()
    assert seconds[~np.isnan(seconds)] == pytest.approx(finished.compressed() / 1e9, abs=0)
    assert two.cwnd.seconds().tolist() == [t / 1e9 for t in two.cwnd["t_ns"].tolist()]


def test_a_table_is_a_mapping_whose_len_is_its_number_of_rows(two: ns.Run) -> None:
    table = two.queue
    assert list(table) == list(table.keys()) == table.to_polars().columns
    assert "t_ns" in table
    assert "nothing" not in table
    assert {len(column) for column in table.values()} == {len(table)}


def test_a_data_frame_has_the_values_of_the_table(two: ns.Run) -> None:
    for name in ("flows", "segments", "requests", "retransmissions"):
        table = two.table(name)
        frame = table.to_polars()
        for column in table:
            values: Any = table[column]
            assert frame[column].to_list() == values.tolist(), (name, column)


def test_a_table_shows_at_most_five_rows_and_says_how_many_it_has(two: ns.Run) -> None:
    head, names, *shown = repr(two.segments).splitlines()
    assert (
        head == f"<Table segments: {len(two.segments)} rows of {len(list(two.segments))} columns>"
    )
    assert names.split() == list(two.segments)
    assert len(shown) == 5
    assert len(repr(two.flows).splitlines()) == 2 + len(two.flows)


def test_the_options_from_and_to_take_times_since_the_first_packet_of_the_capture(
    netspurt: Command, saved: Path
) -> None:
    found = explain(saved / "west0.pcapng", segments=True)
    sent_again_ns = found.segments.where(kind="retransmission")["t_ns"]
    assert len(sent_again_ns) > 1
    middle_s = float(sent_again_ns[len(sent_again_ns) // 2]) / 1e9
    for option in ("--from", "--to"):
        rows = {}
        for name in ("segments", "retransmissions", "connections"):
            span = (option, f"{middle_s:.9f}")
            printed = netspurt("table", saved / "west0.pcapng", name, *span, "--csv").stdout
            rows[name] = list(csv.DictReader(io.StringIO(printed)))
        sent = [row["t_ns"] for row in rows["segments"] if row["kind"] == "retransmission"]
        times = [str(int(row["t_ns"]) - found.start_ns) for row in rows["retransmissions"]]
        assert 0 < len(times) < len(sent_again_ns)
        assert sorted(times) == sorted(sent)
        assert len(rows["connections"]) == (2 if option == "--to" else 0)


def test_the_list_of_tables_states_the_instant_from_which_each_table_counts_time(
    netspurt: Command, saved: Path
) -> None:
    capture = saved / "west0.pcapng"
    found = explain(capture, segments=True)
    listed = {row["table"]: row for row in json.loads(netspurt("table", capture, "--json").stdout)}
    assert list(listed) == list(found.tables)
    # Captures of simulations begin in the year 2000.
    assert found.start_ns >= 946_684_800_000_000_000
    first = {name: listed[name]["since_ns"] + int(found.tables[name]["t_ns"][0]) for name in TIMED}
    assert min(first.values()) == found.start_ns
    assert all(0 <= t - found.start_ns < 4e9 for t in first.values()), first
    assert listed["spent"]["since_ns"] is None
    text = " ".join(netspurt("table", capture).stdout.split())
    assert f"add {found.start_ns} ns to these instants" in text
    explained = json.loads(netspurt("explain", capture, "--json").stdout)["captures"]
    assert [one["start_ns"] for one in explained] == [found.start_ns]


#: Four of the tables of a capture. Each has the column `t_ns`. In some of these tables `t_ns`
#: counts from 1970, and in the others from the first packet.
TIMED = ("connections", "retransmissions", "segments", "round_trips")
