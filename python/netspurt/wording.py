"""Numbers and texts for people: grouped digits, suitable units, visible escapes."""

from __future__ import annotations

import difflib
import errno
import re
from collections.abc import Iterable, Sequence

#: A pattern of the characters that could control a terminal or a page: control characters except
#: tab and line feed, characters that change the direction of writing, and Unicode's surrogates.
STEERING = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"

_STEERING = re.compile(STEERING)

_Units = Sequence[tuple[float, str]]

_RATES: _Units = ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"))
_SIZES: _Units = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
#: The smallest share of a unit that becomes a whole unit when it is rounded to three digits.
_WHOLE = 0.9995

#: What netspurt can do with packets other than TCP.
NOT_TCP = (
    "netspurt reads the round trips of QUIC from qlog files, and the round trips of ICMP echoes "
    "from captures: `netspurt delays` shows them, and `netspurt replay` tries timers on them."
)


def escape(character: str) -> str:
    """Return a character as a visible escape, with its code in hexadecimal."""
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def plain(text: str) -> str:
    r"""Return a text in which characters that could control a viewer are visible escapes.

    Examples
    --------
    >>> plain("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    return _STEERING.sub(lambda found: escape(found[0]), text)


def without_tcp(others: int) -> list[str]:
    """Return sentences for a capture without TCP. `others` is the number of other packets of IP.

    Examples
    --------
    >>> without_tcp(0)
    ['No packet with a header of TCP was captured, so there is nothing to explain.']
    >>> print(without_tcp(7)[1].partition(":")[0])
    7 packets are IP without a readable header of TCP
    """
    nothing = "No packet with a header of TCP was captured, so there is nothing to explain."
    if not others:
        return [nothing]
    are = "packet is" if others == 1 else "packets are"
    what = (
        "IP without a readable header of TCP: for example UDP, which carries QUIC, or tunnels that "
        "encrypt their packets."
    )
    return [nothing, f"{number(others)} {are} {what}", NOT_TCP]


def unknown_name(
    kind: str, name: object, known: Iterable[str], where: str = "", most: int | None = None
) -> str:
    """Return the message of an error for an unknown name.

    `kind` says what should have the name, for example a link. In the message, `where` follows the
    kind. `most` is the maximum number of known names that the message lists. If one of several
    known names is similar, the message ends with the most similar name.

    Examples
    --------
    >>> unknown_name("link", "x", ["a", "b"])
    "no link is called 'x'; the links are a, b"
    >>> unknown_name("flow", "x", ["a", "b", "c"], where="of the run", most=2)
    "no flow of the run is called 'x'; the flows are a, b, and more"
    >>> unknown_name("flow", "Upp", ["down", "up"])
    "no flow is called 'Upp'; the flows are down, up: did you mean up?"
    """
    what = f"{kind} {where}" if where else kind
    names = [*known]
    message = f"no {what} is called {name!r}; the {kind}s are {listed(names, most)}"
    folded = {one.casefold(): one for one in names} if len(names) > 1 else {}
    similar = difflib.get_close_matches(str(name).casefold(), folded, n=1)
    return f"{message}: did you mean {folded[similar[0]]}?" if similar else message


def listed(names: Sequence[str], most: int | None = None) -> str:
    """Return names as a list in words; `most` is the maximum number of names in the list.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed(["a", "b", "c"], 2)
    ('a, b, c', 'a, b, and more')
    """
    more = "" if most is None or len(names) <= most else ", and more"
    return ", ".join(names[:most]) + more


def number(value: float, digits: int = 4) -> str:
    """Return a whole number with grouped digits; other numbers have `digits` significant digits.

    Whole numbers of 1e15 or more also have `digits` significant digits.

    Examples
    --------
    >>> number(12345), number(0.123456)
    ('12,345', '0.1235')
    """
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:.{digits}g}"


def rounded(value: float, digits: int = 3) -> str:
    """Return a number with `digits` significant digits; large numbers below 1e15 have no exponent.

    Examples
    --------
    >>> rounded(1090.4), rounded(0.123456)
    ('1,090', '0.123')
    """
    return number(float(f"{value:.{digits}g}"), digits)


def counted(count: float, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun, in the singular or the plural.

    Examples
    --------
    >>> counted(1, "packet"), counted(2500, "packet")
    ('1 packet', '2,500 packets')
    """
    return f"{number(count)} {noun if count == 1 else plural or f'{noun}s'}"


def unreadable(name: object, error: OSError, problem: str) -> str:
    """Return a text that says why a file cannot be used.

    If the file exists, the text has `problem` and the reason that the system gives.

    Examples
    --------
    >>> unreadable("a.toml", FileNotFoundError(2, "No such file or directory"), " cannot be read")
    'a.toml does not exist'
    >>> unreadable("a.toml", PermissionError(13, "Permission denied"), " cannot be read")
    'a.toml cannot be read: Permission denied'
    """
    missing = error.errno == errno.ENOENT
    return f"{name} does not exist" if missing else f"{name}{problem}: {error.strerror}"


def few(names: Sequence[str]) -> str:
    """Return the first names, and the number of further names if there are any."""
    shown = ", ".join(names[:8])
    return shown if len(names) <= 8 else f"{shown} and {number(len(names) - 8)} more"


def rate(bits_per_second: float) -> str:
    """Return a bit rate with a fitting unit.

    Examples
    --------
    >>> rate(9600), rate(2.5e6), rate(999_900)
    ('9.6 kbit/s', '2.5 Mbit/s', '1 Mbit/s')
    """
    return _fitting(bits_per_second, _RATES) or f"{rounded(bits_per_second)} bit/s"


def duration(seconds: float) -> str:
    """Return a time with a fitting unit.

    Examples
    --------
    >>> duration(2.5), duration(0.03053), duration(3240), duration(0.9998)
    ('2.5 s', '30.5 ms', '3,240 s', '1 s')
    """
    return f"{rounded(seconds)} s" if seconds >= _WHOLE else f"{rounded(1e3 * seconds)} ms"


def octets(count: float) -> str:
    """Return a number of octets with a fitting unit.

    Examples
    --------
    >>> octets(960), octets(14_600), octets(3_200_000)
    ('960 B', '14.6 kB', '3.2 MB')
    """
    return _fitting(count, _SIZES) or f"{count:.0f} B"


def _fitting(value: float, units: _Units) -> str:
    """Return a value in the largest unit that it reaches, or an empty text if it reaches none.

    A value that becomes a whole unit by rounding also reaches the unit.
    """
    reached = ((size, unit) for size, unit in units if value >= _WHOLE * size)
    return next((f"{rounded(value / size)} {unit}" for size, unit in reached), "")


def by_chance(verdicts: int) -> str:
    """Return, as text, how many of these verdicts are expected by chance alone.

    The verdicts come from comparisons at 95 %.

    Examples
    --------
    >>> by_chance(10), by_chance(60)
    ('0.5', '3')
    """
    expected = verdicts / 20
    return f"{expected:.1f}" if expected < 1 else number(round(expected))
