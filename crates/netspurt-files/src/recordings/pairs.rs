//! Pairs the TCP segments of two captures of one path. A pair has the times at which the two
//! captures saw the segment.

use std::collections::HashMap;
use std::io::Read;

use netspurt::explain::CopyWatch;
use netspurt::ids::Side;
use netspurt::observe::EndPair;
use netspurt::segment::Flags;
use netspurt::units::Time;
use netspurt::wire::{CaptureReader, CapturedIp, Datagrams, TcpView, TunnelDepths};

use super::offloaded::divide;
use super::pair::{FoundPair, Pair, PairedSegments, SeenSegment, SegmentKey};
use super::pcap::broken;
use super::reading::RecordingError;
use super::translated::translated;

/// Pairs the TCP segments of all connections of two captures. Each argument has a capture's name,
/// for errors, and its octets. Only segments with data, SYN or FIN count, because only they occupy
/// sequence numbers.
///
/// If a capture has several transmissions of a segment with the same IP identification, these
/// transmissions are paired in order. Because of segmentation offload, one packet may hold several
/// segments. Such a packet is divided into the segments that the other capture has (see
/// `offloaded.rs`). If an address translator lies between the captures, each translated connection
/// gets the addresses and ports of the first capture (see `translated.rs`). A capture may have a
/// packet more than once, for example from several points of the path. Then the first copy counts.
/// A capture that is cut off is read up to the cut.
///
/// # Errors
/// When one of the files is not a capture.
pub fn pair(
    first: (&str, impl Read),
    second: (&str, impl Read),
) -> Result<PairedSegments, RecordingError> {
    let (first, mut second) = (read(0, first)?, read(1, second)?);
    let translated = translated(&first, &second);
    for one in &mut second {
        let pair = &mut one.found.pair;
        if let Some([from, to]) = translated.get(&[pair.from, pair.to]) {
            (pair.from, pair.to) = (*from, *to);
        }
    }
    let mut found: Vec<FoundPair> = Vec::new();
    let mut waiting: HashMap<SegmentKey, Vec<usize>> = HashMap::new();
    for one in first {
        waiting.entry(one.key()).or_default().push(found.len());
        found.push(one.found);
    }
    // The function `pop` takes the last index. So the indices are reversed, to pair earlier
    // segments first.
    waiting.values_mut().for_each(|places| places.reverse());
    for one in second {
        match waiting.get_mut(&one.key()).and_then(Vec::pop) {
            Some(place) => {
                let (known, new) = (&mut found[place].pair, one.found.pair);
                (known.seen_ns[1], known.copies[1]) = (new.seen_ns[1], new.copies[1]);
            }
            None => found.push(one.found),
        }
    }
    let mut translated: Vec<_> = translated.iter().map(|(there, here)| [*here, *there]).collect();
    translated.sort_unstable();
    Ok(PairedSegments { pairs: divide(found), translated })
}

/// The state of a connection while its packets are read.
#[derive(Default)]
struct FollowedConnection {
    tunnels: TunnelDepths,
    copies: CopyWatch,
}

/// Returns the captured segments that occupy sequence numbers. `capture` is 0 for the first capture
/// and 1 for the second.
fn read(
    capture: usize,
    (name, source): (&str, impl Read),
) -> Result<Vec<SeenSegment>, RecordingError> {
    let mut reader = CaptureReader::unpacking(source)
        .map_err(|fault| RecordingError { file: name.to_owned(), ..broken(fault) })?;
    let mut datagrams = Datagrams::default();
    let mut connections: HashMap<EndPair, FollowedConnection> = HashMap::new();
    let mut seen = Vec::new();
    let mut copies: HashMap<SegmentKey, u32> = HashMap::new();
    while let Ok(Some(packet)) = reader.next_packet() {
        let Some((ip, tunnels)) = packet.captured_ip().map(CapturedIp::in_tunnels) else {
            continue;
        };
        let Some(ip) = datagrams.take(packet.unix_ns, ip) else { continue };
        let Ok(view) = TcpView::of(ip.bytes, ip.original_bytes as usize) else { continue };
        let (ends, ordered) = EndPair::from(view.ends).ordered();
        let side = if ordered { Side::From } else { Side::To };
        let followed = connections.entry(ends).or_default();
        let at = Time::from_nanos(u64::try_from(packet.unix_ns).unwrap_or(0));
        let counts = followed.tunnels.counts(side.index(), tunnels);
        let copy = counts && followed.copies.holds(side, at, &view);
        let Some(mut one) = segment(&view) else { continue };
        if copy {
            *copies.entry(one.key()).or_default() += 1;
        } else if counts {
            one.found.pair.seen_ns[capture] = Some(packet.unix_ns);
            seen.push(one);
        }
    }
    if !copies.is_empty() {
        for one in &mut seen {
            one.found.pair.copies[capture] = copies.remove(&one.key()).unwrap_or(0);
        }
    }
    Ok(seen)
}

/// Returns the segment in a packet, without times; `None` if the packet occupies no sequence
/// numbers.
fn segment(packet: &TcpView) -> Option<SeenSegment> {
    let (opens, closes) = (packet.flags.has(Flags::SYN), packet.flags.has(Flags::FIN));
    let (seq, len) = (packet.seq, packet.payload_bytes);
    if len == 0 && !opens && !closes {
        return None;
    }
    let [from, to] = packet.ends;
    let pair = Pair { from, to, seq, len, opens, segments: 1, copies: [0; 2], seen_ns: [None; 2] };
    Some(SeenSegment { found: FoundPair { pair, ip_id: packet.ip_id }, closes })
}
