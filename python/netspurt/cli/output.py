"""Output for people: columns, errors and progress. Without a terminal it has no styles.

All commands import this file. So a module that only few commands need is imported in the function
that uses it.
"""

from __future__ import annotations

import itertools
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TextIO, cast

from netspurt.wording import STEERING, escape, number, unreadable

if TYPE_CHECKING:
    from netspurt.run import Run

#: The time in seconds after which the progress of work is shown.
QUIET_S = 1.0

#: Whether a capture was not read to its end.
_CUT: ContextVar[bool] = ContextVar("cut", default=False)


def complain(error: BaseException, word: str = "error:") -> None:
    """Print an error. If `word` is given, print another message, which begins with `word`."""
    text = str(error)
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        text = unreadable(error.filename, error, "")
    # The Rust core's errors of files end with the system's error number, which adds no information.
    text = re.sub(r" \(os error \d+\)", "", text)
    # The name of a file may contain styles that netspurt did not make. They are printed as text.
    text = text.replace("\x1b", r"\x1b")
    print(f"{paint(word, 'bold red', sys.stderr)} {text}", file=sys.stderr)


def warn_of_cut(text: str) -> None:
    """Print a warning that a capture was not read to its end. The command will exit with 1."""
    complain(ValueError(text), "warning:")
    _CUT.set(True)


def was_cut() -> bool:
    """Return whether a capture was not read to its end."""
    return _CUT.get()


def hint_at_direction(run: Run, flow: str, shown: str | None) -> None:
    """Print which direction of a flow is shown, if the flow has both directions."""
    flows = run.flows.where(flow=flow)
    if flows["direction"].tolist() == ["forward", "reverse"]:
        reverse = shown == "reverse"
        what = f"shown: data from {flows['from'][int(reverse)]}, most of the data of flow {flow}"
        other = "forward" if reverse else "reverse"
        note = paint("note:", "yellow", sys.stderr)
        print(f"{note} {what}; --direction {other} shows the other direction", file=sys.stderr)


def print_version() -> None:
    """Print the version."""
    from netspurt._core import __version__

    print(f"netspurt {__version__}")


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    import json

    print(json.dumps(value, indent=2, allow_nan=False))


def print_json_in_parts(value: Any) -> None:
    """Print a value as `print_json` does, but in parts, so that the whole text is never in memory.

    An iterator in the value is printed as a list. It yields objects whose values are neither lists
    nor objects.
    """
    # The only control characters in a JSON text are the ends of lines, so nothing needs escapes.
    stream = raw(sys.stdout)
    parts = json_parts(value)
    while some := list(itertools.islice(parts, _PARTS)):
        stream.write("".join(some))
    stream.write("\n")


#: The number of parts of a JSON text that are written together.
_PARTS = 256


def json_parts(value: Any, margin: str = "\n") -> Iterator[str]:
    r"""Yield the text of a value as JSON in parts, as `json.dumps` with an indent of 2 returns it.

    Parameters
    ----------
    value
        The value. An iterator in it becomes a list; see `print_json_in_parts`.
    margin
        The end of a line, and the indent of the next one.

    Raises
    ------
    ValueError
        If a number is not finite.

    Examples
    --------
    >>> print("".join(json_parts({"rows": iter([{"n": 1}])})))
    {
      "rows": [
        {
          "n": 1
        }
      ]
    }
    """
    import json

    inner = f"{margin}  "
    ends, before = "[]", ""
    if isinstance(value, Iterator):
        # Python's fast JSON encoder cannot indent. So the separator between values contains the end
        # of the line and the indent.
        encode = json.JSONEncoder(separators=(f",{inner}  ", ": "), allow_nan=False).encode
        for row in value:
            yield f"{before or '['}{inner}{{{inner}  {encode(row)[1:-1]}{inner}}}"
            before = ","
    elif isinstance(value, list | tuple):
        for one in value:
            yield f"{before or '['}{inner}"
            yield from json_parts(one, inner)
            before = ","
    elif isinstance(value, dict):
        ends = "{}"
        for key, one in value.items():
            yield f"{before or '{'}{inner}{json.dumps(key)}: "
            yield from json_parts(one, inner)
            before = ","
    else:
        yield json.dumps(value, allow_nan=False)
        return
    yield f"{margin}{ends[1]}" if before else ends


_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34"}

#: `paint` begins each style with these characters, which Unicode keeps for private use. They are
#: drawn at random, so that a text from a file cannot contain a style. The module `secrets` could
#: draw them, too, but it would load OpenSSL, which needs 4 MB.
_KEY = "".join(chr(0xF0000 + int.from_bytes(os.urandom(2), "big") % 0xFFFE) for _ in range(4))


def paint(text: str, style: str, stream: Any = None) -> str:
    """Return the text in a style, if the stream is a terminal and `NO_COLOR` is not set.

    The style takes effect when the text has passed through `harmless`.
    """
    stream = stream or sys.stdout
    if not stream.isatty() or os.environ.get("NO_COLOR"):
        return text
    codes = ";".join(_STYLES[word] for word in style.split())
    return f"{_KEY}[{codes}m{text}{_KEY}[0m"


#: Matches a style of `paint`, or a control character of a terminal.
_STEERING = re.compile(rf"{_KEY}(?P<style>\[[0-9;]+m)|{STEERING}")


def harmless(text: str) -> str:
    """Return a text with visible hexadecimal escapes in place of a terminal's control characters.

    Styles of `paint` become escape sequences of the terminal.
    """
    return _STEERING.sub(_visible, text)


def unstyled(text: str) -> str:
    """Return a text without the styles of `paint`."""
    return _STEERING.sub(lambda found: "" if found["style"] else found[0], text)


def _visible(found: re.Match[str]) -> str:
    return f"\x1b{found['style']}" if found["style"] else escape(found[0])


def named(path: str) -> str:
    r"""Return the name of a file in one line, with escapes in place of control characters.

    Examples
    --------
    >>> named("a\n.pcap")
    'a\\x0a.pcap'
    """
    shown = re.sub(r"[\x00-\x1f]", lambda found: escape(found[0]), path)
    return harmless(shown)


#: The names that error messages use for Python's streams.
_STREAMS = {"<stdout>": "the standard output", "<stderr>": "the standard error"}


class HarmlessStream:
    """A text stream that passes each text through `harmless` before it is written."""

    def __init__(self, raw: TextIO) -> None:
        self.raw = raw

    def write(self, text: str) -> int:
        """Write a text."""
        with self._naming():
            self.raw.write(harmless(text))
        return len(text)

    def flush(self) -> None:
        """Write what waits in a buffer."""
        with self._naming():
            self.raw.flush()

    @contextmanager
    def _naming(self) -> Iterator[None]:
        """Add the name of the stream to errors of writing, such as the error of a full disk."""
        try:
            yield
        except OSError as error:
            name = _STREAMS.get(getattr(self.raw, "name", ""), "the output")
            raise type(error)(error.errno, error.strerror, name) from error

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, name)


def open_streams() -> None:
    """Discard messages if the standard error is closed, and refuse a closed standard output."""
    streams: list[TextIO | None] = [sys.stdout, sys.stderr]
    if streams[1] is None:
        # The new descriptor takes the place of the closed descriptor.
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    if streams[0] is None:
        print(
            "error: the standard output is closed: write >/dev/null for no output", file=sys.stderr
        )
        sys.exit(2)


@contextmanager
def harmless_output() -> Iterator[None]:
    """Replace the standard output and standard error by harmless streams."""
    kept = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast(TextIO, HarmlessStream(stream)) for stream in kept)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = kept


def raw(stream: TextIO) -> TextIO:
    """Return the stream to which a harmless stream writes, for texts that must not be changed."""
    return stream.raw if isinstance(stream, HarmlessStream) else stream


def columns(
    rows: Sequence[Sequence[str]], right: Sequence[int] = (), room: int | None = None
) -> Iterator[str]:
    r"""Yield rows as lines of aligned columns.

    Parameters
    ----------
    rows
        The cells.
    right
        The numbers of right-aligned columns.
    room
        The width of a line. If a row is wider, its cells take several lines. Words stay whole, so a
        table of long words may be wider.

    Examples
    --------
    >>> print(*columns([("who", "cannot be known"), ("c0", "12")], (1,), 14), sep="\n")
    who  cannot be
             known
    c0          12
    """
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    if room is not None:
        widths = _narrowed(rows, widths, room - 2 * (len(widths) - 1))
    for row in rows:
        cells = [
            _cut(cell, width) if room is not None else [cell]
            for cell, width in zip(row, widths, strict=True)
        ]
        for line in itertools.zip_longest(*cells, fillvalue=""):
            parts = [
                cell.rjust(width) if n in right else cell.ljust(width)
                for n, (cell, width) in enumerate(zip(line, widths, strict=True))
            ]
            yield "  ".join(parts).rstrip()


def _narrowed(rows: Sequence[Sequence[str]], widths: Sequence[int], room: int) -> list[int]:
    """Return widths of columns. Their sum is at most `room`, if the longest words allow this."""
    least = [
        max(len(word) for row in rows for word in _joined(row[n]).split(" "))
        for n in range(len(widths))
    ]
    found = list(widths)
    while sum(found) > room:
        spare = [now - word for now, word in zip(found, least, strict=True)]
        widest = max(range(len(found)), key=spare.__getitem__)
        if spare[widest] <= 0:
            break
        found[widest] -= 1
    return found


def _cut(cell: str, width: int) -> list[str]:
    """Return the lines of a cell. Words stay whole."""
    return [cell] if len(cell) <= width else list(_at_words(cell, width))


#: The space between a number and its unit.
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:[nµ]?s|ms|k?B|[MG]B|[kMG]?bit/s|%)(?![\w/]))")


def _joined(text: str) -> str:
    """Return a text with a zero octet in place of each space between a number and its unit."""
    return _BEFORE_UNIT.sub("\x00", text)


def _at_words(text: str, most: int, indent: str = "") -> Iterator[str]:
    """Yield a text in lines. Words stay whole, and numbers stay with their units."""
    import textwrap

    for line in textwrap.wrap(
        _joined(text),
        most,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    ):
        yield line.replace("\x00", " ")


def width(most: int | None = None) -> int:
    """Return the width of a line: the terminal's, or 100 without a terminal, but at least 60.

    If `most` is given, it is the maximum width.
    """
    import shutil

    there = max(60, shutil.get_terminal_size((100, 24)).columns)
    return there if most is None else min(there, most)


def wrapped(rows: Sequence[Sequence[str]], widths: Sequence[int]) -> Iterator[str]:
    """Yield rows as lines of columns of these widths. Long cells take several lines."""
    import textwrap

    for row in rows:
        cells = [
            textwrap.wrap(cell, w, break_on_hyphens=False) or [""]
            for cell, w in zip(row, widths, strict=True)
        ]
        for line in itertools.zip_longest(*cells, fillvalue=""):
            yield "  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip()


def fitted(lines: Iterable[str], most: int = 100) -> Iterator[str]:
    r"""Yield lines. Sentences are wrapped at words to the terminal's width.

    If the terminal is wider than `most` characters, `most` is the width. Two spaces separate the
    cells of a table, so a line with such a gap is unchanged. A command after `See:` is also
    unchanged. If an indented sentence takes several lines, the second and later lines are indented
    by two more spaces.

    Examples
    --------
    >>> text = "  A loss costs 250 ms of silence, and more than that of repair, at 10 ms each."
    >>> print(*fitted([text], 60), sep="\n")
      A loss costs 250 ms of silence, and more than that of
        repair, at 10 ms each.
    """
    for line in lines:
        text = line.lstrip(" ")
        if "  " in text.rstrip() or text.startswith("See: ") or len(line) <= width(most):
            yield line
            continue
        indent = line[: len(line) - len(text)]
        yield from _at_words(line, width(most), f"{indent}  " if indent else "")


@contextmanager
def progress(what: str, unit: str = "") -> Iterator[Callable[[float, float], None]]:
    """Show the progress of work, if it takes more than a second and stderr is a terminal.

    `what` is the description. If `unit` is given, the screen also shows the amounts in this unit
    and the rate.

    Yields
    ------
    Callable
        A function that takes the work done and the total.
    """
    if not sys.stderr.isatty():
        yield lambda _done, _all: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %{task.fields[pace]}"),
        TimeRemainingColumn(),
        console=Console(file=raw(sys.stderr)),
        transient=True,
    )
    task = bar.add_task(harmless(what), total=1.0, pace="")
    began = time.monotonic()
    first: list[float] = []

    def update(done: float, total: float) -> None:
        if not bar.live.is_started and time.monotonic() - began > QUIET_S:
            bar.start()
        if not first:
            first.append(done)
        pace = (done - first[0]) / (time.monotonic() - began)
        told = ""
        if unit:
            told = f"  {number(done)} of {number(total)} {unit}, {number(pace, 3)}/s"
        bar.update(task, completed=done / total, pace=told)

    try:
        yield update
    finally:
        bar.stop()
