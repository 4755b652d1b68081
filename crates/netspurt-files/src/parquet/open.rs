//! Opens Parquet files, after a check that their footer and page headers cannot keep a decoder busy
//! without end.
//!
//! Source of the definitions: apache/parquet-format, `parquet.thrift`.

use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::ParquetMetaDataReader;
use ::parquet::file::reader::{ChunkReader, SerializedFileReader};

use super::thrift::{Holds, Walk};

/// The reason why a Parquet file could not be opened.
#[derive(Debug)]
pub enum ParquetFault {
    /// The footer or a page header contradicts the definitions of Parquet, or could keep a decoder
    /// busy without end.
    Damaged,
    /// The decoder's own error.
    Decoder(ParquetError),
}

/// The number of octets that are read first for the header of a page. A header that netspurt writes
/// has about 30 octets. For a header longer than this constant, more octets are read.
const HEADER: u64 = 256;

/// Checks the footer and the page headers of a Parquet file, and then opens the file.
///
/// # Errors
/// When the footer or a page header contradicts the definitions of Parquet or could keep a decoder
/// busy without end, or when the decoder refuses the file.
///
/// # Panics
/// When the decoder panics. So call this function in [`guarded`](netspurt::guard::guarded).
///
/// ```
/// use netspurt_files::parquet::{ParquetFault, open_parquet};
/// // Field 1 is a list of 2^28 - 1 elements that take no octets.
/// let file = b"\x19\xf1\xff\xff\xff\x7f\x00\x07\x00\x00\x00PAR1";
/// assert!(matches!(open_parquet(bytes::Bytes::from(&file[..])), Err(ParquetFault::Damaged)));
/// ```
pub fn open_parquet<R: ChunkReader + 'static>(
    file: R,
) -> Result<SerializedFileReader<R>, ParquetFault> {
    if !has_sound_footer(&file) {
        return Err(ParquetFault::Damaged);
    }
    let metadata =
        ParquetMetaDataReader::new().parse_and_finish(&file).map_err(ParquetFault::Decoder)?;
    let mut columns = metadata.row_groups().iter().flat_map(|group| group.columns());
    if !columns.all(|column| has_sound_pages(&file, column.byte_range())) {
        return Err(ParquetFault::Damaged);
    }
    SerializedFileReader::new(file).map_err(ParquetFault::Decoder)
}

fn octets(file: &impl ChunkReader, start: u64, count: u64) -> Option<bytes::Bytes> {
    file.get_bytes(start, usize::try_from(count).ok()?).ok()
}

/// Whether the file has a footer that passes the check of [`Walk`]. Only the footer's length and
/// `PAR1` follow the footer.
fn has_sound_footer(file: &impl ChunkReader) -> bool {
    let footer = || {
        let end = file.len().checked_sub(8)?;
        let tail = octets(file, end, 8)?;
        let size = u64::from(u32::from_le_bytes(*tail.first_chunk()?));
        let start = end.checked_sub(size).filter(|_| tail.ends_with(b"PAR1"))?;
        Walk::new(&octets(file, start, size)?).structure(FILE, 0)
    };
    footer().is_some()
}

/// Whether the headers of all pages of a column pass the check of [`Walk`]. The column has `length`
/// octets from `start`.
fn has_sound_pages(file: &impl ChunkReader, (start, length): (u64, u64)) -> bool {
    let Some(end) = start.checked_add(length).filter(|end| *end <= file.len()) else {
        return false;
    };
    let mut at = start;
    while at < end {
        match page(file, at, end) {
            Some(next) => at = next,
            None => return false,
        }
    }
    true
}

/// Returns the offset at which a page ends. The page starts at the offset `at`. Returns `None` if
/// the page's header does not pass the check of [`Walk`], or if the page ends after the offset
/// `end`.
fn page(file: &impl ChunkReader, at: u64, end: u64) -> Option<u64> {
    let mut size = HEADER;
    loop {
        let read = octets(file, at, size.min(end - at))?;
        let mut walk = Walk::new(&read);
        if let Some(data) = page_header(&mut walk) {
            let header = (read.len() - walk.left()) as u64;
            return (at + header).checked_add(data).filter(|next| *next <= end);
        }
        if size >= end - at {
            return None;
        }
        size *= 4;
    }
}

/// Walks through the header of a page and returns the number of octets of data after it.
fn page_header(walk: &mut Walk) -> Option<u64> {
    let (mut last, mut data) = (0, None);
    while let Some((id, kind)) = walk.field(last)? {
        if id == COMPRESSED_SIZE && matches!(kind, 4..=6) {
            data = Some(walk.whole()?);
        } else {
            walk.value_of(PAGE, id, kind, 0)?;
        }
        last = id;
    }
    data
}

use Holds::{List, Octet, Real, Structure, Text, Truth, Whole};

/// The structure `FileMetaData`: the id and the type of each field. Enumerations are whole numbers.
/// The constants below describe the other structures of Parquet in the same way.
const FILE: &[(u64, Holds)] = &[
    (1, Whole),
    (2, List(&Structure(ELEMENT))),
    (3, Whole),
    (4, List(&Structure(ROW_GROUP))),
    (5, List(&Structure(KEY_VALUE))),
    (6, Text),
    (7, List(&Structure(ORDER))),
    (8, Structure(ENCRYPTION)),
    (9, Text),
];

/// `SchemaElement`.
const ELEMENT: &[(u64, Holds)] = &[
    (1, Whole),
    (2, Whole),
    (3, Whole),
    (4, Text),
    (5, Whole),
    (6, Whole),
    (7, Whole),
    (8, Whole),
    (9, Whole),
    (10, Structure(LOGICAL)),
];

/// `LogicalType`; ids 1 to 4, 6, 11 to 15 and 19 are empty structures.
const LOGICAL: &[(u64, Holds)] = &[
    (1, Structure(&[])),
    (2, Structure(&[])),
    (3, Structure(&[])),
    (4, Structure(&[])),
    (5, Structure(&[(1, Whole), (2, Whole)])),
    (6, Structure(&[])),
    (7, Structure(TIME)),
    (8, Structure(TIME)),
    (10, Structure(&[(1, Octet), (2, Truth)])),
    (11, Structure(&[])),
    (12, Structure(&[])),
    (13, Structure(&[])),
    (14, Structure(&[])),
    (15, Structure(&[])),
    (16, Structure(&[(1, Octet)])),
    (17, Structure(&[(1, Text)])),
    (18, Structure(&[(1, Text), (2, Whole)])),
    (19, Structure(&[])),
];

/// `TimeType` and `TimestampType`, with `TimeUnit`.
const TIME: &[(u64, Holds)] =
    &[(1, Truth), (2, Structure(&[(1, Structure(&[])), (2, Structure(&[])), (3, Structure(&[]))]))];

/// `RowGroup`, with `SortingColumn`.
const ROW_GROUP: &[(u64, Holds)] = &[
    (1, List(&Structure(CHUNK))),
    (2, Whole),
    (3, Whole),
    (4, List(&Structure(&[(1, Whole), (2, Truth), (3, Truth)]))),
    (5, Whole),
    (6, Whole),
    (7, Whole),
];

/// `ColumnChunk`.
const CHUNK: &[(u64, Holds)] = &[
    (1, Text),
    (2, Whole),
    (3, Structure(COLUMN)),
    (4, Whole),
    (5, Whole),
    (6, Whole),
    (7, Whole),
    (8, Structure(&[(1, Structure(&[])), (2, Structure(&[(1, List(&Text)), (2, Text)]))])),
    (9, Text),
];

/// `ColumnMetaData`, with `PageEncodingStats`, `SizeStatistics` and `GeospatialStatistics`.
const COLUMN: &[(u64, Holds)] = &[
    (1, Whole),
    (2, List(&Whole)),
    (3, List(&Text)),
    (4, Whole),
    (5, Whole),
    (6, Whole),
    (7, Whole),
    (8, List(&Structure(KEY_VALUE))),
    (9, Whole),
    (10, Whole),
    (11, Whole),
    (12, Structure(STATISTICS)),
    (13, List(&Structure(&[(1, Whole), (2, Whole), (3, Whole)]))),
    (14, Whole),
    (15, Whole),
    (16, Structure(&[(1, Whole), (2, List(&Whole)), (3, List(&Whole))])),
    (17, Structure(&[(1, Structure(BOX)), (2, List(&Whole))])),
];

/// `BoundingBox`.
const BOX: &[(u64, Holds)] =
    &[(1, Real), (2, Real), (3, Real), (4, Real), (5, Real), (6, Real), (7, Real), (8, Real)];

/// `Statistics`.
const STATISTICS: &[(u64, Holds)] = &[
    (1, Text),
    (2, Text),
    (3, Whole),
    (4, Whole),
    (5, Text),
    (6, Text),
    (7, Truth),
    (8, Truth),
    (9, Whole),
];

const KEY_VALUE: &[(u64, Holds)] = &[(1, Text), (2, Text)];

/// `ColumnOrder`, whose choices are empty structures.
const ORDER: &[(u64, Holds)] = &[(1, Structure(&[])), (2, Structure(&[]))];

/// `EncryptionAlgorithm`.
const ENCRYPTION: &[(u64, Holds)] = &[(1, Structure(CIPHER)), (2, Structure(CIPHER))];

/// `AesGcmV1` and `AesGcmCtrV1`.
const CIPHER: &[(u64, Holds)] = &[(1, Text), (2, Text), (3, Truth)];

/// `PageHeader`.
const PAGE: &[(u64, Holds)] = &[
    (1, Whole),
    (2, Whole),
    (COMPRESSED_SIZE, Whole),
    (4, Whole),
    (5, Structure(DATA_PAGE)),
    (6, Structure(&[])),
    (7, Structure(&[(1, Whole), (2, Whole), (3, Truth)])),
    (8, Structure(DATA_PAGE_2)),
];

/// The field of `PageHeader` with the number of octets of data after the header.
const COMPRESSED_SIZE: u64 = 3;

/// `DataPageHeader`.
const DATA_PAGE: &[(u64, Holds)] =
    &[(1, Whole), (2, Whole), (3, Whole), (4, Whole), (5, Structure(STATISTICS))];

/// `DataPageHeaderV2`.
const DATA_PAGE_2: &[(u64, Holds)] = &[
    (1, Whole),
    (2, Whole),
    (3, Whole),
    (4, Whole),
    (5, Whole),
    (6, Whole),
    (7, Truth),
    (8, Structure(STATISTICS)),
];
