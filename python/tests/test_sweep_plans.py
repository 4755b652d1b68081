"""Tests the plans of sweeps: cases and seeds, budgets, files, and the order in which chunks run.

A chunk is a group of cases that an engine runs together; a file has the results of a chunk.
"""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_sweep_folders import SMALL, small

import netspurt as ns
from netspurt.sweep import Cases, Chunk, Sweep, SweepError, SweepFailedError, driver, run_sweep
from netspurt.sweep.driver import guess_chunk
from netspurt.sweep.folder import SweepFolder
from netspurt.sweep.plan import html_axes
from netspurt.sweep.randomness import is_exact
from netspurt.sweep.store import BusyError, Folder, open_store

from made_up_papers import table

#: The scenario of the small sweep, without the sweep.
BASE = ns.Scenario.parse(SMALL.partition("[sweep]")[0], "base.toml")
#: The key of the rate of the link.
RATE = "links.path.rate"


def listed(rates: range, **options: Any) -> Sweep:
    """Return a sweep over scenarios with these rates [Mbit/s]."""
    cases = (({"rate": n}, BASE.replace({RATE: f"{n} Mbit/s"})) for n in rates)
    return Sweep.listed(cases, **options)


# Cases and seeds.


@pytest.mark.parametrize("seeds", [0, -1])
def test_a_sweep_with_fewer_than_one_run_of_each_scenario_has_no_cases(seeds: int) -> None:
    with pytest.raises(ValueError, match="the sweep has no cases"):
        listed(range(1, 3), seeds=seeds)


def test_the_error_for_different_lists_of_names_shows_both_lists() -> None:
    with pytest.raises(
        ValueError, match=r"has labels \['a', 'b'\], and another has \['b', 'a'\]: "
    ):
        Sweep.listed([({"a": 1, "b": 2}, BASE), ({"b": 2, "a": 1}, BASE)])


@pytest.mark.parametrize("paired", [True, False])
def test_the_runs_of_listed_scenarios_share_seeds_only_if_they_are_paired(paired: bool) -> None:
    sweep = listed(range(1, 4), seeds=4, paired=paired)
    seeds = [sweep.scenario(case).seed for case in range(12)]
    by_scenario = [seeds[first : first + 4] for first in (0, 4, 8)]
    assert len(set(by_scenario[0])) == 4
    if paired:
        assert by_scenario[0] == by_scenario[1] == by_scenario[2]
    else:
        assert len(set(seeds)) == 12


def test_every_case_has_the_values_of_its_combination() -> None:
    """The last axis varies fastest, and the runs of a combination follow each other."""
    sweep = small()
    axes = list(itertools.product(["1 Mbit/s", "2 Mbit/s"], ["1 segment", "2 segments"]))
    for case in range(len(sweep)):
        rate, window = axes[case // 3]
        text = sweep.scenario(case)._core.text
        assert f'rate = "{rate}"' in text
        assert f'initial_window = "{window}"' in text
    with pytest.raises(IndexError):
        sweep.scenario(12)


@pytest.mark.parametrize(
    ("options", "budget"),
    [
        ({}, (None, None)),
        ({"time": 0.25}, (None, 250_000_000)),
        ({"time": 1e-9}, (None, 1)),
        ({"events": 7}, (7, None)),
        ({"events": 7, "time": 2}, (7, 2_000_000_000)),
    ],
)
def test_a_budget_of_time_is_kept_in_nanoseconds(
    options: dict[str, Any], budget: tuple[int | None, int | None]
) -> None:
    assert listed(range(1, 2), **options).budget == budget


def test_a_fingerprint_depends_on_cases_seeds_and_budgets_but_not_on_the_title() -> None:
    sweep = listed(range(1, 3), seeds=2)
    assert listed(range(1, 3), seeds=2, title="other words").fingerprint == sweep.fingerprint
    others = [
        listed(range(1, 3), seeds=3),
        listed(range(1, 3), seeds=2, paired=False),
        listed(range(1, 3), seeds=2, events=1000),
        listed(range(2, 4), seeds=2),
        listed(range(1, 4), seeds=2),
    ]
    assert len({one.fingerprint for one in [sweep, *others]}) == 6


@pytest.mark.parametrize(
    "sweep",
    [
        small(SMALL.replace("seeds = 3", "seeds = 3\npaired = false")),
        Sweep.of(ns.Scenario.parse(SMALL).replace({"stop": "2 s"})),
        listed(range(1, 4), seeds=2, paired=False, events=5000, time=3.5, title="A list"),
    ],
)
def test_a_pickled_sweep_has_the_same_cases(sweep: Sweep) -> None:
    copy: Sweep = pickle.loads(pickle.dumps(sweep))
    assert (copy.fingerprint, copy.title, copy.labels) == (
        sweep.fingerprint,
        sweep.title,
        sweep.labels,
    )
    last = len(sweep) - 1
    assert copy.run_chunk(last, 1)[0] == sweep.run_chunk(last, 1)[0]


@pytest.mark.parametrize(("count", "shown"), [(12, 12), (13, 12), (500, 12)])
def test_a_long_axis_shows_its_first_labels_and_its_last_label(count: int, shown: int) -> None:
    text = html_axes({"rate": list(range(100, 100 + count))})
    cell = text[text.index("100") :].partition("<")[0].split(", ")
    assert len(cell) == shown
    assert cell[-1] == str(99 + count)
    assert ("..." in cell) == (count > 12)
    assert f">{count}<" in text


def test_the_text_form_of_a_sweep_names_its_axes_or_its_seeds() -> None:
    assert repr(Sweep.listed([({}, BASE)], seeds=5)) == "<Sweep of 5 cases over seeds>"
    assert repr(small()) == "<Sweep of 12 cases over rate, window>"


# Chunks.


@settings(max_examples=40)
@given(st.integers(1, 200), st.integers(1, 60))
def test_chunks_have_every_case_once_and_in_order(cases: int, chunk: int) -> None:
    store: Any = SimpleNamespace(names=lambda: iter(()))
    folder = SweepFolder("s", "", cases, chunk, [], {}, 1, True, "", store)
    chunks = list(folder.chunks())
    numbers = [n for one in chunks for n in range(one.first, one.first + one.count)]
    assert numbers == list(range(cases))
    assert {one.count for one in chunks[:-1]} <= {chunk}


def test_only_files_with_the_name_of_a_chunk_are_finished_chunks() -> None:
    starts = ["000000005", "000000000", "000000006", "000000015", "x", "-5", "000000010.old"]
    names = [f"cases/{start}.parquet" for start in starts] + ["cases/000000010.parquet.old"]
    store: Any = SimpleNamespace(names=lambda: iter(names))
    folder = SweepFolder("s", "", 12, 5, [], {}, 1, True, "", store)
    assert folder.there() == [Chunk(0, 5), Chunk(5, 5)]
    names.append("cases/000000010.parquet")
    assert folder.there()[-1] == Chunk(10, 2)


@pytest.mark.parametrize(
    ("cases", "cost", "chunk"),
    [
        # A chunk of several cases has at most 5,000 cases, and at most a 32nd of all cases (rounded
        # up). All its cases together have at most a million wake-ups (events of the simulation).
        (10**6, 20_000, 50),
        (10**6, 20_001, 49),
        (10**6, 100, 5000),
        (10**6, 3_000_000, 1),
        (320, 1000, 10),
        (321, 1000, 11),
        (1, 1000, 1),
    ],
)
def test_the_size_of_a_chunk_follows_from_the_wake_ups_of_a_case(
    monkeypatch: pytest.MonkeyPatch, cases: int, cost: int, chunk: int
) -> None:
    monkeypatch.setattr(driver, "_cost", lambda *_: cost)

    class Sized(SimpleNamespace):
        def __len__(self) -> int:
            return cases

    sweep: Any = Sized(is_live=False)
    assert guess_chunk(sweep) == chunk
    sweep.is_live = True
    assert guess_chunk(sweep) == 1


def test_the_mean_cost_comes_from_a_few_cases_in_all_parts_of_the_sweep(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    costs = {0: 1000, 3000: 2000, 6000: 3000, 8999: 4000}
    monkeypatch.setattr(driver, "_cost", lambda _, case: costs[case])
    sweep: Any = type("Sized", (), {"is_live": False, "__len__": lambda _: 9000})()
    assert guess_chunk(sweep) == min(1_000_000 // 2500, -(-9000 // 32))


class Recorded:
    """An engine that runs its newest chunk first, in this thread, and notes all its chunks."""

    room = 3

    def __init__(self, sweep: Sweep) -> None:
        self.sweep = sweep
        self.waiting: list[Chunk] = []
        self.submitted: list[Chunk] = []
        self.most = 0
        self.ended = False
        engines.append(self)

    def prepare(self, chunk: int) -> None:
        self.chunk = chunk

    def submit(self, chunk: Chunk) -> None:
        self.waiting.append(chunk)
        self.submitted.append(chunk)
        self.most = max(self.most, len(self.waiting))

    def as_completed(self) -> Iterator[tuple[Chunk, Any]]:
        while self.waiting:
            chunk = self.waiting.pop()
            yield chunk, self.sweep.run_chunk(chunk.first, chunk.count)

    def cancel(self) -> None:
        self.ended = True


#: The engines that were made.
engines: list[Recorded] = []


def test_an_engine_gets_each_chunk_once(tmp_path: Path) -> None:
    seen: list[tuple[float, float]] = []
    folder, tally = run_sweep(
        small(),
        tmp_path / "s",
        chunk=2,
        engine=Recorded,
        progress=lambda *of: seen.append(of),
    )
    engine = engines.pop()
    assert engine.submitted == list(folder.chunks())
    assert (engine.most, engine.chunk, engine.ended) == (3, 2, True)
    assert seen == [(2.0 * n, 12) for n in range(1, 7)]
    assert tally.done == 12
    run_sweep(small(), tmp_path / "s", engine=Recorded)
    assert not engines, "a finished sweep must start no engine"


def test_a_strict_sweep_says_which_case_failed_and_ends_its_engine(tmp_path: Path) -> None:
    text = SMALL.replace("delay =", 'queue = "1500 B"\ndelay =')
    text = text.replace("tcp.initial_window", "tcp.packet_size").replace("1 segment", "900 B")
    wrong = small(text.replace("2 segments", "2000 B"))
    # The engine finishes its third chunk (900 B), gets the fourth chunk (2000 B), and runs the
    # fourth chunk next.
    with pytest.raises(SweepFailedError, match=r"^case 9 failed: .*; without --strict the error"):
        run_sweep(wrong, tmp_path / "s", chunk=3, engine=Recorded, strict=True)
    assert engines.pop().ended


# Folders.


def test_a_folder_lists_whole_files_in_order_and_no_hidden_files(tmp_path: Path) -> None:
    store = Folder(tmp_path)
    for name in ("b", "cases/2", "cases/1", "a"):
        store.write(name, name.encode())
    (tmp_path / ".12-ab.partial").touch()
    (tmp_path / "empty").mkdir()
    assert list(store.names()) == ["a", "b", "cases/1", "cases/2"]
    store.clear_leftovers()
    assert not (tmp_path / ".12-ab.partial").exists()
    store.write("a", b"new")
    assert (store.read("a"), store.read("cases/2")) == (b"new", b"cases/2")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "cases", "empty"]


def test_a_folder_that_a_program_has_locked_cannot_be_locked_again(tmp_path: Path) -> None:
    first, second = open_store(tmp_path / "s"), open_store(f"file://{tmp_path}/s")
    with first.held(), pytest.raises(BusyError), second.held():
        pass
    with second.held():
        pass


def test_a_symbolic_link_to_another_place_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "cases").symlink_to(tmp_path)
    with pytest.raises(SweepError, match="cases"):
        Folder(tmp_path / "s").read("cases/secret")


# Cases as columns.


def joined(*parts: dict[str, Any]) -> Cases:
    """Return the cases of files with these columns."""
    folder: Any = SimpleNamespace(cases=9, where="s")
    return Cases.of([table(**part) for part in parts], folder)


def test_a_column_of_joined_files_is_masked_only_if_a_value_is_missing() -> None:
    whole, missing = np.ma.array([1, 2], mask=False), np.ma.array([3, 4], mask=[True, False])
    cases = joined({"case": whole, "sent": whole}, {"case": whole, "sent": missing})
    assert not isinstance(cases["case"], np.ma.MaskedArray)
    assert cases["case"].tolist() == [1, 2, 1, 2]
    assert cases["sent"].tolist() == [1, 2, None, 4]
    assert (len(cases), repr(cases)) == (4, "<Cases: 4 of 9 from s>")


def test_a_digest_changes_with_names_values_masks_and_texts() -> None:
    masked = np.ma.array([0, 7], mask=[True, False])
    variants: list[dict[str, Any]] = [
        {"case": [0, 1], "sent": [0, 7]},
        {"case": [0, 1], "sent": masked},
        {"case": [0, 1], "lost": [0, 7]},
        {"case": [0, 1], "sent": [7, 0]},
        {"case": [0, 1], "status": ["ab", "c"]},
        {"case": [0, 1], "status": ["a", "bc"]},
    ]
    assert len({joined(one).digest() for one in variants}) == len(variants)
    halves = [{"case": [0], "sent": [0]}, {"case": [1], "sent": [7]}]
    assert joined(*halves).digest() == joined(variants[0]).digest()


def test_cases_do_not_become_an_array_and_a_notebook_shows_ten_of_them() -> None:
    cases = joined({"case": list(range(5000, 5040))})
    with pytest.raises(TypeError, match="take a column such as"):
        np.asarray(cases)
    text = cases._repr_html_()
    assert ("5009" in text, "5010" in text) == (True, False)
    assert "40 of 9 cases from s" in text


# Randomness.


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("", False),
        ("stop = '1 s'", True),
        ("[links.a]\nloss = { probability = 0 }", True),
        ("[links.a]\nloss = { probability = 1e-9 }", False),
        ("[links.a]\nloss = [{ nth = [3] }, { probability = 0.1 }]", False),
        ("[links.a]\nloss = { nth = [3] }", True),
        ("[links.a]\nqueue = { red = { min = '5 packets' } }", False),
        ("[links.a]\nspread = 'none'", True),
        ("[populations.web]\nrate = 3", False),
        ("[flows.x]\nendpoint = 'model'", True),
        ("[flows.x]\nendpoint = ['model', 'kernel']", False),
        ("[sweep.over.p]\npath = 'links.a.loss.probability'\nvalues = [0]", False),
        ("[sweep.over.p]\npath = ['stop', 'links.a.loss.probability']\nvalues = [0]", False),
        ("[sweep.over.p]\npath = 'links.a.queue'\nvalues = ['3 packets']", True),
        ("[sweep.over.p]\npath = ['links.a.queue']\nvalues = ['3 packets']", True),
        ("[sweep.over.p.sets.a]\n'links.a.loss.probability' = 0", True),
        ("[sweep.over.p.sets.a]\n'links.a.loss.probability' = 0.1", False),
    ],
)
def test_an_exact_sweep_has_equal_repeats_and_draws_no_random_numbers(
    text: str, exact: bool
) -> None:
    cases: Any = {"case": np.arange(4), "repeat": np.arange(4) % 2, "sent": np.full(4, 9)}
    cases["rate"] = np.array([1, 1, 2, 2])
    folder: Any = SimpleNamespace(labels={"rate": [1, 2]}, scenario=lambda: text)
    assert is_exact(folder, cases) == exact
    cases["sent"] = np.array([9, 9, 9, 8])
    assert not is_exact(folder, cases)
