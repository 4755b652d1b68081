//! The fields that are read from a captured TCP segment, whatever type stores the segment.

use crate::observe::Observed;
use crate::segment::{SynOptions, Timestamps};

/// How a TCP stack writes SYNs. Different stacks write different SYNs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SynStyle {
    /// The numbers of the SYN's options in their order, four bits each: 2 is MSS, 3 is window
    /// scale, 4 is SACK permitted, and 8 is timestamps. The last option has the lowest bits. Other
    /// options do not count.
    pub order: u16,
    /// The number of octets of all options, captured or not.
    pub options_bytes: u8,
    /// The TTL or hop limit, as captured.
    pub hop_limit: u8,
}

/// The fields of a captured segment that [`Observed`] lacks.
pub trait CapturedTcp: Observed {
    /// The IP identification. It is 0 for IPv6.
    fn ip_id(&self) -> u16;
    /// The flow label of IPv6. It is 0 for IPv4.
    fn flow_label(&self) -> u32;
    /// The number of octets of payload that were captured.
    fn captured_bytes(&self) -> u32;
    /// The advertised window, before scaling. `None` if the captured octets end before this field.
    fn advertised(&self) -> Option<u16>;
    /// The urgent pointer, which is valid if [`Flags::URG`](crate::segment::Flags::URG) is set.
    fn urgent(&self) -> u16;
    /// The timestamps option.
    fn timestamps(&self) -> Option<Timestamps>;
    /// The options of a SYN.
    fn syn_options(&self) -> SynOptions;
    /// How the sender writes SYNs, if this is a SYN.
    fn syn_style(&self) -> SynStyle;
    /// Whether the options were captured in full and are well-formed.
    fn options_whole(&self) -> bool;
    /// The number of octets of all options, captured or not.
    fn option_bytes(&self) -> u8;
}
