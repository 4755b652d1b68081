//! Several captures whose packets are joined in the order of their times.

use crate::unpack::Unpacked;
use crate::wire::{CaptureFault, CaptureReader, CaptureSource, CapturedPacket};

use super::Explainer;

/// The next packet of a capture: its description and its octets.
type WaitingCapture = (CapturedPacket<'static>, Vec<u8>);

/// Several captures whose packets are joined in the order of time.
///
/// The packets of one capture keep their order. If a capture has a fault, only its packets before
/// the fault are taken. The other captures are read to the end.
///
/// All sources have the same type, so the code that reads packets is not generic. It is compiled
/// once in this crate, and not again in each crate that uses it.
pub struct JoinedCaptures {
    readers: Vec<CaptureReader<Unpacked<CaptureSource>>>,
    /// For each reader, its next packet. `None` after its last packet. Empty if there is only one
    /// reader.
    next: Vec<Option<WaitingCapture>>,
    /// The numbers of the readers that could not read to the end, with their faults.
    faults: Vec<(usize, CaptureFault)>,
}

impl JoinedCaptures {
    /// The maximum number of packets that one call takes.
    const AT_ONCE: usize = 1 << 15;

    /// Joins the captures of `readers`.
    pub fn new(readers: Vec<CaptureReader<Unpacked<CaptureSource>>>) -> Self {
        Self { readers, next: Vec::new(), faults: Vec::new() }
    }

    /// The numbers of the captures in which a fault was found so far, with these faults.
    pub fn faults(&self) -> &[(usize, CaptureFault)] {
        &self.faults
    }

    /// Lets `explainer` take the next packets, and returns whether there may be more packets.
    pub fn explain(&mut self, explainer: &mut Explainer) -> bool {
        let more = self.explain_next(explainer);
        if !more {
            self.readers.drain(..).for_each(|reader| explainer.dropped(reader.drops()));
        }
        more
    }

    fn explain_next(&mut self, explainer: &mut Explainer) -> bool {
        let [only] = &mut self.readers[..] else { return self.explain_joined(explainer) };
        only.each_packet(Self::AT_ONCE, |packet| explainer.take(packet)).unwrap_or_else(|fault| {
            self.faults.push((0, fault));
            false
        })
    }

    fn explain_joined(&mut self, explainer: &mut Explainer) -> bool {
        for place in self.next.len()..self.readers.len() {
            let first = self.read(place);
            self.next.push(first);
        }
        for _ in 0..Self::AT_ONCE {
            let soonest = (self.next.iter().enumerate())
                .filter_map(|(place, next)| Some((next.as_ref()?.0.unix_ns, place)))
                .min();
            let Some((_, place)) = soonest else { return false };
            let after = self.read(place);
            if let Some((packet, bytes)) = std::mem::replace(&mut self.next[place], after) {
                explainer.take(&CapturedPacket { bytes: &bytes, ..packet });
            }
        }
        true
    }

    fn read(&mut self, place: usize) -> Option<WaitingCapture> {
        match self.readers[place].next_packet() {
            Ok(packet) => packet.map(|packet| {
                let bytes = packet.bytes.to_vec();
                (CapturedPacket { bytes: &[], ..packet }, bytes)
            }),
            Err(fault) => {
                self.faults.push((place, fault));
                None
            }
        }
    }
}
