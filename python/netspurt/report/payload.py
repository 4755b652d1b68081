"""The numbers of a report's page as one compressed text (the payload), which the page decodes.

If all values of a column are multiples of 1, 1/2, 10^-3, 10^-6 or 10^-9, as octets and times are,
they become whole numbers. Other columns, and columns with very large values, -0 or NaN, stay
floats. Each whole number is stored as the difference from the number before it, or from the number
in the same row of another column. The octets of each column are shuffled: first the lowest octet of
each value, then the next octet of each value, and so on. Equal octets then stand together, which
compresses well. All columns form one gzip stream, written in base 64.
"""

from __future__ import annotations

import base64
import gzip
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

#: The scales. For example, a scale of 1000 counts in thousandths. The coarsest scale is first.
SCALES = (1, 2, 1000, 1_000_000, 1_000_000_000)

#: All whole numbers up to this one are exact in JavaScript, which decodes the page.
_EXACT = 2**53


@dataclass(frozen=True)
class Packed:
    """A column of the payload.

    Attributes
    ----------
    count
        The number of its values.
    planes
        The number of octets of each value.
    scale
        The scale of the values, one of `SCALES`; 0 if values are stored as floats.
    base
        The number of another column whose values are subtracted from these values. It is -1 if the
        previous value of the same column is subtracted, or if values are stored as floats.
    """

    count: int
    planes: int
    scale: int
    base: int

    def told(self) -> list[int]:
        """Return the description of the column. The page reads this description."""
        return [self.count, self.planes, self.scale, self.base]


@dataclass
class Payload:
    """The columns of a page.

    Examples
    --------
    >>> payload = Payload()
    >>> payload.add(np.array([0.25, 1.5, 2.0])), payload.add(np.array([1.0, 2.0]))
    (0, 1)
    >>> [column.tolist() for column in decoded(payload.told(), payload.text())]
    [[0.25, 1.5, 2.0], [1.0, 2.0]]
    """

    _columns: list[Packed] = field(default_factory=list)
    _planes: list[bytes] = field(default_factory=list)
    _known: dict[tuple[int, bytes], int] = field(default_factory=dict)
    _whole: dict[int, Whole] = field(default_factory=dict)

    def add(self, values: Floats, base: int | None = None) -> int:
        """Add a column and return its number. Equal columns are stored once.

        Parameters
        ----------
        values
            The values, shape (n,).
        base
            The number of a column of the same length whose values are near to `values`.
        """
        values = np.ascontiguousarray(values, dtype=np.float64)
        key = (len(values), values.tobytes())
        if key not in self._known:
            self._known[key] = len(self._columns)
            self._pack(values, base)
        return self._known[key]

    def _pack(self, values: Floats, base: int | None) -> None:
        scale, whole = _counted(values)
        if whole is None:
            planes = _shuffled(values.view(np.uint64), 8)
            self._append(Packed(len(values), 8, 0, -1), planes)
            return
        near = None if base is None or self._columns[base].scale != scale else self._whole[base]
        if near is not None and len(near) == len(whole):
            rest = whole - near
        else:
            base, rest = None, np.diff(whole, prepend=0)
        # The sign becomes the lowest bit, so that small differences of both signs have small codes.
        codes = ((rest << 1) ^ (rest >> 63)).astype(np.uint64)
        width = max(1, (int(codes.max(initial=0)).bit_length() + 7) // 8)
        self._whole[len(self._columns)] = whole
        base = -1 if base is None else base
        self._append(Packed(len(values), width, scale, base), _shuffled(codes, width))

    def _append(self, column: Packed, planes: bytes) -> None:
        self._columns.append(column)
        self._planes.append(planes)

    def told(self) -> list[list[int]]:
        """Return the description of each column, for `decoded` and for the page."""
        return [column.told() for column in self._columns]

    def text(self) -> str:
        """Return all columns, compressed, in base 64."""
        # Without a timestamp in the stream, the same run gives the same page.
        packed = gzip.compress(b"".join(self._planes), compresslevel=6, mtime=0)
        return base64.b64encode(packed).decode("ascii")


def _counted(values: Floats) -> tuple[int, Whole | None]:
    """Return the coarsest scale on which all values are whole, and the whole numbers.

    Return 0 and `None` if there is no such scale, or if a value is -0, NaN or too large.
    """
    if not (np.abs(values) < _EXACT).all() or (np.signbit(values) & (values == 0)).any():
        return 0, None
    most = float(np.abs(values).max(initial=0))
    for scale in SCALES:
        # The code of a difference may be four times as large as the largest value.
        if most * scale > _EXACT // 4:
            break
        scaled = np.rint(values * scale)
        if (scaled / scale == values).all():
            return scale, scaled.astype(np.int64)
    return 0, None


def _shuffled(codes: NDArray[np.uint64], width: int) -> bytes:
    """Return the lowest `width` octets of each code, shuffled: first all lowest octets."""
    octets = codes.astype("<u8").view(np.uint8).reshape(-1, 8)[:, :width]
    return octets.T.tobytes()


def decoded(told: list[list[int]], text: str) -> list[Floats]:
    """Return the columns of a page. The page's script decodes them in the same way.

    Parameters
    ----------
    told, text
        The results of `Payload.told` and `Payload.text`.
    """
    octets = np.frombuffer(gzip.decompress(base64.b64decode(text)), dtype=np.uint8)
    columns: list[Floats] = []
    kept: list[Any] = []
    at = 0
    for count, planes, scale, base in told:
        part = octets[at : at + count * planes].reshape(planes, count)
        at += count * planes
        codes = np.zeros((count, 8), dtype=np.uint8)
        codes[:, :planes] = part.T
        whole = codes.reshape(-1).view("<u8").astype(np.uint64)
        if scale == 0:
            kept.append(None)
            columns.append(whole.view(np.float64))
            continue
        rest = (whole >> np.uint64(1)).astype(np.int64) ^ -(whole & np.uint64(1)).astype(np.int64)
        values = np.cumsum(rest) if base < 0 else rest + kept[base]
        kept.append(values)
        columns.append(values / scale)
    return columns
