//! The tables of an explanation.

use crate::ids::Side;
use crate::record::{Column, Data, Table};
use crate::segment::Cause;

use super::{CapturedWay, Explanation, Verdict, VerdictEvidence};

/// The directions of all connections: number, side, what the side sends.
fn ways(explanation: &Explanation) -> impl Iterator<Item = (u64, Side, &CapturedWay)> {
    explanation.connections.iter().flat_map(|one| {
        Side::BOTH.into_iter().filter_map(|side| Some((one.number, side, one.state.way(side)?)))
    })
}

/// The name of a direction in tables: `forward` is from the initiator.
const DIRECTIONS: [&str; 2] = ["forward", "reverse"];

/// No cause that could be inferred, followed by the causes in the order of their codes.
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
    let (mut number, mut side, mut packets, mut data, mut again) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (connection, of, way) in ways(explanation) {
        number.push(connection);
        side.push(of.index() as u8);
        packets.push(way.statistics.packets);
        data.push(way.statistics.data_bytes);
        again.push(way.statistics.retransmissions);
    }
    Table::new(
        "connections",
        vec![
            Column::new("connection", Data::U64(number)),
            Column::new("direction", Data::Tag { codes: side, texts: &DIRECTIONS }),
            Column::new("packets", Data::U64(packets)),
            Column::new("data_bytes", Data::U64(data)),
            Column::new("retransmissions", Data::U64(again)),
        ],
    )
}

/// The table `retransmissions`: a row for each, by connection, direction and time.
pub fn retransmissions_table(explanation: &Explanation) -> Table {
    let mut rows = Vec::new();
    for (connection, side, way) in ways(explanation) {
        let first = way.octets.sequence().first();
        rows.extend(
            way.sender.clone().finish().into_iter().map(|one| (connection, side, first, one)),
        );
    }
    let confidence = |of: fn(&super::ExplainedRetransmission) -> f32| {
        Data::OptionalF64(rows.iter().map(|row| Some(f64::from(of(&row.3)))).collect())
    };
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
            Column::new(
                "cause",
                Data::Tag {
                    codes: rows.iter().map(|row| row.3.cause.code()).collect(),
                    texts: &CAUSES,
                },
            ),
            Column::new("cause_confidence", confidence(|one| one.cause_confidence)),
            Column::new(
                "verdict",
                Data::Tag {
                    codes: rows.iter().map(|row| row.3.verdict as u8).collect(),
                    texts: &Verdict::NAMES,
                },
            ),
            Column::new("verdict_confidence", confidence(|one| one.verdict_confidence)),
            Column::new(
                "evidence",
                Data::Tag {
                    codes: rows.iter().map(|row| row.3.evidence as u8).collect(),
                    texts: &VerdictEvidence::NAMES,
                },
            ),
            Column::new(
                "original_missing",
                Data::Bool(rows.iter().map(|row| row.3.original_missing).collect()),
            ),
        ],
    )
}
