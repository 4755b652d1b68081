//! Two hosts of the kernel's with one line between them, and programs of one's own on them.
//!
//! The line's two directions are the core's links, driven by the wall clock; whatever is IPv4
//! crosses them.

use std::collections::HashMap;
use std::fmt::Display;
use std::io::{self, BufRead, BufReader};
use std::net::Ipv4Addr;
use std::num::NonZeroU64;
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use netspurt::event::{Events, Wanted};
use netspurt::link::{Delay, Framing, Link, LinkConfig, Order as InOrder, Queue, QueueLimit};
use netspurt::segment::Segment;
use netspurt::stage::Stage;
use netspurt::units::{Duration, PacketCount, Time};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::thread::set_current_timer_slack;
use serde_json::Value;

use crate::kernel::timespec;
use crate::sandbox::{Host, HostPlan, Port, Sandbox, SandboxError};
use crate::sys::{self, Batch, Outbox, Parcel};
use crate::wall::WallClock;

/// The address of the host that a lab's own program runs on.
pub const NEAR: Ipv4Addr = Ipv4Addr::new(10, 89, 0, 1);

/// The address of the host at the line's other end.
pub const FAR: Ipv4Addr = Ipv4Addr::new(10, 89, 0, 2);

/// Octets of the largest packet of the hosts' devices.
const MTU: u16 = 1500;

/// Why there is no lab.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// No namespaces, or no hosts in them.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The order makes no sense.
    #[error("the lab's `{0}` is missing or none")]
    Order(&'static str),
    /// A quantity is none.
    #[error("{0}")]
    Text(String),
    /// Something failed.
    #[error("{0}: {1}")]
    Failed(String, io::Error),
}

/// One direction of the line.
#[derive(Debug)]
struct Lane {
    link: Link<Segment>,
    events: Events<Segment>,
    held: HashMap<u64, Vec<u8>>,
    reached: Time,
    next: u64,
}

/// Does what `order` says: `there` and `back` are the line's directions, each with `rate`, `delay`
/// and `queue` as scenarios have them; `far` and `near` are commands. `near` starts once `far` has
/// written a line, if there is one, and all ends when `near` does, whose status is returned.
///
/// # Errors
/// When there are no namespaces, or a command cannot be started.
pub fn work(order: &Value) -> Result<i32, LabError> {
    let lanes = [lane(&order["there"])?, lane(&order["back"])?];
    let far = words(&order["far"]).ok_or(LabError::Order("far"))?;
    let near = words(&order["near"]).ok_or(LabError::Order("near"))?;
    let mut sandbox = Sandbox::enter()?;
    let plan = |own: Ipv4Addr, peer: Ipv4Addr| HostPlan {
        address: Some(own.into()),
        peer: Some(peer.into()),
        mtu: MTU,
        sysctls: vec![("icmp_ratelimit", "0".into())],
        ..HostPlan::default()
    };
    let hosts = [sandbox.add_host(&plan(NEAR, FAR))?, sandbox.add_host(&plan(FAR, NEAR))?];
    // Without the right to it, the lab is as prompt as others let it be.
    let _ = (set_current_timer_slack(NonZeroU64::new(1)), sys::run_first(1));
    let done = AtomicBool::new(false);
    let (ready, waits) = channel();
    thread::scope(|scope| {
        let (near_host, far_host, done) = (&hosts[0], &hosts[1], &done);
        if far.is_empty() {
            drop(ready);
        } else {
            scope.spawn(move || start(far_host, &far, Some(ready), done));
        }
        let near = scope.spawn(move || {
            // Without a program there, nobody is waited for.
            let _ = waits.recv();
            let status = start(near_host, &near, None, &AtomicBool::new(false));
            done.store(true, Ordering::Relaxed);
            status
        });
        let forwarded = forward([&near_host.port, &far_host.port], lanes, done);
        done.store(true, Ordering::Relaxed);
        let status = near.join().unwrap_or(Err(LabError::Order("near")))?;
        forwarded.map_err(|error| LabError::Failed("the line".into(), error))?;
        Ok(status)
    })
}

fn words(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|word| word.as_str().map(str::to_owned)).collect()
}

fn lane(order: &Value) -> Result<Lane, LabError> {
    let packets: PacketCount = read(order, "queue")?;
    let packets = u32::try_from(packets.0).map_err(|_| LabError::Order("queue"))?;
    let config = LinkConfig {
        rate: read(order, "rate")?,
        framing: Framing::NONE,
        delay: Delay::constant(read(order, "delay")?),
        order: InOrder::Fifo,
        mtu: None,
        queue: Queue::DropTail(QueueLimit::Packets(packets)),
        effects: None,
    };
    Ok(Lane {
        link: Link::new(0, config),
        events: Events::new(Wanted::default()),
        held: HashMap::new(),
        reached: Time::ZERO,
        next: 0,
    })
}

/// What a direction's text says, as in scenarios.
fn read<T: FromStr<Err: Display>>(order: &Value, key: &'static str) -> Result<T, LabError> {
    let text = order[key].as_str().ok_or(LabError::Order(key))?;
    text.parse().map_err(|error: T::Err| LabError::Text(error.to_string()))
}

/// Runs a command on a host until it ends, or until all is done; its status. `ready` is told once
/// it has written a line, or has ended.
fn start(
    host: &Host,
    words: &[String],
    ready: Option<Sender<()>>,
    done: &AtomicBool,
) -> Result<i32, LabError> {
    let run = || -> io::Result<i32> {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(Stdio::null());
        if ready.is_some() {
            command.stdout(Stdio::piped());
        }
        sys::end_with_starter(&mut command);
        let mut child = command.spawn()?;
        if let Some(told) = child.stdout.take() {
            let mut told = BufReader::new(told);
            told.read_line(&mut String::new())?;
            drop(ready);
            thread::spawn(move || io::copy(&mut told, &mut io::sink()));
        }
        status(&mut child, done)
    };
    let failed = |error| LabError::Failed(words.join(" "), error);
    host.within(run)?.map_err(failed)
}

/// Waits for a program's end, and brings it about once all is done.
fn status(child: &mut Child, done: &AtomicBool) -> io::Result<i32> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.code().unwrap_or(255));
        }
        if done.load(Ordering::Relaxed) {
            child.kill()?;
        }
        thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// Carries packets over the line until all is done.
fn forward(ports: [&Port; 2], mut lanes: [Lane; 2], done: &AtomicBool) -> io::Result<()> {
    let clock = WallClock::start();
    let epoch = SystemTime::now().duration_since(UNIX_EPOCH).map_err(io::Error::other)?;
    let epoch = u64::try_from(epoch.as_nanos()).map_err(io::Error::other)? - clock.now().as_nanos();
    ports.iter().try_for_each(|port| port.stamp())?;
    let mut batch = Batch::new(ports[0].room_bytes());
    let mut outbox = Outbox::default();
    while !done.load(Ordering::Relaxed) {
        for (from, lane) in lanes.iter_mut().enumerate() {
            let mut more = true;
            while more {
                more = ports[from].receive(&mut batch)?;
                for got in batch.received() {
                    let stamped = got.unix_ns.unwrap_or(u64::MAX).saturating_sub(epoch);
                    lane.enter(Time::from_nanos(stamped.min(clock.now().as_nanos())), got.bytes);
                }
            }
            lane.deliver(clock.now(), ports[1 - from], &mut outbox)?;
        }
        // Somebody may be done while nothing moves.
        const LOOK: Duration = Duration::from_millis(20);
        let now = clock.now();
        let due = lanes.iter().filter_map(|lane| lane.link.next_wakeup()).min();
        let left = due.map_or(LOOK, |due| due.saturating_since(now)).min(LOOK);
        let mut fds = ports.map(|port| PollFd::new(port, PollFlags::IN));
        // Interrupted or not: what there is to do is looked at again.
        let _ = poll(&mut fds, Some(&timespec(left)));
    }
    Ok(())
}

impl Lane {
    fn enter(&mut self, at: Time, octets: &[u8]) {
        let four = octets.first().is_some_and(|octet| octet >> 4 == 4);
        let Ok(size_bytes) = u16::try_from(octets.len()) else { return };
        if !four {
            return;
        }
        self.reached = self.reached.max(at);
        self.next += 1;
        let frame = Segment { size_bytes, id: self.next, ..Segment::default() };
        let dropped = self.link.count().dropped;
        self.link.push(self.reached, 0, frame, &mut self.events);
        if self.link.count().dropped == dropped {
            self.held.insert(self.next, octets.to_vec());
        }
    }

    fn deliver(&mut self, now: Time, port: &Port, outbox: &mut Outbox) -> io::Result<()> {
        while let Some(at) = self.link.next_wakeup().filter(|at| *at <= now) {
            self.reached = self.reached.max(at);
            while let Some((_, _, frame)) = self.link.pop(at, &mut self.events) {
                if let Some(octets) = self.held.remove(&frame.id) {
                    // A device that is full drops, as devices do.
                    let parcel = Parcel { prefix: &[], head: &octets, body: &[] };
                    let _ = port.send(outbox, &[parcel])?;
                }
            }
        }
        self.events.drain().for_each(drop);
        Ok(())
    }
}
