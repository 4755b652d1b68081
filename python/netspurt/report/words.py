"""Numbers of a page as text, in SI units."""

from __future__ import annotations

import math
import re

from netspurt.pictures.measures import fitting_unit

#: Characters that could control a viewer or change the direction of writing. Names from other
#: people's files may contain them.
_STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def plain(text: str) -> str:
    r"""Return a text with visible escapes in place of control characters.

    Examples
    --------
    >>> plain("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    return _STEERING.sub(_visible, text)


def _visible(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def number(value: float) -> str:
    """Return a whole number with grouped digits.

    Examples
    --------
    >>> number(12345)
    '12,345'
    """
    return f"{int(value):,}"


def counted(count: float, what: str) -> str:
    """Return a count with its noun, in the singular or the plural.

    Examples
    --------
    >>> counted(1, "flow"), counted(2, "flow")
    ('1 flow', '2 flows')
    """
    return f"{number(count)} {what}{'' if count == 1 else 's'}"


def rate(bits_per_second: float) -> str:
    """Return a bit rate with the prefix that suits it.

    Examples
    --------
    >>> rate(9600), rate(2.5e6)
    ('9.6 kbit/s', '2.5 Mbit/s')
    """
    size, unit = fitting_unit("bit/s", 2 * bits_per_second)
    return f"{bits_per_second / size:.3g} {unit}"


def span(seconds: float) -> str:
    """Return a duration with the prefix that suits it.

    Examples
    --------
    >>> span(0.25), span(12.5), span(float("nan"))
    ('250 ms', '12.5 s', '-')
    """
    if math.isnan(seconds):
        return "-"
    size, unit = fitting_unit("s", 2 * abs(seconds))
    return f"{seconds / size:.4g} {unit}"


def instant(seconds: float) -> str:
    """Return an instant, exact to the microsecond.

    Examples
    --------
    >>> instant(1.5)
    '1.500000 s'
    """
    return f"{seconds:.6f} s"
