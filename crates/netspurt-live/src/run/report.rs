//! The report on a live run besides its tables: the file `live.json`.

use std::collections::BTreeMap;

use netspurt::ids::Side;
use netspurt::record::{Names, Table};
use netspurt::results::RunContents;
use serde::Serialize;

use super::ends::Made;
use super::error::LiveError;
use crate::drive::Log;
use crate::exec::ProgramPair;
use crate::kernel::tcp_counters;
use crate::lateness::{Lateness, QuantilesNs};
use crate::sandbox::{HostPlan, Namespace, Wire, Wiring};

/// The whole report. Times are in nanoseconds.
#[derive(Clone, Debug, Serialize)]
pub struct LiveReport {
    /// Whether the run is valid: no delivery was too late, this machine lost or damaged no packet,
    /// and the replay of the same arrivals had the same drops.
    pub valid: bool,
    /// A description of the devices that connected the hosts, as text.
    pub back_end: String,
    /// The kind of these devices.
    pub wire: Wire,
    /// Whether the devices took many segments in one packet.
    pub offload: bool,
    /// The kernel's release.
    pub kernel: String,
    /// Whether the driver had real-time priority.
    pub real_time: bool,
    /// The greatest lateness that a delivery may have in a valid run.
    pub budget_ns: u64,
    /// How late deliveries were.
    pub lateness: LatenessReport,
    /// The comparison with the replay in virtual time.
    pub replayed: Replayed,
    /// The numbers of packets with faults.
    pub packets: PacketCounts,
    /// The settings that each of the kernel's ends, and each host of programs, was given.
    pub ends: Vec<EndReport>,
    /// Connections that ended with an error.
    pub failures: Vec<FlowFailure>,
    /// The report on programs, if the run had any.
    pub programs: Option<ProgramsReport>,
    /// The contents of the run folder.
    #[serde(flatten)]
    pub contents: RunContents,
}

/// How late deliveries were.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LatenessReport {
    /// The number of deliveries.
    pub deliveries: u64,
    /// The quantiles of their lateness.
    #[serde(flatten)]
    pub spans: QuantilesNs,
}

impl From<&Lateness> for LatenessReport {
    fn from(lateness: &Lateness) -> Self {
        Self { deliveries: lateness.count, spans: lateness.quantiles_ns() }
    }
}

/// Whether a replay of the same arrivals in virtual time had the same drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Replayed {
    /// Packets dropped or lost in the live run.
    pub drops: usize,
    /// Packets dropped or lost in the replay.
    pub drops_again: usize,
    /// Whether both are the same packets, at the same instants, on the same links.
    pub same: bool,
}

impl Replayed {
    /// Compares the tables `drops` of the live run and of its replay.
    pub(super) fn of(live: Option<&Table>, again: Option<&Table>) -> Self {
        let rows = |table: Option<&Table>| table.map_or(0, Table::rows);
        Self { drops: rows(live), drops_again: rows(again), same: live == again }
    }
}

/// The numbers of packets with faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PacketCounts {
    /// Packets that are not TCP segments of their flow.
    pub strange: u64,
    /// Packets whose payload differs from what the application wrote.
    pub damaged: u64,
    /// Packets that were lost before the driver read them, for want of room.
    pub missed: u64,
    /// Packets that a host's device refused.
    pub refused: u64,
}

impl PacketCounts {
    /// The numbers from a log. `read_damaged` is added to the damaged packets: what applications
    /// read and found damaged.
    pub(super) fn of(log: &Log, read_damaged: u64) -> Self {
        Self {
            strange: log.strange,
            damaged: log.damaged + read_damaged,
            missed: log.missed,
            refused: log.refused,
        }
    }

    /// Whether this machine carried every packet unchanged.
    pub fn all_carried(&self) -> bool {
        self.missed == 0 && self.refused == 0 && self.damaged == 0
    }
}

/// The settings that one end was given, under the kernel's names for them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EndReport {
    /// Its flow.
    pub flow: String,
    /// Which of the flow's ends it is: `from` or `to`.
    pub side: &'static str,
    /// The profile that the scenario names.
    pub profile: &'static str,
    /// Values under `/proc/sys`.
    pub sysctls: BTreeMap<String, String>,
    /// What the route to the peer tells TCP.
    pub route: RouteReport,
    /// The device.
    pub device: DeviceReport,
    /// The socket's options; programs choose those of their sockets themselves.
    pub socket: SocketReport,
    /// The TCP counters of its kernel at the end of the run, under the names that `nstat` uses.
    pub counters: BTreeMap<String, u64>,
}

/// What a route tells TCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RouteReport {
    /// Segments sent at the start of a connection.
    pub initcwnd: Option<u32>,
    /// Whether every segment is acknowledged at once.
    pub quickack: u8,
    /// The congestion control, if the sockets do not report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congctl: Option<&'static str>,
}

/// The properties of a host's device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct DeviceReport {
    /// Octets of its largest packet.
    pub mtu: u16,
    /// Whether it does part of TCP's work: `on` or `off`.
    pub offloads: &'static str,
}

/// The options that a socket was given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SocketReport {
    /// The congestion control.
    #[serde(rename = "TCP_CONGESTION", skip_serializing_if = "Option::is_none")]
    pub congestion: Option<&'static str>,
    /// Whether short segments are sent at once.
    #[serde(rename = "TCP_NODELAY", skip_serializing_if = "Option::is_none")]
    pub nodelay: Option<u8>,
    /// Octets of its receive buffer.
    #[serde(rename = "SO_RCVBUF", skip_serializing_if = "Option::is_none")]
    pub receive_buffer: Option<u32>,
    /// The most octets of window that it announces.
    #[serde(rename = "TCP_WINDOW_CLAMP", skip_serializing_if = "Option::is_none")]
    pub window_clamp: Option<u32>,
}

/// A connection that ended with an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FlowFailure {
    /// Its flow.
    pub flow: String,
    /// The error.
    pub failure: String,
}

/// Programs, and how the first one ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProgramsReport {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The line for the shell at the other end.
    pub server: Option<String>,
    /// The exit status of the program, or the number that replaces it.
    pub status: i32,
    /// Whether the program ran at all.
    pub ran: bool,
    /// Whether the run's end was its own.
    pub stopped: bool,
    /// Packets that belong to no connection.
    pub other_packets: u64,
    /// Whether the kernels reported on connections.
    pub kernel_told: bool,
}

impl EndReport {
    /// The settings of a kernel's end of a flow.
    pub(super) fn of_kernel(names: &Names, made: &Made) -> Self {
        let tcp = &made.asked.tcp;
        Self {
            flow: names.flows[made.end.flow().index()].name.clone(),
            side: made.end.side().name(),
            profile: tcp.profile.name(),
            sysctls: sysctls(&made.plan),
            route: RouteReport {
                initcwnd: Some(tcp.initial_window_segs),
                quickack: u8::from(tcp.quick_acks),
                congctl: None,
            },
            device: DeviceReport::of(tcp.packet_bytes, made.plan.wiring),
            socket: SocketReport {
                congestion: Some(tcp.congestion),
                nodelay: Some(u8::from(!tcp.nagle)),
                receive_buffer: (!tcp.window_scaling).then_some(65_535),
                window_clamp: tcp.receive_buffer_bytes,
            },
            counters: BTreeMap::new(),
        }
    }

    /// The settings of the hosts of programs.
    pub(super) fn of_programs(names: &Names, pair: &ProgramPair) -> [Self; 2] {
        Side::BOTH.map(|side| {
            let plan = &pair.plans[side.index()];
            Self {
                flow: names.flows[pair.first.index()].name.clone(),
                side: side.name(),
                profile: pair.asked.tcp.profile.name(),
                sysctls: sysctls(plan),
                route: RouteReport {
                    initcwnd: plan.hints.initial_window_segs,
                    quickack: u8::from(plan.hints.quick_acks),
                    congctl: plan.hints.congestion,
                },
                device: DeviceReport::of(plan.mtu, plan.wiring),
                socket: SocketReport::default(),
                counters: BTreeMap::new(),
            }
        })
    }

    /// Adds what the host's kernel has counted so far.
    ///
    /// # Errors When the counters cannot be read.
    pub(super) fn counted(self, host: &Namespace) -> Result<Self, LiveError> {
        Ok(Self { counters: host.within(tcp_counters)??, ..self })
    }
}

impl DeviceReport {
    fn of(mtu: u16, wiring: Wiring) -> Self {
        Self { mtu, offloads: if wiring.offload { "on" } else { "off" } }
    }
}

fn sysctls(plan: &HostPlan) -> BTreeMap<String, String> {
    plan.sysctls.iter().map(|(name, value)| (format!("net.ipv4.{name}"), value.clone())).collect()
}
