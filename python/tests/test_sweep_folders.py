"""Tests folders of sweeps: the order of cases, continued sweeps, errors of damaged folders.

A chunk is a group of cases whose results are in one file. An engine runs chunks.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netspurt as ns
from netspurt import _core
from netspurt.sweep import Cases, Chunk, Sweep, SweepError, Tally, Threads, open_sweep, run_sweep
from netspurt.sweep.store import open_store

from conftest import Command, refused, rewrite_sweep

#: A sweep of 12 cases: two rates, two initial windows, three runs of each.
SMALL = """
title = "Small"
stop = "1 s"
[links.path]
between = ["a", "b"]
rate = "1 Mbit/s"
delay = "5 ms"
loss = { probability = 0.1 }
[flows.x]
from = "a"
to = "b"
send = "9 segments"
[sweep]
seeds = 3
[sweep.over]
rate = { path = "links.path.rate", values = ["1 Mbit/s", "2 Mbit/s"] }
window = { path = "flows.x.tcp.initial_window", values = ["1 segment", "2 segments"] }
"""


def small(text: str = SMALL) -> Sweep:
    """Return the sweep of a text, by default `SMALL`."""
    return Sweep.of(ns.Scenario.parse(text, "small.toml"))


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Cases:
    """Return the cases of the finished sweep `SMALL`."""
    return run_sweep(small(), tmp_path_factory.mktemp("small") / "s", chunk=5)[0].read()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a finished sweep that a test may damage."""
    run_sweep(small(), tmp_path / "s", chunk=5)
    return tmp_path / "s"


def test_the_last_axis_varies_fastest_and_the_runs_of_a_combination_are_adjacent(
    cases: Cases,
) -> None:
    assert cases["case"].tolist() == list(range(12))
    assert cases["repeat"].tolist() == [1, 2, 3] * 4
    assert cases["rate"].tolist() == ["1 Mbit/s"] * 6 + ["2 Mbit/s"] * 6
    assert cases["window"].tolist() == (["1 segment"] * 3 + ["2 segments"] * 3) * 2
    assert cases.about.labels == {
        "rate": ["1 Mbit/s", "2 Mbit/s"],
        "window": ["1 segment", "2 segments"],
    }


def test_unpaired_runs_have_seeds_of_their_own(cases: Cases, tmp_path: Path) -> None:
    assert len(set(cases["seed"].tolist())) == 3, (
        "the n-th runs of all combinations must have the same seed"
    )
    apart = small(SMALL.replace("seeds = 3", "seeds = 3\npaired = false"))
    folder, _ = run_sweep(apart, tmp_path / "s")
    assert len(set(folder.read()["seed"].tolist())) == 12
    assert (folder.paired, folder.seeds) == (False, 3)


def test_the_scenario_of_a_case_has_its_values(cases: Cases) -> None:
    sweep = small()
    for case in range(12):
        text = sweep.scenario(case).resolved()
        assert f'rate = "{cases["rate"][case]}"' in text
        assert f'initial_window = "{cases["window"][case]}"' in text
        assert sweep.scenario(case).seed == int(cases["seed"][case])
    for invalid in (12, 10**6):
        with pytest.raises(IndexError):
            sweep.scenario(invalid)


def test_every_file_has_the_number_of_its_first_case_as_its_name(folder: Path) -> None:
    names = sorted(path.name for path in (folder / "cases").iterdir())
    assert names == ["000000000.parquet", "000000005.parquet", "000000010.parquet"]
    assert list(open_sweep(folder).chunks()) == [Chunk(0, 5), Chunk(5, 5), Chunk(10, 2)]
    (folder / "cases" / names[1]).unlink()
    opened = open_sweep(folder)
    assert opened.there() == [Chunk(0, 5), Chunk(10, 2)]
    assert opened.read()["case"].tolist() == [0, 1, 2, 3, 4, 10, 11]
    assert opened.tally().cases == 7


def test_the_progress_of_a_continued_sweep_counts_the_cases_that_were_finished_before(
    folder: Path,
) -> None:
    (folder / "cases" / "000000005.parquet").unlink()
    calls: list[tuple[float, float]] = []
    _, tally = run_sweep(small(), folder, progress=lambda *at: calls.append(at))
    assert calls == [(12, 12)]
    assert (tally.cases, tally.done) == (5, 5)


class Interrupted(Threads):
    """An engine that is interrupted after some chunks."""

    def __init__(self, sweep: Sweep, after: int) -> None:
        super().__init__(sweep, 1)
        self.after, self.ended = after, False
        made.append(self)

    def as_completed(self) -> Iterator[tuple[Chunk, _core.Outcome]]:
        for n, done in enumerate(super().as_completed()):
            if n == self.after:
                raise KeyboardInterrupt
            yield done

    def cancel(self) -> None:
        super().cancel()
        self.ended = True


#: The engines that were made.
made: list[Interrupted] = []


@pytest.mark.parametrize("after", [0, 1, 2])
def test_an_interrupt_keeps_finished_chunks_and_ends_the_engine(
    tmp_path: Path, cases: Cases, after: int
) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_sweep(small(), tmp_path / "s", chunk=4, engine=partial(Interrupted, after=after))
    assert made.pop().ended
    assert len(open_sweep(tmp_path / "s").there()) == after
    if after == 0:
        with pytest.raises(SweepError, match="s has no cases yet"):
            open_sweep(tmp_path / "s").read()
    run_sweep(small(), tmp_path / "s")
    assert open_sweep(tmp_path / "s").read().digest() == cases.digest()


def test_the_option_chunk_must_be_above_zero_and_agree_with_the_folder(
    netspurt: Command, tmp_path: Path
) -> None:
    run_sweep(small(), tmp_path / "s", chunk=4)
    run_sweep(small(), tmp_path / "s", chunk=4)
    with pytest.raises(SweepError, match="have 4 cases each, and not 5: leave out"):
        run_sweep(small(), tmp_path / "s", chunk=5)
    ended = netspurt("sweep", "starting-point", "--out", "other", "--chunk", "0")
    assert ended.returncode == 2
    assert "'0' is not a whole number, 1 or more" in ended.stderr


def test_a_failed_case_keeps_its_row_and_the_first_failure_is_reported(tmp_path: Path) -> None:
    failing = SMALL.replace(
        "[sweep.over]",
        '[sweep.over]\nsize = { path = "flows.x.tcp.packet_size", values = ["900 B", "2000 B"] }',
    )
    sweep = small(failing.replace("delay =", 'queue = "1500 B"\ndelay ='))
    folder, tally = run_sweep(sweep, tmp_path / "s", chunk=4)
    read = folder.read()
    wrong = read["size"] == "2000 B"
    assert (read["status"] == "error").tolist() == wrong.tolist()
    first = int(np.flatnonzero(wrong)[0])
    assert tally.first_error is not None
    assert tally.first_error[0] == first
    assert tally.first_error[1] == str(read["why"][first]) != ""
    assert (tally.done, tally.errors) == (int((~wrong).sum()), int(wrong.sum()))
    assert set(read["why"][~wrong].tolist()) == {""}


def test_a_tally_can_add_the_counts_of_chunks_in_any_order() -> None:
    tally = Tally()
    for first in ((7, "late"), None, (3, "early"), (9, "last")):
        tally.add((b"", 2, 1, 3, int(first is not None), first, 0.0))
    assert (tally.done, tally.cut, tally.late, tally.errors) == (8, 4, 12, 3)
    assert tally.cases == 27
    assert tally.first_error == (3, "early")


# Damaged folders.


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"format": 1}, "sweep.json is damaged, or has the format of another version"),
        ({"cases": None}, "the key `cases` is missing"),
        ({"cases": "many"}, "`cases` is not a value of type int"),
        ({"cases": 0}, "`cases` = 0"),
        ({"chunk": 0}, "`chunk` = 0"),
        ({"chunk": -5}, "`chunk` = -5"),
        ({"chunk": 2.5}, "`chunk` is not a value of type int"),
        ({"names": "rate"}, "`names` is not a value of type list"),
        ({"names": ["rate"]}, "`labels` and `names` have different axes"),
        ({"labels": {"rate": [], "window": 3}}, "`labels.window` is not a value of type list"),
        ({"cases": 13}, "`cases` = 13 is not a multiple of `seeds`"),
        ({"cases": 10**400}, "`cases` is a number of more than 64 bits"),
        ({"cases": 2**60}, f"`cases` = {2**60} is not from 1 to {2**53}"),
        ({"title": "Great"}, "its checksum `sha256` does not match its text"),
        ({"more": 1}, "the key `more` is unknown"),
        ({"title": 3}, "`title` is not a value of type str"),
        ({"fingerprint": None}, "the key `fingerprint` is missing"),
    ],
)
def test_every_command_reports_a_damaged_manifest(
    netspurt: Command, folder: Path, change: dict[str, Any], says: str
) -> None:
    manifest = folder / "sweep.json"
    about = json.loads(manifest.read_text()) | change
    manifest.write_text(json.dumps({k: v for k, v in about.items() if v is not None}))
    for words in (("status", "s"), ("show", "s", "-m", "sent"), ("plot", "s", "-m", "sent")):
        refused(netspurt("sweep", *words), says)
    with pytest.raises(SweepError, match="damaged"):
        run_sweep(small(), folder)


@pytest.mark.parametrize("text", ["", "[", "null", "[]", "\0", "[" * 100_000, "1" * 5000])
def test_an_invalid_manifest_is_an_error(netspurt: Command, folder: Path, text: str) -> None:
    (folder / "sweep.json").write_text(text)
    refused(netspurt("sweep", "status", "s"), "sweep.json is damaged")


@pytest.mark.parametrize("key", ["cases", "chunk"])
def test_a_huge_number_in_the_manifest_counts_as_damage(
    netspurt: Command, folder: Path, key: str
) -> None:
    rewrite_sweep(folder, **{key: 3 * 2**50})
    opened = open_sweep(folder)
    first = next(opened.chunks())
    assert first == Chunk(0, 5 if key == "cases" else 12)
    if key == "cases":
        assert opened.there() == [Chunk(0, 5), Chunk(5, 5), Chunk(10, 5)]
    refused(netspurt("sweep", "show", "s"), "parquet is damaged: remove it", "it has other cases")
    with pytest.raises(SweepError, match="damaged"):
        run_sweep(small(), folder)


def flipped(content: bytes, bit: int) -> bytes:
    """Return the content with one flipped bit."""
    turned = bytearray(content)
    turned[bit // 8] ^= 1 << bit % 8
    return bytes(turned)


def test_any_flipped_bit_in_any_file_is_reported_with_the_files_name(folder: Path) -> None:
    files = {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
    assert len(files) == 9, (
        "there must be the manifest, the scenario, three chunks and four checksums"
    )
    chance = random.Random(7)
    for file, content in files.items():
        for bit in chance.sample(range(8 * len(content)), 40):
            file.write_bytes(flipped(content, bit))
            with pytest.raises(SweepError) as raised:
                open_sweep(folder).read()
            assert file.relative_to(folder).as_posix() in str(raised.value), (file, bit)
            assert "\n" not in str(raised.value), (file, bit)
        with pytest.raises(SweepError, match="damaged"):
            run_sweep(small(), folder)
        file.write_bytes(content)
    assert open_sweep(folder).tally().done == 12


def test_a_chunk_without_its_checksum_is_reported_and_runs_again_if_it_is_removed(
    netspurt: Command, folder: Path, cases: Cases
) -> None:
    chunk = folder / "cases" / "000000005.parquet"
    (folder / "checksums" / "cases" / "000000005.parquet.sha256").unlink()
    missing = "(there is no checksums/cases/"
    says = f"s/cases/000000005.parquet is damaged: remove it, and sweep again {missing}"
    for words in (("status", "s"), ("show", "s")):
        refused(netspurt("sweep", *words), says)
    with pytest.raises(SweepError, match="there is no checksums/cases/"):
        run_sweep(small(), folder)
    chunk.unlink()
    assert run_sweep(small(), folder)[1].done == 5
    assert open_sweep(folder).read().digest() == cases.digest()


@pytest.mark.parametrize(
    "name",
    ["sweep.json", "scenario.toml", "cases", "cases/000000000.parquet", "checksums/cases"],
)
def test_a_symbolic_link_in_a_sweep_is_refused(
    netspurt: Command, folder: Path, tmp_path: Path, name: str
) -> None:
    (folder / name).rename(tmp_path / "elsewhere")
    (folder / name).symlink_to(tmp_path / "elsewhere")
    refused(netspurt("sweep", "show", "s"), f"s/{name} is a symbolic link")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(SweepError, match="is a symbolic link"):
        run_sweep(small(), folder)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_file_with_the_cases_of_another_chunk_is_refused(folder: Path) -> None:
    first, last = (folder / "cases" / f"{n:09}.parquet" for n in (0, 10))
    last.write_bytes(first.read_bytes())
    digest = hashlib.sha256(first.read_bytes()).hexdigest()
    checksum = folder / "checksums" / "cases" / "000000010.parquet.sha256"
    checksum.write_text(f"{digest}  cases/000000010.parquet\n")
    with pytest.raises(SweepError, match=r"000000010\.parquet is damaged: remove it"):
        open_sweep(folder).read()


def test_the_error_for_an_impossible_folder_does_not_say_that_cases_are_kept(
    netspurt: Command, tmp_path: Path
) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    (tmp_path / "file").touch()
    for place in ("file", "file/s", "/proc/s"):
        result = netspurt("sweep", "small.toml", "--out", place)
        refused(result, place)
        assert "Finished cases are kept" not in result.stderr


def test_the_error_for_an_unknown_kind_of_store_names_this_kind(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nowhere"):
        open_store("nowhere://bucket/s")
    assert open_store(f"local://{tmp_path}").where == str(tmp_path)


# The output for programs.


def test_programs_get_json_from_every_command(netspurt: Command, folder: Path) -> None:
    state = json.loads(netspurt("sweep", "status", "s", "--json").stdout)
    assert (state["cases"], state["done"], state["finished"]) == (12, 12, True)
    assert (state["names"], state["seeds"], state["paired"]) == (["rate", "window"], 3, True)
    known = json.loads(netspurt("sweep", "show", "s", "--json").stdout)
    lines = netspurt("sweep", "show", "s").stdout.partition("Show one:")[0]
    names = lines.replace("\n", " ").replace(", ", " ").split()
    assert {*known} - {"case", "seed", "repeat"} <= {*names}
    rows = json.loads(netspurt("sweep", "show", "s", "-m", "sent", "--json").stdout)
    read = open_sweep(folder).read()
    for row in rows:
        own = (read["rate"] == row["group"]["rate"]) & (read["window"] == row["group"]["window"])
        assert (row["cases"], row["without"]) == (int(own.sum()), 0)
        assert row["value"] == pytest.approx(read["sent"][own].mean())
        assert row["low"] <= row["value"] <= row["high"]
    data = json.loads(netspurt("sweep", "compare", "s", "--axis", "window", "-m", "sent",
                           "--better", "less", "--json").stdout)  # fmt: skip
    assert [row["group"] for row in data] == [{"rate": "1 Mbit/s"}, {"rate": "2 Mbit/s"}]


def test_the_requested_percentile_and_groups_are_shown(netspurt: Command, folder: Path) -> None:
    words = ("show", "s", "-m", "sent", "--by", "rate", "--percentile", "0", "--percentile", "100")
    read = open_sweep(folder).read()
    for row in json.loads(netspurt("sweep", *words, "--json").stdout):
        own = read["sent"][read["rate"] == row["group"]["rate"]]
        assert row["percentiles"] == {"0": own.min(), "100": own.max()}
    near = netspurt("sweep", "show", "s", "-m", "sent", "--percentile", "99.99999").stdout
    assert "99.99999 %" in near
    refused(netspurt("sweep", "show", "s", "-m", "sent", "--percentile", "101"), "from 0 to 100")
    for option in (("--by", "rate"), ("--percentile", "50")):
        refused(
            netspurt("sweep", "show", "s", *option),
            option[0],
            "needs a measure",
            "sweep show s` lists",
        )


def test_cases_become_a_data_frame_and_an_unknown_column_is_an_error(cases: Cases) -> None:
    frame = cases.to_polars()
    assert frame.columns == list(cases)
    assert frame["sent"].to_list() == cases["sent"].tolist()
    with pytest.raises(KeyError, match="a sweep has no column 'snet'; it has case"):
        cases["snet"]
    assert repr(cases).startswith("<Cases: 12 of 12 from ")
    assert len(cases) == 12
