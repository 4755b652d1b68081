//! Fuzzes the reader of Parquet with any octets. If a table can be read, it is written and read
//! again. The number of rows and the digest must then be the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use netspurt::record::{digest, write_table};
use netspurt_files::tables::read_table_bytes;

fuzz_target!(|octets: &[u8]| {
    let table = match read_table_bytes("fuzz", octets.to_vec()) {
        Ok(table) => table,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let mut written = Vec::new();
    write_table(&table, &mut written).expect("writing to memory cannot fail");
    let again = read_table_bytes("fuzz", written).expect("what was written can be read");
    assert_eq!(again.rows(), table.rows());
    assert_eq!(digest([&again]), digest([&table]));
});
