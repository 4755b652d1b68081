//! Reads the tables that netspurt writes as Parquet files.

use ::parquet::basic::{ConvertedType, Type as Physical};
use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::data_type::DataType;
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use indexmap::IndexSet;
use netspurt::guard::guarded;
use netspurt::record::{Column, Data, OptionalValues, Table};

use crate::parquet::{ParquetFault, open_parquet};

/// Why a table could not be read.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The file could not be read, or is not a Parquet file.
    #[error(transparent)]
    Parquet(#[from] ParquetError),
    /// The decoder failed, because the file contradicts itself.
    #[error("the Parquet file is damaged: its octets contradict each other")]
    Damaged,
    /// The file has more values than a table may have.
    #[error(
        "the Parquet file has {0} rows, and its columns together have more than {VALUES_MAX} values"
    )]
    TooLong(i64),
    /// The column has a kind that netspurt's tables do not use.
    #[error("column `{0}` is of a kind that netspurt does not write")]
    Foreign(String),
}

impl From<ParquetFault> for TableError {
    fn from(fault: ParquetFault) -> Self {
        match fault {
            ParquetFault::Damaged => Self::Damaged,
            ParquetFault::Decoder(error) => Self::Parquet(error),
        }
    }
}

/// The maximum number of values in a table. This many whole numbers take 16 GiB.
const VALUES_MAX: usize = 1 << 31;

/// Puts `values` at the rows whose definition level is 1. The other rows have no value.
fn spread<T: Copy + Default>(values: Vec<T>, levels: Vec<i16>) -> OptionalValues<T> {
    let mut values = values.into_iter();
    levels.into_iter().map(|level| if level == 1 { values.next() } else { None }).collect()
}

/// Reads a table from a Parquet file that [`write_table`](netspurt::record::write_table) wrote. The
/// table gets the name `name`.
///
/// # Errors
/// When the file cannot be read, is damaged, has too many values, or has a kind of column that
/// [`write_table`](netspurt::record::write_table) does not write.
pub fn read_table<R: ChunkReader + 'static>(name: &str, file: R) -> Result<Table, TableError> {
    guarded(|| read_columns(name, file)).unwrap_or(Err(TableError::Damaged))
}

fn read_columns<R: ChunkReader + 'static>(name: &str, file: R) -> Result<Table, TableError> {
    let file = open_parquet(file)?;
    let count = file.metadata().file_metadata().num_rows();
    let rows_max = VALUES_MAX / file.metadata().file_metadata().schema_descr().num_columns().max(1);
    if usize::try_from(count).is_ok_and(|count| count > rows_max) {
        return Err(TableError::TooLong(count));
    }
    let schema = file.metadata().file_metadata().schema_descr_ptr();
    let columns = schema
        .columns()
        .iter()
        .enumerate()
        .map(|(index, kind)| {
            let data = match (kind.physical_type(), kind.converted_type(), kind.max_def_level()) {
                (Physical::INT64, ConvertedType::UINT_64, 0) => {
                    Data::U64(longs(&file, index)?.0.iter().map(|v| v.cast_unsigned()).collect())
                }
                (Physical::INT64, _, 0) => Data::I64(longs(&file, index)?.0),
                (Physical::INT64, _, 1) => {
                    let (values, levels) = longs(&file, index)?;
                    Data::OptionalI64(spread(values, levels))
                }
                (Physical::DOUBLE, _, 1) => {
                    let (values, levels) = doubles(&file, index)?;
                    Data::OptionalF64(spread(values, levels))
                }
                (Physical::INT32, ConvertedType::UINT_16, 0) => {
                    let values = ints(&file, index)?.into_iter().map(u16::try_from);
                    Data::U16(values.collect::<Result<_, _>>().map_err(|_| TableError::Damaged)?)
                }
                (Physical::INT32, ConvertedType::UINT_32, 0) => {
                    Data::U32(ints(&file, index)?.iter().map(|v| v.cast_unsigned()).collect())
                }
                (Physical::BOOLEAN, _, 0) => Data::Bool(bools(&file, index)?),
                (Physical::BYTE_ARRAY, ConvertedType::UTF8, 0) => texts(&file, index)?,
                _ => return Err(TableError::Foreign(kind.name().to_owned())),
            };
            Ok(Column::new(kind.name().to_owned(), data))
        })
        .collect::<Result<_, TableError>>()?;
    Ok(Table::new(name.to_owned(), columns))
}

/// Reads a table like [`read_table`], from the octets of a file.
///
/// # Errors
/// For the same reasons as [`read_table`].
pub fn read_table_bytes(name: &str, octets: Vec<u8>) -> Result<Table, TableError> {
    read_table(name, bytes::Bytes::from(octets))
}

type File<R> = SerializedFileReader<R>;

/// Reads all values of a column, and its definition levels if its values may be absent.
fn column<R: ChunkReader + 'static, T: DataType>(
    file: &File<R>,
    index: usize,
    typed: fn(ColumnReader) -> Option<ColumnReaderImpl<T>>,
) -> Result<(Vec<T::T>, Vec<i16>), TableError> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    let optional = file.metadata().file_metadata().schema_descr().column(index).max_def_level() > 0;
    for group in 0..file.num_row_groups() {
        let group = file.get_row_group(group)?;
        let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
        let mut reader =
            typed(group.get_column_reader(index)?).expect("the column has the schema's type");
        let mut read = 0;
        while read < rows {
            let levels = optional.then_some(&mut levels);
            let (records, ..) = reader.read_records(rows - read, levels, None, &mut values)?;
            if records == 0 {
                break;
            }
            read += records;
        }
    }
    Ok((values, levels))
}

fn longs<R: ChunkReader + 'static>(
    file: &File<R>,
    index: usize,
) -> Result<(Vec<i64>, Vec<i16>), TableError> {
    column(file, index, |reader| match reader {
        ColumnReader::Int64ColumnReader(typed) => Some(typed),
        _ => None,
    })
}

fn doubles<R: ChunkReader + 'static>(
    file: &File<R>,
    index: usize,
) -> Result<(Vec<f64>, Vec<i16>), TableError> {
    column(file, index, |reader| match reader {
        ColumnReader::DoubleColumnReader(typed) => Some(typed),
        _ => None,
    })
}

fn ints<R: ChunkReader + 'static>(file: &File<R>, index: usize) -> Result<Vec<i32>, TableError> {
    let (values, _) = column(file, index, |reader| match reader {
        ColumnReader::Int32ColumnReader(typed) => Some(typed),
        _ => None,
    })?;
    Ok(values)
}

fn bools<R: ChunkReader + 'static>(file: &File<R>, index: usize) -> Result<Vec<bool>, TableError> {
    let (values, _) = column(file, index, |reader| match reader {
        ColumnReader::BoolColumnReader(typed) => Some(typed),
        _ => None,
    })?;
    Ok(values)
}

fn texts<R: ChunkReader + 'static>(file: &File<R>, index: usize) -> Result<Data, TableError> {
    let (values, _) = column(file, index, |reader| match reader {
        ColumnReader::ByteArrayColumnReader(typed) => Some(typed),
        _ => None,
    })?;
    let mut texts: IndexSet<String> = IndexSet::new();
    let mut codes = Vec::with_capacity(values.len());
    for value in &values {
        let text = value.as_utf8()?;
        let code = match texts.get_index_of(text) {
            Some(code) => code,
            None => texts.insert_full(text.to_owned()).0,
        };
        codes.push(u32::try_from(code).unwrap_or(u32::MAX));
    }
    Ok(Data::Text { codes, texts: texts.into_iter().collect() })
}

#[cfg(test)]
mod tests {
    use netspurt::record::write_table;
    use proptest::prelude::*;

    use super::*;

    fn file_of(table: &Table) -> Vec<u8> {
        let mut file = Vec::new();
        write_table(table, &mut file).unwrap();
        file
    }

    proptest! {
        #[test]
        fn a_written_table_is_read_with_the_same_values(
            rows in prop::collection::vec((any::<Option<i64>>(), 0_u16..5), 1..90),
        ) {
            let (values, codes): (Vec<Option<i64>>, Vec<u16>) = rows.into_iter().unzip();
            let filled: Vec<i64> = values.iter().map(|value| value.unwrap_or_default()).collect();
            let reals = values.iter().map(|value| value.map(|number| number as f64));
            // The reader lists texts in the order in which they first occur.
            let mut texts: IndexSet<String> = IndexSet::new();
            let text_codes =
                codes.iter().map(|code| texts.insert_full(format!("text {code}")).0 as u32);
            let text_codes = text_codes.collect();
            let columns = [
                Data::I64(filled.clone()),
                Data::U64(filled.iter().map(|number| number.cast_unsigned()).collect()),
                Data::U32(filled.iter().map(|number| *number as u32).collect()),
                Data::U16(codes.clone()),
                Data::OptionalI64(values.clone().into()),
                Data::OptionalF64(reals.collect()),
                Data::Bool(codes.iter().map(|code| *code > 2).collect()),
                Data::Text { codes: text_codes, texts: texts.into_iter().collect() },
            ];
            let named = (0..).zip(columns).map(|(n, data)| Column::new(format!("c{n}"), data));
            let table = Table::new("t", named.collect());
            prop_assert_eq!(read_table_bytes("t", file_of(&table)).unwrap(), table);
        }
    }

    #[test]
    fn a_file_that_is_not_parquet_is_refused() {
        assert!(matches!(read_table_bytes("t", b"PAR1PAR1".to_vec()), Err(TableError::Damaged)));
    }
}
