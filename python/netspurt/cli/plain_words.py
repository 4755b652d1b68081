"""Reads the words of `netspurt explain` without typer, because typer is slow to import."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

#: Options without a value, and the parameters that they set.
_FLAGS = {"--json": "as_json", "--as-one": "as_one"}
#: Options with a value, and the parameters that take it.
_VALUES = {"--parquet": "parquet", "--connection": "connection", "--csv": "as_csv"}


def explain_words(words: Sequence[str]) -> dict[str, Any] | None:
    """Convert the words of the command line to the arguments of `explain_files`.

    Returns
    -------
    dict or None
        None if typer must read the words, because they ask for help or may contain an error.

    Examples
    --------
    >>> explain_words(["--csv", "one.pcap"])
    {'as_csv': '', 'files': [PosixPath('one.pcap')]}
    >>> explain_words(["--help"])
    """
    given: dict[str, Any] = {}
    files, rest = [], iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if not word.startswith("-") or word == "-":
            files.append(Path(word))
        elif word in _FLAGS:
            given[_FLAGS[word]] = True
        elif name in _VALUES:
            if not equals and name != "--csv":
                value = next(rest, "")
            read = _value(name, value)
            if read is None:
                return None
            given[_VALUES[name]] = read
        else:
            return None
    return {**given, "files": files} if files else None


def _value(name: str, text: str) -> Any:
    """Return the value of an option, or None if typer must check it."""
    if name == "--connection":
        # Tables and plots call connection 3 `c3`, so users may write the `c`, too.
        number = text.removeprefix("c")
        return int(number) if number.isascii() and number.isdecimal() else None
    if name == "--parquet":
        return Path(text) if text else None
    return text
