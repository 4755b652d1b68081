//! The wall-clock driver: real packets in, through the emulated path, and out when they are due.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::time::{SystemTime, UNIX_EPOCH};

use netspurt::event::{Event, What};
use netspurt::segment::{Ecn, Segment};
use netspurt::units::{Duration, Time};
use netspurt::wire::{cut, set_ecn};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::thread::set_current_timer_slack;

use crate::kernel::timespec;
use crate::labels::{Labels, original};
use crate::path::{Departure, Path};
use crate::sandbox::Port;
use crate::sys::Batch;
use crate::wall::WallClock;

/// A packet that entered the path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrival {
    /// When, in logical time.
    pub at: Time,
    /// When the kernel had it; not after `at`.
    pub stamped: Time,
    /// The packet.
    pub segment: Segment,
}

/// A packet that was handed to a real host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Which.
    pub id: u64,
    /// The end it went to.
    pub end: u32,
    /// When it left the path, in logical time.
    pub due: Time,
    /// When the kernel had taken it.
    pub actual: Time,
}

/// What the driver kept.
#[derive(Debug, Default)]
pub struct Log {
    /// What entered.
    pub arrivals: Vec<Arrival>,
    /// What was delivered.
    pub deliveries: Vec<Delivery>,
    /// Packets that a host's device did not take.
    pub refused: u64,
    /// Packets that found no room before they were read.
    pub missed: u64,
    /// Packets that are no TCP segments of their flow.
    pub strange: u64,
    /// Segments of real hosts that carry what nobody wrote there.
    pub damaged: u64,
}

/// Someone who is told of real packets.
pub trait Watch {
    /// Something happened on the path; of a real packet that was seen these are the octets.
    fn event(&mut self, event: &Event<Segment>, octets: Option<&[u8]>);
    /// Whether it wants the octets of what is seen.
    fn captures(&self) -> bool;
    /// A packet of the end numbered `from` is to be labelled.
    fn label(&mut self, labels: &mut Labels, from: u32, octets: &[u8]) -> Option<Segment>;
    /// The octets of a packet that came from the simulator's end; its numbers are the wire's.
    fn encode(&mut self, segment: &Segment, out: &mut Vec<u8>);
    /// A packet was handed to the end numbered `end`.
    fn delivered(&mut self, due: Time, segment: &Segment);
    /// The time is now `now`; whether to go on.
    fn goes_on(&mut self, now: Time) -> bool;
}

/// The octets of packets on their way.
#[derive(Debug, Default)]
struct Pool {
    held: HashMap<u64, Vec<u8>>,
    spare: Vec<Vec<u8>>,
    /// Whether a packet may leave more than once, as a copy or in fragments; then all are kept.
    keeps: bool,
}

impl Pool {
    /// The octets of a packet, or of the one that it is a copy of.
    fn get(&self, id: u64) -> Option<&Vec<u8>> {
        self.held.get(&original(id))
    }

    fn hold(&mut self, id: u64, octets: &[u8]) {
        let mut own = self.spare.pop().unwrap_or_default();
        own.clear();
        own.extend_from_slice(octets);
        self.held.insert(original(id), own);
    }

    fn release(&mut self, id: u64) {
        if !self.keeps {
            self.spare.extend(self.held.remove(&original(id)));
        }
    }
}

/// Drives a path by the wall clock.
#[derive(Debug)]
pub struct Driver {
    clock: WallClock,
    path: Path,
    ports: Vec<(u32, Port)>,
    labels: Labels,
    pool: Pool,
    log: Log,
    /// How long before an appointment waiting becomes looking at the clock again and again.
    spin: Duration,
    /// The first end of programs: every second end from there on has the same port.
    programs: Option<u32>,
    /// Ends a wait when there is something to read.
    wake: Option<OwnedFd>,
}

impl Driver {
    /// A driver of `path`, whose gates are at `ports`. With `keeps` a packet may leave more than
    /// once.
    pub fn new(clock: WallClock, path: Path, ports: Vec<(u32, Port)>, ends: usize) -> Self {
        let labels = Labels::new(ends);
        let (pool, log) = (Pool::default(), Log::default());
        let (spin, programs, wake) = (Duration::ZERO, None, None);
        Self { clock, path, ports, labels, pool, log, spin, programs, wake }
    }

    /// Lets packets leave more than once, as copies or in fragments.
    #[must_use]
    pub fn keeping_packets(mut self, keeps: bool) -> Self {
        self.pool.keeps = keeps;
        self
    }

    /// Looks at the clock again and again for the last `spin` before an appointment.
    #[must_use]
    pub fn spinning(mut self, spin: Duration) -> Self {
        self.spin = spin;
        self
    }

    /// Lets ends from the one numbered `first` on be programs': every second one has the same
    /// port. What is there to be read from `wake` ends a wait.
    #[must_use]
    pub fn with_programs(mut self, first: u32, wake: OwnedFd) -> Self {
        self.labels = self.labels.foreign_from(first);
        (self.programs, self.wake) = (Some(first), Some(wake));
        self
    }

    /// Runs until `stop`, or until `watch` has enough; the path as it is then, and what was
    /// kept.
    ///
    /// # Errors
    /// When a port fails.
    pub fn run(mut self, stop: Time, watch: &mut dyn Watch) -> io::Result<(Path, Log)> {
        set_current_timer_slack(NonZeroU64::new(1))?;
        let mut batch = Batch::default();
        loop {
            let now = self.clock.now().min(stop);
            self.read(&mut batch, watch)?;
            self.advance(now, watch);
            self.deliver(watch)?;
            if now >= stop || !watch.goes_on(now) {
                break;
            }
            self.wait(stop);
        }
        for (_, port) in &self.ports {
            self.log.missed += u64::from(port.missed()?);
        }
        let (pool, labels) = (&mut self.pool, &self.labels);
        self.path.settle(&mut |event| told(pool, labels, event, watch));
        self.log.strange = self.labels.strange;
        self.log.damaged = self.labels.damaged;
        Ok((self.path, self.log))
    }

    /// Takes in what waits at the ports, in the order of the kernel's stamps. A packet whose
    /// stamp logical time has passed enters now: logical time never goes back.
    fn read(&mut self, batch: &mut Batch, watch: &mut dyn Watch) -> io::Result<()> {
        let mut came: Vec<(Time, Segment)> = Vec::new();
        let now = self.clock.now();
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let unix_ns = u64::try_from(unix.as_nanos()).unwrap_or(u64::MAX);
        for (end, port) in &self.ports {
            let mut more = true;
            while more {
                more = port.receive(batch)?;
                for packet in batch.received() {
                    let age = packet.unix_ns.map_or(0, |stamp| unix_ns.saturating_sub(stamp));
                    let stamped = Time::from_nanos(now.as_nanos().saturating_sub(age));
                    let Some(segment) = watch.label(&mut self.labels, *end, packet.bytes) else {
                        continue;
                    };
                    // A program of the simulator's needs no octets.
                    let home = home(self.programs, segment.dest);
                    let real = self.ports.iter().any(|(end, _)| *end == home);
                    if real || watch.captures() {
                        self.pool.hold(segment.id, packet.bytes);
                    }
                    came.push((stamped, segment));
                }
            }
        }
        came.sort_by_key(|(stamped, _)| *stamped);
        for (stamped, segment) in came {
            let at = stamped.max(self.path.now());
            self.log.arrivals.push(Arrival { at, stamped, segment });
            let (pool, labels) = (&mut self.pool, &self.labels);
            self.path.enter(at, segment, &mut |event| told(pool, labels, event, watch));
        }
        Ok(())
    }

    fn advance(&mut self, until: Time, watch: &mut dyn Watch) {
        let (path, pool, labels) = (&mut self.path, &mut self.pool, &self.labels);
        path.advance(until.max(path.now()), &mut |event| told(pool, labels, event, watch));
    }

    /// Hands what has left the path to its hosts.
    fn deliver(&mut self, watch: &mut dyn Watch) -> io::Result<()> {
        let departures = self.path.departures();
        for run in departures.chunk_by(|a, b| a.segment.dest == b.segment.dest) {
            self.hand_over(run, watch)?;
        }
        Ok(())
    }

    /// Hands packets to one host.
    fn hand_over(&mut self, run: &[Departure], watch: &mut dyn Watch) -> io::Result<()> {
        let end = run[0].segment.dest;
        let home = home(self.programs, end);
        let Some((_, port)) = self.ports.iter().find(|(of, _)| *of == home) else { return Ok(()) };
        let made: Vec<Option<Vec<u8>>> = run
            .iter()
            .map(|departure| made(&self.pool, &self.labels, &departure.segment, watch))
            .collect();
        let octets: Vec<&[u8]> = run
            .iter()
            .zip(&made)
            .filter_map(|(departure, made)| {
                let held = self.pool.get(departure.segment.id);
                made.as_deref().or(held.map(Vec::as_slice))
            })
            .collect();
        let mut sent = 0;
        while sent < octets.len() {
            let taken = port.send(&octets[sent..]).unwrap_or_else(|_| {
                self.log.refused += 1;
                1
            });
            let actual = self.clock.now();
            for Departure { due, segment } in &run[sent..sent + taken] {
                let (id, due) = (segment.id, *due);
                self.log.deliveries.push(Delivery { id, end, due, actual });
                watch.delivered(due, segment);
            }
            sent += taken;
        }
        run.iter().for_each(|departure| self.pool.release(departure.segment.id));
        Ok(())
    }

    /// Waits for a packet, or for the next thing due on the path.
    fn wait(&self, stop: Time) {
        let next = self.path.next_wakeup().unwrap_or(stop).min(stop);
        let left = next.saturating_since(self.clock.now());
        let sleep = Duration::from_nanos(left.as_nanos().saturating_sub(self.spin.as_nanos()));
        let mut fds: Vec<PollFd<'_>> =
            self.ports.iter().map(|(_, port)| PollFd::new(port, PollFlags::IN)).collect();
        fds.extend(self.wake.iter().map(|wake| PollFd::new(wake, PollFlags::IN)));
        // Interrupted or not: what there is to do is looked at again.
        let came = poll(&mut fds, Some(&timespec(sleep))).unwrap_or(0);
        if came == 0 && !self.spin.is_zero() {
            while self.clock.now() < next {
                std::hint::spin_loop();
            }
        }
    }
}

/// The end whose port the end numbered `end` has, where those from `programs` on share theirs.
fn home(programs: Option<u32>, end: u32) -> u32 {
    programs.filter(|first| *first <= end).map_or(end, |first| first + (end & 1))
}

/// Tells of an event, and forgets the octets of what was dropped.
fn told(pool: &mut Pool, labels: &Labels, event: &Event<Segment>, watch: &mut dyn Watch) {
    let octets = match &event.what {
        What::Seen { frame, .. } if watch.captures() => Some(whole(pool, labels, frame, watch)),
        _ => None,
    };
    watch.event(event, octets.as_deref());
    if let What::Dropped { frame, .. } = &event.what {
        pool.release(frame.id);
    }
}

/// The octets of a packet as it is on the wire.
fn whole<'a>(
    pool: &'a Pool,
    labels: &Labels,
    segment: &Segment,
    watch: &mut dyn Watch,
) -> Cow<'a, [u8]> {
    made(pool, labels, segment, watch).map_or_else(
        || Cow::Borrowed(pool.get(segment.id).map_or(&[][..], Vec::as_slice)),
        Cow::Owned,
    )
}

/// The octets of a packet that are not those that entered: a fragment's, a marked packet's, or
/// those of a packet of the simulator's.
fn made(pool: &Pool, labels: &Labels, segment: &Segment, watch: &mut dyn Watch) -> Option<Vec<u8>> {
    let part = segment.part;
    let held = pool.get(segment.id);
    let marked = segment.ecn == Ecn::CE;
    if held.is_some() && part.is_whole() && !marked {
        return None;
    }
    let mut whole = Vec::new();
    match held {
        Some(octets) => whole.extend_from_slice(octets),
        None => watch.encode(&labels.on_the_wire(*segment), &mut whole),
    }
    if marked {
        set_ecn(&mut whole, Ecn::CE);
    }
    if part.is_whole() {
        return Some(whole);
    }
    let (start, size) = (part.offset_bytes() as usize, usize::from(segment.size_bytes) - 20);
    let mut out = Vec::new();
    cut(&whole, start..start + size, &mut out);
    Some(out)
}
