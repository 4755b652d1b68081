//! Requests to the kernel's network configuration (rtnetlink).

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use crate::sys::HOST_STATION;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

const NEW_LINK: u16 = libc::RTM_NEWLINK;
const NEW_ADDRESS: u16 = libc::RTM_NEWADDR;
const NEW_ROUTE: u16 = libc::RTM_NEWROUTE;
const CREATE: u16 = (libc::NLM_F_CREATE | libc::NLM_F_EXCL) as u16;

/// A pair of connected devices: one in the run's namespace, and one in a host's namespace.
#[derive(Clone, Copy, Debug)]
pub struct VethPair<'a> {
    /// The name of the device in the run's namespace.
    pub device_name: &'a str,
    /// The name of the device in the host's namespace.
    pub host_device_name: &'a str,
    /// The host's namespace.
    pub namespace: BorrowedFd<'a>,
    /// The MTU of both devices, in octets.
    pub mtu: u16,
}

/// The settings for TCP on a route; `None` keeps the kernel's own value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RouteHints {
    /// The number of segments that are sent at the start of a connection (`initcwnd`).
    pub initial_window_segs: Option<u32>,
    /// Whether every segment is acknowledged immediately (`quickack`).
    pub quick_acks: bool,
    /// The congestion control algorithm (`congctl`).
    pub congestion: Option<&'static str>,
}

/// A connection to the kernel's network configuration, for the namespace in which it was opened.
#[derive(Debug)]
pub struct Netlink {
    socket: OwnedFd,
    sent: u32,
}

impl Netlink {
    /// Opens a connection.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn open() -> io::Result<Self> {
        let (family, kind) = (AddressFamily::NETLINK, SocketType::RAW);
        // `None` is protocol 0, which is NETLINK_ROUTE.
        let socket = rustix::net::socket_with(family, kind, SocketFlags::CLOEXEC, None)?;
        Ok(Self { socket, sent: 0 })
    }

    /// Makes a pair of devices.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn add_wire(&mut self, wire: &VethPair<'_>) -> io::Result<()> {
        let mut message = NetlinkMessage::new(NEW_LINK, CREATE, &link(0, 0));
        message.text(libc::IFLA_IFNAME, wire.device_name);
        message.put(libc::IFLA_MTU, &u32::from(wire.mtu).to_ne_bytes());
        message.nest(libc::IFLA_LINKINFO, |message| {
            message.text(libc::IFLA_INFO_KIND, "veth");
            message.nest(libc::IFLA_INFO_DATA, |message| {
                const PEER: u16 = 1;
                message.nest(PEER, |message| {
                    message.raw(&link(0, 0));
                    message.text(libc::IFLA_IFNAME, wire.host_device_name);
                    message.put(libc::IFLA_ADDRESS, &HOST_STATION);
                    message.put(libc::IFLA_MTU, &u32::from(wire.mtu).to_ne_bytes());
                    let namespace = wire.namespace.as_raw_fd().to_ne_bytes();
                    message.put(libc::IFLA_NET_NS_FD, &namespace);
                });
            });
        });
        self.ask(message)
    }

    /// Switches on the device numbered `device`. The device does not resolve addresses with ARP.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn switch_on(&mut self, device: u32) -> io::Result<()> {
        let flags = (libc::IFF_UP | libc::IFF_NOARP).cast_unsigned();
        self.ask(NetlinkMessage::new(NEW_LINK, 0, &link(device, flags)))
    }

    /// Gives the device numbered `device` an address.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn add_address(&mut self, device: u32, address: IpAddr) -> io::Result<()> {
        let AddressForm { family, octets, bits } = address_form(address);
        // The kernel need not look for duplicates of the address, because the wire has no other
        // host.
        const NO_DAD: u8 = libc::IFA_F_NODAD as u8;
        let flags = if address.is_ipv6() { NO_DAD } else { 0 };
        // The octets are the family, the length of the prefix, the flags and the scope.
        let mut head = vec![family, bits, flags, 0];
        head.extend(device.to_ne_bytes());
        let mut message = NetlinkMessage::new(NEW_ADDRESS, CREATE, &head);
        message.put(libc::IFA_LOCAL, &octets);
        message.put(libc::IFA_ADDRESS, &octets);
        self.ask(message)
    }

    /// Adds a route: packets to the address `to` leave through the device numbered `device`.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn add_route(&mut self, device: u32, to: IpAddr, hints: RouteHints) -> io::Result<()> {
        const INITCWND: u16 = 11;
        const QUICKACK: u16 = 15;
        const CONGESTION: u16 = 16;
        let (table, kind) = (libc::RT_TABLE_MAIN, libc::RTN_UNICAST);
        let AddressForm { family, octets, bits } = address_form(to);
        let head =
            [family, bits, 0, 0, table, libc::RTPROT_STATIC, libc::RT_SCOPE_LINK, kind, 0, 0, 0, 0];
        let mut message = NetlinkMessage::new(NEW_ROUTE, CREATE, &head);
        message.put(libc::RTA_DST, &octets);
        message.put(libc::RTA_OIF, &device.to_ne_bytes());
        message.nest(libc::RTA_METRICS, |message| {
            if let Some(segments) = hints.initial_window_segs {
                message.put(INITCWND, &segments.to_ne_bytes());
            }
            if hints.quick_acks {
                message.put(QUICKACK, &1_u32.to_ne_bytes());
            }
            if let Some(algorithm) = hints.congestion {
                message.text(CONGESTION, algorithm);
            }
        });
        self.ask(message)
    }

    /// Sends a message and waits for the kernel's answer.
    fn ask(&mut self, message: NetlinkMessage) -> io::Result<()> {
        self.sent += 1;
        rustix::net::send(&self.socket, &message.finish(self.sent), SendFlags::empty())?;
        let mut answer = [0; 4096];
        let (length, _) = rustix::net::recv(&self.socket, &mut answer, RecvFlags::empty())?;
        let code = answer[..length].get(16..20).and_then(<[u8]>::first_chunk);
        match code.map(|code| i32::from_ne_bytes(*code)) {
            Some(0) => Ok(()),
            Some(code) => Err(io::Error::from_raw_os_error(-code)),
            None => Err(io::Error::other("the kernel's answer is too short")),
        }
    }
}

/// An address in the form that the messages to the kernel need.
struct AddressForm {
    family: u8,
    octets: Vec<u8>,
    /// The number of bits of the address.
    bits: u8,
}

fn address_form(address: IpAddr) -> AddressForm {
    match address {
        IpAddr::V4(v4) => {
            AddressForm { family: libc::AF_INET as u8, octets: v4.octets().to_vec(), bits: 32 }
        }
        IpAddr::V6(v6) => {
            AddressForm { family: libc::AF_INET6 as u8, octets: v6.octets().to_vec(), bits: 128 }
        }
    }
}

/// The head of a message about a link: the device's number, and flags to be set.
fn link(device: u32, flags: u32) -> Vec<u8> {
    let mut head = vec![0; 4];
    for word in [device, flags, flags] {
        head.extend(word.to_ne_bytes());
    }
    head
}

/// A message under construction.
struct NetlinkMessage {
    octets: Vec<u8>,
}

impl NetlinkMessage {
    const HEADER: usize = 16;

    fn new(kind: u16, flags: u16, head: &[u8]) -> Self {
        let flags = flags | (libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16;
        let mut octets = vec![0; Self::HEADER];
        octets[4..6].copy_from_slice(&kind.to_ne_bytes());
        octets[6..8].copy_from_slice(&flags.to_ne_bytes());
        octets.extend(head);
        Self { octets }
    }

    fn raw(&mut self, octets: &[u8]) {
        self.octets.extend(octets);
    }

    /// Adds an attribute.
    fn put(&mut self, kind: u16, value: &[u8]) {
        let start = self.begin(kind);
        self.octets.extend(value);
        self.end(start);
    }

    fn text(&mut self, kind: u16, value: &str) {
        let start = self.begin(kind);
        self.octets.extend(value.as_bytes());
        self.octets.push(0);
        self.end(start);
    }

    /// Adds an attribute that contains other attributes.
    fn nest(&mut self, kind: u16, fill: impl FnOnce(&mut Self)) {
        let start = self.begin(kind);
        fill(self);
        self.end(start);
    }

    fn begin(&mut self, kind: u16) -> usize {
        let start = self.octets.len();
        self.octets.extend([0; 2]);
        self.octets.extend(kind.to_ne_bytes());
        start
    }

    fn end(&mut self, start: usize) {
        let length = u16::try_from(self.octets.len() - start).expect("messages are short");
        self.octets[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        self.octets.resize(self.octets.len().next_multiple_of(4), 0);
    }

    /// Returns the message after its length and its number have been filled in.
    fn finish(mut self, number: u32) -> Vec<u8> {
        let length = u32::try_from(self.octets.len()).expect("messages are short");
        self.octets[..4].copy_from_slice(&length.to_ne_bytes());
        self.octets[8..12].copy_from_slice(&number.to_ne_bytes());
        self.octets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the attributes of a message: their kinds, and their values without padding.
    fn attributes(mut rest: &[u8]) -> Vec<(u16, Vec<u8>)> {
        let mut all = Vec::new();
        while let [a, b, c, d, ..] = *rest {
            let length = usize::from(u16::from_ne_bytes([a, b]));
            all.push((u16::from_ne_bytes([c, d]), rest[4..length].to_vec()));
            rest = &rest[length.next_multiple_of(4)..];
        }
        all
    }

    #[test]
    fn a_message_has_its_length_and_its_number_and_its_attributes() {
        let mut message = NetlinkMessage::new(16, CREATE, &link(7, 1));
        message.put(3, &[1, 2, 3]);
        message.text(4, "eth0");
        message.put(5, &[]);
        let octets = message.finish(99);
        assert_eq!(octets[..4], u32::try_from(octets.len()).unwrap().to_ne_bytes());
        assert_eq!(octets[4..6], 16_u16.to_ne_bytes());
        assert_eq!(octets[8..12], 99_u32.to_ne_bytes());
        let wanted = (libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16 | CREATE;
        assert_eq!(octets[6..8], wanted.to_ne_bytes(), "the message asks for an answer");
        assert_eq!(octets[16..32], link(7, 1));
        let expected = [(3, vec![1, 2, 3]), (4, b"eth0\0".to_vec()), (5, Vec::new())];
        assert_eq!(attributes(&octets[32..]), expected);
        assert!(octets.len().is_multiple_of(4));
    }

    #[test]
    fn the_length_of_an_attribute_includes_nested_attributes() {
        let mut message = NetlinkMessage::new(16, 0, &[]);
        message.nest(18, |message| {
            message.text(1, "veth");
            message.nest(2, |message| message.put(1, &[9; 5]));
        });
        message.put(7, &[8]);
        let octets = message.finish(1);
        let [(18, nested), (7, last)] = &attributes(&octets[16..])[..] else {
            panic!("two attributes")
        };
        assert_eq!(last, &[8]);
        let [(1, name), (2, inner)] = &attributes(nested)[..] else {
            panic!("two nested attributes")
        };
        assert_eq!((&name[..], attributes(inner)), (&b"veth\0"[..], vec![(1, vec![9; 5])]));
    }

    #[test]
    fn the_prefix_length_is_the_length_of_the_address() {
        for (address, family, octets, bits) in
            [("10.0.0.9", libc::AF_INET, 4, 32), ("fd00::9", libc::AF_INET6, 16, 128)]
        {
            let form = address_form(address.parse().unwrap());
            assert_eq!((i32::from(form.family), form.octets.len(), form.bits), {
                (family, octets, bits)
            });
            assert_eq!(form.octets.last(), Some(&9));
        }
    }
}
