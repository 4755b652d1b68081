//! Sends a series of echo probes, with at most one in flight.

use std::io;
use std::os::fd::BorrowedFd;

use netspurt::rng::Stream;
use netspurt::units::Duration;
use rustix::event::{PollFd, PollFlags, poll};
use serde::Deserialize;

use super::book::{EchoProbeRow, EchoReply, Keep, ProbeOutcome};
use super::clock::{ClockReading, raw_ns, read};
use super::gather::{EchoCounts, PastProbes};
use super::lengths::{Draw, ProbeLengths};
use super::socket::{ProbeSocket, SeenReply};
use super::{ProbeError, tried};
use crate::kernel::timespec;

/// The rule for the time at which the next probe leaves. In all rules, a probe leaves only after
/// the previous probe was answered or given up. If this rule delays a probe, all probes after it
/// are delayed by the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "rule", rename_all = "lowercase", deny_unknown_fields)]
pub enum Pace {
    /// The next probe leaves immediately, as in RFC 889.
    Immediate,
    /// Probes are due at equal intervals.
    Every {
        /// The time between two probes, in nanoseconds.
        gap_ns: u64,
    },
    /// Probes are due at the instants of a Poisson process.
    Poisson {
        /// The mean time between two probes, in nanoseconds.
        gap_ns: u64,
    },
}

impl Pace {
    /// The name of the rule in data files and in the order to the probing process.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Immediate => "immediate",
            Self::Every { .. } => "every",
            Self::Poisson { .. } => "poisson",
        }
    }

    /// The time, or mean time, from one probe to the next, in nanoseconds; `None` if the next probe
    /// leaves immediately.
    pub const fn gap_ns(self) -> Option<u64> {
        match self {
            Self::Immediate => None,
            Self::Every { gap_ns } | Self::Poisson { gap_ns } => Some(gap_ns),
        }
    }
}

/// The settings of a series of echo probes.
#[derive(Clone, Copy, Debug)]
pub struct ProbingPlan {
    /// The maximum number of echo probes; `None` for no limit.
    pub count: Option<u64>,
    /// The duration of the series; `None` for no limit.
    pub span: Option<Duration>,
    /// The give-up time for an answer. An echo probe without an answer in this time counts as lost,
    /// and a later answer counts as late.
    pub timeout: Duration,
    /// The rule for the lengths of probes.
    pub lengths: ProbeLengths,
    /// The rule for the times at which probes leave.
    pub pace: Pace,
    /// The seed of the random lengths and times.
    pub seed: u64,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// The run came to its planned end.
    Complete,
    /// The process got the order to end, or nobody reads its output any more.
    Interrupted,
}

impl EndReason {
    /// The reason in a word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Interrupted => "interrupted",
        }
    }
}

/// Carries out `plan`, and writes every finished echo probe to `book`. The series ends early when
/// the descriptor `halt` becomes readable, or when `book` says that the probing must end.
///
/// # Errors
/// When the socket or the data file fails.
pub(super) fn run(
    plan: &ProbingPlan,
    socket: &mut ProbeSocket,
    book: &mut dyn Keep,
    halt: Option<BorrowedFd<'_>>,
) -> Result<(EndReason, EchoCounts), ProbeError> {
    let pace = Stream::named(plan.seed, "probe/pace");
    let draw = Draw::new(plan.lengths, plan.seed, socket.least_octets());
    let mut run = Probing {
        plan,
        socket,
        book,
        halt,
        pace,
        draw,
        ledger: PastProbes::default(),
        last: read(),
    };
    run.all()
}

struct Probing<'a> {
    plan: &'a ProbingPlan,
    socket: &'a mut ProbeSocket,
    book: &'a mut dyn Keep,
    halt: Option<BorrowedFd<'a>>,
    pace: Stream,
    draw: Draw,
    /// The finished echo probes and their counts.
    ledger: PastProbes,
    /// The times that the clocks showed last.
    last: ClockReading,
}

/// An echo probe in flight.
#[derive(Clone, Copy)]
struct ProbeInFlight {
    number: u64,
    /// The key by which an answer is recognised.
    key: u64,
    octets: u16,
    sent_at: ClockReading,
    kernel_sent_ns: Option<u64>,
}

impl Probing<'_> {
    fn all(&mut self) -> Result<(EndReason, EchoCounts), ProbeError> {
        let start = raw_ns();
        let end = self.plan.span.map(|span| start.saturating_add(span.as_nanos()));
        let mut next = start;
        loop {
            let number = self.ledger.tally.echo_probes + 1;
            let done = self.plan.count.is_some_and(|count| number > count)
                || end.is_some_and(|end| next.max(raw_ns()) >= end);
            if done {
                return Ok((EndReason::Complete, self.ledger.tally));
            }
            if !self.rest(next)? || !self.echo_probe(number)? {
                return Ok((EndReason::Interrupted, self.ledger.tally));
            }
            next = match self.plan.pace {
                Pace::Immediate => raw_ns(),
                Pace::Every { gap_ns } => next.saturating_add(gap_ns).max(raw_ns()),
                Pace::Poisson { gap_ns } => next.saturating_add(self.gap(gap_ns)).max(raw_ns()),
            };
        }
    }

    /// Draws a gap of a Poisson process, in nanoseconds.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
    fn gap(&mut self, mean_ns: u64) -> u64 {
        let share = -(1.0 - self.pace.uniform()).ln();
        (mean_ns as f64 * share) as u64
    }

    /// Waits until the clock reads `until_ns`, and takes the answers to finished echo probes.
    /// Returns whether to go on.
    fn rest(&mut self, until_ns: u64) -> Result<bool, ProbeError> {
        loop {
            while let Some(seen) = self.next()? {
                self.stray(seen)?;
            }
            let now = raw_ns();
            if now >= until_ns {
                return Ok(!self.halted(Duration::ZERO)?);
            }
            if self.halted(Duration::from_nanos(until_ns - now))? {
                return Ok(false);
            }
        }
    }

    /// Sends an echo probe and waits for its outcome. Returns whether to go on.
    fn echo_probe(&mut self, number: u64) -> Result<bool, ProbeError> {
        let octets = self.draw.draw();
        let key = self.socket.key(number, raw_ns());
        self.socket.prepare(key, number, octets);
        let sent_at = self.clocks(number)?;
        let mut flying = ProbeInFlight { number, key, octets, sent_at, kernel_sent_ns: None };
        if let Err(error) = self.socket.send() {
            return self.failed(&flying, &error);
        }
        let deadline = sent_at.raw_ns.saturating_add(self.plan.timeout.as_nanos());
        loop {
            while let Some(seen) = self.next()? {
                let now = read();
                match seen {
                    SeenReply::Sent { unix_ns } => flying.kernel_sent_ns = Some(unix_ns),
                    SeenReply::Reply { key, unix_ns, hops_left } if key == flying.key => {
                        return self.answered(flying, now, unix_ns, hops_left);
                    }
                    SeenReply::Returned { key, by, icmp_error, .. }
                        if key.is_none_or(|k| k == flying.key) =>
                    {
                        let why = returned(by, icmp_error, self.socket.source().is_ipv6());
                        return self.over(&flying, ProbeOutcome::Failed(why));
                    }
                    other => self.stray(other)?,
                }
            }
            let now = raw_ns();
            if now >= deadline {
                return self.over(&flying, ProbeOutcome::Lost);
            }
            if self.halted(Duration::from_nanos(deadline - now))? {
                return Ok(false);
            }
        }
    }

    /// Finishes an echo probe that was answered at the time `now`. The kernel's timestamp of the
    /// sending may come after the answer. If this timestamp is missing, one more message is read.
    /// Returns whether to go on.
    fn answered(
        &mut self,
        mut flying: ProbeInFlight,
        now: ClockReading,
        kernel_received_ns: Option<u64>,
        hops_left: Option<u8>,
    ) -> Result<bool, ProbeError> {
        if flying.kernel_sent_ns.is_none()
            && let Some(seen) = self.next()?
        {
            match seen {
                SeenReply::Sent { unix_ns } => flying.kernel_sent_ns = Some(unix_ns),
                other => self.stray(other)?,
            }
        }
        let step = now.step_since(flying.sent_at);
        let answer = EchoReply {
            sent_at: flying.sent_at,
            received_at: now,
            kernel_sent_ns: flying.kernel_sent_ns,
            kernel_received_ns,
            hops_left,
            step_ns: step,
        };
        self.over(&flying, ProbeOutcome::Answered(answer))
    }

    fn over(&mut self, flying: &ProbeInFlight, outcome: ProbeOutcome) -> Result<bool, ProbeError> {
        self.ledger.over(
            flying.number,
            flying.key,
            flying.sent_at,
            flying.kernel_sent_ns,
            &outcome,
        );
        let row = EchoProbeRow {
            number: flying.number,
            octets: flying.octets,
            sent_at: flying.sent_at,
            kernel_sent_ns: flying.kernel_sent_ns,
            outcome: &outcome,
        };
        self.book.row(&row).map_err(tried("writing the data file"))
    }

    /// Finishes an echo probe that the kernel did not send. Returns whether to go on.
    fn failed(&mut self, flying: &ProbeInFlight, error: &io::Error) -> Result<bool, ProbeError> {
        let why = format!("not sent: {error}");
        let goes_on = self.over(flying, ProbeOutcome::Failed(why))?;
        // The pause avoids many failures in a row while there is no route.
        Ok(goes_on && !self.halted(Duration::from_millis(100))?)
    }

    /// Processes a message that does not belong to the echo probe in flight.
    fn stray(&mut self, seen: SeenReply) -> Result<(), ProbeError> {
        let SeenReply::Reply { key, unix_ns, hops_left } = seen else { return Ok(()) };
        if let Some(known) = self.ledger.find(key) {
            let (sent_at, kernel_sent_ns) = (known.sent_at, known.kernel_sent_ns);
            let (number, late) = (known.number, self.ledger.count_stray(key));
            let received_at = read();
            let answer = EchoReply {
                sent_at,
                received_at,
                kernel_sent_ns,
                kernel_received_ns: unix_ns,
                hops_left,
                step_ns: received_at.step_since(sent_at),
            };
            self.book.stray(number, late, &answer).map_err(tried("writing the data file"))?;
        }
        Ok(())
    }

    fn next(&mut self) -> Result<Option<SeenReply>, ProbeError> {
        self.socket.take().map_err(tried("receiving from the probes' socket"))
    }

    /// Reads the clocks. If the machine's clock was set since the last reading, this function
    /// writes a line to the book.
    fn clocks(&mut self, number: u64) -> Result<ClockReading, ProbeError> {
        let now = read();
        let step = now.step_since(self.last);
        if step != 0 {
            self.ledger.tally.steps += 1;
            self.book.step(number, step).map_err(tried("writing the data file"))?;
        }
        self.last = now;
        Ok(now)
    }

    /// Waits until a message or the order to end arrives, but at most for `span`. Returns whether
    /// the process got the order to end.
    fn halted(&self, span: Duration) -> Result<bool, ProbeError> {
        let mut fds = vec![PollFd::new(&*self.socket, PollFlags::IN)];
        if let Some(halt) = &self.halt {
            fds.push(PollFd::new(halt, PollFlags::IN));
        }
        match poll(&mut fds, Some(&timespec(span))) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {
                Ok(fds.get(1).is_some_and(|halt| !halt.revents().is_empty()))
            }
            Err(error) => Err(tried("waiting for an answer")(error.into())),
        }
    }
}

/// Returns an ICMP error in words (RFC 792, RFC 4443): its type and code, and the address that sent
/// it.
pub(super) fn returned(by: Option<std::net::IpAddr>, icmp_error: (u8, u8), six: bool) -> String {
    let what = match (six, icmp_error) {
        (false, (3, 0)) | (true, (1, 0)) => "network unreachable".into(),
        (false, (3, 1)) | (true, (1, 3)) => "host unreachable".into(),
        (false, (3, 2)) => "protocol unreachable".into(),
        (false, (3, 3)) | (true, (1, 4)) => "port unreachable".into(),
        (false, (3, 4)) | (true, (2, 0)) => "too long, and fragmentation is not allowed".into(),
        (false, (3, 9 | 10 | 13)) | (true, (1, 1 | 5)) => "forbidden".into(),
        (false, (11, 0)) | (true, (3, 0)) => "hop limit exceeded".into(),
        (_, (kind, code)) => format!("ICMP type {kind} code {code}"),
    };
    by.map_or(what.clone(), |by| format!("{what}, says {by}"))
}
