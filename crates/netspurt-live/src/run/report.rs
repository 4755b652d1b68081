//! The report on a live run. The file `live.json` in the run folder contains it. A run may have
//! *programs* at its ends, such as curl, or a *population*: many connections of one kind.

use std::collections::BTreeMap;

use netspurt::ids::Side;
use netspurt::record::{Names, Table};
use netspurt::results::RunContents;
use serde::Serialize;

use super::ends::HostedEnd;
use super::error::LiveError;
use crate::drive::Log;
use crate::exec::ProgramHosts;
use crate::kernel::tcp_counters;
use crate::lateness::{Lateness, QuantilesNs};
use crate::sandbox::{HostPlan, Namespace, Wire, Wiring};

/// The report on a live run. Times are in nanoseconds.
#[derive(Clone, Debug, Serialize)]
pub struct LiveReport {
    /// Whether the run is valid: no delivery was too late, this machine lost or damaged no packet,
    /// and the replay of the same arrivals had the same drops.
    pub valid: bool,
    /// A description of the devices that connected the hosts, as text.
    pub back_end: String,
    /// The kind of the devices that connected the hosts.
    pub wire: Wire,
    /// Whether the devices took many segments in one packet.
    pub offload: bool,
    /// The kernel's release.
    pub kernel: String,
    /// Whether the driver had real-time priority.
    pub real_time: bool,
    /// The maximum lateness that a delivery may have in a valid run.
    pub budget_ns: u64,
    /// The lateness of deliveries.
    pub lateness: LatenessReport,
    /// The comparison with the replay in virtual time.
    pub replayed: Replayed,
    /// The numbers of packets that were strange, damaged, missed or refused.
    pub packets: PacketCounts,
    /// The settings and the TCP counters of each end that runs the kernel's TCP, and of each host
    /// of programs or of a population.
    pub ends: Vec<EndReport>,
    /// Connections that ended with an error.
    pub failures: Vec<FlowFailure>,
    /// The report on programs. `None` if the run had no programs.
    pub programs: Option<ProgramsReport>,
    /// The contents of the run folder.
    #[serde(flatten)]
    pub contents: RunContents,
}

/// The lateness of deliveries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LatenessReport {
    /// The number of deliveries.
    pub deliveries: u64,
    /// The quantiles of the lateness.
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
    /// The number of packets that were dropped or lost in the live run.
    pub drops: usize,
    /// The number of packets that were dropped or lost in the replay.
    pub drops_again: usize,
    /// Whether the live run and the replay dropped or lost the same packets, at the same instants
    /// and on the same links.
    pub same: bool,
}

impl Replayed {
    /// Compares the tables `drops` of the live run and of its replay.
    pub(super) fn of(live: Option<&Table>, again: Option<&Table>) -> Self {
        let rows = |table: Option<&Table>| table.map_or(0, Table::rows);
        Self { drops: rows(live), drops_again: rows(again), same: live == again }
    }
}

/// The numbers of packets that were strange, damaged, missed or refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PacketCounts {
    /// The number of packets that could not be read. A packet of a program or of a population can
    /// be read if it is a complete IPv4 packet. A packet of any other end on the kernel's TCP can
    /// be read if it is a correct TCP segment.
    pub strange: u64,
    /// The sum of two numbers. The first number counts the packets of the kernel's ends whose
    /// payload differs from what the application wrote. The second number counts the reads in which
    /// an application found octets that differ. Packets of programs and populations are not
    /// checked.
    pub damaged: u64,
    /// The number of packets that were lost before the driver read them, because a buffer was full.
    pub missed: u64,
    /// The number of packets that a host's device refused.
    pub refused: u64,
}

impl PacketCounts {
    /// Takes the numbers from a log. `read_damaged` is the number of reads in which applications
    /// found damaged octets; it is added to the damaged packets.
    pub(super) fn of(log: &Log, read_damaged: u64) -> Self {
        Self {
            strange: log.strange,
            damaged: log.damaged + read_damaged,
            missed: log.missed,
            refused: log.refused,
        }
    }

    /// Whether no packet was missed, refused or damaged. Strange packets do not count.
    pub fn all_carried(&self) -> bool {
        self.missed == 0 && self.refused == 0 && self.damaged == 0
    }
}

/// The settings of one end, under the kernel's names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EndReport {
    /// The name of the end's flow.
    pub flow: String,
    /// The flow's end that this report describes: `from` or `to`.
    pub side: &'static str,
    /// The profile that the scenario names.
    pub profile: &'static str,
    /// The values of settings under `/proc/sys`.
    pub sysctls: BTreeMap<String, String>,
    /// The settings for TCP in the route to the peer.
    pub route: RouteReport,
    /// The properties of the host's device.
    pub device: DeviceReport,
    /// The options of the socket. They are empty for programs, which choose their own options, and
    /// for populations.
    pub socket: SocketReport,
    /// The TCP counters of the host's kernel when the run was over, under the names that `nstat`
    /// uses.
    pub counters: BTreeMap<String, u64>,
}

/// The settings for TCP in a route.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RouteReport {
    /// The initial window in segments.
    pub initcwnd: Option<u32>,
    /// 1 if every segment is acknowledged immediately, otherwise 0.
    pub quickack: u8,
    /// The congestion control, for hosts of programs or of a population. For other ends, the
    /// congestion control is in the field `socket`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congctl: Option<&'static str>,
}

/// The properties of a host's device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct DeviceReport {
    /// The maximum size of the device's packets (MTU), in octets.
    pub mtu: u16,
    /// Whether the device does part of TCP's work: `on` or `off`.
    pub offloads: &'static str,
}

/// The options that a socket was given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SocketReport {
    /// The congestion control.
    #[serde(rename = "TCP_CONGESTION", skip_serializing_if = "Option::is_none")]
    pub congestion: Option<&'static str>,
    /// 1 if short segments are sent immediately, otherwise 0.
    #[serde(rename = "TCP_NODELAY", skip_serializing_if = "Option::is_none")]
    pub nodelay: Option<u8>,
    /// The size of the receive buffer in octets.
    #[serde(rename = "SO_RCVBUF", skip_serializing_if = "Option::is_none")]
    pub receive_buffer: Option<u32>,
    /// The maximum receive window that the socket advertises, in octets.
    #[serde(rename = "TCP_WINDOW_CLAMP", skip_serializing_if = "Option::is_none")]
    pub window_clamp: Option<u32>,
}

/// A connection that ended with an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FlowFailure {
    /// The name of the connection's flow.
    pub flow: String,
    /// The error.
    pub failure: String,
}

/// The programs of a run, and how the program at the first end ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProgramsReport {
    /// The program at the first end and its arguments.
    pub command: Vec<String>,
    /// The shell command at the other end.
    pub server: Option<String>,
    /// The exit status of the program. If a signal ended the program, the status is 128 plus the
    /// signal's number. If the run was over before the program had ended, the status is 124. If the
    /// program never ran, the status is 125 to 127.
    pub status: i32,
    /// Whether the program ran at all.
    pub ran: bool,
    /// Whether the program still ran when the run was over, and was stopped then.
    pub stopped: bool,
    /// The number of packets that were carried, but not read as segments of a connection.
    pub other_packets: u64,
    /// Whether the kernel could be asked about the connections of both hosts.
    pub kernel_told: bool,
}

impl EndReport {
    /// Makes the report on an end that runs the kernel's TCP.
    pub(super) fn of_kernel(names: &Names, made: &HostedEnd) -> Self {
        let tcp = &made.config.tcp;
        Self {
            flow: names.name(made.end.flow()),
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

    /// Makes the reports on the two hosts of programs or of a population.
    pub(super) fn of_programs(names: &Names, pair: &ProgramHosts) -> [Self; 2] {
        Side::BOTH.map(|side| {
            let plan = &pair.plans[side.index()];
            Self {
                flow: names.name(pair.first),
                side: side.name(),
                profile: pair.config.tcp.profile.name(),
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

    /// Adds the TCP counters of the host's kernel, up to now.
    ///
    /// # Errors
    /// When the counters cannot be read.
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
