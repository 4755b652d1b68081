"""Tests how the values of command options are read, and which options contradict each other.

The values are, for example, times, counts, shares and prices.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from netspurt.advice import Price
from netspurt.cli import options, replay_options
from netspurt.cli.fragments import _octets, _parts
from netspurt.cli.fragments import _share as loss_share
from netspurt.cli.opening import there
from netspurt.cli.programs import Form
from netspurt.cli.replaying import _fit_together, _several, _Show, _spread

#: A function that reads the text of an option.
Reader = Callable[[Any], Any]


@pytest.mark.parametrize(
    ("reader", "text", "value"),
    [
        (options.count, "0", 0),
        (options.count, " 12 ", 12),
        (options.connection_number, "c3", 3),
        (options.connection_number, "3", 3),
        (options.instant, "-1.5", -1.5),
        (options.instant, "1.5min", 90.0),
        (options.lateness, "0", 0.0),
        (options.lateness, "5ms", 0.005),
        (options.lateness, "1e6", 1e6),
        (options.span_of, "2h", 7200.0),
        (options.span_of, "0.5", 0.5),
        (options.span_of, "1000000", 1e6),
        (replay_options._price, "200ms", 0.2),
        (replay_options._price, "0", 0.0),
        (replay_options._price, "0.2s", 0.2),
        (replay_options._price, "25 ms", 0.025),
        (replay_options._share, "1%", 0.01),
        (replay_options._share, " 0.01 ", 0.01),
        (replay_options._share, "0", 0.0),
        (replay_options._share, "100%", 1.0),
        (options.port, "65535", 65535),
        (options.port_or_any, "0", 0),
        (options.number_from(0.5, example="3"), "0.5", 0.5),
        (options.number_from(0, 2, example="1"), "2", 2.0),
        (_octets, "250", 250),
        (_octets, "1 kB", 1000),
        (_octets, "1KiB", 1024),
        (loss_share, "1 %", 0.01),
        (loss_share, "0.25", 0.25),
    ],
)
def test_the_text_of_an_option_is_read_in_its_unit(reader: Reader, text: str, value: float) -> None:
    assert reader(text) == pytest.approx(value, abs=0)
    # A default is not a text, so it stays as it is.
    assert reader(value) == value


@pytest.mark.parametrize(
    ("reader", "text", "says"),
    [
        (options.count, "-1", "'-1' is not a whole number, 0 or more"),
        (options.count, "1.0", "'1.0' is not a whole number, 0 or more"),
        (options.connection_number, "cc3", "'cc3' is not the number of a connection"),
        (options.connection_number, "c-3", "'c-3' is not the number of a connection"),
        (options.instant, "5 bit/s", "'5 bit/s' is not a time, such as 12.5 (seconds) or 1.5min"),
        (options.instant, "inf", "'inf' is not a time"),
        (options.lateness, "-0.001", "'-0.001' is not a time from 0 to a million seconds"),
        (options.lateness, "nan", "'nan' is not a time from 0"),
        (options.span_of, "0", "'0' is not a time above zero"),
        (options.span_of, "1000001", "'1000001' is not a time above zero"),
        (options.span_of, "5 packets", "'5 packets' is not a time above zero"),
        (
            replay_options._price,
            "-1",
            "'-1' is not a price: write a time of waiting up to 1000000s, such as 200ms",
        ),
        (replay_options._price, "200", "'200' has no unit: write 200ms or 200s"),
        (replay_options._price, "5 B", "'5 B' is not a price"),
        (replay_options._price, "nan", "'nan' is not a price"),
        (replay_options._price, "1e10s", "'1e10s' is not a price"),
        (replay_options._share, "101%", "'101%' is not a share of packets, such as 1% or 0.01"),
        (replay_options._share, "1", "'1' would be all packets: write 1%, or 100%"),
        (replay_options._share, "-0.01", "'-0.01' is not a share"),
        (replay_options._share, "%", "'%' is not a share"),
        (_octets, "1.5 B", "'1.5 B' is not a number of octets, such as 250 B"),
        (_octets, "5 ms", "'5 ms' is not a number of octets"),
        (options.port, "0", "'0' is not a whole number from 1 to 65535, such as 5001"),
        (options.port, "65536", "'65536' is not a whole number from 1 to 65535"),
        (options.port_or_any, "1.5", "'1.5' is not a whole number from 0 to 65535"),
        (options.number_from(2, example="3"), "1.9", "'1.9' is not a number of at least 2,"),
        (options.number_from(2, example="3"), "inf", "'inf' is not a number of at least 2,"),
        (options.number_from(2, 4, example="3"), "5", "'5' is not a number from 2 to 4, such as 3"),
        (options.number_from(0, example="24"), "6h", "'6h' is not a number of at least 0,"),
        (_octets, "²", "'²' is not a number of octets"),
        (loss_share, "0", "'0' is not a loss above 0 and below 1, such as 0.01 or 1%"),
        (loss_share, "100%", "'100%' is not a loss above 0"),
    ],
)
def test_the_error_for_an_invalid_text_of_an_option_quotes_the_text(
    reader: Reader, text: str, says: str
) -> None:
    with pytest.raises(typer.BadParameter) as caught:
        reader(text)
    assert str(caught.value).startswith(says)


def test_several_words_are_separated_by_commas() -> None:
    some = options.some_of(["a", "b"])
    assert some("b, a") == "b,a"
    for text, wrong in (("a,c", "c"), ("a,", ""), ("", "")):
        with pytest.raises(typer.BadParameter, match=f"^{wrong!r} is not one of a, b$"):
            some(text)


def test_a_setting_is_split_at_its_first_equals_sign() -> None:
    assert options.setting(" links.a.delay = 5 ms ") == ("links.a.delay", "5 ms")
    assert options.setting('axis={ loss = "1%" }') == ("axis", '{ loss = "1%" }')
    assert options.setting("title=") == ("title", "")
    for text in ("title", "=5", " =5"):
        with pytest.raises(typer.BadParameter, match="is not PATH=VALUE"):
            options.setting(text)


@pytest.mark.parametrize(
    ("path", "removed", "contradict"),
    [
        ("links.a.delay", "links.a.delay", True),
        # The value that is set is a table, and the removed key belongs to this table.
        ("links.a", "links.a.delay", True),
        ('links."a"', "links.a", True),
        # A table may be emptied before one of its keys is set.
        ("links.a.delay", "links.a", False),
        ("links.a", "links.ab", False),
        ("links.a.delay", "links.a.rate", False),
    ],
)
def test_a_key_that_is_set_cannot_be_removed_as_well(
    path: str, removed: str, contradict: bool
) -> None:
    if contradict:
        with pytest.raises(ValueError, match="contradict each other") as caught:
            options.settings([f"{path}=1"], [removed])
        assert f"--unset {removed} and --set {path}" in str(caught.value)
    else:
        assert options.settings([f"{path}=1"], [removed]) == {path: "1"}


def test_the_last_value_is_used_if_a_key_is_set_twice() -> None:
    assert options.settings(["seed=1", "stop=5 s", "seed=2"], None) == {"seed": "2", "stop": "5 s"}
    assert options.settings(None, ["seed"]) == {}


def test_each_column_of_a_table_may_be_named_only_once() -> None:
    assert options.columns_of(["rtt = delay", "sent=a=b"]) == {"rtt": "delay", "sent": "a=b"}
    assert options.columns_of(None) == {}
    for texts, says in (
        (["rtt"], "'rtt' is not WHAT=NAME, as in rtt=delay"),
        (["rtt= "], "'rtt= ' is not WHAT=NAME"),
        (["rtt=a", " rtt=b"], "rtt is named twice"),
    ):
        with pytest.raises(typer.BadParameter, match=says):
            options.columns_of(texts)


def test_connections_are_counted_from_zero() -> None:
    assert there("c", 2) == "the connections are c0 to c1"


# Replays.


def chosen(**given: Any) -> _Show:
    """Return the options of a replay's output: the options in `given`, and all other defaults."""
    flags = dict.fromkeys(("tune", "pool", "every", "details", "rfc889", "adaptation"), False)
    return _Show(**{"price": Price(), "versus": None, "form": Form(), **flags, **given})


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"rfc889": True, "versus": "linux"}, "--rfc889 and --versus print different tables"),
        ({"adaptation": True, "versus": "linux"}, "--adaptation and --versus print different"),
        ({"adaptation": True, "every": True}, "--adaptation and --all print different tables"),
        ({"adaptation": True, "pool": True}, "--adaptation and --pool print different tables"),
        ({"pool": True, "versus": "linux"}, "--versus prints a table for each recording"),
        (
            {"pool": True, "rfc889": True},
            "--rfc889 without --all prints a table for each recording",
        ),
        ({"every": True, "tune": True}, "--tune needs a recommendation, and --all prints none"),
        ({"every": True, "versus": "linux"}, "without intervals: leave out --versus"),
    ],
)
def test_the_error_names_options_of_a_replay_that_exclude_each_other(
    given: dict[str, Any], says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        _fit_together(None, None, chosen(**given))


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"pool": True, "rfc889": True, "every": True},
        {"pool": True, "tune": True},
        {"adaptation": True, "tune": True},
    ],
)
def test_options_of_a_replay_that_fit_together_are_accepted(given: dict[str, Any]) -> None:
    _fit_together(None, None, chosen(**given))


def test_pictures_of_a_replay_need_a_folder(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="--pictures sets the format of the pictures of --out"):
        _fit_together(None, ["svg"], chosen())
    _fit_together(tmp_path / "new", ["svg"], chosen())
    with pytest.raises(FileExistsError, match="exists already: name another folder"):
        _fit_together(tmp_path, ["svg"], chosen())
    with pytest.raises(ValueError, match="without intervals: leave out --out"):
        _fit_together(tmp_path, None, chosen(every=True))
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(ValueError, match="file is a file: --out names a folder"):
        _fit_together(file, None, chosen())


def test_the_shown_settings_of_a_grid_are_spread_over_its_front() -> None:
    """The front of a grid has the settings that no other setting of the grid beats."""
    front = [str(n) for n in range(101)]
    assert _spread(front, 5) == ["0", "25", "50", "75", "100"]
    assert _spread(front[:11], 12) == front[:11]
    shown = _spread(front[:13], 12)
    assert (len(shown), shown[0], shown[-1]) == (12, "0", "12")
    assert len(set(shown)) == 12


@pytest.mark.parametrize(
    ("text", "repeated"),
    [
        ("linux", ""),
        # `quic` is the name of a timer, and not a constant of `linux`.
        ("linux:rto_min=50ms,quic", "-e linux:rto_min=50ms -e quic"),
        ("linux, rfc6298", "-e linux -e rfc6298"),
        ("linux:rto_min=50ms,quic:x=1", "-e linux:rto_min=50ms -e quic:x=1"),
        ("linux,nothing", ""),
    ],
)
def test_the_advice_for_several_timers_repeats_the_option_for_each_timer(
    text: str, repeated: str
) -> None:
    assert _several(text) == repeated


@pytest.mark.parametrize(
    ("cut", "text"),
    [
        ((500,), "500"),
        ((536, 536, 536, 100), "536 + 536 + 536 + 100"),
        ((536, 552, 552, 552, 20), "536 + 3 x 552 + 20"),
    ],
)
def test_more_than_four_fragments_are_printed_as_the_first_plus_a_product_plus_the_last(
    cut: tuple[int, ...], text: str
) -> None:
    assert _parts(cut) == text
