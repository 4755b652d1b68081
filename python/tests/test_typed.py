"""Tests that JSON is read as dataclasses: lines of `netspurt probe`, and reports of live runs."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pytest

from netspurt.live_report import LiveReport
from netspurt.probe_lines import (
    ClockStepLine,
    DuplicateLine,
    EchoProbeLine,
    EndLine,
    HopLine,
    LateLine,
    read_line,
)
from netspurt.typed import TypedError, parse, read


@dataclass(frozen=True)
class Inner:
    """A nested part of the object that is read."""

    count: int
    from_: str | None = field(default=None, metadata={"key": "from"})


@dataclass(frozen=True)
class Outer:
    """The object that is read."""

    name: str
    share: float
    on: bool
    inner: Inner
    parts: list[Inner] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    limit: int | None = None
    anything: Any = None


#: An object that can be read as `Outer`.
GOOD: dict[str, Any] = {"name": "a", "share": 1, "on": False, "inner": {"count": 3, "from": "b"}}


def test_a_value_of_each_type_is_read() -> None:
    parsed = read(Outer, GOOD | {"parts": [{"count": 1}], "rows": {"x": 2}, "anything": [None]})
    assert parsed.inner == Inner(3, "b")
    assert (parsed.share, parsed.parts, parsed.rows) == (1, [Inner(1)], {"x": 2})
    assert (parsed.limit, parsed.anything) == (None, [None])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"share": 10**400}, "`share` is a number of more than 64 bits"),
        ({"rows": {"x": -(2**63) - 1}}, "`rows.x` is a number of more than 64 bits"),
        ({"name": None}, "`name` is not a value of type str"),
        ({"share": "1"}, "`share` is not a value of type float"),
        ({"share": True}, "`share` is not a value of type float"),
        ({"on": 0}, "`on` is not a value of type bool"),
        ({"inner": []}, "`inner` is not an object"),
        ({"inner": {}}, "the key `inner.count` is missing"),
        ({"inner": {"count": 1.5}}, "`inner.count` is not a value of type int"),
        ({"inner": {"count": True}}, "`inner.count` is not a value of type int"),
        ({"inner": {"count": 1, "from_": "b"}}, "the key `inner.from_` is unknown"),
        ({"parts": {}}, "`parts` is not a value of type list"),
        ({"parts": [{"count": 1}, 2]}, "`parts[1]` is not an object"),
        ({"rows": []}, "`rows` is not a value of type dict"),
        ({"rows": {"x": "2"}}, "`rows.x` is not a value of type int"),
        ({"limit": "none"}, "`limit` is not a value of type int"),
        ({"nmae": "a"}, "the key `nmae` is unknown"),
    ],
)
def test_the_error_names_a_key_or_a_type_that_does_not_fit(
    change: dict[str, Any], says: str
) -> None:
    with pytest.raises(TypedError) as caught:
        read(Outer, GOOD | change)
    assert str(caught.value) == says


@pytest.mark.parametrize("text", ["", "{", "\0", b"\xff", "[" * 100_000, "1" * 5000])
def test_invalid_json_raises_a_typed_error(text: str | bytes) -> None:
    with pytest.raises(TypedError):
        parse(text)


def test_a_missing_key_and_a_missing_object_are_errors() -> None:
    with pytest.raises(TypedError, match="the key `on` is missing"):
        read(Outer, {key: value for key, value in GOOD.items() if key != "on"})
    wrong: list[object] = [None, [], "text", 3]
    for bad in wrong:
        with pytest.raises(TypedError, match="the text is not a JSON object"):
            read(Outer, bad)


#: The keys that every line about an answer has.
REPLY = {"rtt_ns": 5, "by": "user", "user_rtt_ns": 5, "user_rx_ns": 9}


@pytest.mark.parametrize(
    ("told", "kind"),
    [
        (
            {"echo_probe": 1, "octets": 40, "raw_ns": 1, "user_tx_ns": 2, "lost": True},
            EchoProbeLine,
        ),
        ({"hop": 2, "echo_probe": 1, "octets": 60, "raw_ns": 1, "lost": True}, HopLine),
        ({"late": 7, **REPLY}, LateLine),
        ({"duplicate": 7, **REPLY, "clock_step_ns": 4}, DuplicateLine),
        ({"clock_step_ns": -5, "before": 7}, ClockStepLine),
        ({"end": "continued", "next": None}, EndLine),
        ({"end": "complete", "late": 1, "duplicates": 2}, EndLine),
    ],
)
def test_the_keys_of_a_probes_line_decide_its_type(told: dict[str, Any], kind: type[Any]) -> None:
    line = read_line(json.dumps(told))
    assert type(line) is kind
    assert told.items() <= asdict(line).items()


@pytest.mark.parametrize("bad", ["{}", "[]", "3", '{"lost": true}', '{"hop": 2}', '{"late": "7"}'])
def test_an_invalid_line_is_an_error(bad: str) -> None:
    with pytest.raises(TypedError):
        read_line(bad)


def report() -> dict[str, Any]:
    """Return the report of a live run."""
    end = {"flow": "f", "side": "from", "profile": "reno-2005", "sysctls": {"net.ipv4.x": "1"}}
    end |= {"route": {"initcwnd": None, "quickack": 1}, "device": {"mtu": 1500}, "socket": {}}
    end |= {"counters": {"TcpRetransSegs": 3}}
    late = {"deliveries": 1, "p50_ns": 1, "p99_ns": 1, "p999_ns": 1, "max_ns": 1}
    packets = {"strange": 0, "damaged": 0, "missed": 0, "refused": 0}
    return {
        "valid": True, "back_end": "TUN", "wire": "tun", "offload": False, "kernel": "6",
        "real_time": False, "budget_ns": 5, "lateness": late,
        "replayed": {"drops": 1, "drops_again": 1, "same": True}, "packets": packets,
        "ends": [end], "failures": [], "programs": None, "stop_ns": 3, "digest": "d",
        "flows_digest": "f", "tables": {"flows": 1}, "captures": {}, "nodes": {}, "flows": {},
    }  # fmt: skip


def test_a_live_report_is_read_back_unchanged(tmp_path: Path) -> None:
    file = tmp_path / "live.json"
    file.write_text(json.dumps(report()))
    parsed = LiveReport.load(file)
    assert parsed.as_json() == report()
    assert parsed.ends[0].values() == {"net.ipv4.x": "1", "route quickack": 1, "mtu": 1500}


@pytest.mark.parametrize("bad", ["{", "[]", "{}", '{"valid": 1}'])
def test_a_damaged_live_report_is_an_error(bad: str, tmp_path: Path) -> None:
    (tmp_path / "live.json").write_text(bad)
    with pytest.raises(TypedError):
        LiveReport.load(tmp_path / "live.json")
