//! Writes tables to Parquet files, and reads them.

use std::io::Write;
use std::sync::Arc;

use ::parquet::basic::{Compression, ConvertedType, Encoding, Repetition, Type as Physical};
use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::column::writer::ColumnWriter;
use ::parquet::data_type::{ByteArray, DataType};
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use ::parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use ::parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use ::parquet::schema::types::{ColumnPath, Type, TypePtr};
use indexmap::IndexSet;

use crate::guard::{ParquetFault, guarded, open_parquet};

use super::OptionalValues;
use super::table::{Column, Data, NarrowColumn, Table};

/// Why a table could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The file could not be written or read, or is not a Parquet file.
    #[error(transparent)]
    Parquet(#[from] ParquetError),
    /// The decoder failed, because the file contradicts itself.
    #[error("the Parquet file is damaged: its octets contradict each other")]
    Damaged,
    /// The file has more values than a table may have.
    #[error(
        "the Parquet file has {0} rows, and its columns together more than {VALUES_MAX} values"
    )]
    TooLong(i64),
    /// The column has a kind that our tables do not use.
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

/// The maximum number of values in a table: 16 GiB of whole numbers.
const VALUES_MAX: usize = 1 << 31;

/// The maximum number of rows in a row group.
const ROWS: usize = 1 << 20;

/// Writes `table` as a Parquet file to `out` and flushes it. `out` is a trait object, so that the
/// writer is compiled once and not for each type of file.
///
/// # Errors
/// When writing to `out` fails.
pub fn write_table(table: &Table, out: &mut (dyn Write + Send)) -> Result<(), TableError> {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_dictionary_enabled(false);
    for column in &table.columns {
        let path = ColumnPath::from(column.name.as_ref());
        properties = match column.data {
            // The statistics (the minimum and the maximum text) are not used, and computing them
            // takes more time than everything else.
            Data::Text { .. } | Data::Tag { .. } => properties
                .set_column_dictionary_enabled(path.clone(), true)
                .set_column_statistics_enabled(path, EnabledStatistics::None),
            Data::Bool(_) | Data::OptionalF64(_) | Data::Narrow(NarrowColumn::OptionalF64(..)) => {
                properties
            }
            _ => properties.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
        };
    }
    let schema = schema(table)?;
    let mut file = SerializedFileWriter::new(out, schema, Arc::new(properties.build()))?;
    let rows = table.rows();
    let mut from = 0;
    while from < rows || from == 0 {
        let to = rows.min(from + ROWS);
        let mut group = file.next_row_group()?;
        for column in &table.columns {
            let mut writer = group.next_column()?.expect("a writer for each column");
            write_column(&column.data, from, to, &mut writer)?;
            writer.close()?;
        }
        group.close()?;
        from = to.max(1);
    }
    file.into_inner()?.flush().map_err(ParquetError::from)?;
    Ok(())
}

fn schema(table: &Table) -> Result<TypePtr, ParquetError> {
    let field = |column: &Column| {
        let (physical, converted) = match column.data {
            Data::I64(_)
            | Data::OptionalI64(_)
            | Data::MissingI64(_)
            | Data::Narrow(NarrowColumn::I64(_) | NarrowColumn::OptionalI64(..)) => {
                (Physical::INT64, ConvertedType::NONE)
            }
            Data::U64(_) | Data::Narrow(NarrowColumn::U64(_)) => {
                (Physical::INT64, ConvertedType::UINT_64)
            }
            Data::U32(_) | Data::Narrow(NarrowColumn::U32(_)) => {
                (Physical::INT32, ConvertedType::UINT_32)
            }
            Data::U16(_) => (Physical::INT32, ConvertedType::UINT_16),
            Data::OptionalF64(_) | Data::Narrow(NarrowColumn::OptionalF64(..)) => {
                (Physical::DOUBLE, ConvertedType::NONE)
            }
            Data::Bool(_) => (Physical::BOOLEAN, ConvertedType::NONE),
            Data::Text { .. } | Data::Tag { .. } => (Physical::BYTE_ARRAY, ConvertedType::UTF8),
        };
        let repetition = match column.data {
            Data::OptionalI64(_)
            | Data::MissingI64(_)
            | Data::OptionalF64(_)
            | Data::Narrow(NarrowColumn::OptionalI64(..) | NarrowColumn::OptionalF64(..)) => {
                Repetition::OPTIONAL
            }
            _ => Repetition::REQUIRED,
        };
        let builder = Type::primitive_type_builder(&column.name, physical);
        let field = builder.with_repetition(repetition).with_converted_type(converted);
        field.build().map(Arc::new)
    };
    let fields = table.columns.iter().map(field).collect::<Result<_, _>>()?;
    Type::group_type_builder("table").with_fields(fields).build().map(Arc::new)
}

fn write_column(
    data: &Data,
    from: usize,
    to: usize,
    writer: &mut SerializedColumnWriter<'_>,
) -> Result<(), ParquetError> {
    let bytes =
        |texts: Vec<&str>| -> Vec<ByteArray> { texts.into_iter().map(ByteArray::from).collect() };
    if let Data::Narrow(narrow) = data {
        return write_column(&narrow.wide(), from, to, writer);
    }
    match (data, writer.untyped()) {
        (Data::I64(all), ColumnWriter::Int64ColumnWriter(out)) => {
            out.write_batch(&all[from..to], None, None)?;
        }
        (Data::OptionalI64(all), ColumnWriter::Int64ColumnWriter(out)) => {
            let (existing, levels) = all.existing(from..to);
            out.write_batch(&existing, Some(&levels), None)?;
        }
        (Data::OptionalF64(all), ColumnWriter::DoubleColumnWriter(out)) => {
            let (existing, levels) = all.existing(from..to);
            out.write_batch(&existing, Some(&levels), None)?;
        }
        (Data::MissingI64(_), ColumnWriter::Int64ColumnWriter(out)) => {
            out.write_batch(&[], Some(&vec![0; to - from]), None)?;
        }
        (Data::U64(all), ColumnWriter::Int64ColumnWriter(out)) => {
            let signed: Vec<i64> = all[from..to].iter().map(|v| v.cast_signed()).collect();
            out.write_batch(&signed, None, None)?;
        }
        (Data::U32(all), ColumnWriter::Int32ColumnWriter(out)) => {
            let signed: Vec<i32> = all[from..to].iter().map(|v| v.cast_signed()).collect();
            out.write_batch(&signed, None, None)?;
        }
        (Data::U16(all), ColumnWriter::Int32ColumnWriter(out)) => {
            let wide: Vec<i32> = all[from..to].iter().map(|v| i32::from(*v)).collect();
            out.write_batch(&wide, None, None)?;
        }
        (Data::Bool(all), ColumnWriter::BoolColumnWriter(out)) => {
            out.write_batch(&all[from..to], None, None)?;
        }
        (Data::Text { codes, texts }, ColumnWriter::ByteArrayColumnWriter(out)) => {
            let texts = bytes(texts.iter().map(String::as_str).collect());
            let rows: Vec<ByteArray> =
                codes[from..to].iter().map(|code| texts[*code as usize].clone()).collect();
            out.write_batch(&rows, None, None)?;
        }
        (Data::Tag { codes, texts }, ColumnWriter::ByteArrayColumnWriter(out)) => {
            let texts = bytes(texts.to_vec());
            let rows: Vec<ByteArray> =
                codes[from..to].iter().map(|code| texts[usize::from(*code)].clone()).collect();
            out.write_batch(&rows, None, None)?;
        }
        _ => unreachable!("the schema gives each column its writer"),
    }
    Ok(())
}

/// The inverse of [`OptionalValues::existing`].
fn spread<T: Copy + Default>(values: Vec<T>, levels: Vec<i16>) -> OptionalValues<T> {
    let mut values = values.into_iter();
    levels.into_iter().map(|level| if level == 1 { values.next() } else { None }).collect()
}

/// Reads a table from a Parquet file that [`write_table`] wrote, and calls it `name`.
///
/// # Errors
/// When the file cannot be read, is damaged, has too many values, or has a kind of column that
/// [`write_table`] does not write.
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
