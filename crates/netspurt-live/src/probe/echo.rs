//! A host that echoes all data (RFC 862), or discards it (RFC 863).

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread;

use serde::Deserialize;

/// What a host does with what it gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Service {
    /// Sends it back.
    Echo,
    /// Swallows it.
    Sink,
}

/// Octets that a connection may hold at a time.
const ROOM: usize = 1 << 16;

/// Serves UDP and TCP at `address`, for ever; `ready` is told the address once both are there.
///
/// # Errors
/// When the address cannot be had.
pub fn serve(
    service: Service,
    address: SocketAddr,
    ready: impl FnOnce(SocketAddr) -> io::Result<()>,
) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    let address = listener.local_addr()?;
    let datagrams = UdpSocket::bind(address)?;
    ready(address)?;
    thread::scope(|scope| {
        scope.spawn(|| serve_datagrams(service, &datagrams));
        loop {
            // A connection that fails is its client's business.
            let Ok((stream, _)) = listener.accept() else { continue };
            thread::spawn(move || serve_stream(service, stream));
        }
    })
}

fn serve_datagrams(service: Service, socket: &UdpSocket) {
    let mut room = vec![0; ROOM];
    loop {
        if let (Ok((length, from)), Service::Echo) = (socket.recv_from(&mut room), service) {
            // What is lost is lost.
            let _ = socket.send_to(&room[..length], from);
        }
    }
}

fn serve_stream(service: Service, mut stream: TcpStream) {
    let mut room = vec![0; ROOM];
    // What was echoed leaves at once, as it came.
    let _ = stream.set_nodelay(true);
    while let Ok(length @ 1..) = stream.read(&mut room) {
        if service == Service::Echo && stream.write_all(&room[..length]).is_err() {
            return;
        }
    }
}
