//! Makes the contents of probes, and recognises the answers to them.

use std::net::IpAddr;

use netspurt::segment::Flags;
use netspurt::wire::TcpHead;
use serde::{Deserialize, Serialize};

/// The kinds of probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ProbeKind {
    /// An ICMP echo (RFC 792, RFC 4443).
    Icmp,
    /// A datagram to a host that echoes it (RFC 862).
    Udp,
    /// The SYN of a TCP connection; a SYN-ACK or an RST is the answer.
    Tcp,
}

/// The payload of ICMP and UDP probes begins with the run's cookie and the probe's key. The cookie
/// is a number by which the probes of a run are recognised, and the key identifies one probe. This
/// constant is the length of the cookie and the key together, in octets.
const CARRIED: u16 = 12;

impl ProbeKind {
    /// The number of octets of the shortest probe. It consists of headers, and in ICMP and UDP also
    /// of the cookie and the key.
    ///
    /// ```
    /// use netspurt_live::probe::ProbeKind;
    /// assert_eq!((ProbeKind::Icmp.least_octets(false), ProbeKind::Tcp.least_octets(true)), (40, 60));
    /// ```
    pub const fn least_octets(self, six: bool) -> u16 {
        let ip = if six { 40 } else { 20 };
        // A TCP header has 20 octets. An ICMP or UDP header has 8, and the cookie and the key
        // follow it.
        ip + if matches!(self, Self::Tcp) { 20 } else { 8 + CARRIED }
    }
}

/// The properties that all probes of a run have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    pub kind: ProbeKind,
    /// The number that identifies the run. ICMP and UDP probes and their answers carry it.
    pub cookie: u32,
    /// The identifier of ICMP echoes.
    pub ident: u16,
    pub source: IpAddr,
    pub target: IpAddr,
    pub port: u16,
}

impl Marks {
    fn six(&self) -> bool {
        self.target.is_ipv6()
    }

    /// Writes the probe with the key `key` to the buffer `out`, without the headers that the kernel
    /// adds. `octets` is the length of the probe with its IP header.
    pub fn build(&self, key: u64, number: u64, from_port: u16, octets: u16, out: &mut Vec<u8>) {
        let length = usize::from(octets) - if self.six() { 40 } else { 20 };
        out.clear();
        match self.kind {
            ProbeKind::Icmp => {
                out.extend([if self.six() { 128 } else { 8 }, 0, 0, 0]);
                out.extend(self.ident.to_be_bytes());
                #[expect(clippy::cast_possible_truncation, reason = "the field has 16 bits")]
                out.extend((number as u16).to_be_bytes());
                self.carry(key, length, out);
                if !self.six() {
                    let sum = checksum(&[out]);
                    out[2..4].copy_from_slice(&sum.to_be_bytes());
                }
            }
            ProbeKind::Udp => self.carry(key, length - 8, out),
            ProbeKind::Tcp => {
                out.extend(from_port.to_be_bytes());
                out.extend(self.port.to_be_bytes());
                #[expect(clippy::cast_possible_truncation, reason = "keys of TCP have 32 bits")]
                out.extend((key as u32).to_be_bytes());
                // The ACK number is zero, the header has five words, the flag is SYN, and the
                // window is the largest possible window.
                out.extend([0, 0, 0, 0, 5 << 4, 2, 0xff, 0xff, 0, 0, 0, 0]);
                out.resize(length, 0);
                let sum = checksum(&[&self.pseudo_header(length), out]);
                out[16..18].copy_from_slice(&sum.to_be_bytes());
            }
        }
    }

    /// Adds the cookie and the key, and fills the rest with octets whose values are their
    /// positions.
    fn carry(&self, key: u64, length: usize, out: &mut Vec<u8>) {
        out.extend(self.cookie.to_be_bytes());
        out.extend(key.to_be_bytes());
        #[expect(clippy::cast_possible_truncation, reason = "octets wrap at 2^8")]
        out.extend((out.len()..length).map(|place| place as u8));
    }

    /// Returns octets that have the same sum as the pseudo-header of TCP's checksum (RFC 9293 §3.1,
    /// RFC 8200 §8.1). The octets after the addresses have the form of IPv6, even if the addresses
    /// are IPv4.
    fn pseudo_header(&self, length: usize) -> Vec<u8> {
        let mut header = Vec::new();
        for address in [self.source, self.target] {
            match address {
                IpAddr::V4(four) => header.extend(four.octets()),
                IpAddr::V6(six) => header.extend(six.octets()),
            }
        }
        #[expect(clippy::cast_possible_truncation, reason = "the length of a datagram fits")]
        header.extend((length as u32).to_be_bytes());
        header.extend([0, 0, 0, 6]);
        header
    }

    /// Returns the key of the probe that the octets `bytes` answer. Returns `None` if they answer
    /// no probe. If `header` is true, the octets begin with an IP header.
    pub fn answered(&self, bytes: &[u8], header: bool, ports: &[u16]) -> Option<u64> {
        let skip = if header { usize::from(bytes.first()? & 15) * 4 } else { 0 };
        let bytes = bytes.get(skip..)?;
        match self.kind {
            ProbeKind::Icmp => {
                let reply = if self.six() { 129 } else { 0 };
                (*bytes.first()? == reply).then(|| self.carried(bytes.get(8..)?))?
            }
            ProbeKind::Udp => self.carried(bytes),
            ProbeKind::Tcp => self.opened(bytes, ports),
        }
    }

    /// Returns the key of the probe that an ICMP error quotes. Returns `Ok(None)` if the quotation
    /// has no key, or has the cookie of another run. Returns an error if the quoted packet is not a
    /// probe of this run. The identifier of an ICMP echo or the source port of a SYN shows this.
    pub fn returned(&self, quoted: &[u8], ports: &[u16]) -> Result<Option<u64>, ()> {
        match self.kind {
            ProbeKind::Icmp => {
                let ident = quoted.get(4..6).map(|two| u16::from_be_bytes([two[0], two[1]]));
                if quoted.len() >= 8 && ident != Some(self.ident) {
                    return Err(());
                }
                Ok(quoted.get(8..).and_then(|rest| self.carried(rest)))
            }
            ProbeKind::Udp => Ok(self.carried(quoted)),
            ProbeKind::Tcp => match TcpHead::quoted(quoted) {
                (Some(port), seq) if ports.contains(&port) => Ok(seq.map(u64::from)),
                (Some(_), _) => Err(()),
                (None, _) => Ok(None),
            },
        }
    }

    fn carried(&self, payload: &[u8]) -> Option<u64> {
        let (cookie, rest) = payload.split_first_chunk()?;
        (u32::from_be_bytes(*cookie) == self.cookie).then_some(())?;
        Some(u64::from_be_bytes(*rest.first_chunk()?))
    }

    /// Returns the key of the SYN that a segment answers; `None` if the segment is not an answer.
    fn opened(&self, segment: &[u8], ports: &[u16]) -> Option<u64> {
        let head = TcpHead::of(segment)?;
        let ([from, to], flags) = (head.ports(), head.flags());
        let mine = from == self.port && ports.contains(&to);
        let answers = flags.has(Flags::ACK) && (flags.has(Flags::SYN) || flags.has(Flags::RST));
        let ack = head.ack();
        // An RST acknowledges the SYN and its octets of payload. So its ACK number is larger by the
        // number of these octets. This number changes only the lower sixteen bits, which are zero
        // in every key of a SYN.
        (mine && answers).then(|| u64::from(ack.wrapping_sub(1) & !0xffff))
    }
}

/// Returns the checksum of RFC 1071 over parts that follow each other. All parts except the last
/// must have an even length.
fn checksum(parts: &[&[u8]]) -> u16 {
    let mut sum = 0_u32;
    for part in parts {
        for pair in part.chunks(2) {
            sum += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
        }
    }
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    #[expect(clippy::cast_possible_truncation, reason = "the folded sum has 16 bits")]
    let folded = sum as u16;
    !folded
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The common properties of the probes of a run.
    fn marks(kind: ProbeKind, six: bool) -> Marks {
        let (source, target) = if six { ("::1", "::2") } else { ("10.0.0.1", "10.0.0.2") };
        Marks {
            kind,
            cookie: 0xfeed_beef,
            ident: 7,
            source: source.parse().unwrap(),
            target: target.parse().unwrap(),
            port: 9,
        }
    }

    /// Makes the third probe of a run, with the key 0x12340000, from port 5000.
    fn built(kind: ProbeKind, six: bool, octets: u16) -> Vec<u8> {
        let mut out = Vec::new();
        marks(kind, six).build(0x1234_0000, 3, 5000, octets, &mut out);
        out
    }

    #[test]
    fn a_probe_of_every_kind_has_the_given_length() {
        for (kind, header) in [(ProbeKind::Icmp, 0), (ProbeKind::Udp, 8), (ProbeKind::Tcp, 0)] {
            for (six, ip) in [(false, 20), (true, 40)] {
                for octets in [kind.least_octets(six), 61, 256] {
                    let made = built(kind, six, octets);
                    assert_eq!(
                        made.len() + ip + header,
                        usize::from(octets),
                        "{kind:?}, IPv6: {six}"
                    );
                }
            }
        }
    }

    #[test]
    fn an_echo_answers_its_probe_and_no_probe_of_another_run() {
        let mine = marks(ProbeKind::Icmp, false);
        let mut reply = built(ProbeKind::Icmp, false, 100);
        assert_eq!(checksum(&[&reply]), 0, "with its checksum, a packet sums up to zero");
        assert_eq!(mine.answered(&reply, false, &[]), None, "a request is no reply");
        reply[0] = 0;
        assert_eq!(mine.answered(&reply, false, &[]), Some(0x1234_0000));
        let other = Marks { cookie: 1, ..mine };
        assert_eq!(other.answered(&reply, false, &[]), None);
    }

    #[test]
    fn syn_ack_and_rst_answer_a_syn() {
        let mine = marks(ProbeKind::Tcp, false);
        let mut answer = built(ProbeKind::Tcp, false, 40);
        assert_eq!(checksum(&[&mine.pseudo_header(20), &answer]), 0);
        for (flags, ack, answers) in [
            (0x12, 0x1234_0001_u32, true),
            (0x14, 0x1234_0001, true),
            // An RST that acknowledges the SYN and 216 octets of payload.
            (0x14, 0x1234_00d9, true),
            (0x10, 0x1234_0001, false),
            (0x02, 0x1234_0001, false),
        ] {
            answer[0..4].copy_from_slice(&[0, 9, 0x13, 0x88]);
            answer[8..12].copy_from_slice(&ack.to_be_bytes());
            answer[13] = flags;
            let key = mine.answered(&answer, false, &[5000]);
            assert_eq!(key, answers.then_some(0x1234_0000), "{flags:x}");
        }
        assert_eq!(mine.answered(&answer, false, &[5001]), None);
    }

    #[test]
    fn an_error_identifies_the_probe_that_it_quotes() {
        let mine = marks(ProbeKind::Icmp, false);
        let quoted = built(ProbeKind::Icmp, false, 60);
        assert_eq!(mine.returned(&quoted, &[]), Ok(Some(0x1234_0000)));
        assert_eq!(mine.returned(&quoted[..8], &[]), Ok(None));
        assert_eq!(Marks { ident: 8, ..mine }.returned(&quoted, &[]), Err(()));
    }

    proptest! {
        #[test]
        fn arbitrary_octets_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
            for kind in [ProbeKind::Icmp, ProbeKind::Udp, ProbeKind::Tcp] {
                for six in [false, true] {
                    for header in [false, true] {
                        let _ = marks(kind, six).answered(&bytes, header, &[5000]);
                    }
                    let _ = marks(kind, six).returned(&bytes, &[5000]);
                }
            }
        }
    }

    #[test]
    fn an_echo_with_a_damaged_field_answers_nothing() {
        for (six, reply_kind) in [(false, 0), (true, 129)] {
            let mine = marks(ProbeKind::Icmp, six);
            let mut reply = built(ProbeKind::Icmp, six, 100);
            reply[0] = reply_kind;
            assert_eq!(mine.answered(&reply, false, &[]), Some(0x1234_0000));
            // These are the offsets of the ICMP type and of the cookie's octets.
            for place in [0, 8, 9, 10, 11] {
                let mut damaged = reply.clone();
                damaged[place] ^= 1;
                assert_eq!(mine.answered(&damaged, false, &[]), None, "octet {place}");
            }
            for length in 0..20 {
                assert_eq!(mine.answered(&reply[..length], false, &[]), None, "{length} octets");
            }
            assert_eq!(
                mine.answered(&reply[..20], false, &[]),
                Some(0x1234_0000),
                "the header, the cookie and the key are enough"
            );
        }
    }

    #[test]
    fn an_answer_is_found_after_its_ip_header_and_options() {
        let mine = marks(ProbeKind::Icmp, false);
        let mut reply = built(ProbeKind::Icmp, false, 60);
        reply[0] = 0;
        for words in 5..=15_u8 {
            let mut packet = vec![0; usize::from(words) * 4];
            packet[0] = 0x40 | words;
            packet.extend(&reply);
            assert_eq!(mine.answered(&packet, true, &[]), Some(0x1234_0000), "{words} words");
            packet[0] = 0x40 | (words - 1);
            assert_eq!(
                mine.answered(&packet, true, &[]),
                None,
                "the header has {words} words, but its length field says one less"
            );
        }
        assert_eq!(
            mine.answered(&[0x4f; 59], true, &[]),
            None,
            "the header is longer than the packet"
        );
    }

    #[test]
    fn an_icmp_echo_carries_its_number_and_a_syn_carries_its_key() {
        for (number, counted) in [(0, [0, 0]), (0x1_0203, [2, 3]), (u64::MAX, [255, 255])] {
            let mut out = Vec::new();
            marks(ProbeKind::Icmp, false).build(1, number, 0, 60, &mut out);
            assert_eq!((out[0], &out[4..6], &out[6..8]), (8, &[0, 7][..], &counted[..]));
            marks(ProbeKind::Icmp, true).build(1, number, 0, 60, &mut out);
            assert_eq!(
                (out[0], &out[2..4]),
                (128, &[0, 0][..]),
                "the kernel computes the checksum of ICMPv6"
            );
        }
        let opening = built(ProbeKind::Tcp, true, 80);
        assert_eq!(opening[..4], [0x13, 0x88, 0, 9], "from port 5000 to port 9");
        assert_eq!(opening[4..8], [0x12, 0x34, 0, 0]);
        assert_eq!(opening[13], 2, "a SYN");
        assert_eq!(checksum(&[&marks(ProbeKind::Tcp, true).pseudo_header(40), &opening]), 0);
    }

    #[test]
    fn a_quoted_syn_is_identified_by_its_port_and_its_sequence_number() {
        let mine = marks(ProbeKind::Tcp, false);
        let quoted = built(ProbeKind::Tcp, false, 40);
        for (octets, ports, expected) in [
            (&quoted[..], &[5000][..], Ok(Some(0x1234_0000))),
            (&quoted[..8], &[4999, 5000], Ok(Some(0x1234_0000))),
            (&quoted[..], &[4999], Err(())),
            (&quoted[..7], &[5000], Ok(None)),
            (&quoted[..7], &[4999], Err(())),
            (&[], &[5000], Ok(None)),
        ] {
            assert_eq!(mine.returned(octets, ports), expected, "{} octets", octets.len());
        }
        let datagram = built(ProbeKind::Udp, false, 60);
        let udp = marks(ProbeKind::Udp, false);
        assert_eq!(udp.returned(&datagram, &[]), Ok(Some(0x1234_0000)));
        assert_eq!(udp.returned(&datagram[..11], &[]), Ok(None), "the key is cut off");
        let icmp = marks(ProbeKind::Icmp, false);
        assert_eq!(icmp.returned(&[8, 0, 0], &[]), Ok(None), "the identifier is cut off");
    }

    /// RFC 1071 §3: the sum of 00 01 f2 03 f4 f5 f6 f7 is ddf2 before it is complemented.
    #[test]
    fn the_checksum_agrees_with_the_rfcs_example() {
        let octets = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(checksum(&[&octets]), !0xddf2);
        assert_eq!(checksum(&[&octets[..4], &octets[4..]]), !0xddf2, "in parts");
        assert_eq!(checksum(&[&[0xab]]), !0xab00, "a last octet alone is the upper half of a word");
        assert_eq!(checksum(&[]), 0xffff);
    }
}
