//! Opens TUN devices. The kernel routes packets to the device, and the program reads them from the
//! device's file. The kernel receives the packets that the program writes to this file.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

/// The file through which TUN devices are created.
pub const TUN_NODE: &str = "/dev/net/tun";

/// The maximum number of packets that may wait in a device.
const QUEUE: libc::c_int = 16_384;

/// Creates a TUN device `name` in the calling thread's network namespace. If `offload` is true, a
/// `virtio_net_hdr` precedes each packet, and packets may be unsegmented and without checksums.
///
/// # Errors
/// When the device node cannot be opened, or the kernel refuses the device.
pub fn open_tun(name: &str, offload: bool) -> io::Result<OwnedFd> {
    const TUNSETIFF: libc::Ioctl = 0x4004_54ca;
    const TUNSETOFFLOAD: libc::Ioctl = 0x4004_54d0;
    const SIOCSIFTXQLEN: libc::Ioctl = 0x8943;
    const CHECKSUMS_AND_SEGMENTS: libc::c_ulong = 1 | 2 | 4 | 8;
    let mut options = OpenOptions::new();
    let file: File =
        options.read(true).write(true).custom_flags(libc::O_NONBLOCK).open(TUN_NODE)?;
    let mut request = super::about(name)?;
    let virtio = if offload { libc::IFF_VNET_HDR } else { 0 };
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI | virtio) as libc::c_short;
    let fd = file.as_raw_fd();
    // SAFETY: `request` outlives the call.
    super::checked(unsafe { libc::ioctl(fd, TUNSETIFF, &raw mut request) })?;
    if offload {
        // SAFETY: the argument is a number.
        super::checked(unsafe { libc::ioctl(fd, TUNSETOFFLOAD, CHECKSUMS_AND_SEGMENTS) })?;
    }
    // `ifr_ifru` is a union: the length of the queue takes the place of the flags.
    request.ifr_ifru.ifru_mtu = QUEUE;
    let (family, kind) = (rustix::net::AddressFamily::INET, rustix::net::SocketType::DGRAM);
    let flags = rustix::net::SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(family, kind, flags, None)?;
    // SAFETY: `request` outlives the call.
    super::checked(unsafe { libc::ioctl(socket.as_raw_fd(), SIOCSIFTXQLEN, &raw mut request) })?;
    Ok(file.into())
}
