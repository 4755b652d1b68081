//! The summary tables of a run: `flows`, `retransmissions` and `links`.

use crate::link::LinkCount;

use super::judge::Retransmissions;
use super::names::{LinkName, Names, nanos};
use super::segments::CAUSES;
use super::table::{Column, Data, Table};

use crate::app::FlowResult;
use crate::ids::{Direction, EndId, Side};
use crate::segment::{Cause, CauseCode};
use crate::tcp::{Failure, SendTimes};
use crate::units::{Duration, Time};

/// The results of one sender, from the counts of both ends of its flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowSum {
    /// When the application first wrote. The value is `None` if it never wrote.
    pub start: Option<Time>,
    /// When all data of the sender was acknowledged. For a client, this is when the client had read
    /// the last reply. `None` if this has not happened.
    pub finished: Option<Time>,
    /// The number of segments with payload that were sent.
    pub sent: u64,
    /// The number of retransmissions. Unlike `sent`, this number includes retransmissions of a SYN
    /// or FIN without payload, except in ns-2's senders.
    pub retransmissions: u64,
    /// The number of timeouts.
    pub timeouts: u64,
    /// The number of recoveries that began because of ACKs or because RACK's timer fired.
    /// Recoveries that began with a retransmission timeout do not count.
    pub fast_retransmits: u64,
    /// The number of the sender's octets that were acknowledged.
    pub acked_bytes: u64,
    /// The number of segments with payload that the receiver processed. If the receiver is a
    /// kernel, this is the number of such segments that arrived.
    pub received: u64,
    /// The number of segments in `received` that brought no new octet.
    pub duplicates: u64,
    /// The number of octets that were delivered in order to the receiving application.
    pub delivered_bytes: u64,
    /// The number of reductions of cwnd that were undone.
    pub undone: u64,
    /// How often the receive window prevented the sending of data that cwnd allowed. Only ns-2's
    /// senders count these events.
    pub window_limited: Option<u64>,
    /// The number of the sender's retransmissions and of the spurious ones among them, for each
    /// cause.
    pub verdict: Retransmissions,
    /// How long the sender waited for timeouts: for each timeout that retransmitted a segment, the
    /// time since the sender last sent or received a segment. Timeouts of a FIN without data do not
    /// count.
    pub waited: Duration,
    /// How the sender spent its time. The value is `None` for ns-2's senders, for the kernel's TCP,
    /// and for senders seen in a capture.
    pub times: Option<SendTimes>,
    /// Why the connection failed. The value is `None` if it did not fail.
    pub failure: Option<Failure>,
}

/// The names of failures in the order of [`failure_code`]. The first name is empty: it stands for
/// no failure.
const FAILURES: [&str; 4] = ["", "refused", "reset", "timed-out"];

fn failure_code(failure: Option<Failure>) -> u8 {
    match failure {
        None => 0,
        Some(Failure::Refused) => 1,
        Some(Failure::Reset) => 2,
        Some(Failure::TimedOut) => 3,
    }
}

impl FlowSum {
    /// Makes the results of a sender from the results of both ends, the sender first. `verdict` and
    /// `waited` stay zero.
    pub fn of([source, sink]: [FlowResult; 2]) -> Self {
        Self {
            start: source.start,
            finished: source.finished,
            sent: source.sent.data_segments,
            retransmissions: source.sent.retransmissions,
            timeouts: source.sent.timeouts,
            fast_retransmits: source.sent.fast_retransmits,
            acked_bytes: source.acked_bytes,
            received: sink.received.segments,
            duplicates: sink.received.duplicates,
            delivered_bytes: sink.received.delivered_bytes,
            undone: source.sent.undone,
            window_limited: source.sent.window_limited,
            times: source.times,
            failure: source.failure,
            ..Self::default()
        }
    }

    /// The number of spurious retransmissions, of all causes.
    pub fn spurious(&self) -> u64 {
        self.verdict.spurious.iter().map(|count| u64::from(*count)).sum()
    }

    /// Adds the counts and the waiting time of another sender. This method does not change `start`,
    /// `finished`, `window_limited`, `times` or `failure`.
    pub(super) fn add(&mut self, other: &Self) {
        self.sent += other.sent;
        self.retransmissions += other.retransmissions;
        self.timeouts += other.timeouts;
        self.fast_retransmits += other.fast_retransmits;
        self.acked_bytes += other.acked_bytes;
        self.received += other.received;
        self.duplicates += other.duplicates;
        self.delivered_bytes += other.delivered_bytes;
        self.undone += other.undone;
        self.waited = self.waited + other.waited;
        self.verdict.add(&other.verdict);
    }
}

fn codes(numbers: impl Iterator<Item = u32>, texts: &std::sync::Arc<[String]>) -> Data {
    Data::Text { codes: numbers.collect(), texts: texts.clone() }
}

fn each(count: usize) -> impl Iterator<Item = u32> {
    (0..).take(count)
}

/// Makes the table `flows`: one row for each sender, in the order of `sums`.
pub fn flows_table(names: &Names, sums: &[(EndId, FlowSum)]) -> Table {
    let node = |of: fn(Side) -> Side| {
        let node = |(end, _): &(EndId, _)| names.of(end.flow()).node(of(end.side()));
        codes(sums.iter().map(node), &names.nodes)
    };
    let sums_of = || sums.iter().map(|(_, sum)| sum);
    let number =
        |of: fn(&FlowSum) -> u64| Data::I64(sums_of().map(|sum| of(sum).cast_signed()).collect());
    let instant = |of: fn(&FlowSum) -> Option<Time>| {
        Data::OptionalI64(sums_of().map(|sum| of(sum).map(nanos)).collect())
    };
    let span = |of: fn(&SendTimes) -> Duration| {
        let nanos = |times| of(&times).as_nanos().cast_signed();
        Data::OptionalI64(sums_of().map(|sum| sum.times.map(nanos)).collect())
    };
    let limits =
        Data::OptionalI64(sums_of().map(|sum| sum.window_limited.map(u64::cast_signed)).collect());
    let failures = sums_of().map(|sum| failure_code(sum.failure)).collect();
    let senders: Vec<EndId> = sums.iter().map(|(end, _)| *end).collect();
    let columns = [
        ("from", node(|side| side)),
        ("to", node(Side::peer)),
        ("start_ns", instant(|sum| sum.start)),
        ("finished_ns", instant(|sum| sum.finished)),
        ("sent", number(|sum| sum.sent)),
        ("retransmissions", number(|sum| sum.retransmissions)),
        ("timeouts", number(|sum| sum.timeouts)),
        ("fast_retransmits", number(|sum| sum.fast_retransmits)),
        ("acked_bytes", number(|sum| sum.acked_bytes)),
        ("received", number(|sum| sum.received)),
        ("duplicates", number(|sum| sum.duplicates)),
        ("delivered_bytes", number(|sum| sum.delivered_bytes)),
        ("spurious", number(FlowSum::spurious)),
        ("undone", number(|sum| sum.undone)),
        ("waited_ns", number(|sum| sum.waited.as_nanos())),
        ("repairing_ns", span(|times| times.repairing)),
        ("cwnd_limited_ns", span(|times| times.cwnd_limited)),
        ("rwnd_limited_ns", span(|times| times.rwnd_limited)),
        ("paced_ns", span(|times| times.paced)),
        ("window_limited", limits),
        ("failure", Data::Tag { codes: failures, texts: &FAILURES }),
    ];
    let columns = columns.map(|(name, data)| Column::new(name, data));
    let sent = names.sender_columns(&senders);
    Table::new("flows", sent.into_iter().chain(columns).collect())
}

/// Makes the table `retransmissions`: one row for each sender and each cause for which the sender
/// retransmitted.
pub fn retransmissions_table(names: &Names, sums: &[(EndId, FlowSum)]) -> Table {
    let (mut senders, mut causes, mut sent, mut spurious) = (vec![], vec![], vec![], vec![]);
    for (sender, sum) in sums {
        for cause in Cause::ALL {
            let place = cause as usize;
            if sum.verdict.sent[place] > 0 {
                senders.push(*sender);
                causes.push(CauseCode::from(Some(cause)).code());
                sent.push(sum.verdict.sent[place].into());
                spurious.push(sum.verdict.spurious[place].into());
            }
        }
    }
    let [flow, direction] = names.sender_columns(&senders);
    let columns = vec![
        flow,
        direction,
        Column::new("cause", Data::Tag { codes: causes, texts: &CAUSES }),
        Column::new("sent", Data::I64(sent)),
        Column::new("spurious", Data::I64(spurious)),
    ];
    Table::new("retransmissions", columns)
}

/// Makes the table `links`: one row for each direction of each link, in the order of `names`.
pub fn links_table(names: &Names, counts: &[LinkCount]) -> Table {
    let links: std::sync::Arc<[String]> = names.links.iter().map(|l| l.name.clone()).collect();
    let node = |of: fn(&LinkName) -> u32| codes(names.links.iter().map(of), &names.nodes);
    let number = |of: fn(&LinkCount) -> u64| {
        Data::I64(counts.iter().map(|count| of(count).cast_signed()).collect())
    };
    let directions = names.links.iter().map(|link| link.direction as u8).collect();
    let columns = [
        ("link", codes(each(counts.len()), &links)),
        ("direction", Data::Tag { codes: directions, texts: &Direction::NAMES }),
        ("from", node(|link| link.from)),
        ("to", node(|link| link.to)),
        ("carried", number(|count| count.carried)),
        ("carried_bytes", number(|count| count.carried_bytes)),
        ("dropped", number(|count| count.dropped)),
        ("marked", number(|count| count.marked)),
        ("lost", number(|count| count.lost)),
        ("overtook", number(|count| count.overtook)),
        ("queue_packets_max", number(|count| u64::from(count.queue_max))),
    ];
    Table::new("links", columns.map(|(name, data)| Column::new(name, data)).into())
}
