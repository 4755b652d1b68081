//! From packets to explained connections.

use crate::observe::{Flows, Lifetimes, Passing, Retired};
use crate::units::Time;
use crate::wire::{CapturedPacket, TcpView};

use super::{CapturedConnection, Transcript};

/// The packets that passed, by what they were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// All.
    pub packets: u64,
    /// Those of TCP.
    pub tcp: u64,
    /// Those on links that cannot be read, or without IP.
    pub no_ip: u64,
    /// IP packets that are not TCP, or whose headers are cut or damaged.
    pub other: u64,
}

/// Follows the connections among the packets of a capture.
///
/// ```
/// use netspurt::explain::Explainer;
/// let explanation = Explainer::default().finish();
/// assert_eq!((explanation.passed.packets, explanation.connections.len()), (0, 0));
/// ```
#[derive(Debug)]
pub struct Explainer {
    flows: Flows<CapturedConnection>,
    passed: Passed,
    over: Vec<Retired<CapturedConnection>>,
    start: Option<Time>,
    transcript: Option<Transcript>,
    /// The only connection in the transcript.
    only: Option<u64>,
}

/// The connections of a capture, in the order of their first packets.
#[derive(Debug)]
pub struct Explanation {
    /// The packets.
    pub passed: Passed,
    /// The connections.
    pub connections: Vec<Retired<CapturedConnection>>,
    /// When the first packet of TCP was captured.
    pub start: Time,
    /// The packets, if they were kept.
    pub transcript: Option<Transcript>,
}

impl Default for Explainer {
    fn default() -> Self {
        Self {
            flows: Flows::new(Lifetimes::default()),
            passed: Passed::default(),
            over: Vec::new(),
            start: None,
            transcript: None,
            only: None,
        }
    }
}

impl Explainer {
    /// Keeps the packets, too: those of all connections, or of the `only` one.
    #[must_use]
    pub fn with_transcript(self, only: Option<u64>) -> Self {
        Self { transcript: Some(Transcript::default()), only, ..self }
    }

    /// Takes the next packet.
    pub fn take(&mut self, packet: &CapturedPacket<'_>) {
        self.passed.packets += 1;
        let Some(ip) = packet.ip() else {
            self.passed.no_ip += 1;
            return;
        };
        let Ok(view) = TcpView::of(ip, ip.len()) else {
            self.passed.other += 1;
            return;
        };
        self.passed.tcp += 1;
        let at = Time::from_nanos(u64::try_from(packet.unix_ns).unwrap_or(0));
        let TcpView { ends, flags, seq, ack, .. } = view;
        let (sighting, connection) = self.flows.sight(&Passing { at, ends, flags, seq, ack });
        let answer = connection.take(sighting.side, at, &view);
        self.start.get_or_insert(at);
        if let Some(transcript) = &mut self.transcript
            && self.only.is_none_or(|only| only == sighting.number)
        {
            transcript.add(at, sighting, &view, answer.sample);
        }
        self.over.extend(self.flows.take_retired());
    }

    /// The capture has ended.
    pub fn finish(mut self) -> Explanation {
        self.over.extend(self.flows.into_all());
        self.over.sort_by_key(|one| one.number);
        Explanation {
            passed: self.passed,
            connections: self.over,
            start: self.start.unwrap_or(Time::ZERO),
            transcript: self.transcript,
        }
    }
}
