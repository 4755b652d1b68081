"""The cases of a sweep, as columns."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from netspurt.table import Table, polars

if TYPE_CHECKING:
    import polars as pl

    from netspurt.sweep.folder import SweepFolder


class Cases(Mapping[str, NDArray[Any]]):
    """A row for each case: its values, how it ended, its measures.

    Columns are numpy arrays; measures that a case does not have are masked. `about` is the sweep's
    folder.
    """

    def __init__(self, columns: dict[str, NDArray[Any]], about: SweepFolder) -> None:
        self._columns = columns
        self.about = about

    @classmethod
    def of(cls, tables: Sequence[Table], about: SweepFolder) -> Cases:
        """Return the joined rows of tables."""
        columns = {name: _joined([table[name] for table in tables]) for name in tables[0]}
        return cls(columns, about)

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self._columns:
            raise KeyError(f"a sweep has no column {name!r}; it has {', '.join(self)}")
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        """Return how many cases there are, as `len` of a data frame does."""
        return len(self._columns["case"])

    def __repr__(self) -> str:
        return f"<Cases: {len(self)} of {self.about.cases} from {self.about.where}>"

    def digest(self) -> str:
        """Return the SHA-256 of all columns; it does not depend on engine or interruptions."""
        digest = hashlib.sha256()
        for name, column in self.items():
            digest.update(f"{name}\0{len(column)}\0".encode())
            if column.dtype.kind == "U":
                digest.update("\0".join(column.tolist()).encode())
            else:
                digest.update(np.ascontiguousarray(np.ma.filled(column, 0)).tobytes())
                digest.update(np.ma.getmaskarray(column).tobytes())
        return digest.hexdigest()

    def to_polars(self) -> pl.DataFrame:
        """Return the cases as a polars data frame; needs `pip install 'netspurt[polars]'`."""
        frame: pl.DataFrame = polars().DataFrame(
            {
                name: column.tolist() if isinstance(column, np.ma.MaskedArray) else column
                for name, column in self.items()
            }
        )
        return frame


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """Return parts of a column as one, masked only if something is missing."""
    masked: Any = np.ma.concatenate(parts)  # type: ignore[no-untyped-call]
    whole: NDArray[Any] = masked if np.ma.is_masked(masked) else np.concatenate(parts)
    return np.ma.getdata(whole) if whole is not masked else whole
