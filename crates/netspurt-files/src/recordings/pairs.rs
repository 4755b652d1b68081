//! Pairs the TCP segments of two captures of one path. A pair has the times at which the two
//! captures saw the segment.

use std::collections::HashMap;
use std::io::Read;
use std::net::SocketAddr;

use netspurt::segment::Flags;
use netspurt::wire::{CaptureReader, CapturedIp, Datagrams, TcpView, TunnelDepths};

use super::pcap::broken;
use super::reading::RecordingError;

/// A TCP segment that occupies sequence numbers, and when each of two captures saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The source of the segment.
    pub from: SocketAddr,
    /// The destination of the segment.
    pub to: SocketAddr,
    /// The sequence number of the segment.
    pub seq: u32,
    /// The octets of payload.
    pub len: u32,
    /// Whether the segment opens its direction: whether it has a SYN.
    pub opens: bool,
    /// When the first capture saw the segment, in nanoseconds since 1970; `None` if it did not.
    pub first_ns: Option<i64>,
    /// When the second capture saw the segment, in nanoseconds since 1970; `None` if it did not.
    pub second_ns: Option<i64>,
}

/// The identity of a segment in both captures: source and destination, sequence number, octets of
/// payload, SYN and FIN, and the IPv4 identification. Most senders give each transmission an
/// identification of its own.
type SegmentKey = (SocketAddr, SocketAddr, u32, u32, u8, u16);

/// Pairs the TCP segments of two captures, of all connections. Each capture has a name, which errors
/// use, and its octets. Only segments that occupy sequence numbers count. The result begins with the
/// segments of the first capture, in its order. After them come the segments that only the second
/// capture has.
///
/// If a capture has several transmissions of a segment with the same IP identification, these
/// transmissions are paired in order. A capture that is cut off is read up to the cut.
///
/// # Errors
/// When one of the files is not a capture.
pub fn pair(
    first: (&str, impl Read),
    second: (&str, impl Read),
) -> Result<Vec<Pair>, RecordingError> {
    let mut pairs: Vec<Pair> = Vec::new();
    let mut waiting: HashMap<SegmentKey, Vec<usize>> = HashMap::new();
    each(first, |at, key, pair| {
        waiting.entry(key).or_default().push(pairs.len());
        pairs.push(Pair { first_ns: Some(at), ..pair });
    })?;
    // `pop` takes the last place. So the places are reversed, to pair earlier segments first.
    waiting.values_mut().for_each(|places| places.reverse());
    each(second, |at, key, pair| match waiting.get_mut(&key).and_then(Vec::pop) {
        Some(place) => pairs[place].second_ns = Some(at),
        None => pairs.push(Pair { second_ns: Some(at), ..pair }),
    })?;
    Ok(pairs)
}

/// Calls `take` for each captured segment that occupies sequence numbers. The arguments are the
/// time of the segment, its key, and a pair without times.
fn each(
    (name, source): (&str, impl Read),
    mut take: impl FnMut(i64, SegmentKey, Pair),
) -> Result<(), RecordingError> {
    let mut reader = CaptureReader::unpacking(source)
        .map_err(|fault| RecordingError { file: name.to_owned(), ..broken(fault) })?;
    let (mut datagrams, mut depths) = (Datagrams::default(), HashMap::new());
    while let Ok(Some(packet)) = reader.next_packet() {
        let Some((ip, tunnels)) = packet.captured_ip().map(CapturedIp::in_tunnels) else {
            continue;
        };
        let ip = datagrams.take(packet.unix_ns, ip);
        let view = ip.and_then(|ip| TcpView::of(ip.bytes, ip.original_bytes as usize).ok());
        let Some((key, pair)) = view.as_ref().and_then(segment) else { continue };
        let depth: &mut TunnelDepths = depths.entry((pair.from, pair.to)).or_default();
        if depth.counts(0, tunnels) {
            take(packet.unix_ns, key, pair);
        }
    }
    Ok(())
}

/// Returns a packet's key and a pair without times; `None` if the packet occupies no sequence
/// numbers.
fn segment(packet: &TcpView) -> Option<(SegmentKey, Pair)> {
    let (opens, closes) = (packet.flags.has(Flags::SYN), packet.flags.has(Flags::FIN));
    let (seq, len) = (packet.seq, packet.payload_bytes);
    if len == 0 && !opens && !closes {
        return None;
    }
    let [from, to] = packet.ends;
    let control = u8::from(opens) | u8::from(closes) << 1;
    let key = (from, to, seq, len, control, packet.ip_id);
    Some((key, Pair { from, to, seq, len, opens, first_ns: None, second_ns: None }))
}
