"""Tests the verdicts on the claims of RFC 2416, and the commands about papers.

A claim is a statement of a paper that a run can confirm.
"""

from __future__ import annotations

import csv
import json
import shlex
import shutil
from pathlib import Path

import pytest

import netspurt as ns
from netspurt.cli.paper_report import _command
from netspurt.papers import PaperError, Verdict, check, read_paper, shelf
from netspurt.papers.bench import Bench
from netspurt.papers.check import comparison
from netspurt.papers.reading import EVIDENCE

from conftest import ROOT, Command

#: The claims of RFC 2416 that other parts of the RFC contradict, with the results of our runs.
CONTRADICTIONS = {
    "iw1.t8": 6.611,
    "pkt1024": 1000,
    "send3": 2.5,
    "adv229": 0.389,
    "fifth": 0.467,
    "dally": "idle 0.389 s, no dally",
}


@pytest.fixture(scope="module")
def verdicts() -> dict[str, dict[str, object]]:
    """Judge all claims of RFC 2416, except our own claims about the kernel."""
    paper = read_paper("rfc2416")
    judged = check(Bench(paper), [claim for claim in paper.claims if claim.evidence != "kernel"])
    return {j.claim.id.removeprefix("rfc2416."): j.as_dict() for j in judged}


def test_rfc2416_has_a_verdict_for_each_of_its_37_claims(
    verdicts: dict[str, dict[str, object]],
) -> None:
    assert len(verdicts) == 37
    by = {v: {k for k, row in verdicts.items() if row["verdict"] == v} for v in Verdict}
    assert by[Verdict.CONTRADICTION] == set(CONTRADICTIONS)
    assert by[Verdict.NOT_REPRODUCED] == {"rtt-est"}
    assert len(by[Verdict.REPRODUCED]) == 30
    assert all(row["evidence"] in EVIDENCE for row in verdicts.values())


@pytest.mark.usefixtures("no_kernel")
def test_the_json_output_has_the_same_keys_for_each_claim(netspurt: Command) -> None:
    judged = json.loads(netspurt("papers", "check", "rfc2416", "--json").stdout)
    assert len(judged) == 43
    keys = {
        "id",
        "verdict",
        "evidence",
        "expected",
        "threshold",
        "measured",
        "corrected",
        "bands",
        "unit",
        "tolerance",
        "note",
    }
    assert all(set(row) == keys for row in judged)
    assert sum("not run: no live run" in row["note"] for row in judged) == 6


@pytest.mark.usefixtures("no_kernel")
def test_without_namespaces_the_claims_about_the_kernel_are_not_attempted() -> None:
    paper = read_paper("rfc2416")
    claims = [claim for claim in paper.claims if claim.evidence == "kernel"]
    judged = check(Bench(paper), claims)
    assert {judgement.verdict for judgement in judged} == {Verdict.NOT_ATTEMPTED}
    assert {judgement.claim.note for judgement in judged} == {"not run: no live run: no namespaces"}


def test_fourteen_of_fifteen_ack_times_agree_to_a_millisecond(
    verdicts: dict[str, dict[str, object]],
) -> None:
    times = [
        (row["expected"], row["measured"])
        for name, row in verdicts.items()
        if name.startswith(("iw1.t", "iw4.t")) and row["expected"] != 0.0
    ]
    assert len(times) == 15
    deviating = [(a, b) for a, b in times if abs(float(str(a)) - float(str(b))) > 0.001]
    assert [(a, round(float(str(b)), 3)) for a, b in deviating] == [(6.111, 6.611)]


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_a_run_gives_the_corrected_value_where_the_document_has_a_mistake(
    verdicts: dict[str, dict[str, object]], name: str
) -> None:
    measured, corrected = verdicts[name]["measured"], CONTRADICTIONS[name]
    if isinstance(corrected, str):
        assert measured == corrected
    else:
        assert float(str(measured)) == pytest.approx(corrected, abs=1e-3)
    assert verdicts[name]["note"]


def test_the_gain_of_a_start_with_four_packets_depends_on_the_tick(
    verdicts: dict[str, dict[str, object]],
) -> None:
    assert verdicts["delivery-law"]["measured"] == [3.0, pytest.approx(2.8888, abs=1e-3)]
    paper = read_paper("rfc2416")
    claim = next(c for c in paper.claims if c.id.endswith("rtt-est"))
    (judged,) = check(Bench(paper), [claim])
    rows = {(module, tick): at_end for module, tick, _, at_end, _ in judged.table[1:]}
    assert rows["tahoe", "10 ms"] == rows["reno", "10 ms"] == "2.329 s"
    assert {rows[module, "500 ms"] for module in ("tahoe", "reno", "sack", "fack")} == {"2.889 s"}


@pytest.mark.usefixtures("no_kernel")
def test_the_command_prints_a_table_that_fits_in_a_narrow_terminal(
    netspurt: Command, tmp_path: Path
) -> None:
    result = netspurt("papers", "check", "rfc2416", columns=80)
    assert result.returncode == 0, result.stderr
    assert "43 claims" in result.stdout
    expected = "30 reproduced · 6 where the document contradicts itself · 1 not reproduced · 6 not"
    assert expected in " ".join(result.stdout.split())
    assert max(len(line) for line in result.stdout.splitlines()) <= 80
    assert "≪ 0.229 s" in result.stdout, "the sign ≪ must be printed"
    assert (tmp_path / "runs/papers/rfc2416/time-sequence-iw4.png").stat().st_size > 5_000
    listed = json.loads(netspurt("papers", "list", "--json").stdout)
    assert {row["key"]: row["claims"] for row in listed}["rfc2416"] == 43
    assert "four-modules" in netspurt("papers", "show", "rfc2416").stdout


def test_the_option_explain_prints_the_source_of_a_value(netspurt: Command) -> None:
    output = netspurt("papers", "check", "rfc2416", "--explain", "rfc2416.pkt1024").stdout
    for words in ("document-contradicts-itself", "1000", "1024", "1064", "80.3 ms"):
        assert words in output, words
    command = next(
        line
        for line in netspurt("papers", "check", "--explain", "rfc2416.iw1.t2").stdout.splitlines()
        if "netspurt run" in line
    )
    assert command.split()[1] == "iw1"
    failed = netspurt("papers", "check", "--explain", "rfc2416.nothing")
    assert failed.returncode == 2
    assert netspurt("papers", "check", "rfc9999").returncode == 2


def test_a_claim_is_not_reproduced_if_the_run_gives_another_value(tmp_path: Path) -> None:
    """With another rate of the modem, a run reproduces none of the printed times of ACKs."""
    shutil.copytree(ROOT / "papers" / "rfc2416", tmp_path / "rfc2416")
    file = tmp_path / "rfc2416" / "start.toml"
    file.write_text(file.read_text().replace("9600 bit/s", "9700 bit/s"))
    paper = read_paper("rfc2416", tmp_path)
    times = [c for c in paper.claims if c.measure in ("ack", "dupack") and c.printed != 0.0]
    verdicts = {j.verdict for j in check(Bench(paper), times)}
    assert verdicts == {Verdict.NOT_REPRODUCED}


def test_an_invalid_row_is_refused(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "papers" / "rfc2416", tmp_path / "rfc2416")
    file = tmp_path / "rfc2416" / "expected.csv"
    good = file.read_text()
    file.write_text(good.replace(",simulation,", ",hearsay,", 1))
    with pytest.raises(PaperError, match="unknown kind of evidence: hearsay"):
        read_paper("rfc2416", tmp_path)
    file.write_text(good.replace(",first_drop,", ",guess,", 1))
    paper = read_paper("rfc2416", tmp_path)
    with pytest.raises(PaperError, match="no measure is called 'guess'"):
        check(Bench(paper), paper.claims)


def test_each_comparison_holds_for_the_values_that_its_name_says() -> None:
    assert comparison("near")(1.0005, 1.0, 0.001)
    assert not comparison("near")([1.0, 2.0], [1.0], 1.0)
    assert comparison("at most")(1.1, 1.0, 0.2)
    assert not comparison("at least")(0.7, 1.0, 0.2)
    assert comparison("far below")(0.05, 1.0, 0)
    assert not comparison("far below")(0.5, 1.0, 0)
    assert not comparison("below")(1.0, 1.0, 0)
    assert comparison("factor")([8.0, 69.0], 23.0, 3.0)
    assert not comparison("factor")(7.0, 23.0, 3.0)
    assert not comparison("factor")(70.0, 23.0, 3.0)
    with pytest.raises(PaperError, match="no comparison"):
        comparison("roughly")


def test_each_number_of_a_list_can_have_a_tolerance_of_its_own() -> None:
    near = comparison("near")
    assert near([1.0, 343.0], [1.0, 350.0], [0.0, 10.0])
    assert not near([2.0, 343.0], [1.0, 350.0], [0.0, 10.0])
    assert not near([1.0, 339.0], [1.0, 350.0], [0.0, 10.0])
    assert near([2.0, 343.0], [1.0, 350.0], 10.0)
    assert not near([1.0, 343.0], [1.0, 350.0], [10.0])


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("rfc2416", "rfc2416 has no study: leave out the folder"),
        ("globecom2000", "has no results of the study of globecom2000: name the folder that"),
        ("sfr2005", "has no results of the study of sfr2005: name the folder that"),
    ],
)
def test_a_folder_without_the_papers_study_is_an_error_before_anything_is_run(
    tmp_path: Path, key: str, why: str
) -> None:
    with pytest.raises(PaperError, match=why):
        Bench(read_paper(key), study=tmp_path)


def test_every_shipped_paper_can_be_read() -> None:
    for key in shelf():
        paper = read_paper(key)
        ids = [claim.id for claim in paper.claims]
        assert len(set(ids)) == len(ids)
        assert all(claim_id.startswith(f"{key}.") for claim_id in ids)
        for claim in paper.claims:
            comparison(claim.compare)
            assert (claim.corrected is None) or claim.note
            assert claim.measure or claim.note
        for run in paper.runs:
            paper.scenario(run)


def test_claims_match_the_separate_list_of_claims_if_it_is_present() -> None:
    listing = ROOT.parent / "shared" / "papers" / "claims.toml"
    if not listing.exists():
        pytest.skip("the list of claims is not on this machine")
    with (ROOT / "papers" / "rfc2416" / "expected.csv").open(newline="") as file:
        # RFC 2416 makes no claims about the kernel, so the list has no rows about the kernel.
        claim_ids = {row["id"] for row in csv.DictReader(file) if row["evidence"] != "kernel"}
    listed_ids = {
        line.split('"')[1]
        for line in listing.read_text().splitlines()
        if line.startswith('id = "rfc2416.')
    }
    assert claim_ids == listed_ids


def test_the_option_explain_shows_the_printed_words_and_marks_our_own_threshold(
    netspurt: Command,
) -> None:
    output = netspurt("papers", "check", "--explain", "harmless").stdout
    assert "printed      no harm\n" in output
    assert "at most 0.834 s: our threshold" in output
    # The text before the table says how many packets a start with four packets delays.
    assert "200 of 264" in output.replace("\n", " ").partition("  module  tick")[0]
    assert "--explain" not in output


def test_the_option_explain_finds_a_claim_without_its_papers_key(netspurt: Command) -> None:
    data = json.loads(netspurt("papers", "check", "--explain", "iw1.t8", "--json").stdout)
    assert (data["id"], data["measure"]) == ("rfc2416.iw1.t8", "dupack")
    assert data["runs"]["iw1"].startswith("netspurt run ")
    failed = netspurt("papers", "check", "--explain", "iw1.t88")
    assert "did you mean rfc2416.iw1.t8" in failed.stderr
    assert "netspurt papers show rfc2416" in failed.stderr


def test_the_list_of_claims_fits_in_a_narrow_terminal(netspurt: Command) -> None:
    output = netspurt("papers", "show", "rfc2416", columns=80).stdout.splitlines()
    assert max(len(line) for line in output) <= 80
    assert any("≪ 0.229 s" in line for line in output), "the sign ≪ must be printed"


def test_the_runs_of_rfc2416_have_titles_of_their_own() -> None:
    paper = read_paper("rfc2416")
    titles = {run: paper.scenario(run).title for run in ("iw1", "iw4")}
    assert titles == {
        "iw1": "RFC 2416: a start with one packet",
        "iw4": "RFC 2416: a start with four packets",
    }


def test_the_commands_printed_by_the_option_explain_give_the_runs_of_the_paper(
    netspurt: Command, tmp_path: Path
) -> None:
    paper = read_paper("rfc2416")
    bench = Bench(paper)
    simulated = [name for name in paper.runs if bench.scenario(name).kernel_flow is None]
    for n, name in enumerate(simulated[:3]):
        program, *words = shlex.split(_command(paper, name))
        assert program == "netspurt"
        assert netspurt(*words, "--out", f"r{n}").returncode == 0, name
        assert ns.open_run(tmp_path / f"r{n}").digest == bench.run(name).digest, name
    live = next(name for name in paper.runs if name not in simulated)
    assert shlex.split(_command(paper, live))[:3] == ["netspurt", "live", "run"]
