//! The table of directions whose rate was steady.

use crate::ids::Side;
use crate::record::{Column, Data, Table};

use super::columns::DIRECTIONS;
use super::tables::directions;
use super::{Explanation, SteadyCourse};

/// The table `steady`: a row for each direction whose rate was about constant for a long time.
pub fn steady_table(explanation: &Explanation) -> Table {
    let rows: Vec<(u64, Side, SteadyCourse)> = directions(explanation)
        .filter_map(|(number, side, direction)| {
            Some((number, side, direction.statistics.course.as_ref()?.steady()?))
        })
        .collect();
    let sides = rows.iter().map(|row| row.1.index() as u8).collect();
    let number = |of: fn(&SteadyCourse) -> f64| {
        Data::OptionalF64(rows.iter().map(|row| Some(of(&row.2))).collect())
    };
    let variation = |of: fn(&SteadyCourse) -> Option<f64>| {
        Data::OptionalF64(rows.iter().map(|row| of(&row.2)).collect())
    };
    let whole = |of: fn(&SteadyCourse) -> u64| {
        Data::I64(rows.iter().map(|row| of(&row.2).cast_signed()).collect())
    };
    Table::new(
        "steady",
        vec![
            Column::new("connection", Data::U64(rows.iter().map(|row| row.0).collect())),
            Column::new("direction", Data::Tag { codes: sides, texts: &DIRECTIONS }),
            Column::new("t_ns", whole(|one| one.from.as_nanos())),
            Column::new("span_ns", whole(|one| one.lasted.as_nanos())),
            Column::new("rate_bps", number(SteadyCourse::rate_bps)),
            Column::new("rtt_ns_mean", number(|one| one.rtt_ns_mean)),
            Column::new("sent_variation", variation(|one| one.sent_variation)),
            Column::new("delivered_variation", variation(|one| one.delivered_variation)),
        ],
    )
}
