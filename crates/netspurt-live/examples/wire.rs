//! Measures the cost of forwarding packets: `wire WAY TRAFFIC LOGS WIRE SECONDS [offload]`.
//!
//! WAY is `bare` or `driver`. A `bare` forwarder receives a batch and sends the same batch; the
//! `driver` passes each packet through the links. TRAFFIC is `blast` or `tcp`. `blast` sends
//! packets of 1500 octets in one direction at the highest possible rate, to a host that drops them.
//! `tcp` is a bulk transfer of the kernel's TCP. LOGS says what the driver records. `logs` has
//! arrivals, deliveries and drops. `tables` also has the other default tables of a scenario, with
//! all segments seen at both ends. `captures` also writes the packets of these segments.
//! WIRE is `veth` or `tun`. The program prints one line of JSON.

#![expect(clippy::disallowed_methods, reason = "the program measures real time")]

use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration as Span, Instant};

use netspurt::ids::{EndId, Side};
use netspurt::path::Path;
use netspurt::plan::{KernelEnd, NetworkEnd};
use netspurt::record::flow_addresses;
use netspurt::segment::{Flags, Segment};
use netspurt::wire::{Packet, TcpHead, encode};
use netspurt_live::content;
use netspurt_live::drive::Driver;
use netspurt_live::kernel::{Apps, FlowSocket, open, sysctls};
use netspurt_live::run::watcher;
use netspurt_live::sandbox::{HostPlan, KernelHost, PacketPort, RouteHints, Sandbox, Wire, Wiring};
use netspurt_live::sys::{Batch, Outbox, OutgoingPacket};
use netspurt_live::wall::WallClock;
use netspurt_scenario::scenario::Scenario;
use rustix::event::{PollFd, PollFlags, poll};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const MTU: u16 = 1500;

/// The arguments of the command line.
struct Case {
    bare: bool,
    blast: bool,
    logs: String,
    wiring: Wiring,
    seconds: u64,
}

impl Case {
    fn read() -> Option<Self> {
        let words: Vec<String> = std::env::args().skip(1).collect();
        let [way, traffic, logs, wire, seconds, rest @ ..] = &words[..] else { return None };
        let offload = match rest {
            [] => false,
            [word] if word == "offload" => true,
            _ => return None,
        };
        Some(Self {
            bare: way == "bare",
            blast: traffic == "blast",
            logs: logs.clone(),
            wiring: Wiring { wire: Wire::named(wire)?, offload },
            seconds: seconds.parse().ok()?,
        })
    }

    fn scenario(&self) -> Outcome<Scenario> {
        let record = match &*self.logs {
            "captures" => "spy = [\"a\", \"b\"]",
            "tables" => "spy = [\"a\", \"b\"]\ncapture = false",
            _ => "tables = [\"drops\"]\ncapture = false",
        };
        let text = format!(
            "stop = \"{} s\"\n[links]\n\
             wire = {{ between = [\"a\", \"b\"], rate = \"100 Gbit/s\", delay = \"20 us\" }}\n\
             [flows.transfer]\nfrom = \"a\"\nto = \"b\"\nendpoint = \"kernel\"\n\
             profile = \"linux-default\"\n[record]\n{record}\n",
            self.seconds
        );
        Ok(Scenario::parse("wire", &text)?)
    }
}

fn main() -> Outcome<()> {
    let case =
        Case::read().ok_or("use: wire bare|driver blast|tcp LOGS veth|tun SECONDS [offload]")?;
    let network = case.scenario()?.network();
    let ends: Vec<KernelEnd> = (network.ends.iter())
        .filter_map(|(end, _)| match end {
            NetworkEnd::Kernel(end) => Some(end.clone()),
            NetworkEnd::Model(_) | NetworkEnd::Programs(_) => None,
        })
        .collect();
    let addresses = flow_addresses(&network.names).next().ok_or("no flow")?;
    let mut sandbox = Sandbox::enter()?;
    let mut hosts = Vec::new();
    for (side, end) in Side::BOTH.into_iter().zip(&ends) {
        // A host without an address drops all packets.
        let lives = !case.blast;
        hosts.push(sandbox.add_host(&HostPlan {
            address: Some(addresses[side.index()].ip()).filter(|_| lives),
            peer: Some(addresses[side.peer().index()].ip()).filter(|_| lives),
            mtu: MTU,
            hints: RouteHints {
                initial_window_segs: Some(10),
                quick_acks: false,
                congestion: None,
            },
            sysctls: sysctls(&end.tcp),
            wiring: case.wiring,
        })?);
    }
    let result = if case.blast { blast(&case, hosts)? } else { transfer(&case, hosts, &ends)? };
    println!("{result}");
    Ok(())
}

/// The result of a measurement.
struct Carried {
    packets: u64,
    cpu_ns: u64,
}

/// Carries packets between the hosts until the time is up, with the forwarder that WAY names.
fn carry(case: &Case, clock: WallClock, ports: Vec<PacketPort>) -> Outcome<Carried> {
    if case.bare {
        let before = cpu_ns()?;
        let packets = forward(&ports, case.seconds)?;
        return Ok(Carried { packets, cpu_ns: cpu_ns()? - before });
    }
    let network = case.scenario()?.network();
    let folder: PathBuf = std::env::temp_dir().join(format!("wire-{}", std::process::id()));
    fs::create_dir(&folder)?;
    let mut watcher = watcher(&network, &folder, vec![None, None], Box::new(|_, _| true))?;
    let stop = network.stop;
    let ports = (0..).map(EndId::at).zip(ports).collect();
    let driver = Driver::new(clock, Path::new(network), ports);
    let before = cpu_ns()?;
    let driven = driver.run(stop, &mut watcher);
    let cpu_ns = cpu_ns()? - before;
    fs::remove_dir_all(&folder)?;
    let (_, log) = driven?;
    if log.strange + log.damaged + log.refused > 0 {
        let (strange, damaged, refused) = (log.strange, log.damaged, log.refused);
        return Err(format!(
            "{strange} packets could not be read, {damaged} had wrong octets, and a device refused \
             {refused}"
        )
        .into());
    }
    Ok(Carried { packets: log.deliveries.len() as u64, cpu_ns })
}

/// Receives batches and sends the same batches, and does nothing else.
fn forward(ports: &[PacketPort], seconds: u64) -> Outcome<u64> {
    let mut batch = Batch::new(ports[0].room_bytes());
    let mut outbox = Outbox::default();
    let (end, mut packets) = (Instant::now() + Span::from_secs(seconds), 0);
    while Instant::now() < end {
        let mut more = false;
        for (from, to) in [(&ports[0], &ports[1]), (&ports[1], &ports[0])] {
            more |= from.receive(&mut batch)?;
            let skip = from.prefix_bytes();
            let all: Vec<OutgoingPacket<'_>> = (0..batch.len())
                .map(|index| batch.packet(index).bytes)
                .map(|bytes| {
                    let (prefix, head) = bytes.split_at(skip.min(bytes.len()));
                    OutgoingPacket { prefix, head, body: &[] }
                })
                .collect();
            let mut sent = 0;
            while sent < all.len() {
                sent += to.send(&mut outbox, &all[sent..]).unwrap_or(1);
            }
            packets += sent as u64;
        }
        if !more {
            let mut fds: Vec<_> =
                ports.iter().map(|port| PollFd::new(port, PollFlags::IN)).collect();
            let second = rustix::event::Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
            let _ = poll(&mut fds, Some(&second));
        }
    }
    Ok(packets)
}

/// Returns the time for which the calling thread has run on a processor, in nanoseconds.
fn cpu_ns() -> Outcome<u64> {
    let schedstat = fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(schedstat
        .split_whitespace()
        .next()
        .ok_or("/proc/thread-self/schedstat is empty")?
        .parse()?)
}

/// Measures the forwarding of packets that are sent at the highest possible rate.
fn blast(case: &Case, hosts: Vec<KernelHost>) -> Outcome<String> {
    let (over, sent) = (AtomicBool::new(false), AtomicU64::new(0));
    let [from, to] = <[KernelHost; 2]>::try_from(hosts).map_err(|_| "two hosts")?;
    let far = from.port_inside(MTU)?;
    let clock = WallClock::start();
    let carried = thread::scope(|scope| {
        scope.spawn(|| send_until(&far, &over, &sent));
        let carried = carry(case, clock, vec![from.port, to.port]);
        over.store(true, Ordering::Relaxed);
        carried
    })?;
    Ok(line(case, &carried, &[("sent", sent.load(Ordering::Relaxed) as f64)]))
}

/// Sends full segments of one transfer at the highest possible rate, until the flag `over` is set.
fn send_until(port: &PacketPort, over: &AtomicBool, sent: &AtomicU64) {
    const PAYLOAD: u16 = MTU - 40;
    // The content repeats after this number of packets.
    const CYCLE: u32 = 251;
    let ends = [[10, 0, 0, 1], [10, 0, 0, 2]].map(std::net::Ipv4Addr::from);
    let mut packets: Vec<Vec<u8>> = Vec::new();
    for n in 0..CYCLE {
        let seq = 1 + n * u32::from(PAYLOAD);
        let flags = Flags::ACK;
        let segment = Segment { seq, len: PAYLOAD, flags, window: 1000, ..Segment::default() };
        let payload = Some(content::octets((seq - 1).into(), PAYLOAD.into()));
        let (source, destination) = ((ends[0], 10_000).into(), (ends[1], 5001).into());
        let mut bytes = Vec::new();
        encode(&Packet { source, destination, ip_id: 1, segment, payload }, &mut bytes);
        packets.push(bytes);
    }
    let mut outbox = Outbox::default();
    while !over.load(Ordering::Relaxed) {
        for batch in packets.chunks_mut(50) {
            let all: Vec<OutgoingPacket<'_>> =
                batch.iter().map(|head| OutgoingPacket { prefix: &[], head, body: &[] }).collect();
            let mut gone = 0;
            while gone < all.len() && !over.load(Ordering::Relaxed) {
                gone += port.send(&mut outbox, &all[gone..]).unwrap_or(0);
            }
            sent.fetch_add(gone as u64, Ordering::Relaxed);
            batch.iter_mut().for_each(|packet| move_on(packet, CYCLE * u32::from(PAYLOAD)));
        }
    }
}

/// Adds `octets` to a packet's sequence number, and corrects the packet's checksum (RFC 1624 §3).
fn move_on(packet: &mut [u8], octets: u32) {
    let (at, head) = TcpHead::behind_ip(packet).expect("a packet of TCP");
    let (old, flags) = (head.seq(), head.flags());
    let new = old.wrapping_add(octets);
    TcpHead::move_on(&mut packet[at..], octets, flags);
    let checksum = at + TcpHead::CHECKSUM_AT..at + TcpHead::CHECKSUM_AT + 2;
    let known = u16::from_be_bytes([packet[checksum.start], packet[checksum.start + 1]]);
    let (old, new_words) = ([old >> 16, old & 0xffff], [new >> 16, new & 0xffff]);
    let mut sum = u32::from(!known);
    for (old, new) in old.iter().zip(new_words) {
        sum += (!old & 0xffff) + new;
    }
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    packet[checksum].copy_from_slice(&(!sum as u16).to_be_bytes());
}

/// Measures the forwarding of a bulk transfer of the kernel's TCP.
fn transfer(case: &Case, hosts: Vec<KernelHost>, ends: &[KernelEnd]) -> Outcome<String> {
    let network = case.scenario()?.network();
    let addresses = flow_addresses(&network.names).next().ok_or("no flow")?;
    let mut apps = Apps::default();
    for (side, host) in hosts.iter().enumerate() {
        let tcp = ends[side].tcp;
        let socket = host.within(|| open(&tcp, addresses[side], side == 1))??;
        match side {
            0 => {
                let shared = FlowSocket::default();
                let _ = shared.set(socket);
                apps.add_source(EndId::at(0), shared, addresses[1], ends[0].task.clone());
            }
            _ => apps.add_sink(EndId::at(1), socket, FlowSocket::default(), ends[1].task.clone()),
        }
    }
    let ports = hosts.into_iter().map(|host| host.port).collect();
    let (clock, over) = (WallClock::start(), AtomicBool::new(false));
    let (carried, notes) = thread::scope(|scope| {
        let apps = scope.spawn(|| apps.run(clock, &over, &AtomicBool::new(false)));
        let carried = carry(case, clock, ports);
        over.store(true, Ordering::Relaxed);
        (carried, apps.join())
    });
    let (notes, _) = notes.map_err(|_| "the applications failed")?;
    let octets: u64 = notes.iter().map(|notes| notes.read_bytes).sum();
    if let Some(failure) = notes.iter().find_map(|notes| notes.failure.clone()) {
        return Err(failure.into());
    }
    let rate = octets as f64 * 8e-9 / case.seconds as f64;
    Ok(line(case, &carried?, &[("gbit_per_s", rate)]))
}

/// The result as a line of JSON.
fn line(case: &Case, carried: &Carried, more: &[(&str, f64)]) -> String {
    let cpu_s = carried.cpu_ns as f64 / 1e9;
    let mut result = serde_json::json!({
        "way": if case.bare { "bare" } else { "driver" },
        "traffic": if case.blast { "blast" } else { "tcp" },
        "logs": if case.bare { "none" } else { &*case.logs },
        "wire": case.wiring.wire.name(),
        "offload": case.wiring.offload,
        "seconds": case.seconds,
        "packets": carried.packets,
        "cpu_s": cpu_s,
        "packets_per_cpu_s": carried.packets as f64 / cpu_s,
    });
    for (name, value) in more {
        result[*name] = (*value).into();
    }
    result.to_string()
}
