//! Makes the hosts, the sockets and the applications of the ends that run the kernel's TCP. A flow
//! has two ends.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use netspurt::ids::EndId;
use netspurt::plan::{KernelEnd, Network, NetworkEnd};
use netspurt::record::{Names, flow_addresses};

use super::error::LiveError;
use super::sockets::Sockets;
use crate::kernel::{Apps, FlowSocket, open, sysctls};
use crate::sandbox::{HostPlan, KernelHost, RouteHints, Sandbox, Wiring};

/// An end that runs the kernel's TCP, with the host and the socket that were made for it.
pub(super) struct HostedEnd {
    pub(super) end: EndId,
    pub(super) host: KernelHost,
    pub(super) socket: Option<OwnedFd>,
    pub(super) plan: HostPlan,
    pub(super) config: KernelEnd,
}

/// Creates hosts and sockets for the ends that run the kernel's TCP.
pub(super) fn make_ends(
    sandbox: &mut Sandbox,
    network: &Network,
    wiring: Wiring,
) -> Result<Vec<HostedEnd>, LiveError> {
    let addresses: Vec<_> = flow_addresses(&network.names).collect();
    let mut made = Vec::new();
    for (end, (planned, _)) in (0..).map(EndId::at).zip(&network.ends) {
        let NetworkEnd::Kernel(config) = planned else { continue };
        let (flow, side) = (end.flow().index(), end.side());
        let (own, peer) = (addresses[flow][side.index()], addresses[flow][side.peer().index()]);
        let plan = HostPlan {
            address: Some(own.ip()),
            peer: Some(peer.ip()),
            mtu: config.tcp.packet_bytes,
            hints: RouteHints {
                initial_window_segs: Some(config.tcp.initial_window_segs),
                quick_acks: config.tcp.quick_acks,
                // The route does not set the congestion control, because an option of the socket
                // sets it.
                congestion: None,
            },
            sysctls: sysctls(&config.tcp),
            wiring,
        };
        let host = sandbox.add_host(&plan)?;
        let socket = host
            .within(|| open(&config.tcp, own, config.listens))?
            .map_err(|error| LiveError::Socket { flow: network.names.name(end.flow()), error })?;
        made.push(HostedEnd { end, host, socket: Some(socket), plan, config: config.clone() });
    }
    Ok(made)
}

/// Returns the applications and the sockets of the ends that run the kernel's TCP.
pub(super) fn applications(made: &mut [HostedEnd], names: &Names) -> (Apps, Sockets) {
    let addresses: Vec<_> = flow_addresses(names).collect();
    let mut apps = Apps::default();
    let mut sockets: Sockets = vec![None; 2 * addresses.len()];
    for HostedEnd { end, socket, config, .. } in made {
        let Some(socket) = socket.take() else { continue };
        let flow = end.flow().index();
        let KernelEnd { tcp, task, listens, .. } = config.clone();
        let shared = FlowSocket::default();
        // The run asks every end about retransmissions, because an end that only reads may
        // retransmit its FIN.
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
