//! The kernel's ends of flows: hosts, sockets and applications.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use netspurt::ids::EndId;
use netspurt::record::{Names, flow_addresses};
use netspurt::scenario::{KernelEnd, Network, NetworkEnd};

use super::error::LiveError;
use super::sockets::Sockets;
use crate::kernel::{Apps, FlowSocket, open, sysctls};
use crate::sandbox::{HostPlan, KernelHost, RouteHints, Sandbox, Wiring};

/// One end on the kernel's TCP.
pub(super) struct Made {
    pub(super) end: EndId,
    pub(super) host: KernelHost,
    pub(super) socket: Option<OwnedFd>,
    pub(super) plan: HostPlan,
    pub(super) asked: KernelEnd,
}

/// Creates the hosts and sockets of the kernel's ends.
pub(super) fn make_ends(
    sandbox: &mut Sandbox,
    network: &Network,
    wiring: Wiring,
) -> Result<Vec<Made>, LiveError> {
    let addresses: Vec<_> = flow_addresses(&network.names).collect();
    let mut made = Vec::new();
    for (end, (what, _)) in (0..).map(EndId::at).zip(&network.ends) {
        let NetworkEnd::Kernel(asked) = what else { continue };
        let (flow, side) = (end.flow().index(), end.side());
        let (own, peer) = (addresses[flow][side.index()], addresses[flow][side.peer().index()]);
        let plan = HostPlan {
            address: Some(own.ip()),
            peer: Some(peer.ip()),
            mtu: asked.tcp.packet_bytes,
            hints: RouteHints {
                initial_window_segs: Some(asked.tcp.initial_window_segs),
                quick_acks: asked.tcp.quick_acks,
                // An option of the socket sets the congestion control, and not the route.
                congestion: None,
            },
            sysctls: sysctls(&asked.tcp),
            wiring,
        };
        let host = sandbox.add_host(&plan)?;
        let socket = host.within(|| open(&asked.tcp, own, asked.listens))?.map_err(|error| {
            LiveError::Socket { flow: network.names.flow_names[flow].clone(), error }
        })?;
        made.push(Made { end, host, socket: Some(socket), plan, asked: asked.clone() });
    }
    Ok(made)
}

/// Returns the applications of the kernel's ends, and their sockets.
pub(super) fn applications(made: &mut [Made], names: &Names) -> (Apps, Sockets) {
    let addresses: Vec<_> = flow_addresses(names).collect();
    let mut apps = Apps::default();
    let mut sockets: Sockets = vec![None; 2 * addresses.len()];
    for Made { end, socket, asked, .. } in made {
        let Some(socket) = socket.take() else { continue };
        let flow = end.flow().index();
        let KernelEnd { tcp, task, listens, .. } = asked.clone();
        let shared = FlowSocket::default();
        // An end that only reads may still retransmit its FIN.
        sockets[end.index()] = Some((Arc::clone(&shared), tcp.rack));
        if listens {
            apps.add_sink(*end, socket, shared, task);
        } else {
            let _ = shared.set(socket);
            apps.add_source(*end, shared, addresses[flow][1], task);
        }
        if let Some(bytes) = tcp.receive_buffer_bytes {
            apps.clamp(*end, bytes);
        }
    }
    (apps, sockets)
}
