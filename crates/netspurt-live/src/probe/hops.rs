//! Measures the delay of each hop with echo probes. The first probes have a hop limit of one, the
//! next probes have a hop limit of two, and so on. The survey ends when a probe reaches the end of
//! the path, or after the maximum number of hops.

use std::net::IpAddr;
use std::os::fd::BorrowedFd;

use netspurt::units::Duration;
use rustix::event::{PollFd, PollFlags, poll};

use super::book::Book;
use super::clock::{ClockReading, raw_ns, read};
use super::echo_probes::{EndReason, returned};
use super::lines::{HopAnswer, HopLine, StampedBy};
use super::socket::{ProbeSocket, SeenReply};
use super::{ProbeError, tried};
use crate::kernel::timespec;

/// The settings of a survey of hops.
#[derive(Clone, Copy, Debug)]
pub struct HopPlan {
    /// The maximum number of hops.
    pub most: u8,
    /// The number of echo probes for each hop.
    pub echo_probes: u32,
    /// The give-up time for an answer.
    pub timeout: Duration,
    /// The number of octets of each probe, with its IP header. If the socket's shortest probe is
    /// longer, the shortest probe is sent.
    pub octets: u16,
}

/// An answer to a probe with a hop limit.
struct HopReply {
    by: Option<IpAddr>,
    /// Whether the path ends at the address that answered.
    last: bool,
    why: Option<String>,
    received_at: ClockReading,
    kernel_received_ns: Option<u64>,
}

/// Surveys hop after hop, and writes a line for each echo probe to `book`. The survey ends early
/// when the descriptor `halt` becomes readable.
///
/// # Errors
/// When the socket or the data file fails.
pub(super) fn survey(
    plan: &HopPlan,
    socket: &mut ProbeSocket,
    target: IpAddr,
    book: &mut Book,
    halt: Option<BorrowedFd<'_>>,
) -> Result<EndReason, ProbeError> {
    let mut number = 0;
    for hop in 1..=plan.most {
        socket.set_hops(Some(hop)).map_err(tried("setting the hop limit of probes"))?;
        let mut ends = false;
        for _ in 0..plan.echo_probes {
            number += 1;
            let Some(row) = echo_probe(plan, socket, target, hop, number, halt)? else {
                return Ok(EndReason::Interrupted);
            };
            ends |= row.answer.as_ref().is_some_and(|answer| answer.last);
            book.say(&row).map_err(tried("writing the data file"))?;
        }
        if ends {
            break;
        }
    }
    Ok(EndReason::Complete)
}

/// Sends a probe and waits for its outcome. `None` if the process got the order to end.
fn echo_probe(
    plan: &HopPlan,
    socket: &mut ProbeSocket,
    target: IpAddr,
    hop: u8,
    number: u64,
    halt: Option<BorrowedFd<'_>>,
) -> Result<Option<HopLine>, ProbeError> {
    let key = socket.key(number, raw_ns());
    let octets = plan.octets.max(socket.least_octets());
    socket.prepare(key, number, octets);
    let sent_at = read();
    socket.send().map_err(tried("sending a probe"))?;
    let deadline = sent_at.raw_ns.saturating_add(plan.timeout.as_nanos());
    let mut kernel_sent_ns = None;
    let found = loop {
        let mut found = None;
        while let Some(seen) = socket.take().map_err(tried("receiving from the probes' socket"))? {
            if let SeenReply::Sent { unix_ns } = seen {
                kernel_sent_ns = Some(unix_ns);
            } else if found.is_none() {
                found = answer(seen, key, target);
            }
        }
        let now = raw_ns();
        if found.is_some() || now >= deadline {
            break found;
        }
        let mut fds = vec![PollFd::new(&*socket, PollFlags::IN)];
        fds.extend(halt.as_ref().map(|halt| PollFd::new(halt, PollFlags::IN)));
        // If the wait is interrupted, the loop only checks again what to do.
        let _ = poll(&mut fds, Some(&timespec(Duration::from_nanos(deadline - now))));
        if fds.get(1).is_some_and(|halt| !halt.revents().is_empty()) {
            return Ok(None);
        }
    };
    let answer = found.map(|found| found.seen_from(sent_at, kernel_sent_ns));
    let (echo_probe, raw_ns, lost) = (number, sent_at.raw_ns, answer.is_none());
    Ok(Some(HopLine { hop, echo_probe, octets, raw_ns, lost, answer }))
}

impl HopReply {
    /// Makes the fields of the answer's line. `sent_at` has the times of the program's clocks when
    /// the probe was sent. `kernel_sent_ns` is the kernel's timestamp of the sending.
    fn seen_from(self, sent_at: ClockReading, kernel_sent_ns: Option<u64>) -> HopAnswer {
        let user_rtt_ns = self.received_at.raw_ns.saturating_sub(sent_at.raw_ns);
        let stamps = self.kernel_received_ns.zip(kernel_sent_ns);
        let kernel = stamps.and_then(|(received_at, sent_at)| received_at.checked_sub(sent_at));
        let kernel = kernel.filter(|_| self.received_at.step_since(sent_at) == 0);
        HopAnswer {
            rtt_ns: kernel.unwrap_or(user_rtt_ns),
            by: if kernel.is_some() { StampedBy::Kernel } else { StampedBy::User },
            user_rtt_ns,
            from: self.by,
            last: self.last,
            why: self.why,
        }
    }
}

/// Interprets the message `seen` as an answer to the probe with the key `own`. `None` if the
/// message is not an answer to this probe. An ICMP error that quotes no key counts as an answer,
/// because probes are sent one after the other. Therefore, if a late error of an earlier probe
/// quotes no key, it counts as an answer to this probe.
fn answer(seen: SeenReply, own: u64, target: IpAddr) -> Option<HopReply> {
    let received_at = read();
    match seen {
        SeenReply::Reply { key, unix_ns, .. } if key == own => Some(HopReply {
            by: Some(target),
            last: true,
            why: None,
            received_at,
            kernel_received_ns: unix_ns,
        }),
        SeenReply::Returned { key, by, icmp_error, unix_ns }
            if key.is_none_or(|key| key == own) =>
        {
            let six = target.is_ipv6();
            let from_router = icmp_error == if six { (3, 0) } else { (11, 0) };
            // An error from the target itself, for example because its port is closed, counts as an
            // ordinary answer, so the line gets no `why`.
            let why = (!from_router && by != Some(target)).then(|| returned(None, icmp_error, six));
            Some(HopReply { by, last: !from_router, why, received_at, kernel_received_ns: unix_ns })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key of the probe.
    const OWN: u64 = 77;

    /// Returns who answered the probe, whether the path ends there, and the error in words.
    fn found(seen: SeenReply, target: &str) -> Option<(Option<String>, bool, Option<String>)> {
        let reply = answer(seen, OWN, target.parse().unwrap())?;
        Some((reply.by.map(|by| by.to_string()), reply.last, reply.why))
    }

    /// An ICMP error that quotes the probe and comes from the address `by`.
    fn returned_by(by: &str, icmp_error: (u8, u8)) -> SeenReply {
        SeenReply::Returned { key: Some(OWN), by: by.parse().ok(), icmp_error, unix_ns: None }
    }

    #[test]
    fn answers_of_hops_and_answers_of_the_target_and_errors_are_distinguished() {
        const FAR: &str = "10.0.0.9";
        let reply = |key| SeenReply::Reply { key, unix_ns: None, hops_left: None };
        let own = |by: &str, last, why: Option<&str>| {
            Some((Some(by.to_owned()), last, why.map(str::to_owned)))
        };
        for (what, seen, expected) in [
            ("the target's answer", reply(OWN), own(FAR, true, None)),
            ("another probe's answer", reply(OWN + 1), None),
            (
                "an exceeded hop limit",
                returned_by("10.0.0.1", (11, 0)),
                own("10.0.0.1", false, None),
            ),
            ("a closed port of the target", returned_by(FAR, (3, 3)), own(FAR, true, None)),
            (
                "a router without a route",
                returned_by("10.0.0.1", (3, 1)),
                own("10.0.0.1", true, Some("host unreachable")),
            ),
            (
                "an error that quotes too little to find its probe",
                SeenReply::Returned { key: None, by: None, icmp_error: (11, 0), unix_ns: None },
                Some((None, false, None)),
            ),
            (
                "another probe's error",
                SeenReply::Returned { key: Some(1), by: None, icmp_error: (11, 0), unix_ns: None },
                None,
            ),
            ("a timestamp of the sending", SeenReply::Sent { unix_ns: 5 }, None),
        ] {
            assert_eq!(found(seen, FAR), expected, "{what}");
        }
        let six =
            |icmp_error| found(returned_by("fd00::1", icmp_error), "fd00::9").map(|found| found.1);
        assert_eq!((six((3, 0)), six((1, 0))), (Some(false), Some(true)), "RFC 4443");
    }

    #[test]
    fn the_kernels_stamps_give_the_rtt_only_if_they_are_plausible() {
        let at = |ms: u64| ClockReading {
            raw_ns: ms * 1_000_000,
            unix_ns: 10_000_000_000 + ms * 1_000_000,
        };
        let reply = |received_at: ClockReading, kernel_received_ns| HopReply {
            by: None,
            last: false,
            why: None,
            received_at,
            kernel_received_ns,
        };
        let set = ClockReading { unix_ns: at(20).unix_ns + 3_000_000_000, ..at(20) };
        for (what, reply, left_ns, rtt_ns, by) in [
            ("both stamps", reply(at(20), Some(900)), Some(100), 800, StampedBy::Kernel),
            ("one stamp", reply(at(20), Some(900)), None, 10_000_000, StampedBy::User),
            ("none", reply(at(20), None), Some(100), 10_000_000, StampedBy::User),
            ("out of order", reply(at(20), Some(90)), Some(100), 10_000_000, StampedBy::User),
            ("a clock that was set", reply(set, Some(900)), Some(100), 10_000_000, StampedBy::User),
        ] {
            let answer = reply.seen_from(at(10), left_ns);
            assert_eq!(
                (answer.rtt_ns, answer.by, answer.user_rtt_ns),
                (rtt_ns, by, 10_000_000),
                "{what}"
            );
        }
    }
}
