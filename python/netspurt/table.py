"""Tables: named columns of equal length."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from netspurt import _core
from netspurt.markup import html_lines, html_table

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

#: The number of rows that `Table.numbers_of` reads at once.
_PART_ROWS = 4096


def pyarrow() -> ModuleType:
    """Return the package pyarrow.

    Raises
    ------
    ImportError
        If the package is not installed. The message says how to install the package.
    """
    try:
        import pyarrow
    except ImportError as missing:
        raise ImportError("Arrow needs pyarrow: pip install 'netspurt[arrow]'") from missing
    library: ModuleType = pyarrow
    return library


def polars() -> ModuleType:
    """Return the package polars.

    Raises
    ------
    ImportError
        If the package is not installed. The message says how to install the package.
    """
    try:
        import polars
    except ImportError as missing:
        raise ImportError("to_polars() needs polars: pip install 'netspurt[polars]'") from missing
    return polars


def pandas() -> ModuleType:
    """Return the package pandas.

    Raises
    ------
    ImportError
        If the package is not installed. The message says how to install the package.
    """
    try:
        import pandas
    except ImportError as missing:
        raise ImportError("to_pandas() needs pandas: pip install pandas") from missing
    library: ModuleType = pandas
    return library


def pandas_column(library: ModuleType, column: NDArray[Any]) -> Any:
    """Return a column for pandas. The masked values of a masked array become `NA`."""
    if not isinstance(column, np.ma.MaskedArray):
        return column
    values = library.array(column.data)
    values[np.ma.getmaskarray(column)] = library.NA
    return values


@dataclass(frozen=True)
class _Column:
    """A column. If it has `texts`, values are indices into them. `valid` says which values exist.

    `dtype` is the type of the values. `stored` may have an unsigned type of the same size, or a
    narrower unsigned type, which takes less memory.
    """

    stored: NDArray[Any]
    texts: list[str] | None
    valid: NDArray[np.bool_] | None
    dtype: str

    @property
    def values(self) -> NDArray[Any]:
        """The values."""
        if self._is_narrow:
            return self.stored.astype(self.dtype)
        # If the sizes are equal, stored numbers have the same bits as the values.
        return self.stored.view(self.dtype)

    @property
    def comparable(self) -> NDArray[Any]:
        """The values for comparisons. Narrow numbers are never negative, so they stay narrow."""
        return self.stored if self._is_narrow else self.values

    @property
    def _is_narrow(self) -> bool:
        return self.stored.dtype.itemsize < np.dtype(self.dtype).itemsize

    def taken(self, rows: NDArray[np.intp] | None) -> _Column:
        """Return the column with only the rows that have these numbers; `None` means all rows."""
        if rows is None:
            return self
        valid = None if self.valid is None else self.valid[rows]
        return _Column(self.stored[rows], self.texts, valid, self.dtype)

    def value(self, row: int) -> Any:
        """Return the value of a row as a Python value, or `None` if it does not exist."""
        if self.valid is not None and not self.valid[row]:
            return None
        value = self.stored[row].astype(self.dtype).item()
        return value if self.texts is None else self.texts[value]


class Table(Mapping[str, NDArray[Any]]):
    """A table of a run, as numpy columns.

    If pyarrow is installed, all libraries that read Arrow accept a table: pandas, polars, duckdb
    and others, for example with `pandas.DataFrame.from_arrow(table)`.
    `table["rtt_ns"]` is a column: numbers, booleans, or texts. If some values do not exist, such as
    the end of an endless flow, the column is a masked array. If a column has a unit, its name ends
    in the unit. If the name of a column ends in `_ns`, `seconds` returns the column in seconds, as
    floats.

    Examples
    --------
    >>> import netspurt as ns
    >>> flows = ns.new_scenario().replace({"stop": "20 s"}).run().flows
    >>> str(flows["flow"][0]), len(flows)
    ('transfer', 1)
    """

    def __init__(
        self,
        core: _core.Table,
        rows: NDArray[np.intp] | None = None,
        whole: dict[str, _Column] | None = None,
    ) -> None:
        self._core = core
        self._rows = rows
        self._columns: dict[str, _Column] = {}
        # The columns with all rows of the Rust core's table. The core copies a column each time
        # that it is read, so all selections of the table share these columns.
        self._whole = {} if whole is None else whole

    @property
    def name(self) -> str:
        """The table's name."""
        return self._core.name

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self._core) if self._rows is None else len(self._rows)

    def _column(self, name: str) -> _Column:
        if name not in self._columns:
            if name not in self._core.columns:
                known = ", ".join(self._core.columns)
                raise KeyError(f"table {self.name} has no column {name!r}; it has {known}")
            if name not in self._whole:
                stored, texts, valid, dtype = self._core.column(name)
                # The columns `source` and `destination` have equal lists of texts. Only one of the
                # lists is kept.
                lists = [one.texts for one in list(self._whole.values()) if one.texts]
                texts = next((one for one in lists if one == texts), texts)
                self._whole[name] = _Column(stored, texts, valid, dtype)
            self._columns[name] = self._whole[name].taken(self._rows)
        return self._columns[name]

    def __getitem__(self, name: str) -> NDArray[Any]:
        column = self._column(name)
        if column.texts is not None:
            texts: NDArray[Any] = np.array(column.texts or [""])[column.values]
            return texts
        if column.valid is not None:
            masked: NDArray[Any] = np.ma.masked_array(column.values, mask=~column.valid)
            return masked
        values: NDArray[Any] = column.values
        return values

    def __iter__(self) -> Iterator[str]:
        return iter(self._core.columns)

    def __len__(self) -> int:
        """Return the number of rows, as for a data frame."""
        return self.rows

    def __repr__(self) -> str:
        head = f"<Table {self.name}: {self.rows} rows of {len(list(self))} columns>"
        return "\n".join([head, *aligned(self.take(np.arange(min(self.rows, _HEAD))))])

    def _repr_html_(self) -> str:
        shown = self.take(np.arange(min(self.rows, _HEAD_HTML)))
        right = [n for n, name in enumerate(self) if self._column(name).texts is None]
        more = f", of which {_HEAD_HTML} are shown" if self.rows > _HEAD_HTML else ""
        return html_lines(f"{self.name}: {self.rows:,} rows{more}") + html_table(
            list(self), shown.texts(), right
        )

    def __array__(self, dtype: object = None, copy: object = None) -> NDArray[Any]:
        raise TypeError(
            "a table is not an array: take a column such as table['flow'], or a data frame such as "
            "table.to_pandas() or table.to_polars()"
        )

    def texts(self) -> Iterator[tuple[str, ...]]:
        """Yield each row as texts. The text of a value that does not exist is empty."""
        columns = []
        for name in self:
            column = self._column(name)
            values = self[name].tolist() if column.texts is not None else column.values.tolist()
            present = [True] * self.rows if column.valid is None else column.valid.tolist()
            columns.append([_text(v) if p else "" for v, p in zip(values, present, strict=True)])
        yield from zip(*columns, strict=True)

    def records(self, names: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Return each row as a dictionary of Python values; `None` for values that do not exist.

        By default, the dictionaries have all columns. If `names` is given, they have only these
        columns.

        Examples
        --------
        >>> import netspurt as ns
        >>> flows = ns.new_scenario().replace({"stop": "20 s"}).run().flows
        >>> flows.records()[0]["flow"]
        'transfer'
        """
        names = list(self) if names is None else names
        columns = [self._values(name) for name in names]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    def _values(self, name: str) -> list[Any]:
        """Return a column as Python values; `None` for values that do not exist."""
        column = self._column(name)
        if column.texts is None:
            values: list[Any] = self[name].tolist()
            return values
        return [column.texts[place] for place in column.values.tolist()]

    def each(self) -> Iterator[TableRow]:
        """Yield each row as a mapping from the names of columns to Python values.

        A column is read when a value of it is asked for. If few of many columns are needed, `each`
        takes less time and memory than `records`.

        Examples
        --------
        >>> import netspurt as ns
        >>> flows = ns.new_scenario().replace({"stop": "20 s"}).run().flows
        >>> [row["flow"] for row in flows.each()]
        ['transfer']
        """
        return (TableRow(self, place) for place in range(self.rows))

    def value(self, name: str, row: int) -> Any:
        """Return a value of a column as a Python value, or `None` if it does not exist."""
        return self._column(name).value(row)

    def seconds(self, name: str = "t_ns") -> NDArray[np.float64]:
        """Return a column of nanoseconds, converted to seconds. NaN stands for no value."""
        column = self._column(name)
        seconds = column.values.astype(np.float64) / 1e9
        if column.valid is not None:
            seconds[~column.valid] = np.nan
        return seconds

    def exists(self, name: str) -> NDArray[np.bool_]:
        """Return, for each row, whether the value of a column exists, shape (rows,)."""
        valid = self._column(name).valid
        return np.ones(self.rows, dtype=np.bool_) if valid is None else valid.copy()

    def filled(self, name: str, value: float) -> NDArray[Any]:
        """Return a column of numbers, with a given number in place of numbers that do not exist.

        Raises
        ------
        ValueError
            If the column has texts.

        Examples
        --------
        >>> import netspurt as ns
        >>> flows = ns.new_scenario().replace({"stop": "20 s"}).run().flows
        >>> flows.filled("finished_ns", -1).tolist()
        [-1]
        """
        column = self._column(name)
        if column.texts is not None:
            raise ValueError(f"the column {name} of the table {self.name} has texts")
        return np.where(self.exists(name), column.values, value)

    def where(self, **equal: str | int | bool | None) -> Table:
        """Return the rows whose columns equal the given values. `None` means any value.

        Examples
        --------
        >>> import netspurt as ns
        >>> run = ns.new_scenario().replace({"stop": "20 s"}).run()
        >>> run.segments.where(kind="dupack")["packet"].tolist()[:3]
        [3, 3, 3]
        """
        keep = np.ones(self.rows, dtype=np.bool_)
        for name, value in equal.items():
            if value is None:
                continue
            keep &= self.equals(name, value)
        return self.select(keep)

    def equals(self, name: str, *values: str | int | bool) -> NDArray[np.bool_]:
        """Return, for each row, whether the value of a column is in `values`, shape (rows,).

        For texts, this takes less time and memory than a comparison of the column itself.
        """
        column = self._column(name)
        if column.texts is None:
            equal = np.zeros(self.rows, dtype=np.bool_)
            for value in values:
                equal |= column.comparable == value
            return equal & self.exists(name)
        # `texts` may have a text twice, such as a link's name for its two directions.
        wanted = np.array([text in values for text in column.texts], dtype=np.bool_)
        has_wanted: NDArray[np.bool_] = wanted[column.values]
        return has_wanted

    def coded(self, name: str) -> tuple[NDArray[np.intp], list[str]]:
        """Return a column of texts as indices and texts: row n has the text `texts[indices[n]]`.

        Each text is in `texts` once. The indices have the shape (rows,). For long texts, this takes
        less memory than the array of texts. Columns may share `texts`: do not change the list.

        Raises
        ------
        ValueError
            If the column has no texts.
        """
        column = self._column(name)
        if column.texts is None:
            raise ValueError(f"the column {name} of the table {self.name} has no texts")
        if len(set(column.texts)) == len(column.texts):
            return column.values.astype(np.intp), column.texts
        places = {text: n for n, text in enumerate(dict.fromkeys(column.texts))}
        once = np.array([places[text] for text in column.texts], dtype=np.intp)
        return once[column.values], list(places)

    def forget_columns(self) -> None:
        """Free the columns that were read. A column is copied from the core when it is read again.

        Tables that were selected from this table keep the columns that they have read.
        """
        self._columns.clear()
        self._whole.clear()

    def select(self, keep: NDArray[np.bool_]) -> Table:
        """Return the rows for which the array `keep` is true; it has a value for each row."""
        return self.take(np.flatnonzero(keep))

    def take(self, rows: NDArray[np.intp]) -> Table:
        """Return the rows with these numbers, counted from 0, in that order."""
        return Table(self._core, rows if self._rows is None else self._rows[rows], self._whole)

    def copied(self, rows: NDArray[np.intp], columns: Sequence[str] | None = None) -> Table:
        """Return the rows with these numbers as a table of its own.

        In contrast to `take`, the new table needs no copies of this table's whole columns. So a few
        rows with all their columns take less memory. `columns` names the columns that the new table
        has; by default it has all.

        Raises
        ------
        IndexError
            If there is no row with one of the numbers.
        """
        chosen = rows if self._rows is None else self._rows[rows]
        return Table(self._core.with_rows(chosen.tolist(), None if columns is None else [*columns]))

    def numbers_of(
        self, columns: Sequence[str], keep: Callable[[Table], NDArray[np.bool_]]
    ) -> NDArray[np.intp]:
        """Return the numbers, from 0, of the rows that the function `keep` chooses, shape (n,).

        The function gets successive parts of the table with only the named columns, and returns a
        value for each row of the part. So no whole column of a long table is copied.
        """
        found = [np.zeros(0, np.intp)]
        for begin in range(0, self.rows, _PART_ROWS):
            numbers = np.arange(begin, min(begin + _PART_ROWS, self.rows))
            found.append(begin + np.flatnonzero(keep(self.copied(numbers, columns))))
        return np.concatenate(found)

    def to_arrow(self) -> pa.Table:
        """Return the table as an Arrow table; needs `pip install 'netspurt[arrow]'`."""
        library = pyarrow()
        return library.table({name: self._arrow_column(library, name) for name in self})

    def _arrow_column(self, library: ModuleType, name: str) -> Any:
        column = self._column(name)
        if column.texts is None:
            gone = None if column.valid is None else ~column.valid
            return library.array(column.values, mask=gone)
        rows, texts = self.coded(name)
        return library.DictionaryArray.from_arrays(
            rows.astype(np.int32), library.array(texts, library.string())
        )

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the table as an Arrow stream, for pandas, polars, duckdb and other libraries."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_polars(self) -> pl.DataFrame:
        """Return the table as a polars data frame; needs `pip install 'netspurt[polars]'`."""
        library = polars()
        series = []
        for name in self:
            column = self._column(name)
            if column.texts is not None:
                kind = library.Enum(list(dict.fromkeys(column.texts)))
                series.append(library.Series(name, self[name].tolist(), dtype=kind))
            elif column.valid is not None:
                values = library.Series(name, column.values)
                exists = library.Series(column.valid)
                series.append(values.to_frame().select(library.when(exists).then(values))[name])
            else:
                series.append(library.Series(name, column.values))
        frame: pl.DataFrame = library.DataFrame(series)
        return frame

    def to_pandas(self) -> pd.DataFrame:
        """Return the table as a pandas data frame; needs pandas, but not Arrow."""
        library = pandas()
        columns = {}
        for name in self:
            column = self._column(name)
            if column.texts is None:
                columns[name] = pandas_column(library, self[name])
            else:
                words = list(dict.fromkeys(column.texts))
                columns[name] = library.Categorical(self[name].tolist(), categories=words)
        frame: pd.DataFrame = library.DataFrame(columns)
        return frame


class TableRow(Mapping[str, Any]):
    """A row of a table, as a mapping from the names of columns to Python values.

    A value that does not exist is `None`.
    """

    def __init__(self, table: Table, place: int) -> None:
        self._table = table
        self._place = place

    def __getitem__(self, name: str) -> Any:
        return self._table.value(name, self._place)

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(list(self._table))


#: The number of rows of a table that are shown when it is printed, and in a notebook.
_HEAD = 5
_HEAD_HTML = 10


class HasTables(Protocol):
    """Anything that has a title and tables by name: a run, or a capture."""

    @property
    def title(self) -> str:
        """The title of the run or of the capture."""

    def table(self, name: str) -> Table:
        """Return a table, or raise a `ValueError` that says how to record it."""


def optional(tables: HasTables, name: str) -> Table | None:
    """Return a table, or `None` if it was not recorded."""
    try:
        return tables.table(name)
    except ValueError:
        return None


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def aligned(table: Table) -> Iterator[str]:
    """Yield the heading and the rows of a table as aligned lines, with numbers right-aligned."""
    rows = [tuple(table), *(tuple(cell or "-" for cell in row) for row in table.texts())]
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    right = [table[name].dtype.kind in "iuf" for name in table]
    for row in rows:
        cells = zip(row, widths, right, strict=True)
        yield "  ".join(c.rjust(w) if r else c.ljust(w) for c, w, r in cells).rstrip()
