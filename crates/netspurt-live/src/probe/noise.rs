//! Measures the noise of the instrument: the round-trip times of echo probes over loopback.

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

/// Round-trip times over loopback. The path over loopback itself has almost no delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Noise {
    /// The round-trip times by the program's timestamps.
    pub user: Lateness,
    /// The round-trip times by the kernel's timestamps.
    pub kernel: Lateness,
}

impl Noise {
    /// Returns the noise in the form in which a data file's header states it.
    pub(super) fn report(&self) -> NoiseReport {
        let [user, kernel] = [&self.user, &self.kernel].map(SpanCounts::from);
        NoiseReport::Measured { place: "loopback", user, kernel }
    }
}

/// The round-trip times of echo probes, by the program's and by the kernel's timestamps.
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

    /// Ignores a late or duplicate answer, because the measurement did not wait for it.
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

/// Measures the noise with echo probes of the given kind over loopback, in IPv6 if `six` is true.
/// Sends at most `count` echo probes, in at most two seconds.
///
/// # Errors
/// When the machine has no loopback address, or when a socket is refused or fails.
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
                let echo =
                    UdpSocket::bind(target).map_err(tried("starting an echo host on loopback"))?;
                target = echo.local_addr().map_err(tried("starting an echo host on loopback"))?;
                scope.spawn(|| echo_until(echo, &done));
            }
        }
        let result = echo_probes(kind, target, count);
        done.store(true, Ordering::Relaxed);
        drop(held);
        result
    })
}

fn echo_until(echo: UdpSocket, done: &AtomicBool) {
    let mut room = [0; 2048];
    if echo.set_read_timeout(Some(std::time::Duration::from_millis(20))).is_err() {
        return;
    }
    while !done.load(Ordering::Relaxed) {
        if let Ok((length, from)) = echo.recv_from(&mut room) {
            // If the sending fails, the prober counts the echo probe as lost.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::clock::ClockReading;

    /// Makes an answer with two round-trip times: by the program's and by the kernel's timestamps.
    fn answer(user_ns: u64, kernel_ns: Option<u64>) -> EchoReply {
        let at = |raw_ns| ClockReading { raw_ns, unix_ns: 1_000_000 + raw_ns };
        EchoReply {
            sent_at: at(100),
            received_at: at(100 + user_ns),
            kernel_sent_ns: Some(1_000_200),
            kernel_received_ns: kernel_ns.map(|span| 1_000_200 + span),
            hops_left: None,
            step_ns: 0,
        }
    }

    #[test]
    fn an_answer_counts_as_noise_of_the_instrument_only_if_it_comes_in_time() {
        let mut trips = RoundTrips::default();
        let sent_at = ClockReading { raw_ns: 100, unix_ns: 1_000_100 };
        let outcomes = [
            ProbeOutcome::Answered(answer(9000, Some(8000))),
            ProbeOutcome::Answered(answer(5000, None)),
            ProbeOutcome::Lost,
            ProbeOutcome::Failed("no route".to_owned()),
        ];
        for (number, outcome) in (1..).zip(&outcomes) {
            let row = EchoProbeRow { number, octets: 40, sent_at, kernel_sent_ns: None, outcome };
            assert!(trips.row(&row).unwrap(), "the measurement continues");
        }
        trips.stray(3, true, &answer(700_000, Some(600_000))).unwrap();
        trips.step(4, 1_000_000).unwrap();
        let noise = trips.noise();
        assert_eq!((noise.user.count, noise.kernel.count), (2, 1));
        assert_eq!(noise.user.max, Duration::from_nanos(9000));
        assert_eq!(noise.kernel.max, Duration::from_nanos(8000));
    }
}
