//! Waits until kernel timestamps work. The kernel starts to timestamp arrivals some milliseconds
//! after the first socket has asked for timestamps.

use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsFd;
use std::thread::sleep;
use std::time::Duration;

use crate::sys;

/// The time between two attempts.
const STEP: Duration = Duration::from_millis(5);
/// The maximum number of attempts.
const TRIES: u32 = 100;

/// Waits until the kernel adds timestamps to datagrams that arrive over loopback. Returns false if
/// no timestamp comes. After the first timestamp, the kernel adds timestamps as long as any socket
/// asks for them.
pub(super) fn stamps_come() -> bool {
    let Ok(own) = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)) else { return false };
    let Ok(address) = own.local_addr() else { return false };
    if own.connect(address).is_err() || sys::stamp_datagrams(own.as_fd()).is_err() {
        return false;
    }
    let mut room = [0; 64];
    for _ in 0..TRIES {
        let sent = own.send(&[0]).is_ok();
        let got = sys::receive_stamped(&own, &mut room, false);
        if sent && got.is_ok_and(|got| got.is_some_and(|got| got.unix_ns.is_some())) {
            return true;
        }
        sleep(STEP);
    }
    false
}
