//! The fields of Linux's `tcp_info` and `SK_MEMINFO`. They hold the state of a connection and of
//! the memory of its socket.

use super::names::{name_in, named};

macro_rules! fields {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// A field of `tcp_info` or `SK_MEMINFO`, in Linux's units. If the description of a field
        /// only says what is counted, such as "Segments sent", the value is the number of these
        /// things.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum InfoField { $($(#[$doc])* $variant,)* }

        impl InfoField {
            /// Every field with its name.
            pub const ALL: &[(&'static str, InfoField)] = &[$(($name, InfoField::$variant),)*];
        }
    };
}

fields! {
    /// The state, as a number from 1 (`TCP_ESTABLISHED`) to 11 (`TCP_CLOSING`).
    State = "tcpi_state",
    /// The congestion state: open, disorder, CWR, recovery or loss.
    CaState = "tcpi_ca_state",
    /// Consecutive timeouts without an ACK of new data.
    Retransmits = "tcpi_retransmits",
    /// Unanswered window probes or keep-alive probes.
    Probes = "tcpi_probes",
    /// How often the current RTO has been doubled.
    Backoff = "tcpi_backoff",
    /// The negotiated options as bits: timestamps 1, SACK 2, window scaling 4, ECN 8, and 16 after
    /// an ECN-capable segment arrived.
    Options = "tcpi_options",
    /// The peer's window shift.
    SndWscale = "tcpi_snd_wscale",
    /// Our window shift.
    RcvWscale = "tcpi_rcv_wscale",
    /// The RTO in microseconds.
    Rto = "tcpi_rto",
    /// The delayed-ACK timeout in microseconds.
    Ato = "tcpi_ato",
    /// The payload of a full segment that we send, in bytes.
    SndMss = "tcpi_snd_mss",
    /// The estimated payload of a full segment of the peer, in bytes.
    RcvMss = "tcpi_rcv_mss",
    /// Segments sent but not acknowledged.
    Unacked = "tcpi_unacked",
    /// Segments that SACK has reported.
    Sacked = "tcpi_sacked",
    /// Segments that the sender considers lost.
    Lost = "tcpi_lost",
    /// Retransmitted segments that are outstanding.
    Retrans = "tcpi_retrans",
    /// The path MTU in bytes.
    Pmtu = "tcpi_pmtu",
    /// The smoothed round trip in microseconds.
    Rtt = "tcpi_rtt",
    /// The mean deviation of the round trip in microseconds.
    Rttvar = "tcpi_rttvar",
    /// ssthresh in segments.
    SndSsthresh = "tcpi_snd_ssthresh",
    /// cwnd in segments.
    SndCwnd = "tcpi_snd_cwnd",
    /// The MSS that we announced, less 12 bytes if segments carry timestamps.
    Advmss = "tcpi_advmss",
    /// How much reordering the sender tolerates, in segments.
    Reordering = "tcpi_reordering",
    /// The receiver's estimate of the round trip in microseconds.
    RcvRtt = "tcpi_rcv_rtt",
    /// The maximum number of bytes that the application read in a round trip.
    RcvSpace = "tcpi_rcv_space",
    /// The present limit of the receive window in bytes.
    RcvSsthresh = "tcpi_rcv_ssthresh",
    /// Segments retransmitted since the start.
    TotalRetrans = "tcpi_total_retrans",
    /// The pacing rate in bytes per second.
    PacingRate = "tcpi_pacing_rate",
    /// Bytes acknowledged since the start. A FIN and an active opener's SYN count as one byte each.
    BytesAcked = "tcpi_bytes_acked",
    /// Bytes received in order since the start; the FIN counts as one byte.
    BytesReceived = "tcpi_bytes_received",
    /// Segments sent.
    SegsOut = "tcpi_segs_out",
    /// Segments received.
    SegsIn = "tcpi_segs_in",
    /// Bytes written but not sent.
    NotsentBytes = "tcpi_notsent_bytes",
    /// The minimum round trip in microseconds.
    MinRtt = "tcpi_min_rtt",
    /// Data segments received.
    DataSegsIn = "tcpi_data_segs_in",
    /// Data segments sent.
    DataSegsOut = "tcpi_data_segs_out",
    /// The delivery rate in bytes per second.
    DeliveryRate = "tcpi_delivery_rate",
    /// 1 if the application limited the sample of the delivery rate, otherwise 0.
    DeliveryRateAppLimited = "tcpi_delivery_rate_app_limited",
    /// Segments delivered since the start.
    Delivered = "tcpi_delivered",
    /// Segments delivered with a CE mark.
    DeliveredCe = "tcpi_delivered_ce",
    /// Bytes sent, including retransmissions.
    BytesSent = "tcpi_bytes_sent",
    /// Bytes retransmitted.
    BytesRetrans = "tcpi_bytes_retrans",
    /// Duplicates that the peer reported with D-SACK.
    DsackDups = "tcpi_dsack_dups",
    /// How often reordering was seen.
    ReordSeen = "tcpi_reord_seen",
    /// Data segments that arrived beyond a gap.
    RcvOoopack = "tcpi_rcv_ooopack",
    /// Timeouts since the start.
    TotalRto = "tcpi_total_rto",
    /// How often a timeout changed the hash that selects the connection's path.
    Rehash = "tcpi_rehash",
    /// Always 0.
    Fackets = "tcpi_fackets",
    /// Always 0.
    LastAckSent = "tcpi_last_ack_sent",
    /// The peer's receive window in bytes.
    SndWnd = "tcpi_snd_wnd",
    /// Our receive window in bytes.
    RcvWnd = "tcpi_rcv_wnd",
    /// The busy time: how long data was outstanding or waited to be sent, in microseconds.
    BusyTime = "tcpi_busy_time",
    /// The part of the busy time in which the peer's window limited the sender, in microseconds.
    RwndLimited = "tcpi_rwnd_limited",
    /// The part of the busy time in which the send buffer limited the sender, in microseconds.
    SndbufLimited = "tcpi_sndbuf_limited",
    /// Milliseconds since data was sent.
    LastDataSent = "tcpi_last_data_sent",
    /// Milliseconds since data arrived.
    LastDataRecv = "tcpi_last_data_recv",
    /// Milliseconds since an ACK arrived.
    LastAckRecv = "tcpi_last_ack_recv",
    /// The size of the receive buffer in octets.
    ReceiveBufferSize = "SK_MEMINFO_RCVBUF",
    /// The octets of memory that the receive buffer uses, for data and for bookkeeping.
    ReceiveBufferUsed = "SK_MEMINFO_RMEM_ALLOC",
    /// The size of the send buffer in octets.
    SendBufferSize = "SK_MEMINFO_SNDBUF",
    /// The octets of memory that the send buffer uses, for data and for bookkeeping.
    SendBufferQueued = "SK_MEMINFO_WMEM_QUEUED",
}

impl InfoField {
    /// The name in a script.
    pub fn name(self) -> &'static str {
        name_in(Self::ALL, self)
    }

    /// The field called `name`.
    pub(super) fn named(name: &str) -> Option<InfoField> {
        named(Self::ALL, name)
    }
}

/// The numbers that have names in assertions.
pub(super) const CONSTANTS: [(&str, i64); 21] = [
    ("TCP_CA_Open", 0),
    ("TCP_CA_Disorder", 1),
    ("TCP_CA_CWR", 2),
    ("TCP_CA_Recovery", 3),
    ("TCP_CA_Loss", 4),
    ("TCP_ESTABLISHED", 1),
    ("TCP_SYN_SENT", 2),
    ("TCP_SYN_RECV", 3),
    ("TCP_FIN_WAIT1", 4),
    ("TCP_FIN_WAIT2", 5),
    ("TCP_TIME_WAIT", 6),
    ("TCP_CLOSE", 7),
    ("TCP_CLOSE_WAIT", 8),
    ("TCP_LAST_ACK", 9),
    ("TCP_LISTEN", 10),
    ("TCP_CLOSING", 11),
    ("TCPI_OPT_TIMESTAMPS", 1),
    ("TCPI_OPT_SACK", 2),
    ("TCPI_OPT_WSCALE", 4),
    ("TCPI_OPT_ECN", 8),
    ("TCPI_OPT_ECN_SEEN", 16),
];

/// The fields that a connection provides.
///
/// ```
/// use netspurt_scenario::script::{Info, InfoField};
/// let mut info = Info::default();
/// info.set(InfoField::SndCwnd, 10);
/// assert_eq!((info.get(InfoField::SndCwnd), info.get(InfoField::Rto)), (Some(10), None));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info {
    values: Vec<(InfoField, i64)>,
}

impl Info {
    /// The value of a field; `None` if the connection does not provide it.
    pub fn get(&self, field: InfoField) -> Option<i64> {
        self.values.iter().find(|(known, _)| *known == field).map(|(_, value)| *value)
    }

    /// Sets a field, in Linux's unit.
    pub fn set(&mut self, field: InfoField, value: i64) {
        self.values.retain(|(known, _)| *known != field);
        self.values.push((field, value));
    }
}
