//! The tables of what connections waited for.

use std::iter;

use crate::ids::Side;
use crate::record::{Column, Data, Table};
use crate::rto::MeanDeviation;
use crate::units::{Duration, Time};

use super::rows::{ExplainedRows, direction_columns};
use super::{
    ConnectionRow, EndedBy, EndedConnection, EndedDirection, FLOORS, TimerWait, WaitingFor,
};

fn span(span: Duration) -> i64 {
    span.as_nanos().cast_signed()
}

/// The rows of the table `spent`: a row for each connection, with the time that the connection
/// waited for each kind of [`WaitingFor`].
#[derive(Default)]
pub struct SpentRows(Vec<(u64, [Duration; WaitingFor::COUNT])>);

impl ExplainedRows for SpentRows {
    fn take(&mut self, connection: &EndedConnection) {
        let spent = WaitingFor::ALL.map(|what| connection.spent.of(what));
        self.0.push((connection.number, spent));
    }

    fn table(self: Box<Self>) -> Table {
        let numbers = self.0.iter().map(|row| row.0).collect();
        let mut columns = vec![Column::new("connection", Data::U64(numbers))];
        for (what, name) in WaitingFor::NAMES.into_iter().enumerate() {
            let spent = self.0.iter().map(|row| span(row.1[what])).collect();
            columns.push(Column::new(format!("{name}_ns"), Data::I64(spent)));
        }
        Table::new("spent", columns)
    }
}

impl EndedDirection {
    /// The waits that timers ended. The timer of a wait follows from the cause of the
    /// retransmission that ended the wait, because later packets may have changed this cause. If
    /// the cause is not a timer, the wait keeps its timer.
    pub fn settled_waits(&self) -> impl Iterator<Item = TimerWait> {
        self.floors.waits().iter().map(|wait| {
            let place = self.retransmissions.binary_search_by_key(&wait.at, |again| again.at);
            let cause = place.ok().and_then(|place| self.retransmissions[place].cause.get());
            TimerWait { timer: EndedBy::of(cause).unwrap_or(wait.timer), ..*wait }
        })
    }
}

/// The rows of the table `waits`: a row for each wait that a timer ended.
#[derive(Default)]
pub struct WaitRows(Vec<(u64, Side, TimerWait)>);

impl ExplainedRows for WaitRows {
    fn take(&mut self, connection: &EndedConnection) {
        for ConnectionRow { side, direction, .. } in ConnectionRow::of(connection) {
            let row = |wait| (connection.number, side, wait);
            self.0.extend(direction.settled_waits().map(row));
        }
    }

    fn table(self: Box<Self>) -> Table {
        let rows = self.0;
        let instant = |at: Time| at.as_nanos().cast_signed();
        let estimate = |of: fn(MeanDeviation) -> Duration| {
            Data::OptionalI64(rows.iter().map(|row| row.2.estimate.map(of).map(span)).collect())
        };
        let [connection, direction] = direction_columns(rows.iter().map(|row| (row.0, row.1)));
        let timers = rows.iter().map(|row| row.2.timer as u8).collect();
        let number =
            |of: fn(&TimerWait) -> u32| Data::U32(rows.iter().map(|row| of(&row.2)).collect());
        Table::new(
            "waits",
            vec![
                Column::new("t_ns", Data::I64(rows.iter().map(|row| instant(row.2.at)).collect())),
                connection,
                direction,
                Column::new("timer", Data::Tag { codes: timers, texts: &EndedBy::NAMES }),
                Column::new(
                    "waited_ns",
                    Data::I64(rows.iter().map(|row| span(row.2.waited)).collect()),
                ),
                Column::new("backoffs", number(|wait| wait.backoffs)),
                Column::new("srtt_ns", estimate(MeanDeviation::mean)),
                Column::new("rttvar_ns", estimate(MeanDeviation::variation)),
                Column::new("sacked", Data::Bool(rows.iter().map(|row| row.2.sacked).collect())),
                Column::new("outstanding", number(|wait| wait.outstanding)),
                Column::new(
                    "answered_ns",
                    Data::OptionalI64(rows.iter().map(|row| row.2.answered.map(instant)).collect()),
                ),
            ],
        )
    }
}

/// The rows of the table `floors`: a row for each direction and each floor of a timer. The row tells
/// how often such a timer would have fired although the answer was on its way.
#[derive(Default)]
pub struct FloorRows(Vec<(u64, Side, [u32; FLOORS.len()])>);

impl ExplainedRows for FloorRows {
    fn take(&mut self, connection: &EndedConnection) {
        for ConnectionRow { side, direction, .. } in ConnectionRow::of(connection) {
            self.0.push((connection.number, side, direction.floors.spurious()));
        }
    }

    fn table(self: Box<Self>) -> Table {
        let rows = || self.0.iter().flat_map(|row| iter::repeat_n(row, FLOORS.len()));
        let floors = self.0.iter().flat_map(|_| FLOORS.map(span)).collect();
        let spurious = self.0.iter().flat_map(|row| row.2).collect();
        let [connection, direction] = direction_columns(rows().map(|row| (row.0, row.1)));
        Table::new(
            "floors",
            vec![
                connection,
                direction,
                Column::new("floor_ns", Data::I64(floors)),
                Column::new("spurious", Data::U32(spurious)),
            ],
        )
    }
}
