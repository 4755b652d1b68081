"""The error for a file from which no timeline can be made; it names the place and the fix."""

from __future__ import annotations

#: An error shows at most this number of characters of a line.
_SHOWN_MAX = 100

#: Of a longer line, an error shows at most this number of characters before the mistake.
_BEFORE_MAX = 40


class TimelineError(ValueError):
    """A timeline cannot be made from a file.

    Attributes
    ----------
    message
        The mistake.
    fix
        The correction.
    file
        The file.
    line, column
        The line and column, counted from 1. Both are `None` if the error concerns the whole file.
    """

    def __init__(  # noqa: PLR0913 - an error has all these parts
        self,
        message: str,
        fix: str,
        file: str,
        place: tuple[int, int] | None = None,
        text: str = "",
        length: int = 1,
    ) -> None:
        self.message, self.fix, self.file = message, fix, file
        self.line = place[0] if place else None
        self.column = place[1] if place else None
        if place is None:
            super().__init__(f"{message}\n   --> {file}\n    = {fix}")
            return
        line, column = place
        first = max(0, column - 1 - _BEFORE_MAX) if len(text) > _SHOWN_MAX else 0
        shown = printable(text[first : first + _SHOWN_MAX])
        gutter = " " * (len(str(line)) + 1)
        marks = " " * (column - 1 - first) + "^" * max(1, min(length, len(shown)))
        super().__init__(
            f"{message}\n{gutter} --> {file}:{line}:{column}\n {line} | {shown}\n"
            f"{gutter} | {marks} {fix}"
        )


def printable(text: str) -> str:
    """Return a text on one line, without control characters."""
    return "".join(c if c.isprintable() else "?" for c in text)
