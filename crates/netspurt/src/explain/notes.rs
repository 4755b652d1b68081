//! Notes on a capture, which say how far the results for its connections can be trusted.

use core::ops::Add;

use crate::units::PacketCount;
use crate::wire::{CapturedPacket, LinkType};

use super::Disorder;

/// Properties of a capture that limit what its packets show.
///
/// ```
/// use netspurt::explain::CaptureNotes;
/// use netspurt::wire::{CapturedPacket, LinkType};
/// let mut notes = CaptureNotes::default();
/// let (link, interface, original_bytes) = (LinkType(999), 0, 0);
/// for unix_ns in [50_000, 20_000, 19_000] {
///     let bytes = &[];
///     let packet = CapturedPacket { unix_ns, timed: true, link, interface, original_bytes, bytes };
///     notes.take(&packet);
///     notes.unread(&packet);
/// }
/// assert_eq!((notes.back, notes.back_ns_max, notes.unread), (1, 30_000, Some((LinkType(999), 3))));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CaptureNotes {
    /// The number of packets without a time, or with a time that 64 bits of nanoseconds cannot
    /// hold. They get the time of the packet before them.
    pub untimed: u64,
    /// The number of packets whose time is earlier than the time of the packet before them, by
    /// [`STEP_NS_MIN`](Self::STEP_NS_MIN) or more.
    pub back: u64,
    /// The longest step back from the time of a packet to the time of the next, in nanoseconds.
    pub back_ns_max: u64,
    /// The number of packets whose time is before 1970. They count as captured at the beginning of
    /// 1970.
    pub early: u64,
    /// The number of packets that are TCP or may be TCP, and whose headers the snap length cut.
    pub cut: u64,
    /// The number of ICMP reports that outstanding packets were too big for the path, and the
    /// smallest packet size limit that these reports give, in octets. The limit is 0 if no report
    /// gives one.
    pub too_big: (u64, u32),
    /// The first link type that cannot be read, and the number of packets from links of such types.
    pub unread: Option<(LinkType, u64)>,
    /// First, the number of TCP packets in tunnels. Second, the number of packets that were
    /// captured in a tunnel and also outside of it. The second capture of such a packet has no
    /// other effect.
    pub tunnels: (u64, u64),
    /// The number of TCP packets.
    pub tcp: u64,
    /// The number of TCP packets that are copies of earlier packets.
    pub copies: u64,
    /// The longest time from a packet to its copy, in nanoseconds.
    pub copies_ns_max: u64,
    /// The number of packets that the capture lacks, as the interface statistics of pcapng report.
    pub dropped: u64,
    /// How many packets of connections are out of order, and by how much time.
    pub disorder: Disorder,
    /// The time of the last packet, in nanoseconds since 1970.
    last_ns: Option<i64>,
}

impl CaptureNotes {
    /// Shorter steps back are not noted. A host takes the time of a packet, and stores the packet
    /// afterwards. If two of its processors do this for two packets at once, the packet with the
    /// later time may be stored first. The step is then a part of the time that a processor needs
    /// for a packet, which is a few microseconds. So the measured times are wrong by a few
    /// microseconds at most.
    pub const STEP_NS_MIN: u64 = 10_000;
    /// If the number of copies is at least the number of packets of TCP divided by
    /// `SHARE_OF_COPIES`, the capture was taken at several points.
    const SHARE_OF_COPIES: u64 = 4;
    /// If the number of packets out of order is less than the number of packets of TCP divided by
    /// `SHARE_LATE`, the path may have reordered them. Then there is no note.
    const SHARE_LATE: u64 = 1000;

    /// Takes the next packet.
    #[inline]
    pub fn take(&mut self, packet: &CapturedPacket<'_>) {
        let last_ns = self.last_ns.replace(packet.unix_ns).unwrap_or(packet.unix_ns);
        if !packet.timed || packet.unix_ns < last_ns.max(0) {
            self.take_odd(packet, last_ns);
        }
    }

    /// Takes a packet without a time, or with a time before 1970 or before the previous packet.
    #[cold]
    fn take_odd(&mut self, packet: &CapturedPacket<'_>, last_ns: i64) {
        self.untimed += u64::from(!packet.timed);
        self.early += u64::from(packet.timed && packet.unix_ns < 0);
        let step_ns = last_ns.saturating_sub(packet.unix_ns).max(0).unsigned_abs();
        if step_ns >= Self::STEP_NS_MIN {
            self.back += 1;
            self.back_ns_max = self.back_ns_max.max(step_ns);
        }
    }

    /// Takes a packet that could not be read. Counts it if its link type is not supported.
    #[cold]
    pub fn unread(&mut self, packet: &CapturedPacket<'_>) {
        if !packet.link.is_supported() {
            let (first, count) = self.unread.unwrap_or((packet.link, 0));
            self.unread = Some((first, count + 1));
        }
    }

    /// Counts a packet whose TCP header was not captured in full.
    #[cold]
    pub fn headers_cut(&mut self) {
        self.cut += 1;
    }

    /// Counts a report that a packet was too big for the path. `mtu` is the limit that the report
    /// gives, in octets. It is 0 if the report gives none.
    #[cold]
    pub fn too_big(&mut self, mtu: u32) {
        self.too_big = Self::add_too_big(self.too_big, (1, mtu));
    }

    /// Counts a packet that was in `tunnels` tunnels.
    pub fn tunnelled(&mut self, tunnels: u8) {
        self.tunnels.0 += u64::from(tunnels > 0);
    }

    /// Counts a packet that was captured in a tunnel and outside of it.
    #[cold]
    pub fn repeated(&mut self) {
        self.tunnels.1 += 1;
    }

    /// The note on packets in tunnels.
    fn tunnels_line(&self) -> Option<String> {
        let (inside, twice) = self.tunnels;
        let s = if inside == 1 { " was" } else { "s were" };
        let opened = (inside > 0).then(|| {
            format!(
                "{inside} packet{s} in tunnels (IP in IP, GRE, VXLAN or Geneve); the addresses are \
                 those of the packets in the tunnels"
            )
        });
        let again = match twice {
            0 => None,
            1 => Some(
                "1 packet was captured in a tunnel and also outside of it, and counts once".into(),
            ),
            _ => Some(format!(
                "{twice} packets were captured in a tunnel and also outside of it, and count once"
            )),
        };
        opened.into_iter().chain(again).reduce(|opened, again| format!("{opened}; {again}"))
    }

    /// Adds two counts of reports that packets were too big. Each count comes with the smallest
    /// limit of its reports. 0 means that no report gives a limit.
    fn add_too_big((count, mtu): (u64, u32), (more, other): (u64, u32)) -> (u64, u32) {
        let least = if mtu == 0 || other == 0 { mtu.max(other) } else { mtu.min(other) };
        (count + more, least)
    }

    /// The lines about packets whose times are missing or wrong.
    fn times_lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.untimed > 0 {
            lines.push(format!(
                "the capture has {} without a time, or with a time that 64 bits of nanoseconds \
                 cannot hold; each gets the time of the packet before it",
                PacketCount(self.untimed)
            ));
        }
        if self.early > 0 {
            lines.push(format!(
                "the capture has {} with a time before 1970; such a time counts as the beginning \
                 of 1970",
                PacketCount(self.early)
            ));
        }
        if self.back > 0 {
            lines.push(format!(
                "the capture has {} with a time up to {} ms earlier than the time of the previous \
                 packet; round trips across such a step back are not measured, and other times \
                 across it are wrong; if the clock was not set back, sort the packets first: \
                 reordercap FILE NEW",
                PacketCount(self.back),
                self.back_ns_max as f64 / 1e6
            ));
        }
        lines
    }

    /// The note on the packets that the capture lacks.
    fn dropped_line(&self) -> Option<String> {
        (self.dropped > 0).then(|| {
            format!(
                "the capture lacks {}, as its interface statistics report; without these packets, \
                 causes and verdicts may be wrong",
                PacketCount(self.dropped)
            )
        })
    }

    /// The notes in words, one per line. Empty if there is nothing to note.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some((LinkType(number), count)) = self.unread {
            lines.push(format!("link type {number} cannot be read: {}", PacketCount(count)));
        }
        if self.cut > 0 {
            lines.push(format!(
                "the snap length cut the TCP headers of {}: SACK blocks and timestamps may be \
                 missing, so causes and verdicts may be wrong; capture at least 128 octets of each \
                 packet",
                PacketCount(self.cut)
            ));
        }
        lines.extend(self.times_lines());
        lines.extend(self.dropped_line());
        lines.extend(self.tunnels_line());
        if let (count @ 1.., mtu) = self.too_big {
            let limit = if mtu == 0 { String::new() } else { format!(", {mtu} octets") };
            lines.push(format!(
                "routers dropped packets that exceeded the limit of the path{limit}, and reported \
                 this by ICMP ({}); a retransmission that comes immediately after such a report \
                 has the cause `packet too big`",
                PacketCount(count)
            ));
        }
        if self.disorder.packets > 1 && self.disorder.packets >= self.tcp / Self::SHARE_LATE {
            lines.push(format!(
                "the capture is out of order, as if packets came through several queues or \
                 captures were joined: {} were captured up to {} after packets that had \
                 followed them on the path; the results use the order of the path",
                PacketCount(self.disorder.packets),
                milliseconds(self.disorder.late_max.as_nanos())
            ));
        }
        if self.copies > 0 && self.copies >= self.tcp / Self::SHARE_OF_COPIES {
            lines.push(format!(
                "the capture has packets from several points of the path: {} of {} are copies of \
                 earlier packets, up to {} later; causes and verdicts ignore the copies, but \
                 the rows of connections count them; for better results, capture at one point \
                 only, beside the sender if possible",
                PacketCount(self.copies),
                self.tcp,
                milliseconds(self.copies_ns_max)
            ));
        }
        lines
    }
}

/// A span of nanoseconds in words.
fn milliseconds(ns: u64) -> String {
    if ns < 1000 { "0.001 ms".into() } else { format!("{:.3} ms", ns as f64 / 1e6) }
}

/// Adds the notes on two captures.
impl Add for CaptureNotes {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let unread = match (self.unread, other.unread) {
            (Some((first, count)), Some((_, more))) => Some((first, count + more)),
            (one, another) => one.or(another),
        };
        Self {
            untimed: self.untimed + other.untimed,
            back: self.back + other.back,
            back_ns_max: self.back_ns_max.max(other.back_ns_max),
            early: self.early + other.early,
            tcp: self.tcp + other.tcp,
            copies: self.copies + other.copies,
            copies_ns_max: self.copies_ns_max.max(other.copies_ns_max),
            dropped: self.dropped.saturating_add(other.dropped),
            disorder: self.disorder + other.disorder,
            cut: self.cut + other.cut,
            tunnels: (self.tunnels.0 + other.tunnels.0, self.tunnels.1 + other.tunnels.1),
            too_big: Self::add_too_big(self.too_big, other.too_big),
            unread,
            last_ns: None,
        }
    }
}
