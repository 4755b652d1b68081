//! The noise of the instrument: round trips over loopback.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use netspurt::units::Duration;

use super::book::{EchoProbeRow, EchoReply, Keep, ProbeOutcome};
use super::echo_probes::{Pace, ProbingPlan, run};
use super::lengths::ProbeLengths;
use super::lines::{NoiseReport, SpanCounts};
use super::packet::ProbeKind;
use super::socket::{ProbeSocket, closed_port};
use super::{ProbeError, tried};
use crate::lateness::Lateness;

/// What round trips of no length take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Noise {
    /// By the program's stamps.
    pub user: Lateness,
    /// By the kernel's.
    pub kernel: Lateness,
}

impl Noise {
    /// As headers tell it.
    pub(super) fn report(&self) -> NoiseReport {
        let [user, kernel] = [&self.user, &self.kernel].map(SpanCounts::from);
        NoiseReport::Measured { place: "loopback", user, kernel }
    }
}

/// The round trips of echo probes, by whose stamps they are.
#[derive(Debug, Default)]
struct RoundTrips {
    user: Vec<Duration>,
    kernel: Vec<Duration>,
}

impl Keep for RoundTrips {
    fn row(&mut self, row: &EchoProbeRow<'_>) -> io::Result<bool> {
        if let ProbeOutcome::Answered(answer) = row.outcome {
            self.user.push(Duration::from_nanos(answer.by_user()));
            self.kernel.extend(answer.by_kernel().map(Duration::from_nanos));
        }
        Ok(true)
    }

    /// What comes after its time is no measure of a host that waits for it.
    fn stray(&mut self, _number: u64, _late: bool, _answer: &EchoReply) -> io::Result<()> {
        Ok(())
    }

    fn step(&mut self, _number: u64, _step_ns: i64) -> io::Result<()> {
        Ok(())
    }
}

impl RoundTrips {
    fn noise(self) -> Noise {
        Noise { user: Lateness::of(self.user), kernel: Lateness::of(self.kernel) }
    }
}

/// Measures with `count` echo probes of a kind over loopback.
///
/// # Errors
/// When there is no loopback, or no such socket.
pub fn measure(kind: ProbeKind, six: bool, count: u64) -> Result<Noise, ProbeError> {
    let loopback: IpAddr =
        if six { Ipv6Addr::LOCALHOST.into() } else { Ipv4Addr::LOCALHOST.into() };
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let mut target = SocketAddr::new(loopback, 0);
        let mut held = None;
        match kind {
            ProbeKind::Icmp => {}
            ProbeKind::Tcp => {
                let (fd, port) = closed_port(loopback)?;
                held = Some(fd);
                target.set_port(port);
            }
            ProbeKind::Udp => {
                let echo = UdpSocket::bind(target).map_err(tried("an echo host on loopback"))?;
                target = echo.local_addr().map_err(tried("an echo host on loopback"))?;
                scope.spawn(|| echo_until(echo, &done));
            }
        }
        let told = echo_probes(kind, target, count);
        done.store(true, Ordering::Relaxed);
        drop(held);
        told
    })
}

fn echo_until(echo: UdpSocket, done: &AtomicBool) {
    let mut room = [0; 2048];
    if echo.set_read_timeout(Some(std::time::Duration::from_millis(20))).is_err() {
        return;
    }
    while !done.load(Ordering::Relaxed) {
        if let Ok((length, from)) = echo.recv_from(&mut room) {
            // What is lost is lost.
            let _ = echo.send_to(&room[..length], from);
        }
    }
}

fn echo_probes(kind: ProbeKind, target: SocketAddr, count: u64) -> Result<Noise, ProbeError> {
    let mut socket = ProbeSocket::open(kind, target, 0x6e6f_6973)?;
    let mut trips = RoundTrips::default();
    let plan = ProbingPlan {
        count: Some(count),
        span: Some(Duration::from_secs(2)),
        timeout: Duration::from_millis(500),
        lengths: ProbeLengths::Rfc889,
        pace: Pace::Immediate,
        seed: 0,
    };
    run(&plan, &mut socket, &mut trips, None)?;
    Ok(trips.noise())
}
