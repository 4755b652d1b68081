//! The wall-clock driver: reads real packets, passes them through the emulated path, and delivers
//! them when they are due.
//!
//! A real host runs the kernel's TCP. Its packets come from netspurt's own applications, from
//! *programs* such as curl, or from a *population*: many connections of one kind. The peer of a
//! real host is another real host, or an end in the simulator.

use std::io;
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use netspurt::event::{Event, What};
use netspurt::ids::{EndId, FlowId, TransmissionId};
use netspurt::path::{Departure, Path};
use netspurt::segment::{Ecn, Segment};
use netspurt::units::{Duration, Time};
use netspurt::wire::{cut, set_ecn};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::thread::set_current_timer_slack;

use crate::hold::Hold;
use crate::kernel::timespec;
use crate::labels::Labels;
use crate::offload::Shape;
use crate::post::{Post, is_unchanged};
use crate::sandbox::PacketPort;
use crate::sys::Batch;
use crate::wall::WallClock;

/// A packet that entered the path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PacketArrival {
    /// When the packet entered the path, in logical time. Logical time is the time of the emulated
    /// path. It follows the kernel's timestamps and never goes back.
    pub at: Time,
    /// When the kernel received the packet. With a TUN device, which gives no timestamps, this is
    /// the time at which the driver read the packet. It is never later than the time `at`.
    pub stamped: Time,
    /// The packet.
    pub segment: Segment,
}

/// Groups arrivals that follow each other and come from one end at one instant. A packet may hold
/// several segments, and most groups are the segments of one packet.
pub fn simultaneous(arrivals: &[PacketArrival]) -> impl Iterator<Item = &[PacketArrival]> {
    let one = |arrival: &PacketArrival| (arrival.at, arrival.segment.dest);
    arrivals.chunk_by(move |a, b| one(a) == one(b))
}

/// The shortest time between two different instants.
const INSTANT: Duration = Duration::from_nanos(1);

/// A packet that was handed to the device of a real host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketDelivery {
    /// The packet's id.
    pub id: TransmissionId,
    /// The end to which the packet was sent.
    pub end: EndId,
    /// When the packet left the path, in logical time.
    pub due: Time,
    /// The wall-clock time directly after the kernel had accepted or refused the packet.
    pub actual: Time,
}

/// The record that the driver keeps of a run.
#[derive(Debug, Default)]
pub struct Log {
    /// The packets that entered the path.
    pub arrivals: Vec<PacketArrival>,
    /// The packets that were delivered to hosts, and the packets that a host's device refused.
    pub deliveries: Vec<PacketDelivery>,
    /// The number of packets that a host's device refused.
    pub refused: u64,
    /// The number of packets that were lost before the driver read them, because a buffer was full.
    pub missed: u64,
    /// The number of packets that could not be read. A packet of a program or of a population can
    /// be read if it is a complete IPv4 packet. A packet of any other end with the kernel's TCP can
    /// be read if it is a correct TCP segment.
    pub strange: u64,
    /// The number of packets from the kernel's ends whose payload differs from what the application
    /// wrote. Packets of programs and populations are not checked.
    pub damaged: u64,
}

/// An observer of the real packets in a run.
pub trait Watch {
    /// Processes an event on the path. If the event says that a packet was seen, and
    /// [`captures`](Self::captures) returns true, `octets` has the packet. Otherwise `octets` is
    /// `None`.
    fn event(&mut self, event: &Event<Segment>, octets: Option<&[u8]>);
    /// Whether the observer needs the octets of packets.
    fn captures(&self) -> bool;
    /// Converts a packet into segments, and appends the segments to the list `out`. The end `from`
    /// sent the packet. The argument `labels` gives each segment its id and, if the segment is a
    /// retransmission, its cause.
    fn label(
        &mut self,
        labels: &mut Labels,
        from: EndId,
        packet: (&[u8], Shape),
        out: &mut Vec<Segment>,
    );
    /// Writes the octets of a packet from an end in the simulator. The sequence numbers of
    /// `segment` are the numbers on the wire.
    fn encode(&mut self, segment: &Segment, out: &mut Vec<u8>);
    /// Processes the delivery of a packet to its host. The host's device may have refused the
    /// packet. If a datagram comes in fragments, only the fragment that completes it is reported.
    fn delivered(&mut self, due: Time, segment: &Segment);
    /// Returns whether the run continues at the instant `now`.
    fn goes_on(&mut self, now: Time) -> bool;
}

/// Drives a path by the wall clock.
pub struct Driver {
    clock: WallClock,
    path: Path,
    /// The end of each real host, with the port through which the host's packets come and go.
    ports: Vec<(EndId, PacketPort)>,
    labels: Labels,
    hold: Hold,
    log: Log,
    batch: Batch,
    post: Post,
    /// The arrivals of one pass of the loop. The list is kept, so that its memory is used again.
    arrivals: Vec<(Time, Segment)>,
    /// The departures of one pass of the loop. This list is kept for the same reason.
    leaving: Vec<Departure>,
    /// A span before each due instant. In this span, the driver does not sleep, but polls the
    /// clock.
    spin: Duration,
    /// The first flow of programs or of a population. This flow and all later flows share two
    /// ports.
    programs: Option<FlowId>,
    /// The driver stops waiting when this descriptor is readable.
    wake: Option<OwnedFd>,
    /// This flag is set when the hosts have nothing more to send.
    quiet: Option<Arc<AtomicBool>>,
}

/// The driver checks at this interval whether the hosts have nothing more to send.
const QUIET_CHECK_INTERVAL: Duration = Duration::from_millis(20);

impl Driver {
    /// Creates a driver of `path`. `ports` has the end of each real host, with the host's port.
    pub fn new(clock: WallClock, path: Path, ports: Vec<(EndId, PacketPort)>) -> Self {
        let room = ports.iter().map(|(_, port)| port.room_bytes()).max().unwrap_or(1);
        Self {
            clock,
            path,
            ports,
            labels: Labels::new(),
            hold: Hold::default(),
            log: Log::default(),
            batch: Batch::new(room),
            post: Post::default(),
            arrivals: Vec::new(),
            leaving: Vec::new(),
            spin: Duration::ZERO,
            programs: None,
            wake: None,
            quiet: None,
        }
    }

    /// Makes the run end as soon as the flag `quiet` is set and nothing is on the path.
    #[must_use]
    pub fn ending_with(mut self, quiet: Arc<AtomicBool>) -> Self {
        self.quiet = Some(quiet);
        self
    }

    /// Sets whether a packet may leave the path more than once, because a link fragments or
    /// duplicates it, or a shim retransmits it. A shim is a retransmission timer at the edge of a
    /// host. If `keeps` is true, the driver keeps the octets of all packets until the run ends.
    #[must_use]
    pub fn keeping_packets(mut self, keeps: bool) -> Self {
        self.hold.keeps = keeps;
        self
    }

    /// Sets a span before each due instant. In this span, the driver does not sleep, but polls the
    /// clock.
    #[must_use]
    pub fn spinning(mut self, spin: Duration) -> Self {
        self.spin = spin;
        self
    }

    /// Sets which flows belong to programs or to a population: the flow `first` and all later
    /// flows, which share two ports. `None` means that there are no such flows. The driver does not
    /// check the octets of these flows, because it does not know which octets programs send.
    #[must_use]
    pub fn with_programs(mut self, first: Option<FlowId>) -> Self {
        self.labels = self.labels.foreign_from(first);
        self.programs = first;
        self
    }

    /// Makes the driver stop waiting as soon as the descriptor `wake` is readable.
    #[must_use]
    pub fn woken_by(mut self, wake: OwnedFd) -> Self {
        self.wake = Some(wake);
        self
    }

    /// Runs until the instant `stop`, until the observer `watch` ends the run, or until the flag of
    /// [`ending_with`](Self::ending_with) is set and nothing is on the path. Returns the path and
    /// the log of the run.
    ///
    /// # Errors
    /// When a port fails, or the kernel refuses to make this thread's sleeps exact (timer slack).
    pub fn run(mut self, stop: Time, watch: &mut dyn Watch) -> io::Result<(Path, Log)> {
        set_current_timer_slack(NonZeroU64::new(1))?;
        self.ports.iter().try_for_each(|(_, port)| port.stamp())?;
        loop {
            let now = self.clock.now().min(stop);
            // The driver reads the flag `quiet` before it reads the ports. If the flag is set, the
            // last packets of the hosts are already at the ports.
            let quiet = self.quiet.as_ref().is_some_and(|quiet| quiet.load(Ordering::Relaxed));
            let more = self.read(watch)?;
            let over = quiet && !more && self.arrivals.is_empty();
            self.advance(now, watch);
            self.deliver(watch);
            if now >= stop || !watch.goes_on(now) || over && self.path.next_wakeup().is_none() {
                break;
            }
            if !more {
                self.wait(stop);
            }
        }
        for (_, port) in &self.ports {
            self.log.missed += u64::from(port.missed()?);
        }
        let (hold, labels) = (&mut self.hold, &self.labels);
        self.path.settle(&mut |event| forward_event(hold, labels, event, watch));
        // Each pass of the loop delivers its packets host by host. The log must be in the order of
        // time.
        self.log.deliveries.sort_by_key(|delivery| delivery.due);
        self.log.strange = self.labels.strange;
        self.log.damaged = self.labels.damaged;
        Ok((self.path, self.log))
    }

    /// Reads one batch at each port, and lets the packets enter in the order of the kernel's
    /// timestamps. Returns whether more packets may wait at the ports. A packet whose timestamp
    /// lies before the logical time enters at the current logical time, because logical time never
    /// goes back.
    fn read(&mut self, watch: &mut dyn Watch) -> io::Result<bool> {
        let mut more = false;
        self.arrivals.clear();
        for place in 0..self.ports.len() {
            more |= self.ports[place].1.receive(&mut self.batch)?;
            if !self.batch.is_empty() {
                self.label(place, watch);
            }
        }
        if !self.arrivals.is_sorted_by_key(|(stamped, _)| *stamped) {
            self.arrivals.sort_by_key(|(stamped, _)| *stamped);
        }
        // These arrivals get a later time than all earlier arrivals. So a replay in virtual time
        // forms the same groups of simultaneous arrivals.
        let mut at = self.log.arrivals.last().map_or(Time::ZERO, |last| last.at + INSTANT);
        at = at.max(self.path.now());
        let known = self.log.arrivals.len();
        for &(stamped, segment) in &self.arrivals {
            at = at.max(stamped);
            self.log.arrivals.push(PacketArrival { at, stamped, segment });
        }
        for together in simultaneous(&self.log.arrivals[known..]) {
            let PacketArrival { at, segment, .. } = together[0];
            let (hold, labels) = (&mut self.hold, &self.labels);
            let mut segments = together.iter().map(|arrival| arrival.segment);
            let watch = &mut |event: &Event<Segment>| forward_event(hold, labels, event, watch);
            self.path.enter_together(at, segment.source(), &mut segments, watch);
        }
        Ok(more)
    }

    /// Converts the batch from the port with the index `place` into segments, and keeps the octets
    /// of the packets if the peer or the observer needs them.
    fn label(&mut self, place: usize, watch: &mut dyn Watch) {
        let now = self.clock.now();
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let unix_ns = u64::try_from(unix.as_nanos()).unwrap_or(u64::MAX);
        let (end, port) = &self.ports[place];
        // If the peer is an end in the simulator, the peer needs no octets.
        let real = self.ports.iter().any(|(other, _)| *other == end.peer());
        let keeps = real || watch.captures();
        let mut segments = std::mem::take(&mut self.post.segments);
        for index in 0..self.batch.len() {
            let packet = self.batch.packet(index);
            let age = packet.unix_ns.map_or(0, |stamp| unix_ns.saturating_sub(stamp));
            let stamped = Time::from_nanos(now.as_nanos().saturating_sub(age));
            let (shape, start) = port.shape(packet.bytes);
            segments.clear();
            watch.label(&mut self.labels, *end, (&packet.bytes[start..], shape), &mut segments);
            let Some(first) = segments.first() else { continue };
            if keeps {
                let ids = (first.id, segments.len());
                self.hold.take(&mut self.batch, index, start, shape, ids);
            }
            self.arrivals.extend(segments.iter().map(|segment| (stamped, *segment)));
        }
        self.post.segments = segments;
    }

    fn advance(&mut self, until: Time, watch: &mut dyn Watch) {
        let (path, hold, labels) = (&mut self.path, &mut self.hold, &self.labels);
        path.advance(until.max(path.now()), &mut |event| forward_event(hold, labels, event, watch));
    }

    /// Delivers the packets that have left the path, grouped by host.
    fn deliver(&mut self, watch: &mut dyn Watch) {
        let mut leaving = std::mem::take(&mut self.leaving);
        self.path.depart(&mut leaving);
        let programs = self.programs;
        let host = move |departure: &Departure| home(programs, departure.segment.dest);
        leaving.sort_by_key(host);
        for run in leaving.chunk_by(|a, b| host(a) == host(b)) {
            self.hand_over(run, watch);
        }
        self.leaving = leaving;
    }

    /// Delivers packets to one host.
    fn hand_over(&mut self, mut run: &[Departure], watch: &mut dyn Watch) {
        let home = home(self.programs, run[0].segment.dest);
        let Some((_, port)) = self.ports.iter().find(|(of, _)| *of == home) else { return };
        while !run.is_empty() {
            let segments = run.iter().map(|departure| departure.segment);
            self.post.pack(port, &self.hold, segments, &mut |segment, out| {
                write_whole(&self.hold, &self.labels, segment, watch, out);
            });
            let (sent, refused) = self.post.send(port, &self.hold);
            self.log.refused += refused;
            let actual = self.clock.now();
            for Departure { due, segment, completes } in &run[..sent] {
                let (id, end, due) = (segment.id, segment.dest, *due);
                self.log.deliveries.push(PacketDelivery { id, end, due, actual });
                if *completes {
                    watch.delivered(due, segment);
                }
                self.hold.release(id);
            }
            run = &run[sent..];
        }
    }

    /// Waits until a packet arrives, the descriptor `wake` is readable, something is due on the
    /// path, the flag `quiet` is to be checked, or the instant `stop` is reached.
    fn wait(&self, stop: Time) {
        let mut next = self.path.next_wakeup().unwrap_or(stop).min(stop);
        if self.quiet.is_some() {
            next = next.min(self.clock.now() + QUIET_CHECK_INTERVAL);
        }
        let left = next.saturating_since(self.clock.now());
        let sleep = Duration::from_nanos(left.as_nanos().saturating_sub(self.spin.as_nanos()));
        let mut fds: Vec<PollFd<'_>> =
            self.ports.iter().map(|(_, port)| PollFd::new(port, PollFlags::IN)).collect();
        fds.extend(self.wake.iter().map(|wake| PollFd::new(wake, PollFlags::IN)));
        // An interrupted wait is not an error, because the loop then checks again what is due.
        let ready = poll(&mut fds, Some(&timespec(sleep))).unwrap_or(0);
        if ready == 0 && !self.spin.is_zero() {
            while self.clock.now() < next {
                std::hint::spin_loop();
            }
        }
    }
}

/// Returns the end whose port is used by `end`. The flow `programs` and all later flows use the
/// ports of the flow `programs`.
fn home(programs: Option<FlowId>, end: EndId) -> EndId {
    programs.filter(|first| *first <= end.flow()).map_or(end, |first| first.end(end.side()))
}

/// Passes an event to the observer `watch`, and releases the octets of a packet that was dropped.
fn forward_event(hold: &mut Hold, labels: &Labels, event: &Event<Segment>, watch: &mut dyn Watch) {
    match &event.what {
        What::Seen { frame, .. } if watch.captures() => {
            let mut scratch = std::mem::take(&mut hold.scratch);
            match hold.handle(frame.id).map(|handle| hold.packet(handle)) {
                // The links did not change this packet, so its octets are still the octets that
                // were received.
                Some(held) if held.shape == Shape::WHOLE && is_unchanged(frame) => {
                    watch.event(event, Some(held.octets()));
                }
                _ => {
                    write_whole(hold, labels, frame, watch, &mut scratch);
                    watch.event(event, Some(&scratch));
                }
            }
            hold.scratch = scratch;
        }
        _ => watch.event(event, None),
    }
    if let What::Dropped { frame, .. } = &event.what {
        hold.release(frame.id);
    }
}

/// Replaces the contents of the buffer `out` by the octets of a packet as they are on a wire.
fn write_whole(
    hold: &Hold,
    labels: &Labels,
    segment: &Segment,
    watch: &mut dyn Watch,
    out: &mut Vec<u8>,
) {
    out.clear();
    match hold.handle(segment.id) {
        Some(handle) => hold.write(handle, out),
        None => watch.encode(&labels.on_the_wire(*segment), out),
    }
    if segment.ecn == Ecn::CE {
        set_ecn(out, Ecn::CE);
    }
    let part = segment.part;
    if !part.is_whole() {
        let (start, size) = (part.offset_bytes() as usize, usize::from(segment.size_bytes) - 20);
        let whole = out.clone();
        cut(&whole, start..start + size, out);
    }
}

#[cfg(test)]
mod tests;
