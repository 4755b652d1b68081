"""Tests what `netspurt explain` says about many connections together, and how it prints them."""

from __future__ import annotations

import json
import shlex
from typing import Any

import numpy as np
import pytest

from netspurt.analysis.bootstrap import Resamples
from netspurt.analysis.directions import keys, opposite, rows_of
from netspurt.analysis.seen import vantages, vantages_of
from netspurt.captures import explain
from netspurt.cli.explained import document, lines
from netspurt.cli.output import json_parts
from netspurt.shared import shared_connections
from netspurt.table import Table

from conftest import ROOT
from made_up_tables import Made, rows

CAPTURES = ROOT / "data" / "captures"


def test_the_command_that_shows_a_connection_of_joined_captures_names_each_file() -> None:
    names = ("tails-16-default-s1", "tails-02-acks-at-once-s1")
    files = [str(CAPTURES / name / "sender.pcapng") for name in names]
    (told,) = (line for line in lines(explain(*files), None, few=0) if line.startswith("See: "))
    assert shlex.split(told)[:6] == ["See:", "netspurt", "explain", "--as-one", *files]


def test_json_in_parts_is_the_text_of_the_standard_library() -> None:
    every: list[dict[str, Any]] = [
        {"a": 1, "b": None, "c": 'x\u00e9\x7f", \n'},
        {"a": 0.1, "b": True},
    ]
    value = {"empty": [], "none": {}, "few": ["x", (1, 2.5)], "rows": every, "nothing": []}
    lazy = {**value, "rows": iter(every), "nothing": iter(())}
    assert "".join(json_parts(lazy)) == json.dumps(value, indent=2)
    with pytest.raises(ValueError, match="JSON"):
        "".join(json_parts({"rows": iter([{"a": float("nan")}])}))


def test_the_rows_of_a_document_are_those_of_the_tables() -> None:
    found = explain(CAPTURES / "tails-16-default-s1" / "sender.pcapng")
    told = document(found, None)
    for name in ("connections", "retransmissions"):
        assert not isinstance(told[name], list), "rows must not be in memory together"
        assert list(told[name]) == found.table(name).records()


def test_rows_that_are_read_one_value_at_a_time_have_the_values_of_records() -> None:
    table = rows("made", [{"n": 1, "t": "x"}, {"n": None, "t": "y"}], {"n": None, "t": ""})
    assert [dict(row) for row in table.each()] == table.records()
    assert table.records(["t"]) == [{"t": "x"}, {"t": "y"}]
    assert [len(row) for row in table.each()] == [2, 2]


def test_rows_read_only_the_columns_that_are_asked_for() -> None:
    read = []

    class Watched(Made):
        def column(self, name: str) -> tuple[Any, list[str] | None, Any, str]:
            read.append(name)
            return super().column(name)

    core: Any = Watched({name: np.arange(3) for name in "abc"})
    assert [row["b"] for row in Table(core).each()] == [0, 1, 2]
    assert read == ["b"]


def test_a_coded_column_has_each_text_once() -> None:
    class Twice(Made):
        def column(self, name: str) -> tuple[Any, list[str] | None, Any, str]:
            assert name == "t"
            return np.array([0, 1, 2]), ["x", "y", "x"], None, "u4"

    core: Any = Twice({"t": ["x", "y", "x"]})
    places, texts = Table(core).coded("t")
    assert (places.tolist(), texts) == ([0, 1, 0], ["x", "y"])
    with pytest.raises(ValueError, match="no texts"):
        rows("made", [{"n": 1}], {"n": 0}).coded("n")


def _directions(*every: tuple[int, str]) -> Table:
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


def test_the_vantages_of_rows_are_those_of_their_directions() -> None:
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


def test_connections_that_use_their_ports_again_are_only_compared_if_they_overlap(
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
    """Return a row of the connection of this number; the connections follow one another."""
    least = {"packets": 5, "unique_bytes": 0, "rtt_ns_min": 1, "retransmissions": 0}
    return {
        **{"source": way[0], "source_port": 1, "destination": way[1], "destination_port": 1},
        **{"t_ns": 1000 * number, "duration_ns": 500},
        "initial_seq": 10 * number + (way == "ab"),
        **least,
    }
