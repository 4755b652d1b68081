//! The overhead of a line: octets around each datagram, and bits for each octet.

/// Octets added to each frame and bits sent for each octet.
///
/// ```
/// use netspurt::link::Framing;
/// assert_eq!(Framing::NONE.line_bits(1000), 8000);
/// assert_eq!(Framing::SERIAL_8N1.line_bits(1000), 10_000);
/// assert_eq!(Framing::PPP_8N1.line_bits(1000), 10_080);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// Octets around each datagram.
    pub overhead_bytes: u32,
    /// Bits on the line for each octet.
    pub bits_per_octet: u32,
}

impl Framing {
    /// No overhead.
    pub const NONE: Framing = Framing { overhead_bytes: 0, bits_per_octet: 8 };

    /// An asynchronous serial line: a start bit, eight data bits, no parity, one stop bit.
    pub const SERIAL_8N1: Framing = Framing { overhead_bytes: 0, bits_per_octet: 10 };

    /// PPP in HDLC-like framing (RFC 1662 §3.1): flag, address, control, two octets of protocol,
    /// two octets of frame check sequence, flag.
    ///
    /// departs: RFC 1662 §4.2 - no octets are added for transparency, because simulated payload has
    /// no values to escape.
    pub const PPP: Framing = Framing { overhead_bytes: 8, bits_per_octet: 8 };

    /// PPP over an asynchronous serial line.
    pub const PPP_8N1: Framing = Framing { overhead_bytes: 8, bits_per_octet: 10 };

    /// Bits on the line for a datagram of `size` octets.
    pub const fn line_bits(self, size: u32) -> u64 {
        (size as u64 + self.overhead_bytes as u64) * self.bits_per_octet as u64
    }
}
