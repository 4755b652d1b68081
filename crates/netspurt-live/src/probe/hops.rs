//! The delay of each hop: echo probes with a hop limit of one, then two, up to the target.

use std::net::IpAddr;
use std::os::fd::BorrowedFd;

use netspurt::units::Duration;
use rustix::event::{PollFd, PollFlags, poll};
use serde_json::{Value, json};

use super::book::Book;
use super::clock::{ClockReading, raw_ns, read};
use super::echo_probes::{Until, returned};
use super::socket::{ProbeSocket, SeenReply};
use super::{ProbeError, tried};
use crate::kernel::timespec;

/// What is to be done.
#[derive(Clone, Copy, Debug)]
pub struct HopPlan {
    /// Hops to look at, at most.
    pub most: u8,
    /// Echo probes for each.
    pub echo_probes: u32,
    /// How long an answer is waited for.
    pub timeout: Duration,
    /// Octets of each probe.
    pub octets: u16,
}

/// What came of a probe.
struct HopReply {
    by: Option<IpAddr>,
    /// Whether the way ends there.
    last: bool,
    why: Option<String>,
    came: ClockReading,
    kernel_came_ns: Option<u64>,
}

/// Looks at hop after hop, and keeps a line for each echo probe in `book`.
///
/// # Errors
/// When a socket or the book fails.
pub fn survey(
    plan: &HopPlan,
    socket: &mut ProbeSocket,
    target: IpAddr,
    book: &mut Book,
    halt: Option<BorrowedFd<'_>>,
) -> Result<Until, ProbeError> {
    let mut number = 0;
    for hop in 1..=plan.most {
        socket.set_hops(Some(hop)).map_err(tried("a hop limit"))?;
        let mut ends = false;
        for _ in 0..plan.echo_probes {
            number += 1;
            let Some(row) = echo_probe(plan, socket, target, hop, number, halt)? else {
                return Ok(Until::Interrupted);
            };
            ends |= row["last"] == true;
            book.say(&row).map_err(tried("the data file"))?;
        }
        if ends {
            break;
        }
    }
    Ok(Until::Complete)
}

/// One probe; `None` where the survey is told to end.
fn echo_probe(
    plan: &HopPlan,
    socket: &mut ProbeSocket,
    target: IpAddr,
    hop: u8,
    number: u64,
    halt: Option<BorrowedFd<'_>>,
) -> Result<Option<Value>, ProbeError> {
    let key = socket.key(number, raw_ns());
    let octets = plan.octets.max(socket.least_octets());
    socket.prepare(key, number, octets);
    let left = read();
    socket.send().map_err(tried("a probe"))?;
    let deadline = left.raw_ns.saturating_add(plan.timeout.as_nanos());
    let mut kernel_left_ns = None;
    let found = loop {
        let mut found = None;
        while let Some(seen) = socket.take().map_err(tried("the probes' socket"))? {
            if let SeenReply::Sent { unix_ns } = seen {
                kernel_left_ns = Some(unix_ns);
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
        // Interrupted or not: what there is to do is looked at again.
        let _ = poll(&mut fds, Some(&timespec(Duration::from_nanos(deadline - now))));
        if fds.get(1).is_some_and(|halt| !halt.revents().is_empty()) {
            return Ok(None);
        }
    };
    let mut row =
        json!({ "hop": hop, "echo_probe": number, "octets": octets, "raw_ns": left.raw_ns });
    let Some(found) = found else {
        row["lost"] = true.into();
        return Ok(Some(row));
    };
    let user = found.came.raw_ns.saturating_sub(left.raw_ns);
    let stamps = found.kernel_came_ns.zip(kernel_left_ns);
    let kernel = stamps.and_then(|(came, left)| came.checked_sub(left));
    let kernel = kernel.filter(|_| found.came.step_since(left) == 0);
    row["rtt_ns"] = kernel.unwrap_or(user).into();
    row["by"] = if kernel.is_some() { "kernel" } else { "user" }.into();
    row["user_rtt_ns"] = user.into();
    row["from"] = found.by.map(|by| by.to_string()).into();
    row["last"] = found.last.into();
    if let Some(why) = found.why {
        row["why"] = why.into();
    }
    Ok(Some(row))
}

/// What an answer says of the hop.
fn answer(seen: SeenReply, own: u64, target: IpAddr) -> Option<HopReply> {
    let came = read();
    match seen {
        SeenReply::Reply { key, unix_ns, .. } if key == own => Some(HopReply {
            by: Some(target),
            last: true,
            why: None,
            came,
            kernel_came_ns: unix_ns,
        }),
        SeenReply::Returned { key, by, told, unix_ns } if key.is_none_or(|key| key == own) => {
            let six = target.is_ipv6();
            let on_the_way = told == if six { (3, 0) } else { (11, 0) };
            // A closed port of the target's is an answer of the target.
            let why = (!on_the_way && by != Some(target)).then(|| returned(None, told, six));
            Some(HopReply { by, last: !on_the_way, why, came, kernel_came_ns: unix_ns })
        }
        _ => None,
    }
}
