//! The noise of the instrument: round trips over loopback.

use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use netspurt::units::Duration;
use serde_json::{Value, json};

use super::book::{Book, Rotation};
use super::echo_probes::{Pace, ProbingPlan, run};
use super::lengths::ProbeLengths;
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
    /// As a value of JSON: quantiles in nanoseconds.
    pub fn told(&self) -> Value {
        let one = |spans: &Lateness| {
            json!({
                "count": spans.count,
                "p50_ns": spans.p50.as_nanos(),
                "p99_ns": spans.p99.as_nanos(),
                "p999_ns": spans.p999.as_nanos(),
                "max_ns": spans.max.as_nanos(),
            })
        };
        json!({ "where": "loopback", "user": one(&self.user), "kernel": one(&self.kernel) })
    }
}

/// What a book tells its watcher, kept.
#[derive(Clone, Default)]
struct BookLines(Arc<Mutex<Vec<u8>>>);

impl Write for BookLines {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(octets);
        Ok(octets.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
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
    let told = BookLines::default();
    let mut book = Book::begin(None, json!({}), Rotation::default(), Box::new(told.clone()))
        .map_err(tried("a book"))?;
    let plan = ProbingPlan {
        count: Some(count),
        span: Some(Duration::from_secs(2)),
        timeout: Duration::from_millis(500),
        lengths: ProbeLengths::Rfc889,
        pace: Pace::Immediate,
        seed: 0,
    };
    run(&plan, &mut socket, &mut book, None)?;
    let lines = told.0.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut user, mut kernel) = (Vec::new(), Vec::new());
    for line in lines.split(|octet| *octet == b'\n') {
        let Ok(row) = serde_json::from_slice::<Value>(line) else { continue };
        if let Some(span) = row["user_rtt_ns"].as_u64() {
            user.push(Duration::from_nanos(span));
        }
        if row["by"] == "kernel"
            && let Some(span) = row["rtt_ns"].as_u64()
        {
            kernel.push(Duration::from_nanos(span));
        }
    }
    Ok(Noise { user: Lateness::of(user), kernel: Lateness::of(kernel) })
}
