//! What a live run tells beside its tables: the file `live.json`.

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

/// All that is told. Times are in nanoseconds.
#[derive(Clone, Debug, Serialize)]
pub struct LiveReport {
    /// Whether the run counts: nothing was too late, no packet went missing or was damaged here, and
    /// the same arrivals had the same drops again.
    pub valid: bool,
    /// What hosts' wires were made of, for people.
    pub back_end: String,
    /// The devices.
    pub wire: Wire,
    /// Whether they took segments many at a time.
    pub offload: bool,
    /// The kernel's release.
    pub kernel: String,
    /// Whether the driver ran before all others.
    pub real_time: bool,
    /// How late a delivery was allowed to be.
    pub budget_ns: u64,
    /// How late deliveries were.
    pub lateness: LatenessReport,
    /// What the run in virtual time said.
    pub replayed: Replayed,
    /// Packets that are not as they should be.
    pub packets: PacketCounts,
    /// The kernel's ends, and the hosts of programs: what each was given.
    pub ends: Vec<EndReport>,
    /// Connections that ended with an error.
    pub failures: Vec<FlowFailure>,
    /// Programs, where the run had any.
    pub programs: Option<ProgramsReport>,
    /// What there is of the run.
    #[serde(flatten)]
    pub contents: RunContents,
}

/// How late deliveries were.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LatenessReport {
    /// How many there were.
    pub deliveries: u64,
    /// Their quantiles.
    #[serde(flatten)]
    pub spans: QuantilesNs,
}

impl From<&Lateness> for LatenessReport {
    fn from(lateness: &Lateness) -> Self {
        Self { deliveries: lateness.count, spans: lateness.quantiles_ns() }
    }
}

/// Whether the same arrivals, in virtual time, were treated the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Replayed {
    /// Packets dropped or lost in the live run.
    pub drops: usize,
    /// The same, when it was run again.
    pub drops_again: usize,
    /// Whether those were the same packets, at the same instants, on the same links.
    pub same: bool,
}

impl Replayed {
    /// By the tables `drops` of the live run and of the one in virtual time.
    pub(super) fn of(live: Option<&Table>, again: Option<&Table>) -> Self {
        let rows = |table: Option<&Table>| table.map_or(0, Table::rows);
        Self { drops: rows(live), drops_again: rows(again), same: live == again }
    }
}

/// Packets that are not as they should be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PacketCounts {
    /// No TCP segments of their flow.
    pub strange: u64,
    /// With octets that nobody wrote there.
    pub damaged: u64,
    /// Lost for want of room before they were read.
    pub missed: u64,
    /// Not taken by a host's device.
    pub refused: u64,
}

impl PacketCounts {
    /// Those of a log, and what applications read that was damaged.
    pub(super) fn of(log: &Log, read_damaged: u64) -> Self {
        Self {
            strange: log.strange,
            damaged: log.damaged + read_damaged,
            missed: log.missed,
            refused: log.refused,
        }
    }

    /// Whether every packet got through this machine, as it was.
    pub fn all_carried(&self) -> bool {
        self.missed == 0 && self.refused == 0 && self.damaged == 0
    }
}

/// What one end was given, value by value, by the names that the kernel has for them.
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
    /// What its kernel counted of TCP until the run's end, by the names that `nstat` has.
    pub counters: BTreeMap<String, u64>,
}

/// What a route tells TCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RouteReport {
    /// Segments sent at the start of a connection.
    pub initcwnd: Option<u32>,
    /// Whether every segment is acknowledged at once.
    pub quickack: u8,
    /// The algorithm of the congestion window, where sockets do not tell it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congctl: Option<&'static str>,
}

/// What a host's device is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct DeviceReport {
    /// Octets of its largest packet.
    pub mtu: u16,
    /// Whether it does part of TCP's work: `on` or `off`.
    pub offloads: &'static str,
}

/// What options a socket was given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SocketReport {
    /// The algorithm of the congestion window.
    #[serde(rename = "TCP_CONGESTION", skip_serializing_if = "Option::is_none")]
    pub congestion: Option<&'static str>,
    /// Whether short segments go out at once.
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
    /// The program's status, or what stands for it.
    pub status: i32,
    /// Whether it ran at all.
    pub ran: bool,
    /// Whether the run's end was its own.
    pub stopped: bool,
    /// Packets that belong to no connection.
    pub other_packets: u64,
    /// Whether the kernels told of connections.
    pub kernel_told: bool,
}

impl EndReport {
    /// What a flow's own end was given.
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

    /// What the hosts of programs were given.
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

    /// With what the host's kernel has counted by now.
    ///
    /// # Errors
    /// When it does not say.
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
