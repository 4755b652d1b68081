//! One end of a TCP connection: its sending and receiving halves, the methods of a [`Stage`] (a
//! part of a simulation through which segments pass), and the methods for the application.

use std::collections::VecDeque;

use crate::congestion::CongestionConfig;
use crate::event::Events;
use crate::ids::EndId;
use crate::segment::{Flags, Segment};
use crate::seq;
use crate::stage::{Port, Stage};
use crate::units::Time;

use super::config::{NsConfig, TcpConfig};
use super::context::Context;
use super::ns::NsSender;
use super::receiver::{Acknowledgment, NsReceiver, ReceiveCount};
use super::rfc::{
    ConnectionInfo, Failure, RfcConfig, RfcEnd, SendTimes, Tcb, TcpState, WrittenPart,
};
use super::rfc::{control, merged};
use super::transmit::SendCount;

/// One end of a TCP connection.
///
/// Segments go in by [`push`](Stage::push) and come out by [`pop`](Stage::pop). The application
/// opens, listens, writes, reads and closes. There are two kinds of connections: the TCP of the
/// RFCs, and the TCP of the network simulator ns-2. A connection of ns-2's kind is established from
/// the start and is never closed. If it has a handshake, this handshake is part of its first
/// transfer.
///
/// ```
/// use netspurt::event::{Events, Wanted};
/// use netspurt::ids::{FlowId, Side};
/// use netspurt::stage::Stage;
/// use netspurt::tcp::{Connection, RfcConfig, TcpState};
/// use netspurt::units::Time;
///
/// let (end, config) = (FlowId(0).end(Side::From), RfcConfig::rfc_2026().into());
/// let (mut a, mut b) = (Connection::new(end, &config), Connection::new(end.peer(), &config));
/// let mut events = Events::new(Wanted::default());
/// let now = Time::ZERO;
/// b.listen();
/// a.write(now, 4000, &mut events);
/// a.close(now, &mut events);
/// for _ in 0..8 {
///     while let Some((_, _, segment)) = a.pop(now, &mut events) {
///         b.push(now, 0, segment, &mut events);
///     }
///     while let Some((_, _, segment)) = b.pop(now, &mut events) {
///         a.push(now, 0, segment, &mut events);
///     }
/// }
/// assert_eq!(b.received().delivered_bytes, 4000);
/// assert_eq!((a.state(), b.state()), (TcpState::FinWait2, TcpState::CloseWait));
/// ```
#[derive(Debug)]
pub struct Connection {
    end: EndId,
    kind: ConnectionKind,
    outbox: VecDeque<Segment>,
    /// When the segments in the outbox were put there.
    ready: Time,
    /// The earliest instant at which a timer is due.
    due: Time,
}

/// The results of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionTotals {
    /// Octets of this end's data that the peer acknowledged.
    pub acked_bytes: u64,
    /// The counts of the sending half.
    pub sent: SendCount,
    /// How the sending half spent its time, up to its last event. The value is `None` for ns-2's
    /// kind.
    pub times: Option<SendTimes>,
    /// The counts of the receiving half.
    pub received: ReceiveCount,
    /// The reason for which the connection failed. The value is `None` if the connection has not
    /// failed.
    pub failure: Option<Failure>,
}

#[derive(Debug)]
enum ConnectionKind {
    Ns(Box<NsPair>),
    Rfc(RfcEnd),
}

impl ConnectionKind {
    /// The earliest instant at which a timer is due.
    fn next_deadline(&self) -> Time {
        match self {
            Self::Ns(pair) => pair.sender.tx.timer.deadline().min(pair.receiver.wakeup()),
            Self::Rfc(end) => end.view(Tcb::next_deadline),
        }
    }

    /// Returns the instant of the event for which the connection is woken at the instant `due`. In
    /// ns-2's kind, the end of a hold (the wait of a delayed ACK) is slightly before this instant.
    /// All other events are at this instant.
    #[inline]
    fn time_of(&self, due: Time) -> Time {
        match self {
            Self::Ns(pair) if pair.receiver.wakeup() == due => pair.receiver.deadline(),
            _ => due,
        }
    }
}

/// The two halves of one end of a connection of ns-2's kind. In ns-2, they are separate: the agent
/// and the sink.
#[derive(Debug)]
struct NsPair {
    sender: NsSender,
    receiver: NsReceiver,
}

impl Connection {
    /// Makes the connection at this end of its flow.
    pub fn new(end: EndId, config: &TcpConfig) -> Self {
        let kind = match config {
            TcpConfig::Ns(config) => ConnectionKind::Ns(Box::new(NsPair::new(config))),
            TcpConfig::Rfc(config) => {
                ConnectionKind::Rfc(RfcEnd::Awake(Box::new(Tcb::new(config))))
            }
        };
        Self { end, kind, outbox: VecDeque::new(), ready: Time::ZERO, due: Time::NEVER }
    }

    /// Opens the connection actively (RFC 9293 §3.10.1).
    pub fn open(&mut self, now: Time, events: &mut Events<Segment>) {
        self.step_rfc(now, events, |tcb, cx| tcb.open(cx));
    }

    /// Waits until a peer opens the connection.
    pub fn listen(&mut self) {
        if let ConnectionKind::Rfc(end) = &mut self.kind {
            end.awake().listen();
        }
    }

    /// Accepts more octets to send. Their number is `octets`. They are sent when cwnd and the
    /// peer's window allow it. Opens the connection if it is not open. A connection that was closed
    /// or has ended accepts no octets.
    pub fn write(&mut self, now: Time, octets: u64, events: &mut Events<Segment>) {
        self.step(now, events, |kind, cx| match kind {
            ConnectionKind::Ns(pair) => pair.sender.on_write(octets, cx),
            ConnectionKind::Rfc(end) => end.awake().write(&WrittenPart::whole(octets), cx),
        });
    }

    /// Accepts a part of a write, from a host that copies each write into several buffers.
    /// [`write`](Self::write) accepts a whole write.
    pub fn write_part(&mut self, now: Time, part: &WrittenPart, events: &mut Events<Segment>) {
        self.step_rfc(now, events, |tcb, cx| tcb.write(part, cx));
    }

    /// Ends a record with the octets written so far. No segment carries octets of this record
    /// together with later octets (Linux's MSG_EOR).
    pub fn end_record(&mut self) {
        if let ConnectionKind::Rfc(end) = &mut self.kind {
            control::end_record(end.awake());
        }
    }

    /// Notes that the application has read `octets` octets of the arrived data. The call is needed
    /// only after [`read_by_hand`](Self::read_by_hand).
    pub fn read(&mut self, now: Time, octets: u64, events: &mut Events<Segment>) {
        self.step_rfc(now, events, |tcb, cx| tcb.read(octets, cx));
    }

    /// Sets whether an application has accepted the connection. The default is true. While the
    /// value is false, data beyond a hole (a range of octets that has not arrived) does not enlarge
    /// the receive buffer.
    pub fn set_accepted(&mut self, accepted: bool) {
        if let ConnectionKind::Rfc(end) = &mut self.kind {
            control::set_accepted(end.awake(), accepted);
        }
    }

    /// Sets the receive buffer to `octets` octets of memory, as an application does. The buffer
    /// then keeps this size. The call has no effect if the configuration does not count memory.
    pub fn set_receive_memory(&mut self, octets: u64) {
        if let ConnectionKind::Rfc(end) = &mut self.kind {
            control::set_receive_memory(end.awake(), octets);
        }
    }

    /// From now on, arrived data fills the receive window until [`read`](Self::read) is called.
    pub fn read_by_hand(&mut self) {
        if let ConnectionKind::Rfc(end) = &mut self.kind {
            control::read_by_hand(end.awake());
        }
    }

    /// Starts to sample the rate of delivery, even if the congestion control algorithm does not
    /// need it.
    pub fn sample_delivery(&mut self) {
        if let ConnectionKind::Rfc(end) = &mut self.kind {
            control::sample_delivery(end.awake());
        }
    }

    /// Closes the connection for writing: the application will write no more. The connection sends
    /// the data already written, and then a FIN. In LISTEN, and in SYN-SENT if no data was written,
    /// the connection ends immediately (RFC 9293 §3.10.4).
    pub fn close(&mut self, now: Time, events: &mut Events<Segment>) {
        self.step_rfc(now, events, |tcb, cx| tcb.close(cx));
    }

    /// Ends the connection immediately (RFC 9293 §3.10.5). Sends a reset in SYN-RECEIVED and in
    /// every later state in which at least one end has not sent its FIN. In CLOSING and LAST-ACK,
    /// sends a reset only if octets are unread (§3.6.1). In all other states, sends nothing.
    pub fn abort(&mut self, now: Time, events: &mut Events<Segment>) {
        self.step_rfc(now, events, |tcb, cx| tcb.abort(cx));
    }

    /// Ends the connection with a reset, because the peer did not answer keep-alive probes (RFC
    /// 9293 §3.8.4).
    pub fn break_off(&mut self, now: Time, events: &mut Events<Segment>) {
        self.step_rfc(now, events, control::break_off);
    }

    /// Sends a keep-alive probe: a segment without payload and with an old sequence number. The
    /// peer must answer it (RFC 9293 §3.8.4).
    pub fn probe_peer(&mut self, now: Time, events: &mut Events<Segment>) {
        self.step_rfc(now, events, control::probe_peer);
    }

    /// Changes switches of an open connection. Some switches are read once, when a connection is
    /// made. A change of one of these switches has no effect.
    pub fn adjust(&mut self, now: Time, change: impl FnOnce(&mut RfcConfig)) {
        if let ConnectionKind::Rfc(end) = &mut self.kind {
            control::adjust(end.awake(), change);
        }
        (self.ready, self.due) = (now.max(self.ready), self.kind.next_deadline());
    }

    /// Continues with another congestion control algorithm, from the present cwnd and ssthresh.
    pub fn set_congestion(&mut self, config: &CongestionConfig) {
        if let ConnectionKind::Rfc(end) = &mut self.kind {
            control::set_congestion(end.awake(), config);
        }
    }

    /// If `segment` may open a new connection in place of this connection, returns the initial
    /// sequence number of the new connection. A new connection is possible only in TIME-WAIT (RFC
    /// 9293 §3.6.1, RFC 6191 §2).
    pub fn successor(&self, segment: &Segment) -> Option<u32> {
        match &self.kind {
            ConnectionKind::Ns(_) => None,
            ConnectionKind::Rfc(end) => end.view(|tcb| control::successor(tcb, segment)),
        }
    }

    /// Ends the connection immediately, without a segment to the peer, because the peer does not
    /// answer (RFC 9293 §3.10.8, the user timeout).
    pub fn give_up(&mut self, now: Time) {
        self.fail(now, Failure::TimedOut);
    }

    /// Ends the connection immediately with [`Failure::Reset`], without a segment to the peer.
    pub fn reset_by_peer(&mut self, now: Time) {
        self.fail(now, Failure::Reset);
    }

    fn fail(&mut self, now: Time, failure: Failure) {
        if let ConnectionKind::Rfc(end) = &mut self.kind {
            end.awake().fail(failure);
        }
        (self.ready, self.due) = (now, self.kind.next_deadline());
    }

    /// Sends a held ACK if its hold (the wait of a delayed ACK) ends before an arrival at the
    /// instant `now`. The arrival was scheduled at the instant `since`; see
    /// [`Host::act_before`](crate::stage::Host::act_before). The call has an effect only on a
    /// connection of ns-2's kind.
    #[inline]
    pub fn act_before(&mut self, now: Time, since: Time, events: &mut Events<Segment>) {
        if let ConnectionKind::Ns(pair) = &self.kind
            && pair.receiver.ends_before(now, since)
        {
            self.step(now, events, |kind, cx| {
                if let ConnectionKind::Ns(pair) = kind {
                    pair.end_hold(cx);
                }
            });
        }
    }

    /// Sets whether a short segment waits while octets are outstanding (RFC 896). With
    /// [`minshall`](RfcConfig::minshall), it waits only while another short segment is outstanding.
    pub fn set_nagle(&mut self, now: Time, nagle: bool, events: &mut Events<Segment>) {
        self.step_rfc(now, events, |tcb, cx| tcb.hold_short(|short| short.nagle = nagle, cx));
    }

    /// Sets whether short segments wait for more octets (Linux's TCP_CORK). If nothing is
    /// outstanding, they wait for at most 200 ms or, with
    /// [`held_for_an_rto`](super::SendRules::held_for_an_rto), for an RTO.
    pub fn set_cork(&mut self, now: Time, corked: bool, events: &mut Events<Segment>) {
        self.step_rfc(now, events, |tcb, cx| tcb.hold_short(|short| short.corked = corked, cx));
    }

    /// Sets whether the host's own queue drops everything that leaves. With
    /// [`learns_drops`](super::SendRules::learns_drops), the sender sends no data while the queue
    /// drops everything. Without this switch, the call has no effect.
    pub fn set_queue_full(&mut self, now: Time, full: bool, events: &mut Events<Segment>) {
        self.step_rfc(now, events, |tcb, _| control::set_queue_full(tcb, full));
    }

    /// Sets whether the next arriving segments are acknowledged immediately (Linux's TCP_QUICKACK).
    pub fn set_quick_acks(&mut self, now: Time, quick: bool, events: &mut Events<Segment>) {
        self.step_rfc(now, events, |tcb, cx| tcb.set_quick_acks(quick, cx));
    }

    /// The state of RFC 9293 §3.3.2. A connection of ns-2's kind is always established.
    pub fn state(&self) -> TcpState {
        match &self.kind {
            ConnectionKind::Ns(_) => TcpState::Established,
            ConnectionKind::Rfc(end) => end.view(|tcb| tcb.life().state()),
        }
    }

    /// Whether the connection only waits for the end of TIME-WAIT (RFC 9293 §3.6.1). The connection
    /// need not be woken at the end of TIME-WAIT, because it treats any later segment as a closed
    /// connection does.
    pub fn only_in_time_wait(&self) -> bool {
        match &self.kind {
            ConnectionKind::Ns(_) => false,
            ConnectionKind::Rfc(end) => self.outbox.is_empty() && end.view(Tcb::only_in_time_wait),
        }
    }

    /// The reason for which the connection failed. The result is `None` if the connection has not
    /// failed.
    pub fn failure(&self) -> Option<Failure> {
        match &self.kind {
            ConnectionKind::Ns(_) => None,
            ConnectionKind::Rfc(end) => end.view(|tcb| tcb.life().failure()),
        }
    }

    /// The state of the connection. The result is `None` for ns-2's kind.
    pub fn info(&self) -> Option<ConnectionInfo> {
        match &self.kind {
            ConnectionKind::Ns(_) => None,
            ConnectionKind::Rfc(end) => Some(end.view(Tcb::info)),
        }
    }

    /// Whether the peer has closed, and all octets that it sent were delivered.
    #[inline]
    pub fn peer_closed(&self) -> bool {
        match &self.kind {
            ConnectionKind::Ns(_) => false,
            ConnectionKind::Rfc(end) => end.view(|tcb| tcb.receiver().is_closed()),
        }
    }

    /// Whether the receiving half accepts the sequence numbers of a segment, and the segment is not
    /// an old duplicate. A segment that comes before the connection is open is always accepted.
    pub fn accepts(&self, segment: &Segment, now: Time) -> bool {
        match &self.kind {
            ConnectionKind::Ns(_) => true,
            ConnectionKind::Rfc(end) => end.view(|tcb| control::accepts(tcb, segment, now)),
        }
    }

    /// Whether a segment ends beyond the octets that have arrived in order.
    pub fn expects(&self, segment: &Segment) -> bool {
        match &self.kind {
            ConnectionKind::Ns(_) => false,
            ConnectionKind::Rfc(end) => end.view(|tcb| tcb.receiver().expects(segment)),
        }
    }

    /// Whether the octet with the number `seq` on the wire is outstanding, or is the next octet to
    /// be sent.
    pub fn has_out(&self, seq: u32) -> bool {
        match &self.kind {
            ConnectionKind::Ns(_) => false,
            ConnectionKind::Rfc(end) => end.view(|tcb| tcb.sender().window.has_out(seq)),
        }
    }

    /// The number of octets that were written before the octet with the number `seq` on the wire.
    pub fn written_before(&self, seq: u32) -> u64 {
        match &self.kind {
            ConnectionKind::Ns(_) => 0,
            ConnectionKind::Rfc(end) => {
                end.view(|tcb| tcb.sender().window.octet(seq).saturating_sub(1))
            }
        }
    }

    /// Octets that arrived in order and were not read.
    pub fn unread(&self) -> u64 {
        match &self.kind {
            ConnectionKind::Ns(_) => 0,
            ConnectionKind::Rfc(end) => end.view(|tcb| tcb.receiver().unread()),
        }
    }

    /// Octets written and not yet acknowledged.
    #[inline]
    pub fn unacknowledged(&self) -> u64 {
        match &self.kind {
            ConnectionKind::Ns(pair) => pair.sender.tx.unacknowledged(),
            ConnectionKind::Rfc(end) => end.view(|tcb| tcb.sender().window.unacknowledged()),
        }
    }

    /// The results so far.
    pub fn totals(&self) -> ConnectionTotals {
        match &self.kind {
            ConnectionKind::Ns(pair) => ConnectionTotals {
                acked_bytes: pair.sender.tx.acknowledged(),
                sent: pair.sender.tx.count,
                times: None,
                received: pair.receiver.count,
                failure: None,
            },
            ConnectionKind::Rfc(end) => end.view(|tcb| ConnectionTotals {
                acked_bytes: tcb.sender().window.acknowledged(),
                sent: tcb.sender().count,
                times: Some(tcb.sender().times()),
                received: tcb.receiver().count,
                failure: tcb.life().failure(),
            }),
        }
    }

    /// The counts of the receiving half.
    pub fn received(&self) -> ReceiveCount {
        match &self.kind {
            ConnectionKind::Ns(pair) => pair.receiver.count,
            ConnectionKind::Rfc(end) => end.view(|tcb| tcb.receiver().count),
        }
    }

    /// Reduces the memory of a connection that waits for a long time. The reduction lasts until the
    /// next event of the connection. The call does not change what the connection does.
    pub fn rest(&mut self) {
        if self.outbox.is_empty() {
            self.outbox = VecDeque::new();
            if let ConnectionKind::Rfc(end) = &mut self.kind {
                end.rest();
            }
        }
    }

    /// Performs the action that is due at the next deadline.
    #[inline(never)]
    fn meet_deadline(&mut self, events: &mut Events<Segment>) {
        let at = self.kind.time_of(self.due);
        self.step(at, events, |kind, cx| match kind {
            ConnectionKind::Ns(pair) => pair.on_deadline(cx),
            ConnectionKind::Rfc(end) => end.awake().on_deadline(cx),
        });
    }

    /// Runs one step at the instant `now`. The step puts its segments into the outbox.
    fn step(
        &mut self,
        now: Time,
        events: &mut Events<Segment>,
        act: impl FnOnce(&mut ConnectionKind, &mut Context<'_>),
    ) {
        self.ready = now;
        let mut cx = Context { now, end: self.end, events, outbox: &mut self.outbox };
        act(&mut self.kind, &mut cx);
        self.due = self.kind.next_deadline();
    }

    /// Runs one step of an action that ns-2's kind does not have.
    fn step_rfc(
        &mut self,
        now: Time,
        events: &mut Events<Segment>,
        act: impl FnOnce(&mut Tcb, &mut Context<'_>),
    ) {
        self.step(now, events, |kind, cx| {
            if let ConnectionKind::Rfc(end) = kind {
                act(end.awake(), cx);
            }
        });
    }
}

#[cfg(test)]
impl Connection {
    /// Ends the effect of [`rest`](Self::rest), and changes nothing else.
    pub(super) fn wake(&mut self) {
        if let ConnectionKind::Rfc(end) = &mut self.kind {
            end.awake();
        }
    }
}

impl NsPair {
    fn new(config: &NsConfig) -> Self {
        Self { sender: NsSender::new(config), receiver: NsReceiver::new(config) }
    }

    #[inline(always)]
    fn on_segment(&mut self, segment: &Segment, cx: &mut Context<'_>) {
        let syn = segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::ACK);
        if segment.len > 0 || syn {
            if let Some(what) = self.receiver.on_data(segment, cx.now) {
                self.acknowledge(&what, cx);
            }
        } else if segment.flags.has(Flags::ACK) {
            self.sender.on_ack(segment, cx);
        }
    }

    fn on_deadline(&mut self, cx: &mut Context<'_>) {
        if self.receiver.wakeup() <= self.sender.tx.timer.deadline() {
            self.end_hold(cx);
        } else {
            self.sender.on_timeout(cx);
        }
    }

    fn end_hold(&mut self, cx: &mut Context<'_>) {
        let acknowledgment = self.receiver.on_deadline();
        self.acknowledge(&acknowledgment, cx);
    }

    #[inline(always)]
    fn acknowledge(&mut self, acknowledgment: &Acknowledgment, cx: &mut Context<'_>) {
        let mut segment = self.sender.tx.blank(cx);
        segment.ack = seq::to_wire(seq::SIMULATED_ISN, acknowledgment.next);
        if acknowledgment.of_syn {
            segment.flags = Flags::SYN.with(Flags::ACK);
            segment.seq = seq::to_wire(seq::SIMULATED_ISN, 0);
        }
        segment.set_stamp(acknowledgment.echo);
        // The blocks are added in the outbox. If the segment were completed on the stack and then
        // copied, the wide loads of the copy would wait for the narrow stores.
        cx.outbox.push_back(segment);
        if let Some(blocks) = self.receiver.sack_blocks(acknowledgment.newest)
            && let Some(segment) = cx.outbox.back_mut()
        {
            segment.set_sack(&blocks);
            // ns-2's sink counts 8 octets for each block, and nothing for the two octets of the
            // option itself.
            segment.size_bytes += 8 * u16::try_from(blocks.as_slice().len()).unwrap_or(0);
        }
    }
}

impl Stage<Segment> for Connection {
    #[inline(always)]
    fn push(&mut self, now: Time, _port: Port, segment: Segment, events: &mut Events<Segment>) {
        self.step(now, events, |kind, cx| match kind {
            ConnectionKind::Ns(pair) => pair.on_segment(&segment, cx),
            ConnectionKind::Rfc(end) => merged::on_segment(end.awake(), &segment, cx),
        });
    }

    #[inline]
    fn next_wakeup(&self) -> Option<Time> {
        if !self.outbox.is_empty() {
            return Some(self.ready);
        }
        (self.due < Time::NEVER).then_some(self.due)
    }

    #[inline(always)]
    fn pop(&mut self, now: Time, events: &mut Events<Segment>) -> Option<(Time, Port, Segment)> {
        while self.outbox.is_empty() {
            if self.due > now {
                return None;
            }
            self.meet_deadline(events);
        }
        let segment = self.outbox.pop_front()?;
        if self.outbox.is_empty() {
            // After `clear` the queue uses the start of its memory again, which is in the cache.
            self.outbox.clear();
        }
        // The segment is copied field by field, because it has just been written field by field.
        // Wider loads would wait until all fields have left the processor's store buffer. Code that
        // needs the segment's destination would then wait, too.
        Some((self.ready, 0, Segment { dest: self.end.peer(), ..segment }))
    }
}
