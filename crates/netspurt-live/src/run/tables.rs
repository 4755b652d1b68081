//! Tables that only live runs have: the packets that entered and left the path, and the
//! retransmissions of shims. A shim is a retransmission timer at the edge of a host.

use netspurt::ids::EndId;
use netspurt::record::{Column, Data, Names, Table};
use netspurt::shim::Retransmission;
use netspurt::units::Time;

use crate::drive::{Log, PacketArrival, PacketDelivery};

/// Makes the tables `arrivals` and `deliveries`.
pub(super) fn log_tables(names: &Names, log: &Log) -> [Table; 2] {
    let nanos = |at: Time| at.as_nanos().cast_signed();
    let Log { arrivals, deliveries, .. } = log;
    let arrival_times = |of: fn(&PacketArrival) -> Time| {
        Data::I64(arrivals.iter().map(|arrival| nanos(of(arrival))).collect())
    };
    let senders: Vec<EndId> = arrivals.iter().map(|a| a.segment.source()).collect();
    let [flow, direction] = names.sender_columns(&senders);
    let arrival_columns = vec![
        Column::new("t_ns", arrival_times(|arrival| arrival.at)),
        Column::new("stamped_ns", arrival_times(|arrival| arrival.stamped)),
        flow,
        direction,
        Column::new("id", Data::U64(arrivals.iter().map(|a| a.segment.id.bits()).collect())),
    ];
    let delivery_times = |of: fn(&PacketDelivery) -> Time| {
        Data::I64(deliveries.iter().map(|delivery| nanos(of(delivery))).collect())
    };
    let senders: Vec<EndId> = deliveries.iter().map(|d| d.end.peer()).collect();
    let [flow, direction] = names.sender_columns(&senders);
    let delivery_columns = vec![
        Column::new("t_ns", delivery_times(|delivery| delivery.due)),
        Column::new("actual_ns", delivery_times(|delivery| delivery.actual)),
        flow,
        direction,
        Column::new("id", Data::U64(deliveries.iter().map(|d| d.id.bits()).collect())),
    ];
    [Table::new("arrivals", arrival_columns), Table::new("deliveries", delivery_columns)]
}

/// Makes the table `shims`. `None` if no shim retransmitted anything.
pub(super) fn shims_table(names: &Names, all: &[(EndId, Retransmission)]) -> Option<Table> {
    if all.is_empty() {
        return None;
    }
    let nanos = |at: Time| at.as_nanos().cast_signed();
    let number = |of: &dyn Fn(&Retransmission) -> i64| {
        Data::I64(all.iter().map(|(_, retransmission)| of(retransmission)).collect())
    };
    let senders: Vec<EndId> = all.iter().map(|(end, _)| *end).collect();
    let [flow, direction] = names.sender_columns(&senders);
    let ids = all.iter().map(|(_, retransmission)| retransmission.id.bits()).collect();
    let columns = vec![
        Column::new("t_ns", number(&|retransmission| nanos(retransmission.at))),
        flow,
        direction,
        Column::new("id", Data::U64(ids)),
        Column::new("seq", number(&|retransmission| retransmission.left.cast_signed())),
        Column::new("armed_ns", number(&|retransmission| nanos(retransmission.armed))),
        Column::new("backoff", number(&|retransmission| retransmission.backoff.into())),
    ];
    Some(Table::new("shims", columns))
}
