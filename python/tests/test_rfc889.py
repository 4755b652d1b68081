"""Checks the verdict of every claim of RFC 889, and that damaged files change verdicts.

A claim is one statement of the RFC that a run can confirm. A surrogate is an invented recording
that takes the place of a lost recording.
"""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import netspurt as ns
from netspurt import _core
from netspurt.analysis import fit_lengths, rate_table
from netspurt.papers import PaperError, Verdict, check, read_paper
from netspurt.papers.bench import Bench
from netspurt.papers.check import comparison
from netspurt.papers.paths import path_for, scenario_text
from netspurt.papers.probing import one_way
from netspurt.papers.tables import PathRow, path_rows

from conftest import NETSPURT, ROOT, Command, refused

#: Claims that other parts of the RFC contradict.
CONTRADICTIONS = {
    "s22.longest-2-3x",
    "s22.isia2-loss",
    "s33.f2-overshoot",
    "cross.rice",
    "cross.order",
}

#: Claims that no run can check.
HISTORY = {
    "s31.runs",
    "s1.three-london-paths",
    "s1.lines",
    "s32.poisson",
    "s32.glitch-vs-baseline",
    "s32.no-period",
    "s32.no-length-correction",
    "s33.spec-range",
    "s33.typical",
}

#: Claims without reproduced numbers, but with a reproduced shape. A shape is a weaker statement,
#: for example that a value is above 0.
SHAPE = {
    "s22.length-in-rto",
    "s32.foe-acceptable",
    "s33.gain-10",
    "s33.gain-5",
    "s33.loss-few",
    "s33.table-params",
}

#: Claims that surrogates do not reproduce. These claims say that no setting of the timer is
#: clearly better than the printed one. If each delay of a surrogate is drawn independently,
#: another setting is better: its efficiency is higher by more than 0.01.
MISSED = {"s33.two-valued", "s33.g-no-gain"}


@pytest.fixture(scope="module")
def verdicts() -> dict[str, dict[str, object]]:
    """Return the rows that the command prints as JSON."""
    words = [str(NETSPURT), "papers", "check", "rfc889", "--json"]
    result = subprocess.run(words, capture_output=True, text=True, check=True)
    return {row["id"].removeprefix("rfc889."): row for row in json.loads(result.stdout)}


def test_each_of_the_143_claims_has_a_verdict(verdicts: dict[str, dict[str, object]]) -> None:
    assert len(verdicts) == 143
    assert all(row["verdict"] in set(Verdict) for row in verdicts.values())
    by = {v: {k for k, row in verdicts.items() if row["verdict"] == v} for v in Verdict}
    assert by[Verdict.CONTRADICTION] == CONTRADICTIONS
    assert by[Verdict.NOT_CHECKABLE] == HISTORY
    assert by[Verdict.SHAPE_ONLY] == SHAPE
    assert by[Verdict.NOT_REPRODUCED] == MISSED
    assert len(by[Verdict.REPRODUCED]) == 143 - sum(
        map(len, (CONTRADICTIONS, HISTORY, SHAPE, MISSED))
    )


def test_every_claim_that_is_not_fully_reproduced_has_a_reason(
    verdicts: dict[str, dict[str, object]],
) -> None:
    for name in CONTRADICTIONS | HISTORY | SHAPE | MISSED:
        assert verdicts[name]["note"], name


def test_claims_about_lost_recordings_are_judged_on_surrogates(
    verdicts: dict[str, dict[str, object]],
) -> None:
    kinds = Counter(row["evidence"] for row in verdicts.values())
    assert kinds["surrogate"] == 12
    assert kinds[None] == len(HISTORY)
    gains = verdicts["s33.gain-5"]["measured"]
    assert isinstance(gains, list)
    assert len(gains) == 5, "there must be a number for each variant of the surrogates"


def test_claims_match_the_separate_list_of_claims_if_it_is_present() -> None:
    listing = ROOT.parent / "shared" / "papers" / "claims.toml"
    if not listing.exists():
        pytest.skip("the list of claims is not on this machine")
    with (ROOT / "papers" / "rfc889" / "expected.csv").open(newline="") as file:
        claim_ids = {row["id"] for row in csv.DictReader(file)}
    listed_ids = {
        line.split('"')[1]
        for line in listing.read_text().splitlines()
        if line.startswith('id = "rfc889.')
    }
    assert claim_ids == listed_ids


@pytest.mark.parametrize(
    ("run", "row", "break_at"),
    [
        ("serial", "FORD1", None),
        ("packet-net", "NTA-L", 126),
        ("satellite-hop", "GOONY", None),
        ("stat-mux", "FOE", None),
    ],
)
def test_probes_of_a_simulated_path_have_the_printed_delays(
    run: str, row: str, break_at: int | None
) -> None:
    paper = read_paper("rfc889")
    echo_probes = paper.scenario(run).run().echo_probes
    fit = fit_lengths(echo_probes["size_bytes"], one_way(echo_probes), break_at=break_at)
    printed = [
        ms / 1e3 for line in path_rows(paper, "delays.csv")[row].lines for ms in line.delay_ms
    ]
    assert rate_table(fit).delay_s == pytest.approx(printed, rel=0.05)


def test_the_delays_over_the_multiplexer_have_the_printed_coefficient_of_variation() -> None:
    delays = one_way(read_paper("rfc889").scenario("stat-mux").run().echo_probes)
    assert np.nanstd(delays) / np.nanmean(delays) == pytest.approx(0.69, abs=0.1)


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """Return a copy of the paper's folder that a test may change."""
    shutil.copytree(ROOT / "papers" / "rfc889", tmp_path / "rfc889")
    return tmp_path / "rfc889"


def verdict(folder: Path, name: str) -> str:
    """Return the verdict on a claim of the paper in this folder."""
    paper = read_paper("rfc889", folder.parent)
    claim = next(c for c in paper.claims if c.id == f"rfc889.{name}")
    return str(check(Bench(paper), [claim])[0].verdict)


@pytest.mark.parametrize(
    ("file", "right", "wrong", "claim"),
    [
        ("efficiency.csv", "196,222.1", "196,252.1", "t2.FACC"),
        ("efficiency.csv", "FOE-1,DCN1,374", "FOE-1,DCN1,394", "t2.FOE-1"),
        ("efficiency.csv", "0.55,0.95", "0.55,0.94", "s31.eff-identity"),
        ("delays.csv", "93,,,,274", "93,,,,284", "s21.regression"),
        # The square of the coefficient of variation takes the place of this coefficient.
        ("efficiency.csv", "167,0.33", "167,0.11", "s31.cov"),
        ("serial-line.toml", 'to = "256 B"', 'to = "250 B"', "s21.max256"),
        ("serial-line.toml", '"9600 bit/s"', '"9600 bit/s", mtu = "125 B"', "s21.max256"),
        ("packet-net.toml", ', mtu = "125 B"', "", "s21.break126"),
        ("losses.toml", "[5, 9]", "[5]", "s31.lost-30s"),
        # One run with most losses and most spurious retransmissions correlates the two columns.
        ("efficiency.csv", "196,222.1,6", "196,222.1,96", "s32.glitch-vs-loss"),
    ],
)
def test_a_claim_is_not_reproduced_with_a_damaged_table_or_path(
    own: Path, file: str, right: str, wrong: str, claim: str
) -> None:
    path = own / file
    text = path.read_text()
    assert right in text
    before = verdict(own, claim)
    path.write_text(text.replace(right, wrong))
    assert before == "reproduced"
    assert verdict(own, claim) == "not-reproduced"


def test_a_printed_rate_outside_its_band_is_not_reproduced(own: Path) -> None:
    """The band has all rates that agree with the printed delays, which are rounded to 1 ms."""
    path = own / "expected.csv"
    text = path.read_text()
    assert "[9540]" in text
    path.write_text(text.replace("[9540]", "[9450]"))
    assert verdict(own, "t1.FORD1") == "not-reproduced"


def test_a_claim_is_not_reproduced_if_neither_its_number_nor_its_shape_holds(own: Path) -> None:
    path = own / "expected.csv"
    text = path.read_text()
    path.write_text(text.replace("at least: 0.84", "at least: 0.99"))
    assert verdict(own, "s32.foe-acceptable") == "not-reproduced"
    path.write_text(text.replace("at least: 0.84", "roughly 0.84"))
    with pytest.raises(PaperError, match="write a comparison and a value"):
        read_paper("rfc889", own.parent)


def test_a_comparison_of_several_numbers_must_hold_for_each_number() -> None:
    assert comparison("above")([1.0, 2.0], 0.0, 0)
    assert not comparison("above")([1.0, -2.0], 0.0, 0)
    assert comparison("within")([95.0], [100.0], 0.05)
    assert not comparison("within")([94.0], [100.0], 0.05)
    assert not comparison("near")([1.0, 2.0], [1.0], 9.0)


def test_the_error_for_a_missing_table_names_it(own: Path) -> None:
    (own / "delays.csv").unlink()
    with pytest.raises(PaperError, match="is called 'delays\\.csv'"):
        verdict(own, "s21.regression")


def test_the_explanation_of_a_gain_has_verdicts_by_row_and_variant(netspurt: Command) -> None:
    output = netspurt("papers", "check", "--explain", "rfc889.s33.gain-5").stdout
    for words in ("cannot tell", "better", "worse", "glitches, losses in groups of 6", "FACC"):
        assert words in output, words


def test_the_note_on_the_gain_of_most_paths_has_the_counts_of_the_verdicts(
    netspurt: Command,
) -> None:
    told = json.loads(netspurt("papers", "check", "--explain", "s33.gain-5", "--json").stdout)
    counts = {}
    for part in told["table"][-1][-1].split(", "):
        count, _, verdict_of_run = part.partition(" ")
        counts[verdict_of_run] = count
    for verdict_of_run, words in [
        ("better", "runs gain in every variant"),
        ("worse", "lose"),
        ("no difference", "stay the same"),
        ("cannot tell", "are undecided"),
    ]:
        assert f"{counts[verdict_of_run]} {words}" in told["note"], counts


#: Rows of RFC 889's table of delays, each with its largest error [%]. On the simulated path of such
#: a row, a delay differs from the printed delay by more than 5 %.
FAR = {"BERK": 9.1}


def off_by(row: PathRow) -> float:
    """Return the largest error [%] of the delays at both ends of each line of a row.

    The delays come from a regression over probes on the row's simulated path.
    """
    scenario = ns.Scenario.parse(scenario_text(path_for(row)), name=row.name)
    echo_probes = scenario.run().echo_probes
    at = 126 if len(row.lines) > 1 else None
    fit = fit_lengths(echo_probes["size_bytes"], one_way(echo_probes), break_at=at)
    printed = [end for line in row.lines for end in line.delay_ms]
    pairs = zip(rate_table(fit).delay_s, printed, strict=True)
    return max(abs(1e3 * own_s / ms - 1) for own_s, ms in pairs) * 100


def test_the_path_of_each_row_has_the_printed_delays_or_the_stated_error() -> None:
    rows = path_rows(read_paper("rfc889"), "delays.csv")
    errors = {name: off_by(row) for name, row in rows.items()}
    assert {name: round(error, 1) for name, error in errors.items() if error > 5} == FAR
    assert max(error for name, error in errors.items() if len(rows[name].lines) == 1) < 0.1
    page = (ROOT / "VALIDATION.md").read_text()
    for name, error in FAR.items():
        assert f"{name} {error}" in page, "VALIDATION.md must list the error"


def test_the_third_fragment_costs_as_much_as_the_second() -> None:
    """The printed delays have only one large step, so fragments alone cannot be its cause.

    Each fragment costs the same, so the third fragment would cause a second step.
    """
    text = scenario_text(path_for(path_rows(read_paper("rfc889"), "delays.csv")["NTA-L"]))
    assert 'mtu = "125 B"' in text
    echo_probes = ns.Scenario.parse(text, name="NTA-L").run().echo_probes
    delay = dict(zip(echo_probes["size_bytes"].tolist(), one_way(echo_probes), strict=True))
    second, third = delay[126] - delay[125], delay[230] - delay[229]
    assert third == pytest.approx(second, rel=0.05)
    assert second > 10 * (delay[125] - delay[124])


def test_the_command_writes_the_path_of_a_row_and_prints_its_error(
    netspurt: Command,
) -> None:
    result = netspurt("papers", "path", "rfc889", "UCL")
    assert (
        result.stdout
        == "ucl.toml: the delays at the ends of its lines agree with the row UCL within 0.2 %\n"
    )
    assert netspurt("run", "ucl.toml", "--out", "ucl").returncode == 0
    (data,) = json.loads(netspurt("delays", "lengths", "ucl", "--break", "126", "--json").stdout)
    assert data["memo"]["delay_ms"] == pytest.approx([1089, 1240, 1426, 1548], rel=0.02)
    far = netspurt("papers", "path", "rfc889", "BERK", "--out", "b.toml")
    assert (
        "the closest path to BERK; the delays at the ends of its lines differ by up to 8.9 %"
        in far.stdout
    )
    refused(netspurt("papers", "path", "rfc889", "UCL"), "ucl.toml exists")
    refused(netspurt("papers", "path", "rfc889", "MIT"), "no row is called 'MIT'")
    refused(netspurt("papers", "path", "rfc2416", "UCL"), "no table of delay against length")


def test_a_timer_by_length_is_worse_over_a_multiplexer_only_because_it_is_shorter() -> None:
    """Waits at a statistical multiplexer do not depend on the length of packets.

    VALIDATION.md has figures of ten seeds.
    """
    names = ["mills", "mills:by_length=true", "mills:by_length=true,g=2.05"]
    sums = np.zeros((3, 2))
    scenario = read_paper("rfc889").scenario("stat-mux")
    for seed in range(1, 6):
        echo_probes = scenario.replace({"seed": seed}).run().echo_probes
        rtt = echo_probes.seconds("rtt_ns")
        path = ns.Delays.of(rtt, wire_bytes=echo_probes["size_bytes"])
        for place, name in enumerate(names):
            replayed = _core.replay(path._core, name, order="sequence")
            timer = replayed.wait_ns().mean() / 1e9
            sums[place] += [replayed.account()["spurious"], timer]
    (plain, timer), (with_length, shorter), (level, equal) = (sums / 5).tolist()
    assert with_length > plain
    assert shorter / timer == pytest.approx(0.977, abs=0.004)
    assert equal / timer == pytest.approx(1, abs=0.003)
    assert level == pytest.approx(plain, rel=0.04)


def test_the_efficiency_of_the_host_foe_depends_on_the_structure_of_its_surrogate(
    verdicts: dict[str, dict[str, object]],
) -> None:
    measured = verdicts["s32.foe-acceptable"]["measured"]
    assert isinstance(measured, list)
    independent, glitches, levels, queue = measured[:4]
    assert independent == pytest.approx(0.87, abs=0.03)
    assert 0.9 < glitches < levels < queue
    page = (ROOT / "papers" / "rfc889" / "README.md").read_text()
    for value in (independent, glitches, levels, queue):
        assert f"{value:.3f}".removeprefix("0") in page


@pytest.mark.parametrize("key", ["rfc889", "rfc2416"])
def test_the_claims_of_a_paper_are_printed_as_json(netspurt: Command, key: str) -> None:
    result = netspurt("papers", "show", key, "--json")
    data = json.loads(result.stdout)
    assert len(data["claims"]) == len(read_paper(key).claims)
    shaped = {claim["id"] for claim in data["claims"] if claim["shape"] is not None}
    assert shaped == {claim.id for claim in read_paper(key).claims if claim.shape is not None}
