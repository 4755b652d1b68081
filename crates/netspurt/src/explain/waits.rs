//! The tables `spent`, `waits` and `floors`: what connections waited for, and how other timers
//! would have behaved.

use std::iter;

use crate::ids::Side;
use crate::record::{Column, Data, NarrowColumn, NarrowNumbers, Table};
use crate::rto::MeanDeviation;
use crate::units::{Duration, Time};

use super::columns::DIRECTIONS;
use super::rows::{ExplainedRows, direction_columns, span_ns};
use super::{
    ConnectionRow, EndedBy, EndedConnection, EndedDirection, FLOORS, TimerWait, WaitingFor,
};

/// The rows of the table `spent`: a row for each connection, with the time that the connection
/// waited for each kind of [`WaitingFor`].
#[derive(Default)]
pub struct SpentRows {
    connections: NarrowNumbers,
    /// A column for each kind of [`WaitingFor`].
    spent: [NarrowNumbers; WaitingFor::COUNT],
}

impl ExplainedRows for SpentRows {
    fn take(&mut self, connection: &EndedConnection) {
        self.connections.push(connection.number);
        for (column, what) in self.spent.iter_mut().zip(WaitingFor::ALL) {
            column.push(connection.spent.of(what).as_nanos());
        }
    }

    fn table(self: Box<Self>) -> Table {
        let Self { connections, spent } = *self;
        let numbers = Data::Narrow(NarrowColumn::U64(connections));
        let named = WaitingFor::NAMES.into_iter().zip(spent);
        let spans = named.map(|(name, spent)| {
            Column::new(format!("{name}_ns"), Data::Narrow(NarrowColumn::I64(spent)))
        });
        let columns = iter::once(Column::new("connection", numbers)).chain(spans);
        Table::new("spent", columns.collect())
    }
}

impl EndedDirection {
    /// The waits that timers ended. When a wait ended, the timer was derived from the cause of the
    /// retransmission that ended it. Later packets may have changed this cause. So the timer is
    /// derived again from the final cause. If no timer belongs to the final cause, the wait keeps
    /// its first timer. Each wait comes with a number. It says how often in a row the
    /// retransmission timer had already fired for the same octet. The timers of SYNs and probes do
    /// not count.
    pub fn settled_waits(&self) -> impl Iterator<Item = (TimerWait, u32)> {
        let mut last: Option<(u64, u32)> = None;
        self.floors.waits().iter().map(move |wait| {
            let ended_by = wait.ended_by(&self.retransmissions);
            let timer = ended_by.and_then(|one| EndedBy::of(one.cause.get()));
            let timer = timer.unwrap_or(wait.timer);
            let before = last.filter(|(left, _)| *left == wait.left);
            let backoffs = before.map_or(0, |(_, backoffs)| backoffs + 1);
            // A probe does not back off the timer.
            if timer == EndedBy::Retransmission {
                last = Some((wait.left, backoffs));
            }
            (TimerWait { timer, ..*wait }, backoffs)
        })
    }
}

/// The rows of the table `waits`: a row for each wait that a timer ended.
#[derive(Default)]
pub struct WaitRows(Vec<(u64, Side, TimerWait, u32)>);

impl ExplainedRows for WaitRows {
    fn take(&mut self, connection: &EndedConnection) {
        for ConnectionRow { side, direction, .. } in ConnectionRow::of(connection) {
            let row = |(wait, backoffs)| (connection.number, side, wait, backoffs);
            self.0.extend(direction.settled_waits().map(row));
        }
    }

    fn table(self: Box<Self>) -> Table {
        let rows = self.0;
        let instant = |at: Time| at.as_nanos().cast_signed();
        let estimate = |of: fn(MeanDeviation) -> Duration| {
            Data::OptionalI64(rows.iter().map(|row| row.2.estimate.map(of).map(span_ns)).collect())
        };
        let [connection, direction] = direction_columns(rows.iter().map(|row| (row.0, row.1)));
        let with_floor = |place: usize| {
            let values = rows.iter().map(|row| row.2.timers.map(|timers| span_ns(timers[place])));
            let name = format!("timer_ns_{}ms", FLOORS[place].as_nanos() / 1_000_000);
            Column::new(name, Data::OptionalI64(values.collect()))
        };
        let others = (0..FLOORS.len()).map(with_floor);
        let timers = rows.iter().map(|row| row.2.timer as u8).collect();
        let columns = vec![
            Column::new("t_ns", Data::I64(rows.iter().map(|row| instant(row.2.at)).collect())),
            connection,
            direction,
            Column::new("timer", Data::Tag { codes: timers, texts: &EndedBy::NAMES }),
            Column::new(
                "waited_ns",
                Data::I64(rows.iter().map(|row| span_ns(row.2.waited)).collect()),
            ),
            Column::new("ran_ns", Data::I64(rows.iter().map(|row| span_ns(row.2.ran)).collect())),
            Column::new("backoffs", Data::U32(rows.iter().map(|row| row.3).collect())),
            Column::new("srtt_ns", estimate(MeanDeviation::mean)),
            Column::new("rttvar_ns", estimate(MeanDeviation::variation)),
            Column::new("sacked", Data::Bool(rows.iter().map(|row| row.2.sacked).collect())),
            Column::new(
                "outstanding",
                Data::U32(rows.iter().map(|row| row.2.outstanding).collect()),
            ),
            Column::new(
                "answered_ns",
                Data::OptionalI64(rows.iter().map(|row| row.2.answered.map(instant)).collect()),
            ),
        ];
        Table::new("waits", columns.into_iter().chain(others).collect())
    }
}

/// The rows of the table `floors`: a row for each direction and each floor. A floor is the minimum
/// of the time that a timer adds to srtt. The row tells how often a timer with this floor would
/// have fired although the answer was on its way.
#[derive(Default)]
pub struct FloorRows {
    connections: NarrowNumbers,
    /// The codes of the directions.
    sides: Vec<u8>,
    floors: NarrowNumbers,
    spurious: NarrowNumbers,
}

impl ExplainedRows for FloorRows {
    fn take(&mut self, connection: &EndedConnection) {
        for ConnectionRow { side, direction, .. } in ConnectionRow::of(connection) {
            for (floor, spurious) in FLOORS.into_iter().zip(direction.floors.spurious()) {
                self.connections.push(connection.number);
                self.sides.push(side as u8);
                self.floors.push(floor.as_nanos());
                self.spurious.push(spurious.into());
            }
        }
    }

    fn table(self: Box<Self>) -> Table {
        let Self { connections, sides, floors, spurious } = *self;
        Table::new(
            "floors",
            vec![
                Column::new("connection", Data::Narrow(NarrowColumn::U64(connections))),
                Column::new("direction", Data::Tag { codes: sides, texts: &DIRECTIONS }),
                Column::new("floor_ns", Data::Narrow(NarrowColumn::I64(floors))),
                Column::new("spurious", Data::Narrow(NarrowColumn::U32(spurious))),
            ],
        )
    }
}
