//! The addresses of the two ends of the connection, and the conversion between packets and
//! segments.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use netspurt::segment::Segment;
use netspurt::wire::{Checks, Decoded, IpHead, Packet, TcpHead, decode, encode};
use netspurt_scenario::script::{Unreachable, UnreachableCode};

/// Our address until a call binds an address or a packet arrives.
const OWN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 168, 0, 1)), 40_000);

/// What arrives in a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Incoming {
    /// A segment.
    Segment(Segment),
    /// An ICMP message which says that a packet of our host did not reach its destination.
    Unreachable(Unreachable),
}

/// The protocol number of ICMP.
const ICMP: u8 = 1;
/// The type of the ICMP message "destination unreachable" (RFC 792).
const UNREACHABLE: u8 = 3;
/// The number of octets of an ICMP header.
const ICMP_HEADER_BYTES: usize = 8;

/// Returns the ICMP message in an IPv4 packet. Returns `None` for any other packet.
fn icmp(packet: &[u8]) -> Option<&[u8]> {
    let (protocol, at) = IpHead::of(packet).filter(|head| matches!(head, IpHead::V4(_)))?.payload();
    packet.get(at..).filter(|_| protocol == ICMP)
}

/// Reads an ICMP message "destination unreachable".
fn message_of(message: &[u8]) -> Result<Unreachable, String> {
    let [UNREACHABLE, number, ..] = *message else {
        return Err("a message of ICMP other than `unreachable`".to_owned());
    };
    let code = UnreachableCode::numbered(number)
        .ok_or_else(|| format!("the code {number} of `icmp unreachable`"))?;
    let quoted = message.get(ICMP_HEADER_BYTES..).unwrap_or_default();
    let tcp = IpHead::of(quoted).and_then(|head| quoted.get(head.payload().1..));
    let seq = tcp.and_then(|tcp| TcpHead::quoted(tcp).1);
    Ok(Unreachable { code, seq: seq.ok_or("a message of ICMP that quotes no packet")? })
}

/// The addresses of the connection, as far as they are known.
#[derive(Clone, Copy, Debug, Default)]
pub struct WireEnds {
    own: Option<SocketAddr>,
    peer: Option<SocketAddr>,
    /// Whether sockets have IPv6 addresses. Such addresses are IPv4-mapped.
    mapped: bool,
    /// The IP identification of the last packet that left. Each packet adds 1 to it.
    ip_id: u16,
}

impl WireEnds {
    /// Sets our address to the address that a call named.
    ///
    /// # Errors
    /// When the address is an IPv6 address that is not IPv4-mapped.
    pub fn bind(&mut self, own: SocketAddr) -> Result<(), String> {
        self.own = Some(of_ipv4(own)?);
        Ok(())
    }

    /// Sets the peer's address to the address that a call named.
    ///
    /// # Errors
    /// When the address is an IPv6 address that is not IPv4-mapped.
    pub fn connect(&mut self, peer: SocketAddr) -> Result<(), String> {
        self.peer = Some(of_ipv4(peer)?);
        self.own.get_or_insert(OWN);
        Ok(())
    }

    /// Sets whether the addresses of sockets are IPv6 addresses. Called when a socket is made.
    pub fn set_mapped(&mut self, mapped: bool) {
        self.mapped = mapped;
    }

    /// Whether sockets have addresses of IPv6.
    pub fn is_mapped(&self) -> bool {
        self.mapped
    }

    /// The peer's address. If sockets have IPv6 addresses, it is an IPv4-mapped IPv6 address.
    pub fn peer(&self) -> Option<SocketAddr> {
        self.peer.map(|peer| match peer.ip() {
            IpAddr::V4(ip) if self.mapped => {
                SocketAddr::new(ip.to_ipv6_mapped().into(), peer.port())
            }
            _ => peer,
        })
    }

    /// Reads a packet that arrives. Each ICMP message "destination unreachable" counts as a message
    /// about this connection.
    ///
    /// # Errors
    /// For the same reasons as [`segment`](Self::segment). Also when an ICMP message is of another
    /// type, has an unknown code, or quotes no packet.
    pub fn arrival(&mut self, packet: &[u8]) -> Result<Option<Incoming>, String> {
        match icmp(packet) {
            Some(message) => message_of(message).map(Incoming::Unreachable).map(Some),
            None => Ok(self.segment(packet)?.map(Incoming::Segment)),
        }
    }

    /// Decodes the segment in a packet that arrives. If no call has named the peer, the sender of
    /// the first packet is the peer. The destination of each packet becomes our own address.
    /// Returns `None` for a packet of IPv6, because it is not for this host. With mapped addresses,
    /// packetdrill sends such a packet at the end of a script.
    ///
    /// # Errors
    /// When the packet is not a whole TCP segment, or another peer sent it.
    pub fn segment(&mut self, packet: &[u8]) -> Result<Option<Segment>, String> {
        let Decoded { source, destination, segment, .. } =
            decode(packet, Checks::Whole).map_err(|error| format!("a packet: {error}"))?;
        let (Ok(own), Ok(peer)) = (of_ipv4(destination), of_ipv4(source)) else { return Ok(None) };
        if *self.peer.get_or_insert(peer) != peer {
            return Err(format!("a second connection on this host, with {peer}"));
        }
        self.own = Some(own);
        Ok(Some(segment))
    }

    /// Encodes an outgoing segment as a packet.
    pub fn packet(&mut self, segment: Segment) -> Vec<u8> {
        self.ip_id = self.ip_id.wrapping_add(1);
        let mut octets = Vec::new();
        let packet = Packet {
            source: self.own.unwrap_or(OWN),
            destination: self.peer.unwrap_or(OWN),
            ip_id: self.ip_id,
            segment,
            payload: None,
        };
        encode(&packet, &mut octets);
        octets
    }
}

/// Converts an address to IPv4. The address may be an IPv4-mapped IPv6 address (RFC 4291
/// §2.5.5.2).
fn of_ipv4(address: SocketAddr) -> Result<SocketAddr, String> {
    match address.ip().to_canonical() {
        ip @ IpAddr::V4(_) => Ok(SocketAddr::new(ip, address.port())),
        IpAddr::V6(ip) => Err(format!("the address {ip}: scripts play over IPv4 only")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_go_to_the_sender_of_the_first_packet() {
        let (own, peer) = ("10.0.0.1:80".parse().unwrap(), "10.0.0.2:5001".parse().unwrap());
        let mut far = WireEnds { own: Some(peer), peer: Some(own), ..WireEnds::default() };
        let packet = far.packet(Segment { seq: 7, len: 3, ..Segment::default() });
        let mut ends = WireEnds::default();
        assert_eq!(ends.segment(&packet).unwrap().unwrap().seq, 7);
        let reply = ends.packet(Segment::default());
        let reply = decode(&reply, Checks::Whole).unwrap();
        assert_eq!((reply.source, reply.destination), (own, peer));
        far.own = Some("10.0.0.2:5002".parse().unwrap());
        let other = far.packet(Segment::default());
        assert!(ends.segment(&other).unwrap_err().contains("second connection"));
        assert!(ends.segment(&other[..30]).unwrap_err().contains("too early"));
        (far.own, far.peer) = ("[fd00::1]:1".parse().ok(), "[fd00::2]:2".parse().ok());
        let foreign = far.packet(Segment::default());
        assert_eq!(ends.segment(&foreign), Ok(None));
    }

    #[test]
    fn ipv4_addresses_may_be_written_as_mapped_ipv6_addresses() {
        let mut ends = WireEnds::default();
        ends.connect("[::ffff:192.0.2.1]:8080".parse().unwrap()).unwrap();
        assert_eq!(ends.peer(), Some("192.0.2.1:8080".parse().unwrap()));
        ends.set_mapped(true);
        assert_eq!(ends.peer(), Some("[::ffff:192.0.2.1]:8080".parse().unwrap()));
        assert!(ends.bind("[fd00::1]:8080".parse().unwrap()).unwrap_err().contains("IPv4 only"));
    }
}
