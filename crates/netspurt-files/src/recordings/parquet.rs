//! Reads Parquet files with named columns, including netspurt's tables `echo_probes` and `rtt`.

use ::parquet::basic::{ConvertedType, LogicalType, Type as Physical};
use ::parquet::file::reader::FileReader;
use ::parquet::record::Field;
use ::parquet::schema::types::Type;
use bytes::Bytes;
use netspurt::guard::guarded;

use crate::parquet::{ParquetFault, open_parquet};

use super::columns::{SourceColumn, by_names};
use super::reading::{Hints, Reading, RecordingError};
use super::table::TableRows;

/// The maximum number of rows of a file. The limit is necessary because a few octets of
/// Parquet can stand for any number of equal rows.
const ROWS_MAX: i64 = 1 << 24;

/// Reads the recordings of a Parquet file.
///
/// # Errors
/// When the file is broken or has more than [`ROWS_MAX`] rows, or when it has neither a column of
/// delays nor columns with the times of sending and of receipt. Also when the hints do not fit the
/// file, or when more than 4,194,304 (`MISSING_MAX`) probes are missing.
pub(super) fn parse(name: &str, bytes: &[u8], hints: &Hints) -> Result<Reading, RecordingError> {
    guarded(|| read(name, bytes, hints)).unwrap_or_else(|| Err(damaged()))
}

fn damaged() -> RecordingError {
    RecordingError::new(
        "the Parquet file is damaged: its octets contradict each other",
        "fetch or make it again",
    )
}

fn read(name: &str, bytes: &[u8], hints: &Hints) -> Result<Reading, RecordingError> {
    let broken = |error: ::parquet::errors::ParquetError| {
        RecordingError::new(
            format!("the Parquet file cannot be read: {error}"),
            "netspurt reads Parquet without compression or with Snappy",
        )
    };
    let file = open_parquet(Bytes::copy_from_slice(bytes)).map_err(|fault| match fault {
        ParquetFault::Damaged => damaged(),
        ParquetFault::Decoder(error) => broken(error),
    })?;
    let count = file.metadata().file_metadata().num_rows();
    if count > ROWS_MAX {
        return Err(RecordingError::new(
            format!("the Parquet file has {count} rows, and a file may have at most {ROWS_MAX}"),
            "divide it into several files",
        ));
    }
    let schema = file.metadata().file_metadata().schema_descr_ptr();
    let names: Vec<String> =
        schema.root_schema().get_fields().iter().map(|field| field.name().to_owned()).collect();
    let mut plan = by_names(&names, &hints.columns)?;
    if plan.rtt.is_none() && (plan.sent.is_none() || plan.received.is_none()) {
        return Err(RecordingError::new(
            format!("none of the columns {} is known to hold delays", names.join(", ")),
            "name the column of delays, as in `--column rtt=NAME`, and its unit, as in `--column \
             unit=s`",
        ));
    }
    // In netspurt's table of samples, the column `t_ns` has the time of the sample, and `sent_ns`
    // has the time at which the segment left. A column that the user names takes precedence.
    if let (true, None, Some(at)) =
        (plan.sent.is_some(), &hints.columns.sent, names.iter().position(|name| name == "sent_ns"))
    {
        plan.sent = Some(SourceColumn { at, unit: Some(1) });
    }
    // The function `text` writes timestamps in nanoseconds, so a unit in the column's name does not
    // count.
    let has_instants = |at: usize| is_timestamp(&schema.root_schema().get_fields()[at]);
    let mut instants = [plan.sent, plan.received].into_iter().flatten();
    if hints.columns.time_unit.is_some() && instants.any(|column| has_instants(column.at)) {
        return Err(RecordingError::new(
            "a column of times holds timestamps, which have a unit of their own",
            "leave out `--column time_unit`",
        ));
    }
    for column in [&mut plan.sent, &mut plan.received].into_iter().flatten() {
        if has_instants(column.at) {
            column.unit = Some(1);
        }
    }
    let mut rows = TableRows::new(plan);
    let mut texts = Vec::new();
    for (number, row) in (1..).zip(file.get_row_iter(None).map_err(broken)?) {
        texts.clear();
        let row = row.map_err(broken)?;
        texts.extend(row.get_column_iter().map(|(_, field)| text(field)));
        let cell = |at: usize| texts.get(at).map(String::as_str);
        rows.read(number, cell, || texts.join(","));
    }
    rows.finish(name, "Parquet", hints)
}

/// Whether a column has timestamps. The function `text` writes timestamps in nanoseconds.
fn is_timestamp(column: &Type) -> bool {
    let info = column.get_basic_info();
    let converted = [ConvertedType::TIMESTAMP_MILLIS, ConvertedType::TIMESTAMP_MICROS];
    matches!(info.logical_type_ref(), Some(LogicalType::Timestamp { .. }))
        || converted.contains(&info.converted_type())
        // Only timestamps of old writers have this physical type.
        || matches!(column, Type::PrimitiveType { physical_type: Physical::INT96, .. })
}

/// Writes a value in the form that a cell of a CSV file has.
fn text(field: &Field) -> String {
    match field {
        Field::Null => String::new(),
        Field::Str(text) => text.clone(),
        Field::TimestampMillis(ms) => (i128::from(*ms) * 1_000_000).to_string(),
        Field::TimestampMicros(us) => (i128::from(*us) * 1000).to_string(),
        Field::Float(value) => value.to_string(),
        Field::Double(value) => value.to_string(),
        other => other.to_string(),
    }
}
