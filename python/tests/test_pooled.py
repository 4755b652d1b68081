"""Tests what `netspurt explain` says about many connections together, and how it prints tables."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pytest

from netspurt.analysis.bootstrap import Resamples
from netspurt.analysis.directions import frequent, keys, opposite, rows_of
from netspurt.analysis.seen import vantages, vantages_of, within_one_host
from netspurt.captures import explain, forget_columns
from netspurt.cli.explained import document, lines
from netspurt.cli.output import json_parts
from netspurt.shared import shared_connections
from netspurt.table import Table

from conftest import ROOT
from made_up_tables import Made, rows

#: The folder of captures that come with the sources.
CAPTURES = ROOT / "data" / "captures"


def test_the_command_that_shows_a_connection_of_joined_captures_names_each_file() -> None:
    names = ("tails-16-default-s1", "tails-02-acks-at-once-s1")
    files = [str(CAPTURES / name / "sender.pcapng") for name in names]
    (told,) = (line for line in lines(explain(*files), None, few=0) if line.startswith("See: "))
    assert shlex.split(told)[:6] == ["See:", "netspurt", "explain", "--as-one", *files]


def test_json_written_in_parts_equals_the_text_of_the_standard_library() -> None:
    every: list[dict[str, Any]] = [
        {"a": 1, "b": None, "c": 'x\u00e9\x7f", \n'},
        {"a": 0.1, "b": True},
    ]
    value = {"empty": [], "none": {}, "few": ["x", (1, 2.5)], "rows": every, "nothing": []}
    lazy = {**value, "rows": iter(every), "nothing": iter(())}
    assert "".join(json_parts(lazy)) == json.dumps(value, indent=2)
    with pytest.raises(ValueError, match="JSON"):
        "".join(json_parts({"rows": iter([{"a": float("nan")}])}))


def test_a_document_has_the_rows_of_the_tables() -> None:
    found = explain(CAPTURES / "tails-16-default-s1" / "sender.pcapng")
    told = document(found, None)
    for name in ("connections", "retransmissions"):
        assert not isinstance(told[name], list), "an iterator keeps only a few rows in memory"
        assert list(told[name]) == found.table(name).records()


def test_rows_that_are_read_one_value_at_a_time_equal_the_records() -> None:
    table = rows("made", [{"n": 1, "t": "x"}, {"n": None, "t": "y"}], {"n": None, "t": ""})
    assert [dict(row) for row in table.each()] == table.records()
    assert table.records(["t"]) == [{"t": "x"}, {"t": "y"}]
    assert [len(row) for row in table.each()] == [2, 2]


class Watched(Made):
    """A table that notes which of its columns are read."""

    def __init__(self, columns: Mapping[str, Any]) -> None:
        super().__init__(columns)
        self.read: list[str] = []

    def column(self, name: str) -> tuple[Any, list[str] | None, Any, str]:
        self.read.append(name)
        return super().column(name)


def test_rows_read_only_the_columns_that_are_asked_for() -> None:
    core: Any = Watched({name: np.arange(3) for name in "abc"})
    assert [row["b"] for row in Table(core).each()] == [0, 1, 2]
    assert core.read == ["b"]


def test_a_column_of_texts_has_each_text_once() -> None:
    class Twice(Made):
        def column(self, name: str) -> tuple[Any, list[str] | None, Any, str]:
            assert name == "t"
            return np.array([0, 1, 2], np.uint32), ["x", "y", "x"], None, "u4"

    core: Any = Twice({"t": ["x", "y", "x"]})
    places, texts = Table(core).coded("t")
    assert (places.tolist(), texts) == ([0, 1, 0], ["x", "y"])
    with pytest.raises(ValueError, match="no texts"):
        rows("made", [{"n": 1}], {"n": 0}).coded("n")


def _directions(*every: tuple[int, str]) -> Table:
    """Return a table of directions, each with the number of its connection."""
    return rows(
        "made",
        [{"connection": n, "direction": way} for n, way in every],
        {"connection": 0, "direction": ""},
    )


def test_rows_of_the_same_direction_are_found_in_any_order() -> None:
    known = keys(_directions((7, "reverse"), (3, "forward"), (7, "forward")))
    wanted = keys(_directions((7, "forward"), (3, "reverse"), (7, "reverse")))
    assert rows_of(wanted, known).tolist() == [2, -1, 0]
    assert rows_of(opposite(wanted), known).tolist() == [0, 1, 2]
    assert rows_of(wanted, known[:0]).tolist() == [-1, -1, -1]


def test_each_row_has_the_vantage_of_its_direction() -> None:
    """A vantage says where packets were seen: at the sender, at the receiver, or between them."""
    tables = explain(CAPTURES / "middles-03-reno-1998-s1" / "sender.pcapng").tables
    where = vantages(tables)
    assert where
    for name in ("connections", "retransmissions"):
        table = tables[name]
        of = zip(table["connection"].tolist(), table["direction"].tolist(), strict=True)
        expected = [where.get(key, "unknown") for key in of]
        assert vantages_of(table, tables).tolist() == expected
    assert vantages_of(_directions((10**6, "forward")), tables).tolist() == ["unknown"]


@pytest.mark.parametrize("length", [1, 2, 5])
def test_resamples_that_are_drawn_together_equal_those_that_are_drawn_alone(length: int) -> None:
    rng = np.random.default_rng(3)
    every = [rng.exponential(1.0, (2, 3000)) for _ in range(3)]
    together = Resamples.each(every, length=length)
    for one, columns in zip(together, every, strict=True):
        assert np.array_equal(one.resampled, Resamples(columns, length=length).resampled)
    assert Resamples.each([], length=1) == []
    with pytest.raises(ValueError, match="equally many"):
        Resamples.each([every[0], every[1][:, :-1]], length=1)


def test_connections_with_the_same_ports_are_compared_only_if_they_overlap_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from netspurt import shared

    compared = []
    may_be_same = shared._may_be_same

    def counted(*of: Any, **how: Any) -> bool:
        compared.append(of)
        return may_be_same(*of, **how)

    monkeypatch.setattr(shared, "_may_be_same", counted)
    every = [
        (file, n, _row(n, way)) for file in ("a", "b") for n in range(300) for way in ("ab", "ba")
    ]
    found = shared_connections(every)
    assert [(one.best, one.others) for one in found] == [(("a", n), [("b", n)]) for n in range(300)]
    assert len(compared) <= 600


def _row(number: int, way: str) -> dict[str, Any]:
    """Return a row of a direction of this connection. Connections do not overlap in time."""
    least = {"packets": 5, "unique_bytes": 0, "rtt_ns_min": 1, "retransmissions": 0}
    return {
        **{"source": way[0], "source_port": 1, "destination": way[1], "destination_port": 1},
        **{"t_ns": 1000 * number, "duration_ns": 500},
        "initial_seq": 10 * number + (way == "ab"),
        **least,
    }


class _Narrow:
    """Imitates a table of the Rust core: two of its columns take one octet for each value."""

    name = "narrow"
    _columns: ClassVar = {
        "count": (np.array([255, 0, 5], np.uint8), None, None, "u8"),
        "signed": (np.array([2**64 - 1, 3, 2**63], np.uint64), None, None, "i8"),
        "large": (np.array([2**63, 1, 0], np.uint64), None, None, "u8"),
        "optional": (np.array([7, 0, 0], np.uint8), None, np.array([True, False, True]), "i8"),
    }
    columns = tuple(_columns)

    def __len__(self) -> int:
        return 3

    def column(self, name: str) -> Any:
        return self._columns[name]


def test_narrow_columns_have_the_values_and_the_types_of_wide_ones() -> None:
    core: Any = _Narrow()
    table = Table(core)
    assert table.records() == [
        {"count": 255, "signed": -1, "large": 2**63, "optional": 7},
        {"count": 0, "signed": 3, "large": 1, "optional": None},
        {"count": 5, "signed": -(2**63), "large": 0, "optional": 0},
    ]
    assert [dict(row) for row in table.each()] == table.records()
    assert [table[name].dtype.str[1:] for name in table] == ["u8", "i8", "u8", "i8"]
    assert (table["count"] + table["count"]).tolist() == [510, 0, 10]
    assert table.equals("signed", -1).tolist() == [True, False, False]
    assert table.equals("count", 255, 5, 300, -1).tolist() == [True, False, True]
    assert table.equals("optional", 0).tolist() == [False, False, True]
    assert table.where(optional=0)["count"].tolist() == [5]
    assert table.exists("optional").tolist() == [True, False, True]
    assert table.exists("count").tolist() == [True] * 3
    assert table.filled("optional", -1).tolist() == [7, -1, 0]
    assert table.seconds("signed")[0] == -1e-9
    some = table.take(np.array([2, 0]))
    assert some.records() == [table.records()[2], table.records()[0]]
    table.exists("optional")[1] = True
    assert table.exists("optional").tolist() == [True, False, True]
    with pytest.raises(ValueError, match="the column t of the table made has texts"):
        rows("made", [{"t": "x"}], {"t": ""}).filled("t", 0)


def test_forgotten_columns_are_read_again() -> None:
    core: Any = Watched({"a": np.arange(3)})
    table = Table(core)
    some = table.take(np.array([2, 0]))
    assert table["a"].tolist() == [0, 1, 2]
    assert some["a"].tolist() == [2, 0]
    assert core.read == ["a"]
    forget_columns({"made": table})
    assert some["a"].tolist() == [2, 0]
    assert core.read == ["a"]
    assert table["a"].tolist() == [0, 1, 2]
    assert core.read == ["a", "a"]


def test_copied_rows_have_the_values_of_the_same_rows_of_the_table() -> None:
    table = explain(CAPTURES / "tails-16-default-s1" / "sender.pcapng").table("connections")
    assert table.copied(np.array([1, 0, 1])).records() == [table.records()[n] for n in (1, 0, 1)]
    assert table.take(np.array([1])).copied(np.array([0])).records() == table.records()[1:2]
    assert table.copied(np.arange(0)).records() == []
    with pytest.raises(IndexError, match=f"there is no row {len(table)}"):
        table.copied(np.array([len(table)]))


def test_a_table_that_is_read_in_blocks_has_all_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netspurt.cli.explained._TOGETHER", 2)
    monkeypatch.setattr("netspurt.cli.explained._BLOCK", 3)
    found = explain(*(CAPTURES / f"tails-{n}" / "sender.pcapng" for n in _SEVERAL))
    table = found.table("connections")
    assert len(table) > 3
    assert list(document(found, None)["connections"]) == table.records()
    (last,) = set(table["connection"][-2:].tolist())
    assert list(document(found, last)["connections"]) == table.records()[-2:]


#: Captures that together have more connections than a block can have rows.
_SEVERAL = ("16-default-s1", "02-acks-at-once-s1")


def test_columns_with_equal_texts_share_one_list_of_texts() -> None:
    table = rows("made", [{"a": "x", "b": "y"}, {"a": "y", "b": "x"}], {"a": "", "b": ""})
    (codes, texts), (others, same) = table.coded("a"), table.coded("b")
    assert texts is same
    assert ([texts[n] for n in codes], [texts[n] for n in others]) == (["x", "y"], ["y", "x"])


def test_frequent_directions_have_at_least_the_given_number_of_rows() -> None:
    table = _directions((1, "reverse"), (2, "forward"), (1, "reverse"), (1, "forward"))
    assert frequent(table, 2) == {(1, "reverse")}
    assert frequent(table, 1) == {(1, "reverse"), (1, "forward"), (2, "forward")}
    assert frequent(table, 3) == set()


@pytest.mark.parametrize(
    ("source", "destination", "within"),
    [
        ("10.0.0.1", "10.0.0.1", True),
        ("127.0.0.1", "127.0.0.5", True),
        ("10.0.0.1", "10.0.0.2", False),
        ("127.0.0.1", "10.0.0.2", False),
    ],
)
def test_both_ends_are_on_one_host_if_the_addresses_are_equal_or_loopback(
    source: str, destination: str, within: bool
) -> None:
    ends = {"source": source, "destination": destination}
    one = rows("made", [ends], dict.fromkeys(ends, ""))
    assert within_one_host(one).tolist() == [within]
    reverse = {"source": destination, "destination": source}
    both = rows("made", [ends, reverse], dict.fromkeys(ends, ""))
    assert within_one_host(both).tolist() == [within] * 2
