"""Tests `netspurt script`, which plays scripts in packetdrill's notation.

A line `--fails_with=SWITCH=VALUE` of a script names a change that must make the script fail.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from netspurt import _core

from conftest import ROOT, Command

#: The folder of the scripts that come with netspurt.
SCRIPTS = ROOT / "crates" / "netspurt" / "scripts"

#: A script that passes if a SYN without an answer is retransmitted after 3 s.
SYN = """--title=a SYN is retransmitted after 3 s
0 socket(..., SOCK_STREAM|SOCK_NONBLOCK, IPPROTO_TCP) = 3
0 connect(3, ..., ...) = -1 EINPROGRESS
0 > S 0:0(0) <...>
3 > S 0:0(0) <...>
"""


@pytest.fixture
def syn(tmp_path: Path) -> str:
    """Write the script into the working directory; return the name of its file."""
    (tmp_path / "syn.pkt").write_text(SYN)
    return "syn.pkt"


def test_each_script_of_a_folder_gets_a_line_of_output(netspurt: Command) -> None:
    result = netspurt("script", SCRIPTS)
    assert (result.returncode, result.stderr) == (0, "")
    *lines, between, total = result.stdout.splitlines()
    assert (between, total) == (
        "",
        f"{len(lines)} scripts: {len(lines)} passed, 0 failed, 0 refused",
    )
    scripts = [path.relative_to(SCRIPTS).with_suffix("") for path in SCRIPTS.rglob("*.pkt")]
    assert {line.split()[1] for line in lines} == {path.as_posix() for path in scripts}
    assert len(lines) == len(scripts) >= 62
    assert all(line.startswith("ok  ") and line.endswith(" s") for line in lines)


def test_a_failing_script_prints_the_expectation_and_the_transcript(
    netspurt: Command, syn: str
) -> None:
    result = netspurt("script", syn)
    assert result.returncode == 1
    for words in (
        "failed  syn  a SYN is retransmitted after 3 s  1.000 s",
        "--> syn.pkt:5",
        "expected  3.000000 > S 0:0(0)",
        "actual    1.000000 > S 0:0(0)",
        "transcript:",
    ):
        assert words in result.stdout
    assert netspurt("script", syn, "--set", "rto.initial=3 s").returncode == 0
    assert netspurt("script", syn, "--profile", "reno-2005").returncode == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--set", "rto.inital=3 s"], ["syn.pkt with rto.inital = 3 s", "`initial`"]),
        (["--profile", "rfc-2062"], ["syn.pkt with profile = rfc-2062", "`rfc-2026`"]),
        (["--set", "nonsense"], ["'nonsense' is not PATH=VALUE"]),
        (["nothing.pkt"], ["nothing.pkt does not exist"]),
        # A failed script has the status 1. A mistake has the status 2.
        (["."], []),
    ],
)
def test_a_mistake_gets_one_clear_error(
    netspurt: Command, syn: str, words: list[str], says: list[str]
) -> None:
    result = netspurt("script", syn, *words)
    assert result.returncode == (2 if says else 1)
    assert all(text in result.stderr for text in says)
    assert "Traceback" not in result.stderr


def test_an_invalid_script_is_an_error_with_its_place(netspurt: Command, tmp_path: Path) -> None:
    (tmp_path / "a.pkt").write_text(SYN)
    (tmp_path / "bad.pkt").write_text(SYN.replace("connect", "conect"))
    (tmp_path / "good.pkt").write_text(SYN.replace("3 >", "1 >"))
    (tmp_path / "binary.pkt").write_bytes(b"\x7fELF\xff\xfe\x00")
    (tmp_path / "empty").mkdir()
    result = netspurt("script", ".")
    assert result.returncode == 2
    assert result.stdout.splitlines()[3].startswith("ok       good ")
    assert "--> bad.pkt:3:3" in result.stderr
    assert "binary.pkt: not a text file: line 1 is not UTF-8" in result.stderr
    assert netspurt("script", "empty").returncode == 2


def test_the_json_output_has_the_line_of_the_failure_and_the_transcript(
    netspurt: Command, syn: str
) -> None:
    (failed,) = json.loads(netspurt("script", syn, "--json").stdout)
    assert (failed["ok"], failed["line"], failed["title"]) == (
        False,
        5,
        "a SYN is retransmitted after 3 s",
    )
    assert failed["transcript"][-1]["t_ns"] == 1_000_000_000
    (passed,) = json.loads(netspurt("script", syn, "--set=rto.initial=3 s", "--json").stdout)
    assert (passed["ok"], passed["seconds"], passed["expected"]) == (True, 3.0, None)


def test_scripts_can_be_played_from_python() -> None:
    script = _core.Script("syn.pkt", SYN)
    played = script.play([("rto.initial", "3 s")])
    assert played.ok
    assert str(played) == ""
    assert not script.fails_with
    assert not script.clauses
    wrong = script.play([], "rfc-2026")
    assert wrong.headline == "this happened at the wrong time"
    with pytest.raises(_core.ScriptError) as raised:
        script.play([("rto.initial", "3")])
    assert "`3` has no unit" in raised.value.message


def test_a_script_is_proved_if_it_fails_with_each_change_that_it_names(
    netspurt: Command, tmp_path: Path
) -> None:
    change = "--fails_with=rto.initial={}\n".format
    text = SYN.replace("\n0 socket", '\n--set=rto.initial="3 s"\n0 socket', 1)
    (tmp_path / "good.pkt").write_text(change('"1 s"') + text)
    (tmp_path / "idle.pkt").write_text(change('"1 s"') + "--fails_with=tlp=false\n" + text)
    assert netspurt("script", "idle.pkt").returncode == 0
    assert netspurt("script", "good.pkt", "--prove").returncode == 0
    result = netspurt("script", ".", "--prove")
    assert result.returncode == 1
    assert [line.split()[0] for line in result.stdout.splitlines()[:2]] == ["ok", "unproved"]
    assert "idle.pkt:2: passes with tlp = false, too" in result.stdout
    good, idle = json.loads(netspurt("script", ".", "--prove", "--json").stdout)
    assert (good["ok"], good["ineffective_changes"], idle["ok"]) == (True, [], False)
    assert idle["ineffective_changes"] == [{"line": 2, "path": "tlp", "value": "false"}]
    assert netspurt("script", ".", "--prove", "--set", "tlp=true").returncode == 2


def test_a_wrong_change_that_a_script_names_is_refused(netspurt: Command, tmp_path: Path) -> None:
    (tmp_path / "a.pkt").write_text("--fails_with=tpl=false\n" + SYN)
    result = netspurt("script", "a.pkt", "--set", "rto.initial=3 s")
    assert result.returncode == 2
    assert "a.pkt:1:18" in result.stderr
    assert "did you mean `tlp`?" in result.stderr


def test_one_mistake_in_many_scripts_is_reported_once(netspurt: Command) -> None:
    result = netspurt("script", SCRIPTS, "--profile", "zork")
    assert result.returncode == 2
    assert result.stderr.count("error:") == 1
    more = len(list(SCRIPTS.rglob("*.pkt"))) - 1
    assert f"the same error in {more} more scripts\n" in result.stderr


def test_a_file_of_sysctls_is_found_relative_to_the_scripts_folder(
    netspurt: Command, tmp_path: Path
) -> None:
    (tmp_path / "common").mkdir()
    (tmp_path / "one").mkdir()
    (tmp_path / "common" / "set.sh").write_text("sysctl -q net.ipv4.tcp_timestamps=0\n")
    syn = "> S 0:0(0) <mss 1460,sackOK,wscale 7>"
    text = SYN.split("\n", 1)[1].replace("> S 0:0(0) <...>", syn).replace("3 >", "+1 >")
    (tmp_path / "one" / "syn.pkt").write_text("`../common/set.sh`\n" + text)
    (tmp_path / "lost.pkt").write_text("`../common/set.sh`\n" + text)
    result = netspurt("script", "one", "--profile", "linux-6")
    assert (result.returncode, result.stderr) == (0, "")
    result = netspurt("script", "lost.pkt")
    assert result.returncode == 2
    assert "there is no file `../common/set.sh`" in result.stderr
    assert "netspurt looks for it from the script's folder" in result.stderr


def test_the_last_line_counts_the_outcomes_of_several_scripts(
    netspurt: Command, tmp_path: Path
) -> None:
    texts = {
        "late": SYN,
        "right": SYN.replace("3 >", "+1 >"),
        "open": SYN.replace("<...>", "<FO 00>").split("\n", 1)[1],
        "open-too": SYN.replace("<...>", "<FO 00, nop>").split("\n", 1)[1],
        "slip": SYN.replace("connect", "conect"),
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.pkt").write_text(text)
    result = netspurt("script", ".")
    assert result.returncode == 2
    assert result.stdout.splitlines()[-1] == "5 scripts: 1 passed, 1 failed, 3 refused"
    words = dict(line.split()[1::-1] for line in result.stdout.splitlines()[:5])
    refused = dict.fromkeys(("open", "open-too", "slip"), "refused")
    assert words == {"late": "failed", "right": "ok", **refused}
    assert result.stderr.count("`FO` asks for Fast Open") == 1, "the reason must be printed once"
    assert "the same error in 1 more script\n" in result.stderr
    assert "scripts:" not in netspurt("script", "right.pkt").stdout


def test_a_script_with_an_option_that_is_not_supported_counts_as_refused(
    netspurt: Command, tmp_path: Path
) -> None:
    (tmp_path / "clamp.pkt").write_text(
        "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n"
        "+0 setsockopt(3, SOL_TCP, TCP_WINDOW_CLAMP, [9000], 4) = 0\n"
    )
    result = netspurt("script", "clamp.pkt")
    assert result.returncode == 2
    assert result.stdout.startswith("refused")
    assert "clamp.pkt:2" in result.stdout
    assert "not supported: TCP_WINDOW_CLAMP" in result.stdout
