//! Waits until kernel time stamps work: the kernel stamps arrivals only some milliseconds after the
//! first request for stamps.

use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsFd;
use std::thread::sleep;
use std::time::Duration;

use crate::sys;

/// How often, and how many times, it is tried.
const STEP: Duration = Duration::from_millis(5);
const TRIES: u32 = 100;

/// Waits until datagrams over loopback have a stamp of their arrival; whether they have. Any socket
/// that wants stamps keeps it so.
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
