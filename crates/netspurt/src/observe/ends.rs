//! The source and the destination of a packet.

use std::hash::{Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The source and the destination of a packet, as numbers that are quick to compare.
///
/// ```
/// use netspurt::observe::EndPair;
/// let ends = ["10.0.0.1:4000", "10.0.0.2:80"].map(|end| end.parse().unwrap());
/// assert_eq!(EndPair::from(ends).sockets(), ends);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndPair {
    source: EndAddress,
    destination: EndAddress,
    /// Both ports, in the form of the first four octets of a TCP header.
    ports: u32,
    /// Whether the addresses are IPv6 addresses.
    six: bool,
}

/// An address of 32 or 128 bits, as a number in two halves. The halves are separate for speed.
/// Otherwise the program would write a `u128` to memory in two pieces and read it in one piece. A
/// processor waits long for such a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct EndAddress {
    high: u64,
    low: u64,
}

impl From<u128> for EndAddress {
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the cast keeps one half, which has 64 bits"
    )]
    fn from(number: u128) -> Self {
        Self { high: (number >> 64) as u64, low: number as u64 }
    }
}

impl From<EndAddress> for u128 {
    fn from(EndAddress { high, low }: EndAddress) -> Self {
        Self::from(high) << 64 | Self::from(low)
    }
}

/// The hash covers only the addresses and the ports, so that hashing is fast.
impl Hash for EndPair {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let [a, b] = [self.source, self.destination];
        if self.six {
            state.write_u128(a.into());
            state.write_u128(b.into());
            state.write_u64(self.ports.into());
        } else {
            state.write_u64(a.low << 32 | b.low);
            state.write_u32(self.ports);
        }
    }
}

impl From<[SocketAddr; 2]> for EndPair {
    fn from(ends: [SocketAddr; 2]) -> Self {
        let number = |end: SocketAddr| match end.ip() {
            IpAddr::V4(four) => u32::from(four).into(),
            IpAddr::V6(six) => u128::from(six),
        };
        let ports = u32::from(ends[0].port()) << 16 | u32::from(ends[1].port());
        Self::new([number(ends[0]), number(ends[1])], ports, ends[0].is_ipv6())
    }
}

impl EndPair {
    /// Makes a pair from two addresses. If `six` is true, they are IPv6 addresses of 128 bits,
    /// otherwise IPv4 addresses of 32 bits. `ports` has the form of the first four octets of a TCP
    /// header.
    #[inline]
    pub fn new([source, destination]: [u128; 2], ports: u32, six: bool) -> Self {
        Self { source: source.into(), destination: destination.into(), ports, six }
    }

    /// Returns the pair in an order that does not depend on the sender, and whether the pair
    /// already had this order.
    #[inline]
    pub fn ordered(self) -> (Self, bool) {
        let Self { source: a, destination: b, ports, six } = self;
        let [p, q] = [ports >> 16, ports & 0xffff];
        let ordered = match six {
            true => (a, p) <= (b, q),
            false => a.low << 16 | u64::from(p) <= b.low << 16 | u64::from(q),
        };
        let other = Self { source: b, destination: a, ports: ports.rotate_left(16), six };
        (if ordered { self } else { other }, ordered)
    }

    /// Whether both ends are on one host: the addresses are equal, or both are loopback addresses
    /// (RFC 1122 §3.2.1.3, RFC 4291 §2.5.3).
    ///
    /// ```
    /// use netspurt::observe::EndPair;
    /// let is_within = |ends: [&str; 2]| {
    ///     EndPair::from(ends.map(|end| end.parse().unwrap())).is_within_one_host()
    /// };
    /// assert!(is_within(["127.0.0.1:4000", "127.0.0.53:53"]));
    /// assert!(is_within(["[2001:db8::1]:4000", "[2001:db8::1]:80"]));
    /// assert!(!is_within(["127.0.0.1:4000", "10.0.0.1:4000"]));
    /// ```
    pub fn is_within_one_host(self) -> bool {
        let is_loopback = |address: EndAddress| !self.six && address.low >> 24 == 127;
        let Self { source, destination, .. } = self;
        source == destination || is_loopback(source) && is_loopback(destination)
    }

    /// The address and the port of each end, the source first.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "an IPv4 address has 32 bits, and a port has 16"
    )]
    pub fn sockets(self) -> [SocketAddr; 2] {
        let address = |number: u128| -> IpAddr {
            if self.six {
                Ipv6Addr::from(number).into()
            } else {
                Ipv4Addr::from(number as u32).into()
            }
        };
        let [a, b] = [self.source, self.destination].map(|end| address(end.into()));
        [SocketAddr::new(a, (self.ports >> 16) as u16), SocketAddr::new(b, self.ports as u16)]
    }
}
