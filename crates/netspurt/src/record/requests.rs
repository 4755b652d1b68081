//! Makes the table `requests`, which says when each request of a run was sent and answered.

use crate::app::Exchange;
use crate::units::{Duration, Time};

use super::names::{Names, nanos};
use super::table::{Column, Data, Table};

/// Makes the table `requests`: one row for each request, ordered by time. `all` has the number and
/// the requests of each flow.
pub fn requests_table(names: &Names, all: &[(u32, Vec<Exchange>)]) -> Table {
    let each = || {
        let of = |(flow, own): &(u32, Vec<Exchange>)| {
            let flow = *flow;
            (1_u32..).zip(own.clone()).map(move |(number, exchange)| (flow, number, exchange))
        };
        all.iter().flat_map(of)
    };
    let span = |to: fn(&Exchange) -> Option<Time>| {
        let nanos = |span: Duration| span.as_nanos().cast_signed();
        let of = |(_, _, exchange): (u32, u32, Exchange)| {
            to(&exchange).map(|at| nanos(at.saturating_since(exchange.asked)))
        };
        Data::OptionalI64(each().map(of).collect())
    };
    let columns = [
        ("number", Data::U32(each().map(|(_, number, _)| number).collect())),
        ("first_ns", span(|exchange| exchange.began)),
        ("complete_ns", span(|exchange| exchange.complete)),
    ];
    let ask_times = Data::I64(each().map(|(_, _, exchange)| nanos(exchange.asked)).collect());
    let flow = names.flow_column(each().map(|(flow, ..)| flow).collect());
    let columns = columns.map(|(name, data)| Column::new(name, data));
    let columns = [Column::new("t_ns", ask_times), flow].into_iter().chain(columns);
    Table::new("requests", columns.collect()).in_time()
}
