//! The state of a connection as Linux's `tcp_info` names it.

use super::call::name_in;

macro_rules! fields {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// A field of `tcp_info`, with Linux's units.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Field { $($(#[$doc])* $variant,)* }

        impl Field {
            /// Every field with its name.
            pub const ALL: &[(&'static str, Field)] = &[$(($name, Field::$variant),)*];
        }
    };
}

fields! {
    /// The state: `TCP_ESTABLISHED` is 1, `TCP_CLOSING` 11.
    State = "tcpi_state",
    /// Congestion state: open, disorder, CWR, recovery, loss.
    CaState = "tcpi_ca_state",
    /// Timeouts in a row without an acknowledgment.
    Retransmits = "tcpi_retransmits",
    /// Window probes not answered.
    Probes = "tcpi_probes",
    /// Doublings of the timer in force.
    Backoff = "tcpi_backoff",
    /// Bits of what was agreed: time stamps 1, SACK 2, window scaling 4, ECN 8.
    Options = "tcpi_options",
    /// The peer's shift.
    SndWscale = "tcpi_snd_wscale",
    /// Our shift.
    RcvWscale = "tcpi_rcv_wscale",
    /// Retransmission timer in microseconds.
    Rto = "tcpi_rto",
    /// Wait of a delayed ACK in microseconds.
    Ato = "tcpi_ato",
    /// Payload of a full segment sent, in octets.
    SndMss = "tcpi_snd_mss",
    /// The same of the peer's segments.
    RcvMss = "tcpi_rcv_mss",
    /// Segments sent and not acknowledged.
    Unacked = "tcpi_unacked",
    /// Segments reported by SACK.
    Sacked = "tcpi_sacked",
    /// Segments that count as lost.
    Lost = "tcpi_lost",
    /// Resends outstanding, in segments.
    Retrans = "tcpi_retrans",
    /// Path MTU in octets.
    Pmtu = "tcpi_pmtu",
    /// The receive window's threshold in octets.
    RcvSsthresh = "tcpi_rcv_ssthresh",
    /// Smoothed round trip in microseconds.
    Rtt = "tcpi_rtt",
    /// Its mean deviation in microseconds.
    Rttvar = "tcpi_rttvar",
    /// Slow start threshold in segments.
    SndSsthresh = "tcpi_snd_ssthresh",
    /// Congestion window in segments.
    SndCwnd = "tcpi_snd_cwnd",
    /// The segment size we announced.
    Advmss = "tcpi_advmss",
    /// Reordering the sender allows for, in segments.
    Reordering = "tcpi_reordering",
    /// The receiver's round trip in microseconds.
    RcvRtt = "tcpi_rcv_rtt",
    /// Octets the receiver has room for.
    RcvSpace = "tcpi_rcv_space",
    /// Resends in all, in segments.
    TotalRetrans = "tcpi_total_retrans",
    /// Pacing rate in octets a second.
    PacingRate = "tcpi_pacing_rate",
    /// Octets acknowledged in all.
    BytesAcked = "tcpi_bytes_acked",
    /// Octets received in all.
    BytesReceived = "tcpi_bytes_received",
    /// Segments sent.
    SegsOut = "tcpi_segs_out",
    /// Segments received.
    SegsIn = "tcpi_segs_in",
    /// Octets written and not sent.
    NotsentBytes = "tcpi_notsent_bytes",
    /// Least round trip in microseconds.
    MinRtt = "tcpi_min_rtt",
    /// Segments with data received.
    DataSegsIn = "tcpi_data_segs_in",
    /// Segments with data sent.
    DataSegsOut = "tcpi_data_segs_out",
    /// Rate of delivery in octets a second.
    DeliveryRate = "tcpi_delivery_rate",
    /// Segments delivered in all.
    Delivered = "tcpi_delivered",
    /// The same of marked ones.
    DeliveredCe = "tcpi_delivered_ce",
    /// Octets sent, resends included.
    BytesSent = "tcpi_bytes_sent",
    /// Octets sent again.
    BytesRetrans = "tcpi_bytes_retrans",
    /// Duplicates the peer reported.
    DsackDups = "tcpi_dsack_dups",
    /// Instances of reordering seen.
    ReordSeen = "tcpi_reord_seen",
    /// The peer's window in octets.
    SndWnd = "tcpi_snd_wnd",
    /// Our window in octets.
    RcvWnd = "tcpi_rcv_wnd",
}

impl Field {
    /// The name in a script.
    pub fn name(self) -> &'static str {
        name_in(Self::ALL, self)
    }

    /// The field called `name`.
    pub(super) fn named(name: &str) -> Option<Field> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, field)| *field)
    }
}

/// Names that stand for numbers in assertions.
pub(super) const CONSTANTS: [(&str, i64); 20] = [
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
];

/// What a connection tells of itself.
///
/// ```
/// use netspurt::script::{Field, Info};
/// let mut info = Info::default();
/// info.set(Field::SndCwnd, 10);
/// assert_eq!((info.get(Field::SndCwnd), info.get(Field::Rto)), (Some(10), None));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info {
    values: Vec<(Field, i64)>,
}

impl Info {
    /// The value of a field the connection tells.
    pub fn get(&self, field: Field) -> Option<i64> {
        self.values.iter().find(|(known, _)| *known == field).map(|(_, value)| *value)
    }

    /// Tells a field, in Linux's unit.
    pub fn set(&mut self, field: Field, value: i64) {
        self.values.retain(|(known, _)| *known != field);
        self.values.push((field, value));
    }
}
