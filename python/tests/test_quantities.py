"""Tests how quantities, values and grids are written as texts and read back.

A quantity is a number with a unit. A grid is a text that names many settings of a timer. The timer
`mills` is a two-gain filter: it smooths delays with the gains `falling` and `rising`, and
multiplies the result by `g`.
"""

from __future__ import annotations

import itertools
import tomllib
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import netspurt as ns
from netspurt.grids import expand, is_grid, number, ratio, size, two_gain_axes
from netspurt.quantities import quantity, seconds
from netspurt.scenario import as_toml

#: For each unit, its base unit and its size in this base unit.
UNITS = {
    "ns": ("s", Fraction(1, 10**9)),
    "us": ("s", Fraction(1, 10**6)),
    "ms": ("s", Fraction(1, 1000)),
    "s": ("s", Fraction(1)),
    "min": ("s", Fraction(60)),
    "h": ("s", Fraction(3600)),
    "bit/s": ("bit/s", Fraction(1)),
    "kbit/s": ("bit/s", Fraction(1000)),
    "Mbit/s": ("bit/s", Fraction(10**6)),
    "Gbit/s": ("bit/s", Fraction(10**9)),
    "B": ("B", Fraction(1)),
    "kB": ("B", Fraction(1000)),
    "KiB": ("B", Fraction(1024)),
    "MB": ("B", Fraction(10**6)),
    "MiB": ("B", Fraction(1024**2)),
}


@pytest.mark.parametrize("unit", UNITS)
@given(whole=st.integers(1, 999), space=st.sampled_from(["", " "]))
@settings(max_examples=20, deadline=None)
def test_a_quantity_is_its_number_times_its_unit(unit: str, whole: int, space: str) -> None:
    kind, scale = UNITS[unit]
    assert quantity(f"{whole}{space}{unit}") == (kind, float(whole * scale))


@given(
    whole=st.integers(0, 10**6),
    decimals=st.integers(0, 10**9 - 1),
    unit=st.sampled_from(["s", "ms", "us", "min"]),
)
@settings(max_examples=100, deadline=None)
def test_a_time_keeps_whole_nanoseconds_and_refuses_parts_of_a_nanosecond(
    whole: int, decimals: int, unit: str
) -> None:
    text = f"{whole}.{decimals:09d}".rstrip("0").rstrip(".")
    exact = Fraction(text) * UNITS[unit][1] * 10**9
    if exact.denominator == 1:
        assert quantity(f"{text} {unit}") == ("s", int(exact) / 1e9)
    else:
        with pytest.raises(ValueError, match="is not a quantity with a unit"):
            quantity(f"{text} {unit}")


@given(st.floats(1e-6, 1e6).map(lambda value: float(f"{value:.6g}")))
@settings(max_examples=100, deadline=None)
def test_a_number_alone_is_a_time_in_seconds(value: float) -> None:
    assert seconds(repr(value)) == value
    assert seconds(f"  {value!r} ") == value


#: Texts that are not quantities.
NO_QUANTITIES = "s;5 sec;-5 s;+5 s;5 s s;1h30min;0.1ns;5 m;1e3 s;5,5 s;5 KB;5 bps;∞ s;inf s;nan s"


@pytest.mark.parametrize("text", ["", " ", "5\ns", "5 s\0", *NO_QUANTITIES.split(";")])
def test_an_invalid_quantity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity with a unit"):
        quantity(text)
    with pytest.raises(ValueError, match="is not a quantity with a unit"):
        seconds(text)


@pytest.mark.parametrize("text", ["0", "0 s", "-1", "nan", "inf", "1e999", "3 packets", "9 kbit/s"])
def test_a_time_must_be_positive_and_finite(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time above zero"):
        seconds(text)


def test_a_microsecond_may_be_written_with_u_or_with_the_micro_sign() -> None:
    assert seconds("25 µs") == seconds("25us") == 25e-6


# Values in scenarios.

#: Values that TOML can hold.
TOML: st.SearchStrategy[Any] = st.recursive(
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(TOML)
@settings(max_examples=100, deadline=None)
def test_a_value_written_as_toml_is_read_back(value: Any) -> None:
    read = tomllib.loads(f"x = {as_toml(value)}")["x"]
    assert read == value
    assert type(read) is type(value)


def test_values_that_toml_cannot_hold_are_refused() -> None:
    for value in (None, {1}, b"x", object()):
        with pytest.raises(TypeError, match="a scenario cannot contain a "):
            as_toml(value)
    with pytest.raises(TypeError, match="cannot contain a NoneType"):
        as_toml({"loss": [None]})


@given(
    rate=st.integers(1, 10**6),
    delay=st.integers(0, 10**6),
    packets=st.integers(1, 10**4),
    seed=st.integers(0, 2**63 - 1),
)
@settings(max_examples=40, deadline=None)
def test_a_resolved_scenario_has_the_values_that_were_set_and_does_not_change_if_resolved_again(
    rate: int, delay: int, packets: int, seed: int
) -> None:
    values = {
        "links.modem.rate": f"{rate} kbit/s",
        "links.modem.delay": f"{delay} us",
        "links.modem.queue": f"{packets} packets",
        "seed": seed,
    }
    resolved = ns.new_scenario().replace(values).resolved()
    modem = tomllib.loads(resolved)["links"]["modem"]
    assert quantity(modem["rate"]) == ("bit/s", rate * 1e3)
    assert quantity(modem["delay"]) == ("s", delay / 1e6)
    assert quantity(modem["queue"]) == ("packets", float(packets))
    assert ns.Scenario.parse(resolved).resolved() == resolved


# Grids.

#: The lowest value of an axis of a grid, the highest value minus the lowest value, and the number
#: of values.
STEPS = st.tuples(st.integers(0, 50), st.integers(1, 50), st.integers(2, 7))


@given(g=STEPS, falling=STEPS)
@settings(max_examples=100, deadline=None)
def test_a_grid_is_every_combination_of_evenly_spaced_values(
    g: tuple[int, int, int], falling: tuple[int, int, int]
) -> None:
    text = "mills:" + ",".join(
        f"{key}={low}..{low + span}/{count}"
        for key, (low, span, count) in (("g", g), ("falling", falling))
    )
    values = [
        [low + Fraction(span * place, count - 1) for place in range(count)]
        for low, span, count in (g, falling)
    ]
    wanted = [f"mills:g={ratio(a)},falling={ratio(b)}" for a, b in itertools.product(*values)]
    assert list(expand(text)) == wanted
    assert size(text) == len(wanted)
    assert all(not is_grid(value) for value in wanted)


@given(
    low=st.integers(0, 10**6),
    span=st.integers(1, 10**6),
    count=st.integers(2, 9),
    unit=st.sampled_from(["ns", "us", "ms", "s"]),
)
@settings(max_examples=100, deadline=None)
def test_a_grid_of_times_has_its_ends_and_evenly_spaced_values(
    low: int, span: int, count: int, unit: str
) -> None:
    text = f"linux:rto_min={low}..{low + span}{unit}/{count}"
    if span < (count - 1) and unit == "ns":
        with pytest.raises(ValueError, match="steps below"):
            size(text)
        return
    made = list(expand(text))
    assert (made[0], made[-1]) == (
        f"linux:rto_min={low}{unit}",
        f"linux:rto_min={low + span}{unit}",
    )
    times = [quantity(value.partition("=")[2])[1] for value in made]
    assert times == sorted(times)
    even = [(low + span * place / (count - 1)) * float(UNITS[unit][1]) for place in range(count)]
    assert times == pytest.approx(even, abs=1e-9)


def test_a_range_may_fall_and_a_constant_beside_a_range_stays_as_written() -> None:
    assert list(expand("mills:g=2..1/3")) == ["mills:g=2", "mills:g=1.5", "mills:g=1"]
    assert list(expand("mills:falling=7/8,g=1..2/2")) == [
        "mills:falling=7/8,g=1",
        "mills:falling=7/8,g=2",
    ]
    assert list(expand("rfc6298")) == ["rfc6298"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("mills:g=1..2", "'1..2' is not a range: write FROM..TO/COUNT, such as g=1.5..3/16"),
        ("mills:g=1..2/1", "is not a range"),
        ("mills:g=1..2/x", "is not a range"),
        ("mills:g=..2/3", "is not a range"),
        ("mills:g=-1..2/3", "is not a range"),
        ("mills:g=1.2.3..4/3", "has an end that is not a number"),
        ("mills:max=1ms..2s/3", "goes from ms to s: use one unit"),
        ("rfc6298:min=1..2", "write FROM..TO/COUNT, such as min=0.5..3s/6"),
        ("mills:max=1s..2s/1", "write FROM..TO/COUNT, such as max=0.5..3s/6"),
        ("rfc6298:k=1..2/x", "write FROM..TO/COUNT, such as k=1..4/4"),
        ("rfc6298:min=1s..2/3", "'1s..2/3' has a unit only after its first number: use one unit"),
        ("mills:g=1..1/2", "'1..1/2' ends where it begins: write two different ends"),
        ("mills:g=1..1.000000001/3", "has steps below 1e-09: take fewer"),
        ("linux:rto_min=1..2ns/3", "has steps below 1ns: take fewer"),
    ],
)
def test_the_error_for_an_invalid_range_quotes_the_grid(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=f"^{text.replace('.', '[.]')}: ") as raised:
        size(text)
    assert says in str(raised.value)


@pytest.mark.parametrize(
    ("text", "axes"),
    [
        ("mills:g=1..2/2", {"falling": [15 / 16], "rising": [0.75], "g": [1.0, 2.0]}),
        ("mills:rising=0..1/3,g=3", {"falling": [15 / 16], "rising": [0, 0.5, 1], "g": [3.0]}),
        ("mills:g=1..2/2,g=3..4/2", None),
        ("mills:g=1..2/2,max=9s", None),
        ("mills:g=1..2/2,falling=x", None),
        ("mills:g=1..2/2,falling=1/0", None),
        ("rfc6298:k=1..2/2", None),
    ],
)
def test_only_grids_over_the_constants_of_the_two_gain_filter_have_axes(
    text: str, axes: dict[str, list[float]] | None
) -> None:
    assert two_gain_axes(text) == axes


@given(st.fractions(0, 100))
@settings(max_examples=100, deadline=None)
def test_a_number_has_no_trailing_zeros_and_is_exact_to_nine_decimals(value: Fraction) -> None:
    text = number(value)
    assert abs(Fraction(text) - value) <= Fraction(1, 10**9)
    assert "." not in text or text[-1] not in "0."
