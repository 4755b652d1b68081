//! Captures joined in the order of time.

use std::io::Read;

use crate::wire::{CaptureFault, CaptureReader, CapturedPacket};

use super::Explainer;

/// A packet that waits for its turn: its description, and its octets.
type WaitingCapture = (CapturedPacket<'static>, Vec<u8>);

/// Captures joined in the order of time; one alone keeps its order.
///
/// Of the captures, each is in the order of its own packets.
#[derive(Debug)]
pub struct JoinedCaptures<R> {
    readers: Vec<CaptureReader<R>>,
    /// By reader: its next packet, if there are several readers.
    next: Vec<Option<WaitingCapture>>,
}

impl<R: Read> JoinedCaptures<R> {
    /// As many packets are taken at once.
    const AT_ONCE: usize = 1 << 15;

    /// Joins the captures of `readers`.
    pub fn new(readers: Vec<CaptureReader<R>>) -> Self {
        Self { readers, next: Vec::new() }
    }

    /// Lets `explainer` take the next packets; returns whether there may be more.
    ///
    /// # Errors
    /// When a capture cannot be read to its end. What came before has been taken.
    pub fn explain(&mut self, explainer: &mut Explainer) -> Result<bool, CaptureFault> {
        if let [only] = &mut self.readers[..] {
            for _ in 0..Self::AT_ONCE {
                let Some(packet) = only.next_packet()? else { return Ok(false) };
                explainer.take(&packet);
            }
            return Ok(true);
        }
        self.explain_joined(explainer)
    }

    fn explain_joined(&mut self, explainer: &mut Explainer) -> Result<bool, CaptureFault> {
        for place in self.next.len()..self.readers.len() {
            let first = self.read(place)?;
            self.next.push(first);
        }
        for _ in 0..Self::AT_ONCE {
            let soonest = (self.next.iter().enumerate())
                .filter_map(|(place, next)| Some((next.as_ref()?.0.unix_ns, place)))
                .min();
            let Some((_, place)) = soonest else { return Ok(false) };
            let after = self.read(place)?;
            if let Some((packet, bytes)) = std::mem::replace(&mut self.next[place], after) {
                explainer.take(&CapturedPacket { bytes: &bytes, ..packet });
            }
        }
        Ok(true)
    }

    fn read(&mut self, place: usize) -> Result<Option<WaitingCapture>, CaptureFault> {
        let packet = self.readers[place].next_packet()?;
        Ok(packet.map(|packet| {
            let bytes = packet.bytes.to_vec();
            (CapturedPacket { bytes: &[], ..packet }, bytes)
        }))
    }
}
