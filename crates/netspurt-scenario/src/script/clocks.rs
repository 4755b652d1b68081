//! The times that the host of a script records for its connection, as Linux records them. The
//! connection itself records other times. Names such as `tcp_chrono` are names in Linux's sources.
//! A script is a test in packetdrill's notation.

use netspurt::clock::Clock;
use netspurt::segment::{Cause, Flags, Segment};
use netspurt::seq::is_before;
use netspurt::tcp::{ConnectionInfo, TcpState};
use netspurt::units::{Duration, Time};

use super::info::{Info, InfoField};
use super::send_buffer::SendProgress;

/// What limits a sender at an instant (`tcp_chrono`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Limit {
    /// Nothing limits the sender, because the handshake is not over, the connection is closed, or
    /// no data is unsent or outstanding.
    #[default]
    Idle,
    /// Only the network limits the sender.
    Busy,
    /// cwnd has room for the next segment, but the peer's window has no room for it.
    PeerWindow,
    /// A call waits for room in the send buffer, all written data is sent, and cwnd has room.
    SendBuffer,
}

/// The times that the host records for a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HostClocks {
    limit: Limit,
    /// The sums `busy`, `peer_window` and `send_buffer` include the time up to this instant.
    until: Time,
    /// How long the network alone limited the sender.
    busy: Duration,
    /// How long the peer's window limited the sender.
    peer_window: Duration,
    /// How long the send buffer limited the sender.
    send_buffer: Duration,
    /// When data last arrived.
    data_received: Time,
    /// When data was last sent.
    data_sent: Time,
    /// When an ACK last arrived.
    ack_received: Time,
    /// The sequence number, as on the wire, that follows the newest sent octet.
    newest: Option<u32>,
    /// When the first retransmission since the last ACK of new octets was sent.
    repeats_since: Option<Time>,
    /// The numbers of segments that arrived and that were sent, as Linux counts them for a socket.
    segments: (u64, u64),
    /// `TCP_USER_TIMEOUT`.
    user_timeout: Option<Duration>,
}

impl HostClocks {
    /// Begins to record the times of a new connection.
    pub(super) fn begin(&mut self, now: Time) {
        let user_timeout = self.user_timeout;
        *self = Self { until: now, user_timeout, ..Self::default() };
    }

    /// Counts a segment that arrived.
    pub(super) fn count_received(&mut self) {
        self.segments.0 += 1;
    }

    /// Called when the handshake is over. Linux makes the socket of a passive opener only now
    /// (`tcp_create_openreq_child`). The new socket counts the SYN and the last segment of the
    /// handshake as received.
    pub(super) fn open(&mut self, now: Time, passive: bool) {
        if passive {
            self.segments = (2, 0);
        }
        (self.data_received, self.data_sent, self.ack_received) = (now, now, now);
    }

    /// Called when the connection accepted a segment. `has_news` says whether the segment completed
    /// the handshake or acknowledged new octets.
    pub(super) fn received(&mut self, segment: &Segment, has_news: bool, now: Time) {
        if segment.len > 0 {
            self.data_received = now;
        }
        if segment.flags.has(Flags::ACK) {
            self.ack_received = now;
        }
        if has_news {
            self.repeats_since = None;
        }
    }

    /// Called when a segment is sent.
    pub(super) fn sent(&mut self, segment: &Segment, now: Time) {
        self.segments.1 += 1;
        let extra =
            [Flags::SYN, Flags::FIN].iter().filter(|flag| segment.flags.has(**flag)).count();
        let occupied = u32::from(segment.len) + u32::try_from(extra).unwrap_or(0);
        if segment.len > 0 {
            self.data_sent = now;
        }
        let end = segment.seq.wrapping_add(occupied);
        match self.newest {
            // Octets before `newest` were sent before, so this segment is a retransmission. An
            // empty window probe counts as one, because it has an old sequence number. A tail loss
            // probe does not count as one (`retrans_stamp`).
            Some(newest) if is_before(end, newest) || occupied > 0 && end == newest => {
                if segment.cause.get() != Some(Cause::Tlp) {
                    self.repeats_since.get_or_insert(now);
                }
            }
            _ => self.newest = Some(end),
        }
    }

    /// Called while the host's queue drops everything and probes are unanswered. Each of these
    /// probes is a window probe, or it tries to send a dropped segment again. Both kinds of probes
    /// count as retransmissions.
    pub(super) fn repeated(&mut self, now: Time) {
        self.repeats_since.get_or_insert(now);
    }

    /// Adds the time up to `now` to the sums, and records what limits the sender from then on.
    pub(super) fn advance(
        &mut self,
        now: Time,
        info: &ConnectionInfo,
        send: (&SendProgress, bool),
        clock: Clock,
    ) {
        let span = clock.jiffies_between(self.until, now);
        self.until = now;
        match self.limit {
            Limit::Idle => {}
            Limit::Busy => self.busy = self.busy + span,
            Limit::PeerWindow => self.peer_window = self.peer_window + span,
            Limit::SendBuffer => self.send_buffer = self.send_buffer + span,
        }
        self.limit = limit(info, send);
    }

    /// Returns the instant at which the last segment of the peer arrived
    /// (`keepalive_time_elapsed`).
    pub(super) fn quiet_since(&self) -> Time {
        self.data_received.max(self.ack_received)
    }

    pub(super) fn set_user_timeout(&mut self, timeout: Option<Duration>) {
        self.user_timeout = timeout;
    }

    pub(super) fn user_timeout(&self) -> Option<Duration> {
        self.user_timeout
    }

    /// Returns the instant at which the connection is given up because the peer does not answer.
    pub(super) fn gives_up_at(&self) -> Option<Time> {
        Some(self.repeats_since? + self.user_timeout?)
    }

    /// Sets the fields of `info` that these clocks determine.
    pub(super) fn fill_info(&self, info: &mut Info, now: Time, clock: Clock) {
        let millis = |at: Time| micros(clock.jiffies_between(at, now)) / 1000;
        let since = clock.jiffies_between(self.until, now);
        let with = |limit: Limit, sum: Duration| {
            micros(if self.limit == limit { sum + since } else { sum })
        };
        let (peer_window, send_buffer) =
            (with(Limit::PeerWindow, self.peer_window), with(Limit::SendBuffer, self.send_buffer));
        // During all three of these times, the sender had data. So the busy time is their sum.
        info.set(InfoField::BusyTime, with(Limit::Busy, self.busy) + peer_window + send_buffer);
        info.set(InfoField::RwndLimited, peer_window);
        info.set(InfoField::SndbufLimited, send_buffer);
        let count = |segments| i64::try_from(segments).unwrap_or(i64::MAX);
        info.set(InfoField::SegsIn, count(self.segments.0));
        info.set(InfoField::SegsOut, count(self.segments.1));
        info.set(InfoField::LastDataSent, millis(self.data_sent));
        info.set(InfoField::LastDataRecv, millis(self.data_received));
        info.set(InfoField::LastAckRecv, millis(self.ack_received));
    }
}

fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_nanos() / 1000).unwrap_or(i64::MAX)
}

/// Returns what limits a sender. `progress` is the state of the connection that matters to the send
/// buffer. `is_awaited` says whether a writer waits for room in this buffer.
fn limit(info: &ConnectionInfo, (progress, is_awaited): (&SendProgress, bool)) -> Limit {
    let has_cwnd = progress.flight_segs < progress.cwnd_segs;
    let opening = matches!(info.state, TcpState::Closed | TcpState::Listen | TcpState::SynSent);
    if info.flight == 0 && info.unsent == 0 || opening || info.state == TcpState::SynReceived {
        Limit::Idle
    } else if info.unsent > 0 {
        let next = info.unsent.min(progress.smss);
        let room = info.peer_window.saturating_sub(info.flight);
        if has_cwnd && room < next { Limit::PeerWindow } else { Limit::Busy }
    } else if is_awaited && has_cwnd {
        Limit::SendBuffer
    } else {
        Limit::Busy
    }
}
