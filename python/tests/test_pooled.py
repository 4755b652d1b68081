"""Tests what `netspurt explain` says about many connections together."""

from __future__ import annotations

import shlex

from netspurt.captures import explain
from netspurt.cli.explained import lines

from conftest import ROOT

CAPTURES = ROOT / "data" / "captures"


def test_the_command_that_shows_a_connection_of_joined_captures_names_each_file() -> None:
    names = ("tails-16-default-s1", "tails-02-acks-at-once-s1")
    files = [str(CAPTURES / name / "sender.pcapng") for name in names]
    (told,) = (line for line in lines(explain(*files), None, few=0) if line.startswith("See: "))
    assert shlex.split(told)[:6] == ["See:", "netspurt", "explain", "--as-one", *files]
