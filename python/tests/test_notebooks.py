"""Tests how other Python packages read tables, and what notebooks show for results."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netspurt as ns
from netspurt.sweep import Sweep, open_sweep, run_sweep

#: A title that is dangerous if a page shows it as HTML.
HOSTILE = "<script>alert('x')</script>&"


@pytest.fixture(scope="module")
def run() -> ns.Run:
    """Return a run with losses and a dangerous title."""
    values = {"title": HOSTILE, "stop": "20 s", "links.modem.loss": {"probability": 0.1}}
    return ns.new_scenario().replace(values).run()


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> ns.Cases:
    """Return the cases of a sweep with dangerous names."""
    window = {"path": "flows.transfer.tcp.initial_window", "values": ["1 segment", "4 segments"]}
    sweep = {"seeds": 6, "over": {"<i>window": window}}
    scenario = ns.new_scenario().replace({"title": HOSTILE, "stop": "9 s", "sweep": sweep})
    where = tmp_path_factory.mktemp("swept") / "<b>"
    return run_sweep(Sweep.of(scenario), where)[0].read()


def same(rows: list[Any], column: Any) -> None:
    """Check that rows of a data frame equal a column. NaN stands for a missing value."""
    expected = column.tolist()
    assert [None if value != value else value for value in rows] == expected  # noqa: PLR0124


def test_pandas_reads_a_table_directly(run: ns.Run) -> None:
    pandas = pytest.importorskip("pandas", minversion="3")
    pytest.importorskip("pyarrow")
    for table in run.tables.values():
        frame = pandas.DataFrame.from_arrow(table)
        assert list(frame) == list(table)
        for name in table:
            same(frame[name].tolist(), table[name])


def test_tables_and_cases_become_data_frames_of_pandas_without_arrow(
    run: ns.Run, cases: ns.Cases, monkeypatch: pytest.MonkeyPatch
) -> None:
    pandas = pytest.importorskip("pandas")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    every: list[Any] = [*run.tables.values(), cases]
    for table in every:
        frame = table.to_pandas()
        assert list(frame) == list(table)
        assert len(frame) == len(table)
        for name in table:
            found = [None if value is pandas.NA else value for value in frame[name].tolist()]
            assert found == table[name].tolist(), name
    endless = run.flows.to_pandas()["finished_ns"]
    assert endless.isna().all()
    assert str(endless.dtype) == "Int64", "a column of whole numbers must not become floats"


def test_polars_reads_a_table_directly(run: ns.Run, cases: ns.Cases) -> None:
    polars = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    every: list[Any] = [*run.tables.values(), cases]
    for table in every:
        for frame in (polars.DataFrame(table), polars.from_arrow(table.to_arrow())):
            assert frame.columns == list(table)
            for name in table:
                assert frame[name].to_list() == table[name].tolist(), name


def test_duckdb_reads_a_table_directly(run: ns.Run, cases: ns.Cases) -> None:
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    every: list[Any] = [*run.tables.values(), cases]
    for rows in every:
        found = duckdb.sql("select * from rows").fetchall()
        columns = [rows[name].tolist() for name in rows]
        assert found == list(zip(*columns, strict=True))


def test_the_arrow_stream_of_a_selection_has_only_the_selected_rows(run: ns.Run) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    chosen = run.segments.where(kind="data").take(np.array([3, 1, 1]))
    assert pyarrow.table(chosen)["packet"].to_pylist() == chosen["packet"].tolist()
    nothing = run.segments.where(flow="nobody")
    assert pyarrow.table(nothing).num_rows == 0
    links = run.links
    names = pyarrow.table(links)["link"]
    assert names.to_pylist() == links["link"].tolist()
    words = names.chunk(0).dictionary.to_pylist()
    assert len(set(words)) == len(words), "the dictionary must have each text once"


def test_the_error_without_pyarrow_names_what_to_install(
    run: ns.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install 'netspurt\[arrow\]'"):
        run.flows.__arrow_c_stream__()


def test_a_table_is_never_read_as_an_array_of_its_column_names(
    run: ns.Run, cases: ns.Cases
) -> None:
    for table in (run.flows, cases):
        with pytest.raises(TypeError, match=r"(is|are) not an array"):
            np.asarray(table)
    pandas = pytest.importorskip("pandas")
    with pytest.raises(TypeError, match=r"table\.to_pandas\(\)"):
        pandas.DataFrame(run.flows)


def shown(it: Any) -> str:
    """Return an object's HTML in a notebook. Check that it is short and has only allowed tags."""
    text: str = it._repr_html_()
    tags = set(re.findall(r"</?(\w+)", text))
    assert tags <= {"p", "b", "br", "table", "tr", "th", "td"}, tags
    assert text.count("<tr") == text.count("</tr>")
    assert len(text) < 31_000
    return text


def test_notebooks_show_runs_and_tables(run: ns.Run) -> None:
    text = shown(run)
    assert "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;&amp;" in text
    assert "20 s simulated" in text
    assert "transfer" in text
    text = shown(run.segments)
    assert f"segments: {len(run.segments)} rows, of which 10 are shown" in text
    assert text.count("<tr>") == 11
    assert shown(run.segments.where(flow="nobody")).count("<tr>") == 1


def test_notebooks_show_sweeps_and_their_cases(cases: ns.Cases) -> None:
    text = shown(cases)
    assert "12 of 12 cases" in text
    assert text.count("<tr>") == 11
    folder = open_sweep(cases.about.where)
    assert "12 of 12 cases have ended" in shown(folder)
    assert "1 segment, 4 segments" in shown(folder)
    base = ns.new_scenario()
    rows = [({"n": n}, base.replace({"stop": f"{n + 1} s"})) for n in range(100)]
    text = shown(Sweep.listed(rows, seeds=3, title=HOSTILE))
    assert "300 cases: 3 runs of each combination, paired" in text
    assert "8, 9, ..., 99" in text


def test_notebooks_show_replays() -> None:
    delays = ns.Delays.of([0.1, 0.2, None, 0.1] * 300, every=1.0, name=HOSTILE)
    replay = ns.replay(delays, ["mills", "rfc6298"])
    text = shown(replay)
    assert "1,200 probes, 900 answered, 300 lost" in text
    assert text.count("<tr>") == 3
    assert "mills" in text


def test_run_live_refuses_a_scenario_that_does_not_use_the_kernels_tcp(tmp_path: Path) -> None:
    with pytest.raises(ns.LiveError, match="no flow has an end on the kernel's TCP"):
        ns.run_live(ns.new_scenario(), tmp_path / "r")
