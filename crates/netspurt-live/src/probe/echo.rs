//! A host that echoes all data (RFC 862), or discards it (RFC 863).

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use serde::Deserialize;

/// What a host does with the data that it receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Service {
    /// The host sends the data back.
    Echo,
    /// The host discards the data.
    Sink,
}

/// The maximum number of octets that one call reads.
const ROOM: usize = 1 << 16;

/// The maximum number of connections that are served at a time. Further connections are closed.
const STREAMS: usize = 128;

/// The time after which a silent connection is closed.
const SILENCE: Duration = Duration::from_secs(600);

/// The wait after an error, for example if the machine lacks descriptors or threads.
const PAUSE: Duration = Duration::from_millis(50);

/// The maximum number of answers to datagrams with the same octets from one address. The next
/// datagram with these octets is not answered, and the count begins again. This ends a loop in
/// which two echo hosts send a datagram to each other.
const ANSWERS: u32 = 1000;

/// The maximum number of different datagrams that are counted.
const DATAGRAMS_MAX: usize = 1 << 16;

/// Serves UDP and TCP at `address`, until the descriptor `halt` becomes readable. Calls `ready`
/// with the address when the sockets of UDP and TCP are open. Threads serve until the process ends.
///
/// # Errors
/// When the address cannot be used, a thread cannot be made, or `ready` fails.
pub fn serve(
    service: Service,
    address: SocketAddr,
    halt: BorrowedFd<'_>,
    ready: impl FnOnce(SocketAddr) -> io::Result<()>,
) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    let address = listener.local_addr()?;
    let datagrams = UdpSocket::bind(address)?;
    ready(address)?;
    thread::Builder::new().spawn(move || serve_datagrams(service, &datagrams))?;
    thread::Builder::new().spawn(move || serve_streams(service, &listener))?;
    let mut ends = [PollFd::new(&halt, PollFlags::IN)];
    // An interrupted wait is no error.
    while ends[0].revents().is_empty() {
        let _ = poll(&mut ends, None);
    }
    Ok(())
}

fn serve_streams(service: Service, listener: &TcpListener) {
    let served = Arc::new(());
    loop {
        match listener.accept() {
            Ok((stream, _)) => serve_apart(service, stream, &served),
            // No descriptor is free, or the connection failed. The client of a failed connection
            // sees the failure.
            Err(_) => thread::sleep(PAUSE),
        }
    }
}

/// Serves a connection on a thread of its own, or closes it if too many connections are served.
fn serve_apart(service: Service, stream: TcpStream, served: &Arc<()>) {
    if Arc::strong_count(served) > STREAMS {
        return;
    }
    let one = Arc::clone(served);
    let serve = move || {
        serve_stream(service, stream);
        drop(one);
    };
    // If no thread can be made, the connection is closed.
    if thread::Builder::new().spawn(serve).is_err() {
        thread::sleep(PAUSE);
    }
}

fn serve_datagrams(service: Service, socket: &UdpSocket) {
    let mut room = vec![0; ROOM];
    let mut answered = Answered::default();
    loop {
        match (socket.recv_from(&mut room), service) {
            (Ok((length, from)), Service::Echo) if answered.may(&room[..length], from) => {
                // If a reply cannot be sent, the prober counts its echo probe as lost.
                let _ = socket.send_to(&room[..length], from);
            }
            (Ok(_), _) => {}
            (Err(_), _) => thread::sleep(PAUSE),
        }
    }
}

/// The number of answers to each datagram.
#[derive(Default)]
struct Answered {
    /// The key is a hash of the octets and the address of the sender.
    counts: HashMap<u64, u32>,
    keys: RandomState,
}

impl Answered {
    /// Counts a datagram of `octets` from an address. Returns whether to answer it.
    fn may(&mut self, octets: &[u8], from: SocketAddr) -> bool {
        if self.counts.len() >= DATAGRAMS_MAX {
            self.counts.retain(|_, count| *count > 1);
        }
        if self.counts.len() >= DATAGRAMS_MAX {
            self.counts.clear();
        }
        let count = self.counts.entry(self.keys.hash_one((octets, from))).or_default();
        *count += 1;
        let answers = *count <= ANSWERS;
        if !answers {
            *count = 0;
        }
        answers
    }
}

fn serve_stream(service: Service, mut stream: TcpStream) {
    let mut room = vec![0; ROOM];
    // With this option, echoed data leaves immediately.
    let _ = stream.set_nodelay(true);
    let waits = [stream.set_read_timeout(Some(SILENCE)), stream.set_write_timeout(Some(SILENCE))];
    if waits.iter().any(Result::is_err) {
        return;
    }
    while let Ok(length @ 1..) = stream.read(&mut room) {
        if service == Service::Echo && stream.write_all(&room[..length]).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn two_echo_hosts_do_not_send_each_other_a_datagram_for_ever() {
        let (one, other) = ("192.0.2.1:7".parse().unwrap(), "192.0.2.2:7".parse().unwrap());
        let mut answered = Answered::default();
        let bounces = (0..).take_while(|_| answered.may(b"ping", one)).count();
        assert_eq!(bounces, ANSWERS as usize);
        assert!(answered.may(b"ping", one), "the count starts again after a refusal");
        let distinct = (0..10_000_u32).all(|n| answered.may(&n.to_be_bytes(), one));
        assert!(distinct && answered.may(b"ping", other));
    }

    #[test]
    fn a_thousand_other_datagrams_do_not_hide_a_loop() {
        let from = "192.0.2.1:9000".parse().unwrap();
        let mut answered = Answered::default();
        let bounces = (0_u64..)
            .take_while(|n| {
                let others = (0..1000).all(|m| answered.may(&(n * 1000 + m).to_be_bytes(), from));
                assert!(others && answered.counts.len() <= DATAGRAMS_MAX);
                answered.may(b"loop", from)
            })
            .count();
        assert_eq!(bounces, ANSWERS as usize);
    }

    #[test]
    fn connections_beyond_the_limit_are_closed_and_earlier_connections_continue() {
        let (sender, receiver) = std::sync::mpsc::channel();
        let at = "127.0.0.1:0".parse().unwrap();
        let (halt, end) = rustix::pipe::pipe().unwrap();
        let server = thread::spawn(move || {
            let ready = |at| sender.send(at).map_err(io::Error::other);
            serve(Service::Echo, at, halt.as_fd(), ready)
        });
        let at = receiver.recv().unwrap();
        let echoes = |stream: &mut TcpStream| {
            let mut back = [0];
            stream.write_all(b"x").is_ok() && stream.read(&mut back).is_ok_and(|n| n == 1)
        };
        let mut open: Vec<TcpStream> =
            (0..STREAMS).map(|_| TcpStream::connect(at).unwrap()).collect();
        assert!(open.iter_mut().all(echoes));
        assert!(!echoes(&mut TcpStream::connect(at).unwrap()));
        assert!(open.iter_mut().all(echoes));
        open.clear();
        let free = (0..200).any(|_| {
            thread::sleep(Duration::from_millis(10));
            echoes(&mut TcpStream::connect(at).unwrap())
        });
        assert!(free, "a new connection takes the place of one that ended");
        assert!(!server.is_finished());
        drop(end);
        server.join().unwrap().unwrap();
    }
}
