//! The tables of what connections waited for.

use crate::ids::Side;
use crate::record::{Column, Data, Table};
use crate::rto::MeanDeviation;
use crate::units::{Duration, Time};

use super::columns::DIRECTIONS;
use super::tables::directions;
use super::{EndedBy, EndedDirection, Explanation, FLOORS, TimerWait, WaitingFor};

fn span(span: Duration) -> i64 {
    span.as_nanos().cast_signed()
}

/// The table `spent`: a row for each connection, with the time that the connection waited for each
/// kind of [`WaitingFor`].
pub fn spent_table(explanation: &Explanation) -> Table {
    let all = &explanation.connections;
    let mut columns =
        vec![Column::new("connection", Data::U64(all.iter().map(|one| one.number).collect()))];
    for (what, name) in WaitingFor::ALL.into_iter().zip(WaitingFor::NAMES) {
        let spent = all.iter().map(|one| span(one.spent.of(what))).collect();
        columns.push(Column::new(format!("{name}_ns"), Data::I64(spent)));
    }
    Table::new("spent", columns)
}

impl EndedDirection {
    /// The waits that timers ended, each with the timer that the cause of its retransmission names.
    /// Later packets may have changed this cause.
    pub fn settled_waits(&self) -> impl Iterator<Item = TimerWait> {
        self.floors.waits().iter().map(|wait| {
            let place = self.retransmissions.binary_search_by_key(&wait.at, |again| again.at);
            let cause = place.ok().and_then(|place| self.retransmissions[place].cause.get());
            TimerWait { timer: EndedBy::of(cause).unwrap_or(wait.timer), ..*wait }
        })
    }
}

/// The table `waits`: a row for each wait that a timer ended.
pub fn waits_table(explanation: &Explanation) -> Table {
    let rows: Vec<(u64, Side, TimerWait)> = directions(explanation)
        .flat_map(|(number, side, direction)| {
            direction.settled_waits().map(move |wait| (number, side, wait))
        })
        .collect();
    let instant = |at: Time| at.as_nanos().cast_signed();
    let estimate = |of: fn(MeanDeviation) -> Duration| {
        Data::OptionalI64(rows.iter().map(|row| row.2.estimate.map(of).map(span)).collect())
    };
    let sides = rows.iter().map(|row| row.1.index() as u8).collect();
    let timers = rows.iter().map(|row| row.2.timer as u8).collect();
    let number = |of: fn(&TimerWait) -> u32| Data::U32(rows.iter().map(|row| of(&row.2)).collect());
    Table::new(
        "waits",
        vec![
            Column::new("t_ns", Data::I64(rows.iter().map(|row| instant(row.2.at)).collect())),
            Column::new("connection", Data::U64(rows.iter().map(|row| row.0).collect())),
            Column::new("direction", Data::Tag { codes: sides, texts: &DIRECTIONS }),
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

/// The table `floors`: a row for each direction and each floor of a timer. The row tells how often
/// such a timer would have fired although the answer was on its way.
pub fn floors_table(explanation: &Explanation) -> Table {
    let mut rows = Vec::new();
    for (number, side, direction) in directions(explanation) {
        for (floor, spurious) in FLOORS.into_iter().zip(direction.floors.spurious()) {
            rows.push((number, side, floor, spurious));
        }
    }
    let sides = rows.iter().map(|row| row.1.index() as u8).collect();
    Table::new(
        "floors",
        vec![
            Column::new("connection", Data::U64(rows.iter().map(|row| row.0).collect())),
            Column::new("direction", Data::Tag { codes: sides, texts: &DIRECTIONS }),
            Column::new("floor_ns", Data::I64(rows.iter().map(|row| span(row.2)).collect())),
            Column::new("spurious", Data::U32(rows.iter().map(|row| row.3).collect())),
        ],
    )
}
