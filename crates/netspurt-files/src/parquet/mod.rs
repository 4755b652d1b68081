//! Opens Parquet files after a check. The check refuses files that would keep the decoder busy
//! without end.

mod open;
mod thrift;

pub use open::{ParquetFault, open_parquet};
