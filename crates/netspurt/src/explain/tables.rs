//! The tables of an explanation.

use std::net::IpAddr;

use indexmap::IndexMap;

use crate::ids::Side;
use crate::record::{Column, Data, Table};
use crate::segment::Cause;

use super::columns::DIRECTIONS;
use super::{
    COLUMNS, CauseRule, ColumnCell, ConnectionRow, EndedDirection, Explanation, Verdict,
    VerdictEvidence,
};

/// The directions of all connections: the connection's number, the side that sends, and what this
/// side sends.
pub fn directions(explanation: &Explanation) -> impl Iterator<Item = (u64, Side, &EndedDirection)> {
    (explanation.connections.iter().flat_map(ConnectionRow::of))
        .map(|row| (row.connection.number, row.side, row.direction))
}

/// Rounds a confidence for a table to four decimals. Further decimals would mean nothing.
pub fn confidence(share: f32) -> f64 {
    (f64::from(share) * 1e4).round() / 1e4
}

/// The name for an unknown cause, followed by the names of the causes in the order of their codes.
const CAUSES: [&str; Cause::ALL.len() + 1] = {
    let mut names = ["unknown"; Cause::ALL.len() + 1];
    let mut i = 0;
    while i < Cause::ALL.len() {
        names[i + 1] = Cause::ALL[i].name();
        i += 1;
    }
    names
};

/// The table `connections`: a row for each direction of each connection.
pub fn connections_table(explanation: &Explanation) -> Table {
    let rows: Vec<_> = explanation.connections.iter().flat_map(ConnectionRow::of).collect();
    let column = |(name, cell): &(&'static str, ColumnCell)| {
        let data = match *cell {
            ColumnCell::Count(of) => Data::U64(rows.iter().map(of).collect()),
            ColumnCell::Whole(of) => Data::OptionalI64(rows.iter().map(of).collect()),
            ColumnCell::Number(of) => Data::OptionalF64(rows.iter().map(of).collect()),
            ColumnCell::Flag(of) => Data::Bool(rows.iter().map(of).collect()),
            ColumnCell::Tag(texts, of) => Data::Tag { codes: rows.iter().map(of).collect(), texts },
            ColumnCell::Address(of) => addresses(rows.iter().map(of)),
        };
        Column::new(*name, data)
    };
    Table::new("connections", COLUMNS.iter().map(column).collect())
}

/// Addresses as texts. Each different text is stored once.
fn addresses(of: impl Iterator<Item = IpAddr>) -> Data {
    let mut known: IndexMap<IpAddr, ()> = IndexMap::new();
    let codes = of.map(|address| known.insert_full(address, ()).0 as u32).collect();
    Data::Text { codes, texts: known.keys().map(IpAddr::to_string).collect() }
}

/// The table `retransmissions`: a row for each retransmission, ordered by connection, direction and
/// time.
pub fn retransmissions_table(explanation: &Explanation) -> Table {
    let mut rows = Vec::new();
    for (connection, side, direction) in directions(explanation) {
        let rest = |one| (connection, side, direction.sequence.first(), one);
        rows.extend(direction.retransmissions.iter().copied().map(rest));
    }
    type Told = super::ExplainedRetransmission;
    let sure = |of: fn(&Told) -> f32| {
        Data::OptionalF64(rows.iter().map(|row| Some(confidence(of(&row.3)))).collect())
    };
    let tag = |name, texts, of: fn(&Told) -> u8| {
        Column::new(name, Data::Tag { codes: rows.iter().map(|row| of(&row.3)).collect(), texts })
    };
    let known = |of: fn(&Told) -> bool| Data::Bool(rows.iter().map(|row| of(&row.3)).collect());
    let srtt = |one: &Told| (!one.srtt.is_zero()).then(|| one.srtt.as_nanos().cast_signed());
    let octet = |octet: u64, first: u64| octet.wrapping_sub(first).cast_signed();
    Table::new(
        "retransmissions",
        vec![
            Column::new(
                "t_ns",
                Data::I64(rows.iter().map(|row| row.3.at.as_nanos().cast_signed()).collect()),
            ),
            Column::new("connection", Data::U64(rows.iter().map(|row| row.0).collect())),
            Column::new(
                "direction",
                Data::Tag {
                    codes: rows.iter().map(|row| row.1.index() as u8).collect(),
                    texts: &DIRECTIONS,
                },
            ),
            Column::new(
                "seq",
                Data::I64(rows.iter().map(|row| octet(row.3.left, row.2)).collect()),
            ),
            Column::new(
                "len_bytes",
                Data::U32(rows.iter().map(|row| (row.3.right - row.3.left) as u32).collect()),
            ),
            Column::new(
                "gap_ns",
                Data::I64(rows.iter().map(|row| row.3.gap.as_nanos().cast_signed()).collect()),
            ),
            tag("cause", &CAUSES, |one| one.cause.code()),
            tag("cause_evidence", &CauseRule::NAMES, |one| one.rule as u8),
            Column::new("cause_confidence", sure(|one| one.cause_confidence)),
            tag("verdict", &Verdict::NAMES, |one| one.verdict as u8),
            Column::new("verdict_confidence", sure(|one| one.verdict_confidence)),
            tag("evidence", &VerdictEvidence::NAMES, |one| one.evidence as u8),
            Column::new("original_missing", known(|one| one.original_missing)),
            Column::new("original_late", known(|one| one.original_late)),
            Column::new(
                "srtt_ns",
                Data::OptionalI64(rows.iter().map(|row| srtt(&row.3)).collect()),
            ),
        ],
    )
}
