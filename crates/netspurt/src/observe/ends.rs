//! The two ends of a packet.

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
    /// The addresses, of 32 bits or of 128.
    pub addresses: [u128; 2],
    /// The ports, as the first four octets of a TCP header have them.
    pub ports: u32,
    /// Whether the addresses are those of IPv6.
    pub six: bool,
}

impl From<[SocketAddr; 2]> for EndPair {
    fn from(ends: [SocketAddr; 2]) -> Self {
        let number = |end: SocketAddr| match end.ip() {
            IpAddr::V4(four) => u32::from(four).into(),
            IpAddr::V6(six) => u128::from(six),
        };
        Self {
            addresses: ends.map(number),
            ports: u32::from(ends[0].port()) << 16 | u32::from(ends[1].port()),
            six: ends[0].is_ipv6(),
        }
    }
}

impl EndPair {
    /// The pair in an order that does not depend on the sender, and whether it has this order.
    #[inline]
    pub fn ordered(self) -> (Self, bool) {
        let Self { addresses: [a, b], ports, six } = self;
        let [p, q] = [ports >> 16, ports & 0xffff];
        let ordered = match six {
            true => (a, p) <= (b, q),
            false => a << 16 | u128::from(p) <= b << 16 | u128::from(q),
        };
        let other = Self { addresses: [b, a], ports: ports.rotate_left(16), six };
        (if ordered { self } else { other }, ordered)
    }

    /// The ends as addresses of sockets.
    #[expect(clippy::cast_possible_truncation, reason = "an IPv4 address has 32 bits, a port 16")]
    pub fn sockets(self) -> [SocketAddr; 2] {
        let address = |number: u128| -> IpAddr {
            if self.six {
                Ipv6Addr::from(number).into()
            } else {
                Ipv4Addr::from(number as u32).into()
            }
        };
        let [a, b] = self.addresses.map(address);
        [SocketAddr::new(a, (self.ports >> 16) as u16), SocketAddr::new(b, self.ports as u16)]
    }
}
