"""Checks the claims of the paper on Super Fast Retransmit (Tarr and Ghita 2005) and their sweeps.

Super Fast Retransmit (SFR) is a mechanism of a sender. The base sender lacks only SFR.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import netspurt as ns
from netspurt.papers import PaperError, Verdict, check, read_paper
from netspurt.papers.bench import Bench
from netspurt.papers.check import JudgedClaim
from netspurt.papers.figures import figure
from netspurt.papers.swept import Sweeps
from netspurt.sweep import SweepError

from conftest import ROOT

#: The claims with numbers that the paper itself contradicts, with the corrected numbers.
CONTRADICTIONS = {"sfr.factor3": 6, "sfr.halve": 0.504, "r1.8pct": 9.764, "max39": [39, 25]}
#: The claims that neither the quick sweeps nor the whole study reproduces (see VALIDATION.md).
NOT_REPRODUCED = {
    "delay10.39",
    "delay60.8",
    "delay-order",
    "util25.23",
    "util50.38",
    "util75.8",
    "util-order",
    "min8",
    "never-worse",
    "factor-best2",
    "cutout-relative",
    "r1.reno297",
    "r1.sfr268",
}
#: The scenario of the paper's web traffic.
WEB = ROOT / "papers" / "sfr2005" / "web.toml"
#: The values of the switch `sfr`.
SFR = {"factor": 3.0, "cutout": "80 kB"}


@pytest.fixture(scope="module")
def bench() -> Bench:
    """Return the bench that measures the claims."""
    return Bench(read_paper("sfr2005"))


@pytest.fixture(scope="module")
def judged(bench: Bench) -> dict[str, JudgedClaim]:
    """Judge all claims; return them by their names."""
    results = check(bench, bench.paper.claims)
    return {judgement.claim.id.removeprefix("sfr2005."): judgement for judgement in results}


def test_each_of_the_64_claims_has_its_verdict(judged: dict[str, JudgedClaim]) -> None:
    assert len(judged) == 64
    by = {
        v: {name for name, judgement in judged.items() if judgement.verdict == v} for v in Verdict
    }
    assert by[Verdict.NOT_REPRODUCED] == NOT_REPRODUCED
    assert by[Verdict.CONTRADICTION] == {*CONTRADICTIONS, "expansion"}
    assert len(by[Verdict.NOT_CHECKABLE]) == 28
    assert len(by[Verdict.REPRODUCED]) == 18
    for verdict in (Verdict.NOT_REPRODUCED, Verdict.CONTRADICTION, Verdict.NOT_CHECKABLE):
        assert all(judged[name].claim.note for name in by[verdict])


def test_all_rows_of_a_claims_table_have_the_same_number_of_cells(
    judged: dict[str, JudgedClaim],
) -> None:
    for judgement in judged.values():
        assert len({len(row) for row in judgement.table}) <= 1, judgement.claim.id


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_the_measured_values_are_the_corrected_numbers_of_the_paper(
    judged: dict[str, JudgedClaim], name: str
) -> None:
    assert judged[name].measured == pytest.approx(CONTRADICTIONS[name], abs=0.001)


def test_claims_match_the_separate_list_of_claims_if_it_is_present(bench: Bench) -> None:
    listing = ROOT.parent / "shared" / "papers" / "claims.toml"
    if not listing.exists():
        pytest.skip("the list of claims is not on this machine")
    listed_ids = {
        line.split('"')[1]
        for line in listing.read_text().splitlines()
        if line.startswith('id = "sfr2005.')
    }
    assert {claim.id for claim in bench.paper.claims} == listed_ids


def web(seed: int, **tcp: object) -> ns.Run:
    """Run ten seconds of the paper's web traffic, with a row for each connection."""
    values = {f"populations.web.tcp.{name}": value for name, value in tcp.items()}
    kept = {"stop": "10 s", "seed": seed, "record.tables": ["connections"]}
    return ns.load(WEB).replace({**kept, **values}).run()


def test_each_connection_equals_that_of_the_base_sender_if_sfr_is_off() -> None:
    base, off, on = (
        web(3, **tcp).table("connections") for tcp in ({}, {"sfr": "off"}, {"sfr": SFR})
    )
    assert len(base) > 200
    for name in base:
        np.testing.assert_array_equal(np.ma.filled(base[name]), np.ma.filled(off[name]))
    assert on["retransmissions_sfr"].sum() > 0 == base["retransmissions_sfr"].sum()


def test_each_connection_has_the_same_start_and_the_same_sizes_with_either_sender() -> None:
    base, on = web(3).table("connections"), web(3, sfr=SFR).table("connections")
    for name in ("opened_ns", "flow", "requests", "forward_bytes", "reverse_bytes"):
        assert base[name].tolist() == on[name].tolist()
    longer = np.ma.filled(base["duration_ns"], 0) - np.ma.filled(on["duration_ns"], 0)
    assert np.any(longer)


def test_a_sender_equal_to_the_base_gains_nothing(bench: Bench) -> None:
    sets = {"reno": {}, "off": {"populations.web.tcp.sfr": "off"}}
    quick = {"seeds": 3, "stop": "5 s"}
    about = {"scenario": "web.toml", "quick": quick, "over": {"sender": {"sets": sets}}}
    paper = replace(bench.paper, sweeps={"same": about})
    gains = Sweeps.of(paper).quickly("same").gains("connection_ns_mean")
    assert [(gain.value, gain.low, gain.high) for gain in gains.values()] == [(0, 0, 0)]


def test_a_whole_study_is_read_back_only_from_a_complete_folder_of_the_same_study(
    bench: Bench, tmp_path: Path
) -> None:
    paper = replace(bench.paper, sweeps={"tail": bench.paper.sweeps["tail"]})
    sweeps, seen = Sweeps.of(paper), list[float]()
    with pytest.raises(SweepError, match="has no sweep"):
        sweeps.read(tmp_path / "none", "tail")
    assert sweeps.whole(tmp_path, lambda done, total: seen.append(done / total)) > 1000
    assert seen[-1] == 1
    assert sweeps.count(tmp_path) == 50
    kept, quick = sweeps.read(tmp_path, "tail").cases, sweeps.quickly("tail").cases
    assert kept["timeouts"].tolist() == quick["timeouts"].tolist()
    changed = {**paper.sweeps["tail"], "seeds": 2}
    with pytest.raises(PaperError, match="belongs to another study"):
        Sweeps.of(replace(paper, sweeps={"tail": changed})).read(tmp_path, "tail")
    sorted((tmp_path / "tail" / "cases").iterdir())[0].unlink()
    with pytest.raises(PaperError, match="netspurt papers study sfr2005"):
        sweeps.read(tmp_path, "tail")


def test_a_paper_without_sweeps_and_an_unknown_name_of_a_sweep_are_errors(bench: Bench) -> None:
    with pytest.raises(PaperError, match=r"no \[sweeps\]"):
        Sweeps.of(replace(bench.paper, sweeps={}))
    with pytest.raises(PaperError, match=r"no sweep in paper\.toml is called 'none'"):
        Sweeps.of(bench.paper).sweep("none", whole=True)


def test_sfr_repairs_the_last_three_segments_without_the_timeout_that_reno_needs(
    bench: Bench,
) -> None:
    cases = bench.swept("tail").cases
    needed = {
        sender: [
            int(place)
            for place, who, timeouts in zip(
                cases["place"], cases["sender"], cases["timeouts"], strict=True
            )
            if who == sender and timeouts
        ]
        for sender in ("reno", "sfr", "early-retransmit", "rack-tlp")
    }
    assert needed == {"reno": [1, 2, 3], "sfr": [], "early-retransmit": [1], "rack-tlp": []}


def test_each_figure_of_the_paper_is_drawn(bench: Bench) -> None:
    for picture in bench.paper.pictures:
        drawn = figure(picture["figure"])(bench, **picture["arguments"])
        assert drawn.axes[0].get_xlabel()
    with pytest.raises(PaperError, match="no value of connections is called 'colour'"):
        figure("distributions")(bench, run="sites", of="colour")
