"""The cases of a sweep, as columns. A case is one combination of its values, with one seed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from netspurt.markup import html_lines, html_table
from netspurt.table import Table, pandas, pandas_column, polars, pyarrow

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from netspurt.sweep.folder import SweepFolder


#: The maximum number of cases that are shown in a notebook.
_SHOWN_MAX = 10


class Cases(Mapping[str, NDArray[Any]]):
    """The cases of a sweep: a row for each case, with its values, how it ended, and its measures.

    Columns are numpy arrays. A measure is a column of results. If a case does not have a measure,
    the value is masked. `about` is the sweep's folder.
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
        """Return the number of cases, as for a data frame."""
        return len(self._columns["case"])

    def __repr__(self) -> str:
        return f"<Cases: {len(self)} of {self.about.cases} from {self.about.where}>"

    def _repr_html_(self) -> str:
        shown = [column[:_SHOWN_MAX].astype(str) for column in self.values()]
        rows = zip(*(np.ma.filled(column, "") for column in shown), strict=True)
        right = [n for n, column in enumerate(self.values()) if column.dtype.kind in "iuf"]
        caption = f"{len(self):,} of {self.about.cases:,} cases from {self.about.where}"
        return html_lines(caption) + html_table(list(self), [list(row) for row in rows], right)

    def __array__(self, dtype: object = None, copy: object = None) -> NDArray[Any]:
        raise TypeError(
            "cases are not an array: take a column such as cases['sent'], or a data frame such as "
            "cases.to_pandas() or cases.to_polars()"
        )

    def to_arrow(self) -> pa.Table:
        """Return the cases as an Arrow table; needs `pip install 'netspurt[arrow]'`."""
        library = pyarrow()
        return library.table({name: library.array(column) for name, column in self.items()})

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the cases as an Arrow stream, for pandas, polars, duckdb and other libraries."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def digest(self) -> str:
        """Return the SHA-256 of all columns.

        The digest of simulated cases depends neither on the engine that ran the sweep nor on
        interruptions of the sweep. The only exception is a case that a limit of wall-clock time
        cut.
        """
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

    def to_pandas(self) -> pd.DataFrame:
        """Return the cases as a pandas data frame; needs pandas, but not Arrow."""
        library = pandas()
        frame: pd.DataFrame = library.DataFrame(
            {name: pandas_column(library, column) for name, column in self.items()}
        )
        return frame


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """Return the parts of a column as one array. It is masked only if a value is missing."""
    masked: Any = np.ma.concatenate(parts)  # type: ignore[no-untyped-call]
    column: NDArray[Any] = masked if np.ma.is_masked(masked) else np.concatenate(parts)
    return np.ma.getdata(column) if column is not masked else column
