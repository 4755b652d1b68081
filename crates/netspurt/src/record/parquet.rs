//! Writes the tables of a run as Parquet files.

use std::io::{self, Write};
use std::sync::Arc;

use super::table::{Column, Data, NarrowColumn, Table};
use ::parquet::basic::{Compression, ConvertedType, Encoding, Repetition, Type as Physical};
use ::parquet::column::writer::ColumnWriter;
use ::parquet::data_type::ByteArray;
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use ::parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use ::parquet::schema::types::{ColumnPath, Type, TypePtr};

/// The maximum number of rows in a row group.
const ROWS: usize = 1 << 20;

/// Writes `table` as a Parquet file to the output `out`, and flushes this output. `out` is a trait
/// object, so that the writer is compiled once and not for each type of output.
///
/// # Errors
/// When writing to the output fails.
pub fn write_table(table: &Table, out: &mut (dyn Write + Send)) -> io::Result<()> {
    write(table, out).map_err(|error| match error {
        // The text of the variant `External` begins with a word that is not part of the file's
        // error. So the error of the file is returned alone.
        ParquetError::External(cause) => match cause.downcast() {
            Ok(of_the_file) => *of_the_file,
            Err(cause) => io::Error::other(cause),
        },
        error => io::Error::other(error),
    })
}

fn write(table: &Table, out: &mut (dyn Write + Send)) -> Result<(), ParquetError> {
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
