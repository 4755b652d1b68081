//! The socket of a run's probes. It sends the probes, and receives answers and errors.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, Protocol, SendFlags, SocketFlags, SocketType, bind, connect, getsockname,
    ipproto, send, socket_with,
};

use super::packet::{Marks, ProbeKind};
use super::settle::stamps_come;
use super::{ProbeError, tried};
use crate::sys::{self, Trouble};

/// A message that the socket received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeenReply {
    /// The kernel has given the last probe to the device.
    Sent {
        /// The kernel's timestamp of the sending, in nanoseconds since 1970.
        unix_ns: u64,
    },
    /// An answer to a probe.
    Reply {
        /// The key of the probe.
        key: u64,
        /// The kernel's timestamp of the arrival, in nanoseconds since 1970.
        unix_ns: Option<u64>,
        /// The hop limit that was left when the answer arrived.
        hops_left: Option<u8>,
    },
    /// An ICMP error that a probe caused.
    Returned {
        /// The key of the probe, if the error quotes it.
        key: Option<u64>,
        /// The address that sent the error.
        by: Option<IpAddr>,
        /// The ICMP type and code.
        icmp_error: (u8, u8),
        /// The kernel's timestamp of the arrival, in nanoseconds since 1970.
        unix_ns: Option<u64>,
    },
}

/// A socket for probes of one kind to one address.
#[derive(Debug)]
pub struct ProbeSocket {
    fd: OwnedFd,
    marks: Marks,
    /// Whether received packets begin with an IP header.
    header: bool,
    raw: bool,
    /// The sockets that hold `ports`, so that no other program gets these ports.
    _held: Vec<OwnedFd>,
    /// The ports from which SYNs leave.
    ports: Vec<u16>,
    /// The number of datagrams that left since the kernel's count last began at 0.
    sent: u32,
    room: Vec<u8>,
    packet: Vec<u8>,
}

/// SYNs leave from this number of ports, and use the ports in turn. A port is used again only after
/// 15 other SYNs, so that the target can forget the last SYN from this port.
const PORTS: usize = 16;

impl ProbeSocket {
    /// Opens a socket for probes of `kind`. For ICMP, this function first tries a raw socket, and
    /// then a datagram socket. ICMP and UDP probes carry `cookie`, a number by which the probes of
    /// this socket are recognised.
    ///
    /// # Errors
    /// When the machine does not allow the socket or one of its options, has no route to the
    /// target, or has no free ports for SYNs.
    pub fn open(kind: ProbeKind, target: SocketAddr, cookie: u32) -> Result<Self, ProbeError> {
        let six = target.is_ipv6();
        let family = if six { AddressFamily::INET6 } else { AddressFamily::INET };
        let (fd, raw) = open(kind, family, six)?;
        // In the address of a raw socket, the port means the protocol.
        let port = if kind == ProbeKind::Udp { target.port() } else { 0 };
        let to = SocketAddr::new(target.ip(), port);
        let way = format!("finding a route to {}", target.ip());
        connect(&fd, &to).map_err(|error| tried(way)(error.into()))?;
        let own = own_address(&fd).map_err(tried("reading the socket's own address"))?;
        // A datagram socket for ICMP uses an identifier that the kernel chooses.
        let ident = if raw { (cookie >> 8) as u16 } else { own.port() };
        let (source, target, port) = (own.ip(), target.ip(), target.port());
        let marks = Marks { kind, cookie, ident, source, target, port };
        let (held, ports) =
            if kind == ProbeKind::Tcp { hold_ports(source)? } else { Default::default() };
        let header = raw && !six;
        let (room, packet) = (vec![0; 1 << 16], Vec::new());
        let socket = Self { fd, marks, header, raw, _held: held, ports, sent: 0, room, packet };
        socket.set_up(six).map_err(tried("setting the options of the probes' socket"))?;
        // If the kernel's timestamps never come, the program's timestamps are used.
        let _ = stamps_come();
        Ok(socket)
    }

    fn set_up(&self, six: bool) -> io::Result<()> {
        let set =
            |four, six_name, value| sys::set_ip_option(&self.fd, six, (four, six_name), value);
        set(libc::IP_RECVERR, libc::IPV6_RECVERR, 1)?;
        set(libc::IP_RECVTTL, libc::IPV6_RECVHOPLIMIT, 1)?;
        // With this option, the kernel fragments a probe that is longer than the MTU. Without the
        // option, the kernel may refuse the probe.
        set(libc::IP_MTU_DISCOVER, libc::IPV6_MTU_DISCOVER, libc::IP_PMTUDISC_DONT)?;
        if self.raw && six && self.marks.kind == ProbeKind::Icmp {
            const ECHO_REPLY: u8 = 129;
            sys::only_icmp6(&self.fd, ECHO_REPLY)?;
        }
        sys::stamp_datagrams(self.fd.as_fd())
    }

    /// The number of octets of the shortest probe.
    pub fn least_octets(&self) -> u16 {
        self.marks.kind.least_octets(self.marks.target.is_ipv6())
    }

    /// The kind of the socket, in words.
    pub fn describe(&self) -> &'static str {
        match (self.marks.kind, self.raw) {
            (ProbeKind::Icmp, true) => "ICMP echo, raw socket",
            (ProbeKind::Icmp, false) => "ICMP echo, datagram socket",
            (ProbeKind::Udp, _) => "UDP echo",
            (ProbeKind::Tcp, _) => "TCP SYN, raw socket",
        }
    }

    /// The address from which probes leave.
    pub fn source(&self) -> IpAddr {
        self.marks.source
    }

    /// The MTU of the path in octets, as far as the kernel knows it.
    pub fn mtu(&self) -> Option<u32> {
        let six = self.marks.target.is_ipv6();
        let (level, name) = if six {
            (libc::IPPROTO_IPV6, libc::IPV6_MTU)
        } else {
            (libc::IPPROTO_IP, libc::IP_MTU)
        };
        let mut value = [0; 4];
        sys::read_option(self.fd.as_fd(), level, name, &mut value).ok()?;
        Some(u32::from_ne_bytes(value))
    }

    /// Sets the hop limit of probes. `None` stands for the kernel's default.
    ///
    /// # Errors
    /// When the kernel refuses the hop limit.
    pub fn set_hops(&self, hops: Option<u8>) -> io::Result<()> {
        let value = hops.map_or(-1, i32::from);
        let six = self.marks.target.is_ipv6();
        sys::set_ip_option(&self.fd, six, (libc::IP_TTL, libc::IPV6_UNICAST_HOPS), value)
    }

    /// Returns the key of the probe numbered `number` that leaves at the time `raw_ns`. The key
    /// identifies the probe. For a SYN, the key is the sequence number. For an ICMP or UDP probe,
    /// the key is the time of sending.
    pub fn key(&self, number: u64, raw_ns: u64) -> u64 {
        match self.marks.kind {
            // The upper sixteen bits count the SYNs of the run. The lower sixteen bits are zero, so
            // that the sequence numbers of a SYN's octets never reach the next key.
            ProbeKind::Tcp => (number.wrapping_add(u64::from(self.marks.cookie)) & 0xffff) << 16,
            ProbeKind::Icmp | ProbeKind::Udp => raw_ns,
        }
    }

    /// Makes the probe that [`send`](Self::send) will send.
    pub fn prepare(&mut self, key: u64, number: u64, octets: u16) {
        let turn = usize::try_from(number).unwrap_or(0) % PORTS;
        let port = self.ports.get(turn).copied().unwrap_or(0);
        self.marks.build(key, number, port, octets, &mut self.packet);
    }

    /// Sends the prepared probe.
    ///
    /// # Errors
    /// When the kernel refuses the probe twice, or refuses to restart its count of datagrams. The
    /// first refusal may report an error of an earlier probe.
    pub fn send(&mut self) -> io::Result<()> {
        for last in [false, true] {
            match send(&self.fd, &self.packet, SendFlags::empty()) {
                Ok(_) => {
                    self.sent = self.sent.wrapping_add(1);
                    return Ok(());
                }
                Err(error) => {
                    // Some kernels count even a datagram that they refuse, so the count starts
                    // again.
                    sys::stamp_datagrams(self.fd.as_fd())?;
                    self.sent = 0;
                    if last {
                        return Err(error.into());
                    }
                }
            }
        }
        unreachable!("the second refusal is returned")
    }

    /// Returns the next message about the probes of this socket, if one has arrived.
    ///
    /// # Errors
    /// When the socket fails.
    pub fn take(&mut self) -> io::Result<Option<SeenReply>> {
        for errors in [true, false] {
            loop {
                let got = match sys::receive_stamped(&self.fd, &mut self.room, errors) {
                    Ok(Some(message)) => message,
                    Ok(None) => break,
                    // If the error belongs to an earlier probe, the error queue reports it in full.
                    Err(error) if is_of_a_probe(&error) => continue,
                    Err(error) => return Err(error),
                };
                if let Some(seen) = meant(&self.marks, &self.ports, self.header, self.sent, &got) {
                    return Ok(Some(seen));
                }
            }
        }
        Ok(None)
    }
}

impl AsFd for ProbeSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Interprets a received message. Returns `None` if the message does not concern a probe of this
/// socket, or is an error of this machine. A report that a probe was sent also gives `None` if it
/// has no timestamp, or is not about the last probe.
fn meant(
    marks: &Marks,
    ports: &[u16],
    header: bool,
    sent: u32,
    got: &sys::StampedDatagram<'_>,
) -> Option<SeenReply> {
    match got.trouble {
        None => {
            let key = marks.answered(got.bytes, header, ports)?;
            Some(SeenReply::Reply { key, unix_ns: got.unix_ns, hops_left: got.hops_left })
        }
        Some(Trouble::Sent(number)) => {
            let unix_ns = got.unix_ns?;
            (number.wrapping_add(1) == sent).then_some(SeenReply::Sent { unix_ns })
        }
        Some(Trouble::Returned { by, kind, code }) => {
            let key = marks.returned(got.bytes, ports).ok()?;
            Some(SeenReply::Returned { key, by, icmp_error: (kind, code), unix_ns: got.unix_ns })
        }
        Some(Trouble::Local(_)) => None,
    }
}

/// True if an error does not concern the socket itself. Such an error repeats a probe's error from
/// the error queue, or it says that a signal interrupted the call.
fn is_of_a_probe(error: &io::Error) -> bool {
    let known = [
        Errno::CONNREFUSED,
        Errno::HOSTUNREACH,
        Errno::NETUNREACH,
        Errno::MSGSIZE,
        Errno::PROTO,
        Errno::OPNOTSUPP,
        Errno::NOPROTOOPT,
        Errno::ACCESS,
        Errno::HOSTDOWN,
        Errno::NONET,
        Errno::INTR,
    ];
    error.raw_os_error().is_some_and(|number| known.iter().any(|e| e.raw_os_error() == number))
}

/// Opens a socket. Returns the socket, and whether it is a raw socket.
fn open(kind: ProbeKind, family: AddressFamily, six: bool) -> Result<(OwnedFd, bool), ProbeError> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = |kind, protocol: Protocol| {
        socket_with(family, kind, flags, Some(protocol)).map_err(io::Error::from)
    };
    let icmp = if six { ipproto::ICMPV6 } else { ipproto::ICMP };
    match kind {
        ProbeKind::Icmp => match socket(SocketType::RAW, icmp) {
            Ok(fd) => Ok((fd, true)),
            Err(_) => socket(SocketType::DGRAM, icmp).map(|fd| (fd, false)).map_err(|error| {
                ProbeError::Forbidden {
                    what: "an ICMP socket (raw or datagram)",
                    error,
                    fix: "use `--kind udp`, run netspurt as root, or allow your group with \
                          `sysctl net.ipv4.ping_group_range=\"0 2147483647\"`",
                }
            }),
        },
        ProbeKind::Udp => socket(SocketType::DGRAM, ipproto::UDP)
            .map(|fd| (fd, false))
            .map_err(tried("opening a UDP socket")),
        ProbeKind::Tcp => {
            socket(SocketType::RAW, ipproto::TCP).map(|fd| (fd, true)).map_err(|error| {
                ProbeError::Forbidden {
                    what: "a raw socket, which `--kind tcp` needs,",
                    error,
                    fix: "use another kind, or run netspurt as root",
                }
            })
        }
    }
}

fn own_address(fd: &OwnedFd) -> io::Result<SocketAddr> {
    SocketAddr::try_from(getsockname(fd)?).map_err(io::Error::from)
}

/// Reserves ports of this host at which no program listens. Each returned socket holds one port.
fn hold_ports(source: IpAddr) -> Result<(Vec<OwnedFd>, Vec<u16>), ProbeError> {
    let one = || -> io::Result<(OwnedFd, u16)> {
        let family = if source.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
        let fd = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        bind(&fd, &SocketAddr::new(source, 0))?;
        let port = own_address(&fd)?.port();
        Ok((fd, port))
    };
    let all: io::Result<Vec<_>> = (0..PORTS).map(|_| one()).collect();
    Ok(all.map_err(tried("reserving ports for the TCP probes"))?.into_iter().unzip())
}

/// Returns a port of this host at which no program listens while the returned socket exists.
pub(super) fn closed_port(source: IpAddr) -> Result<(OwnedFd, u16), ProbeError> {
    let (mut held, ports) = hold_ports(source)?;
    let fd = held.pop().ok_or_else(|| ProbeError::Order("no ports".into()))?;
    Ok((fd, ports[held.len()]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::timespec;
    use crate::sys::StampedDatagram;
    use netspurt::units::Duration;
    use rustix::event::{PollFd, PollFlags, poll};

    /// The ports from which SYNs leave in these tests.
    const PORTS_HELD: [u16; 2] = [5000, 5001];

    /// The common properties of the probes of a run.
    fn marks(kind: ProbeKind) -> Marks {
        let [source, target] = ["10.0.0.1", "10.0.0.2"].map(|address| address.parse().unwrap());
        Marks { kind, cookie: 0xfeed_beef, ident: 7, source, target, port: 9 }
    }

    /// A received message with timestamp 11. `trouble` is what the error queue reports.
    fn datagram(bytes: &[u8], trouble: Option<Trouble>) -> StampedDatagram<'_> {
        StampedDatagram { bytes, unix_ns: Some(11), hops_left: Some(60), trouble }
    }

    /// A probe with the key 77.
    fn probe(kind: ProbeKind) -> Vec<u8> {
        let mut octets = Vec::new();
        marks(kind).build(77, 1, PORTS_HELD[1], 60, &mut octets);
        octets
    }

    #[test]
    fn the_meaning_of_a_message_depends_on_the_kernels_control_messages() {
        let udp = probe(ProbeKind::Udp);
        let by = "10.0.0.5".parse().ok();
        let returned = |kind, code| Some(Trouble::Returned { by, kind, code });
        let reply = SeenReply::Reply { key: 77, unix_ns: Some(11), hops_left: Some(60) };
        let back = |key| SeenReply::Returned { key, by, icmp_error: (3, 1), unix_ns: Some(11) };
        for (what, octets, trouble, expected) in [
            ("an echo", &udp[..], None, Some(reply)),
            ("an echo cut short", &udp[..11], None, None),
            ("nothing", &[][..], None, None),
            ("another program's octets", &[1; 40][..], None, None),
            ("the last probe's stamp", &[][..], Some(Trouble::Sent(2)), {
                Some(SeenReply::Sent { unix_ns: 11 })
            }),
            ("an earlier probe's stamp", &[][..], Some(Trouble::Sent(1)), None),
            ("an ICMP error that quotes its probe", &udp[..], returned(3, 1), Some(back(Some(77)))),
            ("an ICMP error that quotes too little", &udp[..8], returned(3, 1), Some(back(None))),
            ("the machine's own error", &udp[..], Some(Trouble::Local(1)), None),
        ] {
            let got = datagram(octets, trouble);
            let seen = meant(&marks(ProbeKind::Udp), &[], false, 3, &got);
            assert_eq!(seen, expected, "{what}");
        }
        let unstamped = StampedDatagram { unix_ns: None, ..datagram(&[], Some(Trouble::Sent(2))) };
        assert_eq!(meant(&marks(ProbeKind::Udp), &[], false, 3, &unstamped), None);
        let wrapped = datagram(&[], Some(Trouble::Sent(u32::MAX)));
        let seen = meant(&marks(ProbeKind::Udp), &[], false, 0, &wrapped);
        assert_eq!(seen, Some(SeenReply::Sent { unix_ns: 11 }), "counts of 32 bits wrap");
    }

    #[test]
    fn an_error_about_another_programs_packets_is_ignored() {
        let trouble = Some(Trouble::Returned { by: None, kind: 11, code: 0 });
        let mut echo = probe(ProbeKind::Icmp);
        echo[5] ^= 1;
        assert_eq!(meant(&marks(ProbeKind::Icmp), &[], false, 1, &datagram(&echo, trouble)), None);
        let opening = probe(ProbeKind::Tcp);
        for (ports, ours) in [(&PORTS_HELD[..], true), (&PORTS_HELD[..1], false), (&[], false)] {
            let got = datagram(&opening, trouble);
            let seen = meant(&marks(ProbeKind::Tcp), ports, false, 1, &got);
            assert_eq!(seen.is_some(), ours, "{ports:?}");
        }
    }

    #[test]
    fn errors_about_probes_are_distinguished_from_errors_of_the_socket() {
        for (errno, of_a_probe) in [
            (Errno::CONNREFUSED, true),
            (Errno::HOSTUNREACH, true),
            (Errno::MSGSIZE, true),
            (Errno::INTR, true),
            (Errno::NOTSOCK, false),
            (Errno::NOMEM, false),
        ] {
            assert_eq!(is_of_a_probe(&errno.into()), of_a_probe, "{errno:?}");
        }
        assert!(!is_of_a_probe(&io::Error::other("without a number")));
    }

    /// Waits for the first message that is not a timestamp of sending. The wait may be long,
    /// because the machine may be busy.
    fn first_answer(socket: &mut ProbeSocket) -> SeenReply {
        loop {
            match socket.take().unwrap() {
                Some(SeenReply::Sent { .. }) => {}
                Some(seen) => return seen,
                None => {
                    let mut fds = [PollFd::new(&*socket, PollFlags::IN)];
                    let long = timespec(Duration::from_secs(60));
                    assert_ne!(poll(&mut fds, Some(&long)), Ok(0), "no message has arrived");
                }
            }
        }
    }

    #[test]
    fn an_open_port_answers_a_datagram_and_a_closed_port_causes_an_icmp_error() {
        let echo = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let target = echo.local_addr().unwrap();
        let mut socket = ProbeSocket::open(ProbeKind::Udp, target, 5).unwrap();
        assert_eq!((socket.describe(), socket.least_octets()), ("UDP echo", 40));
        assert_eq!(socket.source(), target.ip());
        assert!(socket.mtu().is_some_and(|mtu| mtu >= 1500));
        assert_eq!(socket.key(3, 900), 900, "the key is the time of sending");
        socket.set_hops(Some(9)).unwrap();
        socket.prepare(900, 3, 64);
        socket.send().unwrap();
        let mut room = [0; 100];
        let (length, from) = echo.recv_from(&mut room).unwrap();
        assert_eq!(length, 64 - 28);
        echo.send_to(&room[..length], from).unwrap();
        let reply = first_answer(&mut socket);
        assert!(matches!(reply, SeenReply::Reply { key: 900, .. }), "{reply:?}");
        drop(echo);
        socket.prepare(901, 4, 64);
        socket.send().unwrap();
        let returned = first_answer(&mut socket);
        let SeenReply::Returned { key, by, icmp_error, .. } = returned else {
            panic!("{returned:?}")
        };
        assert_eq!(
            (key, by, icmp_error),
            (Some(901), Some(target.ip()), (3, 3)),
            "port unreachable"
        );
    }

    #[test]
    fn reserved_ports_differ_and_nothing_listens_there() {
        let (held, ports) = hold_ports("127.0.0.1".parse().unwrap()).unwrap();
        let apart: std::collections::BTreeSet<_> = ports.iter().collect();
        assert_eq!((held.len(), apart.len(), apart.contains(&0)), (PORTS, PORTS, false));
        let (_fd, port) = closed_port("127.0.0.1".parse().unwrap()).unwrap();
        let refused = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    }
}
