"""Tests the plan of a probe: how its options are read, and the task of the probing process.

A survey (`--hops`) probes each router on the path.
"""

from __future__ import annotations

import socket
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st

from netspurt import line as lines
from netspurt.cli import probing
from netspurt.cli.probing import _over_a_line, _pace, _rotation
from netspurt.line import over_line
from netspurt.probe import Plan, ProbeLengths, resolve, stamp_name
from netspurt.worker import ProbeError

from conftest import Command, refused

#: The first words of each command that runs at an end of an emulated line.
SELF = [sys.executable, "-P", "-c", "from netspurt.cli import start; start()"]


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("rfc889", {"rule": "rfc889"}),
        (" rfc889 ", {"rule": "rfc889"}),
        ("uniform", {"rule": "uniform", "low": 40, "high": 256}),
        ("uniform:100-100", {"rule": "uniform", "low": 100, "high": 100}),
        ("uniform:28-65000", {"rule": "uniform", "low": 28, "high": 65_000}),
        ("28", {"rule": "fixed", "octets": 28}),
        ("65000", {"rule": "fixed", "octets": 65_000}),
        ("bursts", {"rule": "bursts", "each": 8}),
        ("bursts:1", {"rule": "bursts", "each": 1}),
    ],
)
def test_a_rule_of_lengths_is_read_and_given_to_the_probing_process(
    text: str, order: dict[str, Any]
) -> None:
    assert ProbeLengths.of(text).order() == order


@pytest.mark.parametrize(
    "text",
    [
        "",
        "27",
        "65001",
        "64:1",
        "-64",
        "64.5",
        "²",
        "rfc889:1",
        "uniform:256-40",
        "uniform:27-256",
        "uniform:40-65001",
        "uniform:40",
        "bursts:0",
        "bursts:-1",
        "bursts:x",
        "normal:64",
    ],
)
def test_the_error_for_an_unknown_rule_of_lengths_lists_all_rules(text: str) -> None:
    with pytest.raises(ValueError, match="is not a rule of lengths") as caught:
        ProbeLengths.of(text)
    assert str(caught.value) == (
        f"{text!r} is not a rule of lengths: write rfc889, uniform:40-256, bursts:8, or a number "
        "of octets from 28 (a probe needs 40, or 60 with IPv6) to 65000"
    )


@given(st.integers(28, 65_000), st.integers(0, 65_000))
@settings(max_examples=30, deadline=None)
def test_lengths_within_the_bounds_are_read_as_they_are(low: int, more: int) -> None:
    high = min(low + more, 65_000)
    assert ProbeLengths.of(f"uniform:{low}-{high}") == ProbeLengths("uniform", (low, high))
    assert ProbeLengths.of(str(low)) == ProbeLengths("fixed", (low,))


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("immediate", ("immediate", None)),
        ("200ms", ("every", 0.2)),
        ("0.5", ("every", 0.5)),
        ("2 min", ("every", 120.0)),
        ("poisson:200ms", ("poisson", 0.2)),
        ("poisson:1h", ("poisson", 3600.0)),
    ],
)
def test_a_pace_is_immediate_regular_or_random(text: str, rule: tuple[str, float | None]) -> None:
    assert _pace(text) == rule


@pytest.mark.parametrize("text", ["", "poisson", "poisson:", "poisson:0s", "0", "-1s", "2000000s"])
def test_a_pace_without_a_time_above_zero_is_refused(text: str) -> None:
    with pytest.raises(
        typer.BadParameter, match="is not a time above zero and at most 1e6 s, such as 200ms"
    ):
        _pace(text)


def test_a_file_ends_after_a_number_of_echo_probes_or_after_a_time() -> None:
    assert _rotation(None) == (None, None)
    assert _rotation("10000") == (10_000, None)
    assert _rotation("1h") == (None, 3600.0)
    # A number with a point is a time, because a number of echo probes is whole.
    assert _rotation("0.5") == (None, 0.5)
    why = "--rotate 0: a file holds at least one echo probe: write 1 or more"
    with pytest.raises(ValueError, match=f"^{why}$"):
        _rotation("0")
    for text in ("often", "-1", "²"):
        with pytest.raises(typer.BadParameter, match="is not a time above zero"):
            _rotation(text)


def test_the_task_of_a_plan_has_its_times_in_nanoseconds() -> None:
    plan = Plan(
        "127.0.0.1",
        kind="udp",
        span=1.5,
        timeout=0.0000015,
        pace="poisson",
        gap=0.2,
        rotate_span=3600,
    )
    task = plan.task()
    assert (task.span_ns, task.timeout_ns, task.rotate_ns) == (1_500_000_000, 1500, 3600 * 10**9)
    assert task.pace == {"rule": "poisson", "gap_ns": 200_000_000}
    endless = Plan("127.0.0.1", count=None).task()
    assert (endless.count, endless.span_ns, endless.rotate_ns) == (None, None, None)
    assert endless.pace == {"rule": "immediate"}
    # The default give-up time is that of RFC 889, 30 s.
    assert endless.timeout_ns == 30 * 10**9


@pytest.mark.parametrize(
    ("kind", "port", "wanted"),
    [("icmp", None, 0), ("udp", None, 7), ("tcp", None, 80), ("udp", 9, 9), ("tcp", 443, 443)],
)
def test_the_default_port_depends_on_the_kind_of_the_probes(
    kind: str, port: int | None, wanted: int
) -> None:
    target = Plan("127.0.0.1", kind=kind, port=port).task().target
    assert (target.kind, target.address, target.port) == (kind, "127.0.0.1", wanted)


@pytest.mark.parametrize(("address", "version", "least"), [("127.0.0.1", 4, 40), ("::1", 6, 60)])
def test_a_fixed_length_has_room_for_headers_and_identification(
    address: str, version: int, least: int
) -> None:
    fits = Plan(address, lengths=ProbeLengths("fixed", (least,)))
    assert fits.task().lengths == {"rule": "fixed", "octets": least}
    short = Plan(address, lengths=ProbeLengths("fixed", (least - 1,)))
    with pytest.raises(ProbeError) as caught:
        short.task()
    assert str(caught.value) == (
        f"{least - 1} octets are too few for a probe of IPv{version}: headers and identification "
        f"take {least}"
    )


def test_a_survey_sends_probes_of_the_fixed_length_or_of_60_octets() -> None:
    assert Plan("127.0.0.1").survey_task(30, 5).octets == 60
    own = Plan("127.0.0.1", lengths=ProbeLengths.of("100"), timeout=2.0).survey_task(9, 3)
    assert (own.octets, own.most, own.count, own.timeout_ns) == (100, 9, 3, 2 * 10**9)


def test_an_existing_data_file_and_a_missing_folder_are_refused(tmp_path: Path) -> None:
    out = tmp_path / "p.jsonl"
    out.touch()
    with pytest.raises(
        ProbeError, match=r"p\.jsonl is there already: name another file with --out"
    ):
        Plan("127.0.0.1", out=out).task()
    # A run of several files writes p-001.jsonl first.
    assert Plan("127.0.0.1", out=out, rotate_echo_probes=5).task().out == str(out)
    (tmp_path / "p-001.jsonl").touch()
    for rotation in ({"rotate_echo_probes": 5}, {"rotate_span": 60.0}):
        with pytest.raises(ProbeError, match=r"p-001\.jsonl is there already"):
            Plan("127.0.0.1", out=out, **rotation).task()
    with pytest.raises(ProbeError, match=r"there is no folder .*/none: make it, or name another"):
        Plan("127.0.0.1", out=tmp_path / "none" / "p.jsonl").task()


def test_an_address_outside_the_requested_family_is_refused() -> None:
    assert (resolve("127.0.0.1", 4), resolve("::1", 6), resolve("::1")) == (
        "127.0.0.1",
        "::1",
        "::1",
    )
    for address, family in (("::1", 4), ("127.0.0.1", 6)):
        with pytest.raises(ProbeError, match=f"^{address}: "):
            resolve(address, family)


def test_a_link_local_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [(socket.AF_INET6, socket.SOCK_DGRAM, 17, "", ("fe80::1%eth0", 0, 0, 2))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_words: found)
    with pytest.raises(ProbeError, match=r"^here: link-local addresses are not supported"):
        resolve("here")


def test_the_name_of_a_data_file_has_no_separator_of_folders() -> None:
    name = str(stamp_name("../a b:c-1.example"))
    assert name.startswith("probe-.._a_b_c-1.example-")
    assert name.endswith(".jsonl")


def test_another_run_in_the_same_second_gets_a_file_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("time.strftime", lambda _: "20261130-120000")
    names = []
    for _ in range(3):
        names.append(stamp_name("localhost"))
        names[-1].touch()
    endings = [name.stem.removeprefix("probe-localhost-20261130-120000") for name in names]
    assert endings == ["", "-2", "-3"]


# Emulated lines.


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Keep the commands of emulated lines instead of running them."""
    kept: list[tuple[Any, ...]] = []

    def keep(near: list[str], far: list[str], *, forward: str, reverse: str) -> int:
        kept.append((near, far, forward, reverse))
        return 3

    monkeypatch.setattr(lines, "over_line", keep)
    return kept


def test_the_command_over_an_emulated_line_has_all_words_except_the_option_named_line(
    netspurt: Command, ran: list[tuple[Any, ...]]
) -> None:
    words = ["--line", "1 Mbit/s, 2 ms", "-n", "9", "--line=2 Mbit/s, 3 ms", "--json"]
    assert netspurt("probe", *words).returncode == 3
    near, far, forward, reverse = ran[0]
    assert near == [*SELF, "probe", "10.0.0.2", "-n", "9", "--json"]
    assert far == [], "the kernel answers ICMP echoes without a program"
    assert (forward, reverse) == ("1 Mbit/s, 2 ms", "2 Mbit/s, 3 ms")


@pytest.mark.parametrize(
    ("words", "port"),
    [((), "7"), (("--port", "9"), "9"), (("--port=9",), "9")],
)
def test_the_host_behind_a_line_echoes_at_the_port_that_is_probed(
    netspurt: Command, ran: list[tuple[Any, ...]], words: tuple[str, ...], port: str
) -> None:
    assert netspurt("probe", "--kind", "udp", "--line", "1 Mbit/s, 2 ms", *words).returncode == 3
    near, far, forward, reverse = ran[0]
    assert near == [*SELF, "probe", "10.0.0.2", "--kind", "udp", *words]
    assert far == [*SELF, "serve", "echo", "--port", port, "--address", "10.0.0.2"]
    assert forward == reverse == "1 Mbit/s, 2 ms"


@pytest.mark.parametrize(("host", "count"), [("127.0.0.1", 1), (None, 3)])
def test_an_emulated_line_has_its_own_host_and_at_most_two_directions(
    host: str | None, count: int
) -> None:
    with pytest.raises(ValueError, match="leave HOST out, and give --line once or twice"):
        _over_a_line(host, ["1 Mbit/s, 2 ms"] * count, "icmp", None)


@pytest.mark.parametrize("text", ["", "56 kbit/s", "56 kbit/s,", "56 kbit/s, 20 ms, 9 packets, 1"])
def test_an_emulated_line_has_a_rate_a_delay_and_perhaps_a_queue(text: str) -> None:
    with pytest.raises(
        ValueError, match="write rate and delay, such as '56 kbit/s, 20 ms'"
    ) as caught:
        over_line(["true"], forward=text)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("-4", "-6", "host"), "-4 and -6 exclude each other"),
        (("host", "-v", "-q"), "prints a line for each echo probe, and --quiet prints none"),
        (("host", "-v", "--json"), "prints a line for each echo probe, and --json prints none"),
        (("host", "-v", "--hops"), "prints a line for each echo probe, and --hops prints none"),
        (("host", "--hops", "-n", "0"), "--hops -n 0: a hop needs at least one echo probe"),
        (("host", "--hops", "--rotate", "9"), "use --rotate: leave out --rotate or --hops"),
        (("host", "--hops", "-e", "mills", "--pace", "1s"), "use -e, --pace: leave out these"),
        (("host", "--hops", "--length", "bursts:8"), "--hops does not use --length bursts:8"),
        (("host", "--rotate", "0"), "--rotate 0: a file holds at least one echo probe"),
        (("host", "--kind", "sctp"), "'sctp' is not one of icmp, udp, tcp"),
    ],
)
def test_invalid_or_contradicting_options_are_refused_with_the_reason(
    netspurt: Command, words: tuple[str, ...], says: str
) -> None:
    refused(netspurt("probe", *words), says)


@pytest.mark.parametrize(
    ("words", "timeout"),
    [
        ((), 30.0),
        (("--hops",), 2.0),
        (("--hops", "--timeout", "30s"), 30.0),
        (("--timeout", "2s"), 2.0),
    ],
)
def test_a_survey_of_hops_has_a_shorter_default_give_up_time(
    netspurt: Command, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], timeout: float
) -> None:
    plans: list[Plan] = []
    for name in ("_survey", "_echo_probes"):
        monkeypatch.setattr(probing, name, lambda plan, *_, **__: plans.append(plan))
    assert netspurt("probe", "host", *words).returncode == 0
    assert [plan.timeout for plan in plans] == [timeout]
