//! Packets as a script (a test in packetdrill's notation) writes them: in one line, with relative
//! numbers.

use core::fmt;

use netspurt::segment::{Ecn, Flags, SackBlock, Timestamps};

use super::names::name_in;

/// The ECN codepoint that a script writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnMark {
    /// `[noecn]`: not ECN-capable.
    NotCapable,
    /// `[ect0]`.
    Ect0,
    /// `[ect1]`.
    Ect1,
    /// `[ect01]`: `[ect0]` or `[ect1]`; only for outbound packets.
    Either,
    /// `[ce]`: congestion experienced.
    Ce,
}

impl EcnMark {
    /// Every codepoint with its name.
    pub(super) const ALL: [(&'static str, EcnMark); 5] = [
        ("noecn", EcnMark::NotCapable),
        ("ect0", EcnMark::Ect0),
        ("ect1", EcnMark::Ect1),
        ("ect01", EcnMark::Either),
        ("ce", EcnMark::Ce),
    ];

    /// The name between the brackets.
    pub fn name(self) -> &'static str {
        name_in(&Self::ALL, self)
    }

    /// The codepoint on the wire. [`Either`](Self::Either) has the codepoint of `[ect0]`.
    pub const fn codepoint(self) -> Ecn {
        match self {
            EcnMark::NotCapable => Ecn::NOT_ECT,
            EcnMark::Ect0 | EcnMark::Either => Ecn::ECT0,
            EcnMark::Ect1 => Ecn::ECT1,
            EcnMark::Ce => Ecn::CE,
        }
    }

    /// Converts a codepoint on the wire.
    pub(super) fn of(ecn: Ecn) -> Self {
        let found =
            Self::ALL.iter().find(|(_, mark)| *mark != EcnMark::Either && mark.codepoint() == ecn);
        found.expect("two bits have four values").1
    }
}

/// TCP options. Their order and their padding, `nop` and `eol`, are ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PacketOptions {
    /// `mss 1460`.
    pub mss: Option<u16>,
    /// `sackOK`.
    pub sack_permitted: bool,
    /// `TS val 1 ecr 2`, in the numbers of the script. The numbers on the wire may differ.
    pub timestamps: Option<Timestamps>,
    /// `wscale 7`.
    pub window_scale: Option<u8>,
    /// `sack 1001:2001 3001:4001`, with relative numbers. There are at most four blocks, or
    /// three if there are timestamps.
    pub sack: Vec<SackBlock>,
}

impl PacketOptions {
    /// Returns the size of the options in the TCP header in bytes. Each option is padded to whole
    /// words of four bytes, as TCP stacks do.
    pub(super) fn size_bytes(&self) -> u16 {
        let blocks = u16::try_from(self.sack.len()).expect("four at most");
        let mss = if self.mss.is_some() { 4 } else { 0 };
        let stamps = if self.timestamps.is_some() { 12 } else { 0 };
        // SACK-permitted takes the place of the padding of the timestamps.
        let permitted = if self.sack_permitted && stamps == 0 { 4 } else { 0 };
        let scale = if self.window_scale.is_some() { 4 } else { 0 };
        let sack = if blocks > 0 { 4 + 8 * blocks } else { 0 };
        mss + stamps + permitted + scale + sack
    }
}

/// A packet that a script injects or expects.
///
/// Sequence numbers count from the initial sequence number of their sender: the SYN is 0, and the
/// first byte of data is 1. They wrap as on the wire.
///
/// ```
/// use netspurt_scenario::script::{ScriptAction, Script};
/// let script = Script::parse("a.pkt", "0 > . 1:1461(1460) ack 1 <...>")?;
/// let ScriptAction::Outbound(packet) = &script.events[0].action else { panic!() };
/// assert_eq!((packet.seq, packet.len, packet.ack), (1, 1460, Some(1)));
/// assert_eq!(packet.to_string(), ". 1:1461(1460) ack 1 <...>");
/// # Ok::<(), netspurt_scenario::script::ScriptError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptPacket {
    /// The ECN codepoint; `None` if the script does not write one.
    pub ecn: Option<EcnMark>,
    /// Control bits.
    pub flags: Flags,
    /// The number of the first byte of payload, or of the SYN or FIN.
    pub seq: u32,
    /// The length of the payload in bytes.
    pub len: u16,
    /// The acknowledgment number. Without the flag `.`, there is no number. With this flag but
    /// without `ack`, the number is 0.
    pub ack: Option<u32>,
    /// The window field of the TCP header, before window scaling; `None` if the script does not
    /// write one.
    pub window: Option<u16>,
    /// The options; `None` stands for `<...>`, which matches any options.
    pub options: Option<PacketOptions>,
}

/// The letters of the control bits, in the order in which they are written.
pub(super) const FLAG_LETTERS: [(char, Flags); 7] = [
    ('F', Flags::FIN),
    ('S', Flags::SYN),
    ('R', Flags::RST),
    ('P', Flags::PSH),
    ('.', Flags::ACK),
    ('E', Flags::ECE),
    ('W', Flags::CWR),
];

/// Control bits as letters, or `-` for none.
pub(super) struct Letters(pub(super) Flags);

impl fmt::Display for Letters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if FLAG_LETTERS.iter().all(|(_, flag)| !self.0.has(*flag)) {
            return write!(f, "-");
        }
        let set = FLAG_LETTERS.iter().filter(|(_, flag)| self.0.has(*flag));
        set.into_iter().try_for_each(|(letter, _)| write!(f, "{letter}"))
    }
}

impl fmt::Display for PacketOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        parts.extend(self.mss.map(|mss| format!("mss {mss}")));
        parts.extend(self.sack_permitted.then(|| "sackOK".to_owned()));
        parts.extend(self.timestamps.map(|ts| format!("TS val {} ecr {}", ts.val, ts.ecr)));
        parts.extend(self.window_scale.map(|shift| format!("wscale {shift}")));
        if !self.sack.is_empty() {
            let blocks: Vec<String> =
                self.sack.iter().map(|block| format!("{}:{}", block.left, block.right)).collect();
            parts.push(format!("sack {}", blocks.join(" ")));
        }
        write!(f, "{}", parts.join(", "))
    }
}

impl fmt::Display for ScriptPacket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(mark) = self.ecn {
            write!(f, "[{}] ", mark.name())?;
        }
        let end = self.seq.wrapping_add(self.len.into());
        write!(f, "{} {}:{end}({})", Letters(self.flags), self.seq, self.len)?;
        if let Some(ack) = self.ack {
            write!(f, " ack {ack}")?;
        }
        if let Some(window) = self.window {
            write!(f, " win {window}")?;
        }
        match &self.options {
            None => write!(f, " <...>"),
            Some(options) if *options == PacketOptions::default() => Ok(()),
            Some(options) => write!(f, " <{options}>"),
        }
    }
}
