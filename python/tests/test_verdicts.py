"""Tests how claims are read and judged: each comparison, each verdict, and invalid rows.

A claim is one statement of a paper that a run can confirm. A measure computes the value that the
claim is compared with. A measure can also give bands: a range for each printed number. The
shape of a claim is a weaker condition, which counts if the printed value is not reproduced.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from made_up_scenarios import LONELY

from netspurt.papers import (
    JudgedClaim,
    Paper,
    PaperError,
    Verdict,
    check,
    read_paper,
    registry,
    shelf,
)
from netspurt.papers.bench import Bench, NoLiveRunError
from netspurt.papers.check import comparison
from netspurt.papers.registry import Measured

#: The file `paper.toml` of the paper.
ABOUT = """
key = "memo"
title = "A memo"
authors = "N. N."
published = "Memo 1, 1983"
[runs.one]
scenario = "one.toml"
title = "A title of its own"
set = { seed = 7 }
[grids.both]
scenario = "one.toml"
[grids.both.over]
seed = { path = "seed", values = [1, 2] }
send = { path = "flows.x.send", values = ["1 segment", "3 segments", "2 segments"] }
"""

#: The scenario of the paper.
ONE = 'stop = "1 s"' + LONELY

#: A row of `expected.csv`: the claim that one and two make three.
ROW = {
    "id": "memo.three",
    "group": "Numbers",
    "says": "one and two make three",
    "printed": "3",
    "unit": "",
    "measure": "sum_of",
    "arguments": "terms=1,2",
    "compare": "same",
    "tolerance": "",
    "corrected": "",
    "evidence": "arithmetic",
    "note": "",
    "threshold": "",
    "shape": "",
}


def memo(folder: Path, *changes: dict[str, str], without: str = "") -> Paper:
    """Return a paper with one claim for each change of the row `ROW`."""
    home = folder / "memo"
    home.mkdir(exist_ok=True)
    (home / "paper.toml").write_text(ABOUT)
    (home / "one.toml").write_text(ONE)
    names = [name for name in ROW if name != without]
    with (home / "expected.csv").open("w", newline="") as file:
        rows = csv.DictWriter(file, names, extrasaction="ignore")
        rows.writeheader()
        rows.writerows({**ROW, **change} for change in changes or ({},))
    return read_paper("memo", folder)


def judged(folder: Path, **change: str) -> JudgedClaim:
    """Return the judgement of a claim with this change of the row `ROW`."""
    paper = memo(folder, change)
    (judgement,) = check(Bench(paper), paper.claims)
    return judgement


@pytest.mark.parametrize(
    ("compare", "printed", "tolerance", "agrees"),
    [
        ("same", "3", "", True),
        ("same", "3.001", "1", False),
        ("same", '"3"', "", False),
        ("near", "2.5", "0.5", True),
        ("near", "2.4", "0.5", False),
        ("near", "3.5", "0.5", True),
        ("within", "2.5", "0.2", True),
        ("within", "2.5", "0.19", False),
        ("within", "-3", "1.9", False),
        ("at least", "3.5", "0.5", True),
        ("at least", "3.5", "0.4", False),
        ("at most", "2.5", "0.5", True),
        ("at most", "2.5", "0.4", False),
        ("above", "2.9", "", True),
        ("above", "3", "1", False),
        ("below", "3.1", "", True),
        ("below", "3", "1", False),
        ("far below", "30", "", True),
        ("far below", "29", "9", False),
    ],
)
def test_each_comparison_has_its_exact_bound(
    tmp_path: Path, compare: str, printed: str, tolerance: str, agrees: bool
) -> None:
    judgement = judged(tmp_path, compare=compare, printed=printed, tolerance=tolerance)
    assert judgement.verdict == (Verdict.REPRODUCED if agrees else Verdict.NOT_REPRODUCED)
    assert judgement.measured == 3


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({}, Verdict.REPRODUCED),
        ({"printed": "4"}, Verdict.NOT_REPRODUCED),
        ({"printed": "4", "corrected": "3"}, Verdict.CONTRADICTION),
        ({"printed": "4", "corrected": "5"}, Verdict.NOT_REPRODUCED),
        ({"printed": "4", "shape": "above: 2"}, Verdict.SHAPE_ONLY),
        ({"printed": "4", "shape": "above: 3"}, Verdict.NOT_REPRODUCED),
        ({"printed": "4", "corrected": "3", "shape": "above: 2"}, Verdict.CONTRADICTION),
        ({"printed": '"little"', "threshold": "3", "compare": "at most"}, Verdict.REPRODUCED),
        ({"printed": '"little"', "threshold": "2", "compare": "at most"}, Verdict.NOT_REPRODUCED),
        ({"measure": "", "note": "history"}, Verdict.NOT_CHECKABLE),
    ],
)
def test_the_verdict_follows_from_the_measured_value_and_the_columns_of_the_claim(
    tmp_path: Path, change: dict[str, str], verdict: Verdict
) -> None:
    judgement = judged(tmp_path, **change)
    assert judgement.verdict == verdict
    data = json.loads(json.dumps(judgement.as_dict()))
    assert (data["id"], data["verdict"]) == ("memo.three", str(verdict))
    ran = verdict is not Verdict.NOT_CHECKABLE
    assert data["evidence"] == ("arithmetic" if ran else None)
    assert data["measured"] == (3 if ran else None)


@pytest.mark.parametrize(
    ("measured", "printed", "agrees"),
    [
        ([1.0, 2.0], [1.0, 2.0], True),
        ([1.0, 2.2], [1.0, 2.0], False),
        ([1.0, 2.0], [1.0], False),
        ([1.0], [1.0, 2.0], False),
        ([1.0, 1.05], 1.0, True),
        ([1.0, 1.2], 1.0, False),
        (1.0, [1.0], True),
        ([], [], True),
    ],
)
def test_lists_of_numbers_agree_if_each_pair_agrees(
    measured: Any, printed: Any, agrees: bool
) -> None:
    assert comparison("near")(measured, printed, 0.1) == agrees


def test_words_can_be_compared_only_for_equality() -> None:
    assert comparison("same")("better", "better", 0)
    assert not comparison("same")("better", "worse", 0)
    for name in ("near", "at least", "below"):
        with pytest.raises(PaperError, match="'better' is not a number"):
            comparison(name)("better", 1.0, 0)


@pytest.mark.parametrize(
    ("printed", "bands", "verdict"),
    [
        ("3", [(2.5, 3.0)], Verdict.REPRODUCED),
        ("3", [(3.1, 4.0)], Verdict.NOT_REPRODUCED),
        ("[3, 5]", [(3, 3), (4, 6)], Verdict.REPRODUCED),
        ("[3, 5]", [(3, 3), (6, 7)], Verdict.NOT_REPRODUCED),
        ("[3, 5]", [(3, 3)], Verdict.NOT_REPRODUCED),
    ],
)
def test_printed_numbers_are_reproduced_only_if_each_lies_in_its_own_band(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, printed: str, bands: Any, verdict: Verdict
) -> None:
    monkeypatch.setitem(registry.MEASURES, "banded", lambda _bench: Measured([9.0], bands=bands))
    banded = {"measure": "banded", "arguments": "", "compare": "in band"}
    judgement = judged(tmp_path, printed=printed, **banded)
    assert judgement.verdict == verdict
    assert judgement.as_dict()["bands"] == [list(band) for band in bands]


def test_a_measure_without_bands_cannot_be_compared_with_a_band(tmp_path: Path) -> None:
    with pytest.raises(PaperError, match="the measure has no bands to compare with"):
        judged(tmp_path, compare="in band")


def test_missing_values_and_missing_live_runs_give_different_verdicts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(registry.MEASURES, "gone", lambda _bench: Measured(None, [("a", "b")]))
    judgement = judged(tmp_path, measure="gone", arguments="", shape="above: 0")
    assert (judgement.verdict, judgement.table) == (Verdict.NOT_REPRODUCED, [("a", "b")])

    def refuses(_bench: Bench) -> Measured:
        raise NoLiveRunError("no namespaces")

    monkeypatch.setitem(registry.MEASURES, "refuses", refuses)
    judgement = judged(tmp_path, measure="refuses", arguments="", note="why")
    assert (judgement.verdict, judgement.measured) == (Verdict.NOT_ATTEMPTED, None)
    assert judgement.claim.note == "not run: no namespaces"
    assert judgement.as_dict()["evidence"] is None


# Invalid rows.


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"printed": "three"}, "expected.csv, line 2, memo.three: printed 'three': write a number"),
        ({"printed": ""}, "expected.csv, line 2, memo.three: printed ''"),
        ({"tolerance": "much"}, "line 2, memo.three: tolerance 'much': write a number"),
        ({"corrected": "{"}, "expected.csv, line 2, memo.three: corrected '{'"),
        ({"evidence": "hearsay"}, "unknown kind of evidence: hearsay"),
        ({"shape": "above 0"}, "write a comparison and a value, such as 'above: 0'"),
        ({"shape": "above: x"}, "expected.csv, line 2, memo.three: shape 'x'"),
    ],
)
def test_the_error_names_a_row_that_cannot_be_read(
    tmp_path: Path, change: dict[str, str], says: str
) -> None:
    with pytest.raises(PaperError, match=r"memo\.three") as raised:
        memo(tmp_path, change)
    assert says in str(raised.value)


@pytest.mark.parametrize("name", ["printed", "arguments", "evidence", "tolerance", "note"])
def test_the_error_names_a_missing_column(tmp_path: Path, name: str) -> None:
    with pytest.raises(PaperError, match=rf"expected\.csv: the heading lacks the columns {name}"):
        memo(tmp_path, without=name)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"measure": "sum"}, "no measure is called 'sum'; the measures are account, "),
        ({"compare": "about"}, "no comparison is called 'about'; the comparisons are same, near"),
        ({"arguments": "terms=1 more=2"}, "memo.three: .*more"),
        ({"arguments": ""}, "memo.three: .*terms"),
        ({"measure": "catalogue", "arguments": "table=none.csv"}, "is called 'none.csv'"),
        (
            {"measure": "first_drop", "arguments": "run=two"},
            "memo: no run in paper.toml is called 'two'",
        ),
        (
            {"measure": "most_saved", "arguments": "grid=g"},
            "memo: no grid in paper.toml is called 'g'",
        ),
    ],
)
def test_a_claim_that_cannot_be_judged_is_an_error(
    tmp_path: Path, change: dict[str, str], says: str
) -> None:
    with pytest.raises(PaperError, match=says):
        judged(tmp_path, **change)


def test_the_error_for_an_unknown_paper_lists_the_known_ones(tmp_path: Path) -> None:
    memo(tmp_path)
    assert shelf(tmp_path) == ["memo"]
    with pytest.raises(PaperError, match="no paper is called 'mem'; the papers are memo"):
        read_paper("mem", tmp_path)


# Runs and grids.


def test_a_run_has_its_settings_and_its_title_and_is_made_once(tmp_path: Path) -> None:
    bench = Bench(memo(tmp_path))
    said: list[str] = []
    bench.announce = said.append
    run = bench.run("one")
    assert (run.title, run.seed) == ("A title of its own", 7)
    assert bench.run("one") is run
    assert said == ["running one"]


def test_a_grid_has_every_combination_and_its_last_name_varies_fastest(tmp_path: Path) -> None:
    bench = Bench(memo(tmp_path))
    cases = bench.grid("both")
    sends = ["1 segment", "3 segments", "2 segments"]
    assert [case.values for case in cases] == [
        {"seed": seed, "send": send} for seed in (1, 2) for send in sends
    ]
    assert [int(case.run.flows["sent"][0]) for case in cases] == [1, 3, 2] * 2
    assert bench.grid("both") is cases


def test_a_run_that_several_measures_use_is_made_once(tmp_path: Path) -> None:
    bench, made = Bench(memo(tmp_path)), []
    for _ in range(3):
        bench.keep("list", lambda: made.append(1))
    assert made == [1]


def test_every_measure_is_used_by_a_claim_and_has_a_docstring() -> None:
    used = {claim.measure for key in shelf() for claim in read_paper(key).claims} - {""}
    assert used == set(registry.MEASURES)
    assert all(measure.__doc__ for measure in registry.MEASURES.values())
