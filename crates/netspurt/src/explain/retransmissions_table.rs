//! The table of the retransmissions of a capture.

use crate::ids::Side;
use crate::record::{Column, Data, Table, cause_names};
use crate::segment::Cause;
use crate::units::Duration;

use super::rows::{ExplainedRows, confidence, direction_columns};
use super::{
    CauseRule, ConnectionRow, EndedConnection, ExplainedRetransmission, Verdict, VerdictEvidence,
};

/// The name for an unknown cause, followed by the names of the causes in the order of their codes.
const CAUSES: [&str; Cause::ALL.len() + 1] = cause_names("unknown");

/// The rows of the table `retransmissions`: a row for each retransmission, ordered by connection,
/// direction and time. Each entry has the number of the connection, the side that sends, the first
/// octet of this direction and the retransmission.
#[derive(Default)]
pub struct RetransmissionRows(Vec<(u64, Side, u64, ExplainedRetransmission)>);

impl ExplainedRows for RetransmissionRows {
    fn take(&mut self, connection: &EndedConnection) {
        for ConnectionRow { side, direction, .. } in ConnectionRow::of(connection) {
            let row = |again| (connection.number, side, direction.sequence.first(), again);
            self.0.extend(direction.retransmissions.iter().copied().map(row));
        }
    }

    fn table(self: Box<Self>) -> Table {
        let rows = self.0;
        type Told = ExplainedRetransmission;
        let [connection, direction] = direction_columns(rows.iter().map(|row| (row.0, row.1)));
        let sure = |of: fn(&Told) -> f32| {
            Data::OptionalF64(rows.iter().map(|row| Some(confidence(of(&row.3)))).collect())
        };
        let tag = |name, texts, of: fn(&Told) -> u8| {
            Column::new(
                name,
                Data::Tag { codes: rows.iter().map(|row| of(&row.3)).collect(), texts },
            )
        };
        let known = |of: fn(&Told) -> bool| Data::Bool(rows.iter().map(|row| of(&row.3)).collect());
        let span = |span: Duration| (!span.is_zero()).then(|| span.as_nanos().cast_signed());
        let octet = |octet: u64, first: u64| octet.wrapping_sub(first).cast_signed();
        Table::new(
            "retransmissions",
            vec![
                Column::new(
                    "t_ns",
                    Data::I64(rows.iter().map(|row| row.3.at.as_nanos().cast_signed()).collect()),
                ),
                connection,
                direction,
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
                    Data::OptionalI64(rows.iter().map(|row| span(row.3.gap)).collect()),
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
                    Data::OptionalI64(rows.iter().map(|row| span(row.3.srtt)).collect()),
                ),
                Column::new(
                    "acked_bytes_max",
                    Data::U32(rows.iter().map(|row| row.3.acked_bytes_max).collect()),
                ),
            ],
        )
    }
}
