//! Looks up the number of a network device, and switches off its offloads.

use std::os::fd::AsFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType, netdevice};

use super::error::{SandboxError, failed_at};
use crate::sys;

/// The offloads of a device. An offload is work that the device does instead of the host's TCP.
/// Each entry has the ethtool command that switches the offload.
const OFFLOADS: [(&str, u32); 6] = [
    ("checksums checked by the device", 0x15),
    ("checksums made by the device", 0x17),
    ("scattered packets", 0x19),
    ("segmentation by the device", 0x1f),
    ("late segmentation", 0x24),
    ("coalescing", 0x2c),
];

/// Returns the number of the device `name`. If `offload` is false, this function switches off all
/// offloads of the device. Then the device carries packets as a real wire does: segmented, and with
/// checksums. Coalescing is always switched off.
pub(super) fn device(name: &str, offload: bool) -> Result<u32, SandboxError> {
    let (family, kind) = (AddressFamily::INET, SocketType::DGRAM);
    let socket = rustix::net::socket_with(family, kind, SocketFlags::CLOEXEC, None)
        .map_err(|error| failed_at("opening a socket")(error.into()))?;
    let switched = if offload { &OFFLOADS[OFFLOADS.len() - 1..] } else { &OFFLOADS[..] };
    for (what, command) in switched {
        sys::set_device_value(socket.as_fd(), name, *command, 0)
            .map_err(failed_at(format!("switching off {what}")))?;
    }
    netdevice::name_to_index(&socket, name)
        .map_err(|error| failed_at("looking up a device's number")(error.into()))
}
