"""Tests papers that users write: errors for mistakes, and the commands that a report suggests.

A paper is a folder with scenarios, a file `paper.toml`, and a table of claims, `expected.csv`. A
claim is one statement of the paper that a run can confirm.
"""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from netspurt.papers import Paper, PaperError, Verdict, check, read_paper
from netspurt.papers.bench import Bench
from netspurt.papers.check import comparison

from conftest import Command, refused

#: A scenario: a transfer over a slow line.
LINE = """
stop = "20 s"

[links]
line = { between = ["a", "b"], rate = "64 kbit/s", delay = "50 ms", queue = "10 packets" }

[flows.transfer]
from    = "a"
to      = "b"
profile = "ns-2"
tcp     = { recovery = "reno", initial_window = "1 segment", packet_size = "1000 B" }
send    = "60 segments"
"""

#: The file `paper.toml` of the paper without mistakes.
PAPER = """
key       = "mine"
title     = "A note"
authors   = "N. N."
published = "a lecture, 2026"

[runs]
line  = { scenario = "line.toml", set = { stop = "10 s" } }
short = { scenario = "line.toml" }

[grids.queues]
scenario  = "line.toml"
over.size = { path = "links.line.queue", values = ["3 packets"] }

[[pictures]]
run  = "line"
kind = "time-sequence"
file = "line"
view = { end = 5.0 }
"""

#: The heading of the table of claims.
HEADING = (
    "id,group,says,printed,unit,measure,arguments,compare,tolerance,corrected,evidence,note,shape\n"
)
#: A claim on the time of an ACK.
FIRST = 'mine.first,start,x,0.225,s,ack,"run=line packet=1 sends=2,3",near,0.005,,simulation,,\n'
#: A claim on the first packet that is dropped.
DROP = "mine.drop,queue,y,21,,first_drop,run=line,same,,,simulation,,\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write a paper without mistakes, and return its folder."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "line.toml").write_text(LINE)
    (folder / "paper.toml").write_text(PAPER)
    (folder / "expected.csv").write_text(HEADING + FIRST + DROP)
    return folder


def judge(folder: Path) -> None:
    """Judge the claims of a paper, and fail if anything is run."""

    def refuse(_: str) -> None:
        raise AssertionError("something was run")

    paper = read_paper(str(folder))
    check(Bench(paper, announce=refuse), paper.claims)


def message(folder: Path) -> str:
    """Return the message of the error with which a paper is refused."""
    with pytest.raises(PaperError) as raised:
        judge(folder)
    return str(raised.value).removeprefix(f"{folder}/")


@pytest.mark.parametrize(
    ("right", "wrong", "why"),
    [
        ("key       =", "#", "paper.toml: the key `key` is missing"),
        ("title     =", "#", "paper.toml: the key `title` is missing"),
        ("authors   =", "#", "paper.toml: the key `authors` is missing"),
        ("published =", "#", "paper.toml: the key `published` is missing"),
        ('"A note"', "1", "paper.toml: the value of `title` is not a text"),
        ('"A note"', '"A note', "paper.toml: Illegal character '\\n' (at line 3, column 20)"),
        (
            '{ scenario = "line.toml" }',
            '{ title = "x" }',
            "paper.toml, [runs.short]: the key `scenario` is missing",
        ),
        (
            '{ scenario = "line.toml" }',
            '"line.toml"',
            "paper.toml, [runs.short]: write a table with the keys scenario, title, set",
        ),
        ("set =", "sett =", "paper.toml, [runs.line]: unknown key `sett`: did you mean `set`?"),
        ("grids", "grid", "paper.toml: unknown key `grid`: did you mean `grids`?"),
        (
            'path = "links.line.queue"',
            "path = 1",
            "paper.toml, [grids.queues], over.size: the value of `path` is not a text or a list",
        ),
        ("file =", "# ", "paper.toml, [[pictures]] 1: the key `file` is missing"),
        (
            'run  = "line"',
            'run  = "lime"',
            "paper.toml, [[pictures]] 1: unknown run `lime`: did you mean `line`?",
        ),
        ("{ end", "{ ende", "paper.toml, [[pictures]] 1, view: the key `ende` is unknown"),
    ],
)
def test_a_mistake_in_paper_toml_is_an_error_that_names_its_place(
    folder: Path, right: str, wrong: str, why: str
) -> None:
    assert PAPER.count(right) == 1
    (folder / "paper.toml").write_text(PAPER.replace(right, wrong))
    assert message(folder).startswith(why)


@pytest.mark.parametrize(
    ("right", "wrong", "why"),
    [
        (",,\n", ",\n", "expected.csv, line 2: the row has 12 cells, and the heading has 13"),
        (",,\n", ",,,\n", "expected.csv, line 2: the row has 14 cells, and the heading has 13"),
        ("says", "say", "expected.csv: unknown column `say`: did you mean `says`?"),
        (",note", "", "expected.csv, line 2: the row has 13 cells, and the heading has 12"),
        ("says", "id", "expected.csv: two columns of the heading have the same name"),
        (DROP, DROP.replace("drop,", "first,"), "expected.csv, line 3: an earlier claim has"),
        (FIRST + DROP, "", "expected.csv has no claims"),
        ("mine.first", "", "expected.csv, line 2: the column `id` is empty"),
        ("0.225", "null", "expected.csv, line 2, mine.first: printed 'null': write a number"),
        ("0.225", '"{""a"": 1}"', "expected.csv, line 2, mine.first: printed '{\"a\": 1}': write"),
        ("0.225", "NaN", "expected.csv, line 2, mine.first: printed 'NaN': write a number"),
        ("0.225", "true", "expected.csv, line 2, mine.first: printed 'true': write a number"),
        ("0.225", "yes", "expected.csv, line 2, mine.first: printed 'yes': write a number, a text"),
        ("0.005", "nan", "expected.csv, line 2, mine.first: tolerance 'nan': write a number"),
        ("0.005", "-1", "expected.csv, line 2, mine.first: tolerance '-1': write a number"),
        ("0.005", "5 ms", "expected.csv, line 2, mine.first: tolerance '5 ms': write a number"),
        ("0.005", '"[0, -1]"', "expected.csv, line 2, mine.first: tolerance '[0, -1]': write a"),
        ("0.005", '"[0, 1]"', "mine.first: tolerance [0.0, 1.0]: write one number, or a number"),
        ("near,0.005", "factor,0.5", "mine.first: tolerance 0.5: write a factor that is not below"),
        (
            "run=line packet",
            "run=line run=short packet",
            "expected.csv, line 2, mine.first: the argument `run` is there twice",
        ),
        ("packet=1", "packet", "expected.csv, line 2, mine.first: argument 'packet': write NAME="),
        (
            ",simulation",
            ",",
            "expected.csv, line 2, mine.first: a claim with a measure needs a kind of evidence",
        ),
        (
            "packet=1 ",
            "",
            "mine.first: missing a required argument: 'packet'; the arguments of ack: run, packet",
        ),
        ("packet=1", "paket=1", "mine.first: missing a required argument: 'packet'; the arguments"),
        ("near", "nearly", "mine.first: no comparison is called 'nearly'"),
        ("0.225", '"""fast"""', "mine.first: 'fast' is not a number: compare it with `same`"),
        (
            "0.225,s",
            "225,ms",
            "mine.first: the unit is 'ms', and the measure ack gives s: write the values and the "
            "tolerance of the claim in s",
        ),
        ("0.225,s", "0.225,", "mine.first: the claim has no unit, and the measure ack gives s"),
        (",,\n", ",,nearby: 1\n", "mine.first: no comparison is called 'nearby'"),
    ],
)
def test_a_mistake_in_a_table_of_claims_is_reported_before_any_run(
    folder: Path, right: str, wrong: str, why: str
) -> None:
    table = HEADING + FIRST + DROP
    (folder / "expected.csv").write_text(table.replace(right, wrong, 1))
    assert message(folder).startswith(why)


def _claim(measure: str, arguments: str, unit: str = "") -> str:
    """Return a row of the table of claims with this measure, these arguments and this unit."""
    return f"mine.drop,queue,y,1,{unit},{measure},{arguments},same,,,simulation,,\n"


#: A grid and a sweep over the length of the queue, for `paper.toml`.
SWEPT = """
[grids.g]
scenario = "line.toml"
over = { queue = { path = "links.line.queue", values = ["3 packets", "6 packets"] } }
[sweeps.s]
scenario = "line.toml"
seeds = 2
quick = { seeds = 1, stop = "5 s" }
over = { queue = { path = "links.line.queue", values = ["3 packets", "6 packets"] } }
"""


def test_errors_during_a_measurement_name_the_claim_and_the_measure(folder: Path) -> None:
    for right, wrong, why in [
        ("packet=1", "packet=one", "sends=2,3: invalid literal for int"),
        ("run=line packet", "run=lime packet", "no run in paper.toml is called 'lime'"),
        (DROP, DROP.replace("run=line,same", "run=none,same"), "mine.drop, measured by first_drop"),
        (DROP, _claim("clocks_ratio", "runs=line"), "`line`: write 2 parts, separated by commas"),
        (DROP, _claim("spikes_by_size", "grid=g"), "the grid g has no axis `size`: its axes are q"),
        (DROP, _claim("sfr_repairs", "grid=g"), "exactly one of the cases of g, and there are 2"),
        (
            DROP,
            _claim("mean_duration", "sweep=s cell=x", "ms"),
            "the sweep has no cell x: its cell",
        ),
        (
            DROP,
            _claim("regenerated", "runs=line"),
            "a run has no capture at the node `source`: set",
        ),
    ]:
        (folder / "expected.csv").write_text((HEADING + FIRST + DROP).replace(right, wrong))
        (folder / "paper.toml").write_text(PAPER + SWEPT)
        paper = read_paper(str(folder))
        with pytest.raises(PaperError, match="measured by") as raised:
            check(Bench(paper), paper.claims)
        assert str(raised.value).startswith("mine.")
        assert why in str(raised.value)


def test_a_claim_on_an_event_that_does_not_occur_is_not_reproduced(folder: Path) -> None:
    claim = 'mine.fired,timer,z,"[1, 0.5]",,after_a_timeout,run=line,near,0.1,,simulation,,\n'
    (folder / "expected.csv").write_text(HEADING + claim)
    (folder / "line.toml").write_text(LINE.replace("10 packets", "99 packets"))
    paper = read_paper(str(folder))
    (judged,) = check(Bench(paper), paper.claims)
    assert (judged.verdict, judged.measured) == (Verdict.NOT_REPRODUCED, None)
    assert judged.claim.note == "the runs have no row that the measure needs"


def test_a_table_may_begin_with_a_byte_order_mark_but_must_be_utf_8(folder: Path) -> None:
    file = folder / "expected.csv"
    file.write_text(HEADING + FIRST, encoding="utf-8-sig")
    assert [claim.id for claim in read_paper(str(folder)).claims] == ["mine.first"]
    before = (HEADING + FIRST).partition("x,")[0]
    file.write_bytes(f"{before}\u00fc,".encode("latin-1"))
    octet = len(before) + 1
    assert message(folder) == f"expected.csv is not UTF-8 at octet {octet}: save it as UTF-8"


def test_a_value_that_differs_by_exactly_the_tolerance_agrees(folder: Path) -> None:
    paper = read_paper(str(folder))
    assert [judged.verdict for judged in check(Bench(paper), paper.claims)] == [
        Verdict.REPRODUCED,
        Verdict.REPRODUCED,
    ]
    assert comparison("near")(1e6 + 0.1, 1e6, 0.1)
    assert comparison("within")(1.1, 1.0, 0.1)
    assert comparison("at least")(0.7, 0.8, 0.1)
    assert comparison("at most")(0.3, 0.1, 0.2)
    assert not comparison("near")(0.2300001, 0.225, 0.005)
    assert not comparison("near")(float("inf"), 0.225, 0.005)


def test_the_commands_below_a_report_find_the_paper(
    netspurt: Command, folder: Path, tmp_path: Path
) -> None:
    moved = tmp_path / "elsewhere" / "my paper"
    moved.parent.mkdir()
    folder.rename(moved)
    result = netspurt("papers", "check", "elsewhere/my paper")
    assert result.returncode == 0, result.stderr
    hints = [line.partition(": ")[2].strip() for line in result.stdout.splitlines()[-3:-1]]
    for hint in hints:
        program, *words = shlex.split(hint.replace("ID", "mine.drop"))
        assert program == "netspurt"
        told = netspurt(*words)
        assert "mine.drop" in told.stdout, told.stderr
    refused(
        netspurt("papers", "check", "elsewhere/my paper", "--explain", "mine.x"),
        "netspurt papers show 'elsewhere/my paper'",
    )


def test_pictures_of_a_users_paper_never_replace_those_of_an_installed_paper(
    netspurt: Command, folder: Path, tmp_path: Path
) -> None:
    (folder / "paper.toml").write_text(PAPER.replace('"mine"', '"rfc2416"'))
    assert "runs/papers/rfc2416-own/line.png" in netspurt("papers", "check", "mine").stdout
    shutil.rmtree(tmp_path / "runs")
    (folder / "paper.toml").write_text(PAPER.replace('"time-sequence"', '"time-sequense"'))
    result = netspurt("papers", "check", "mine")
    assert result.returncode == 2
    assert result.stdout == "", "the error about the picture must come before the report"


def test_a_paper_can_be_given_by_its_key_or_by_its_folder(folder: Path) -> None:
    own: Paper = read_paper(str(folder))
    assert (own.is_shipped, own.argument) == (False, str(folder))
    installed = read_paper("rfc2416")
    assert (installed.is_shipped, installed.argument) == (True, "rfc2416")
