//! Converts between the socket numbers of our simulated host and the file descriptors that
//! packetdrill sees. The file descriptors are higher by `FIRST`.

use netspurt_scenario::script::Fd;

/// The lowest number that packetdrill sees for a socket of our host. It is far above the numbers
/// that Linux gives to files.
pub(super) const FIRST: Fd = 1 << 30;

/// Converts packetdrill's number of a socket to our host's number. Returns -1 for a number
/// that does not belong to our host.
pub(super) const fn own_fd(fd: Fd) -> Fd {
    if is_ours(fd) { fd - FIRST } else { -1 }
}

/// Whether packetdrill's number belongs to a socket of our host.
pub(super) const fn is_ours(fd: Fd) -> bool {
    fd >= FIRST
}
