//! packetdrill calls this library through a table of functions. These tests call the functions in
//! the same way.

use std::ffi::{c_int, c_void};
use std::mem;
use std::net::SocketAddr;
use std::ptr::{null, null_mut};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use netspurt::segment::{Flags, Segment, SynOptions};
use netspurt::wire::{Checks, Packet, decode, encode};
use netspurt_scenario::script::Call;

use super::fds::FIRST;
use super::guard::{answer, answer_int, current};
use super::memory::address_octets;
use super::table::begin;
use super::{PacketdrillTable, preload};

/// Each test that plays a script holds this lock, because only one script is played at a time, as
/// in packetdrill.
static SCRIPT_LOCK: Mutex<()> = Mutex::new(());

/// The address of the remote end.
const PEER: &str = "192.0.2.1:5000";
/// The address of the simulated host.
const OWN: &str = "192.168.0.1:8080";

/// Makes the calls of a new script on this thread, as packetdrill does.
struct Player {
    table: PacketdrillTable,
    _one: MutexGuard<'static, ()>,
}

impl Player {
    fn new() -> Self {
        let one = SCRIPT_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
        begin("").unwrap();
        Self { table: PacketdrillTable::filled(), _one: one }
    }

    fn now_us(&self) -> i64 {
        now_us(&self.table)
    }

    fn sleep_ms(&self, millis: u32) {
        assert_eq!(unsafe { (self.table.usleep)(null_mut(), millis * 1000) }, 0);
    }

    fn socket(&self) -> c_int {
        let fd = unsafe { (self.table.socket)(null_mut(), libc::AF_INET, libc::SOCK_STREAM, 0) };
        assert!(fd >= FIRST);
        fd
    }

    /// Opens a socket that listens.
    fn listener(&self) -> c_int {
        let fd = self.socket();
        let own = address_octets(OWN.parse().unwrap());
        let (at, length) = (own.as_ptr().cast(), own.len() as u32);
        assert_eq!(unsafe { (self.table.bind)(null_mut(), fd, at, length) }, 0);
        assert_eq!(unsafe { (self.table.listen)(null_mut(), fd, 1) }, 0);
        fd
    }

    /// Injects a segment of the remote end.
    fn send(&self, segment: Segment) -> c_int {
        let (source, destination) = (PEER.parse().unwrap(), OWN.parse().unwrap());
        let mut octets = Vec::new();
        encode(&Packet { source, destination, ip_id: 1, segment, payload: None }, &mut octets);
        unsafe { (self.table.packet_in)(null_mut(), octets.as_ptr().cast(), octets.len()) }
    }

    /// The next packet that the host sends, with its time in microseconds.
    fn receive(&self) -> Option<(i64, Segment)> {
        let (mut octets, mut at) = ([0_u8; 4096], 0);
        let mut length = octets.len();
        let place = octets.as_mut_ptr().cast();
        let result =
            unsafe { (self.table.packet_out)(null_mut(), place, &raw mut length, &raw mut at) };
        assert_eq!(result, 0, "after an error, packetdrill would call again without end");
        let packet = &octets[..length];
        if packet.is_empty() {
            return None;
        }
        let decoded = decode(packet, Checks::Whole).expect("valid checksums");
        let ends: (SocketAddr, SocketAddr) = (OWN.parse().unwrap(), PEER.parse().unwrap());
        assert_eq!((decoded.source, decoded.destination), ends);
        Some((at, decoded.segment))
    }

    /// Opens a connection from the remote end. `before_ack` is called before the last ACK of the
    /// handshake. Returns the ACK number for the next segments from the remote end.
    fn open(&self, before_ack: impl FnOnce()) -> u32 {
        let mut syn = Segment { flags: Flags::SYN, window: 60_000, ..Segment::default() };
        syn.set_syn_options(SynOptions { mss: Some(1000), ..SynOptions::default() });
        assert_eq!(self.send(syn), 0);
        let (_, answer) = self.receive().unwrap();
        assert!(answer.flags.has(Flags::SYN) && answer.flags.has(Flags::ACK) && answer.ack == 1);
        before_ack();
        let ack = answer.seq.wrapping_add(1);
        let (flags, window) = (Flags::ACK, 60_000);
        assert_eq!(self.send(Segment { seq: 1, ack, flags, window, ..Segment::default() }), 0);
        ack
    }

    fn accept(&self, fd: c_int) -> c_int {
        accept(&self.table, fd)
    }
}

fn accept(table: &PacketdrillTable, fd: c_int) -> c_int {
    let (mut room, mut length) = ([0_u8; 128], 128);
    let fd = unsafe { (table.accept)(null_mut(), fd, room.as_mut_ptr().cast(), &raw mut length) };
    if fd >= 0 {
        assert_eq!(room[..length as usize], address_octets(PEER.parse().unwrap()));
    }
    fd
}

fn now_us(table: &PacketdrillTable) -> i64 {
    let mut time = libc::timeval { tv_sec: 0, tv_usec: 0 };
    assert_eq!(unsafe { (table.gettimeofday)(null_mut(), &raw mut time, null_mut()) }, 0);
    time.tv_sec * 1_000_000 + time.tv_usec
}

fn errno() -> c_int {
    std::io::Error::last_os_error().raw_os_error().unwrap()
}

#[test]
fn the_table_has_the_size_and_the_order_of_packetdrills_table() {
    let word = mem::size_of::<usize>();
    assert_eq!(mem::size_of::<PacketdrillTable>(), 33 * word);
    let places = [
        (mem::offset_of!(PacketdrillTable, accept), 5),
        (mem::offset_of!(PacketdrillTable, sendmsg), 16),
        (mem::offset_of!(PacketdrillTable, poll), 23),
        (mem::offset_of!(PacketdrillTable, packet_out), 25),
        (mem::offset_of!(PacketdrillTable, splice), 32),
    ];
    for (offset, nth) in places {
        assert_eq!(offset, nth * word, "{nth}");
    }
}

#[test]
fn a_connection_opens_and_transfers_data_in_virtual_time() {
    let player = Player::new();
    let listener = player.listener();
    let start = player.now_us();
    let ack = player.open(|| player.sleep_ms(100));
    assert!((100_000..100_002).contains(&(player.now_us() - start)));
    let fd = player.accept(listener);
    let buffer = [0_u8; 3000];
    let written = unsafe { (player.table.write)(null_mut(), fd, buffer.as_ptr().cast(), 3000) };
    assert_eq!(written, 3000);
    let sent: Vec<u32> =
        (0..3).map(|_| player.receive().unwrap().1.seq.wrapping_sub(ack)).collect();
    assert_eq!(sent, [0, 1000, 2000]);
    // The remote end does not answer, so the next packet is a retransmission.
    let (at, again) = player.receive().unwrap();
    assert!(at - start > 200_000 && again.len == 1000, "{at} {again:?}");
    let data =
        Segment { seq: 1, ack, len: 500, flags: Flags::ACK, window: 9, ..Segment::default() };
    assert_eq!(player.send(data), 0);
    let mut room = [7_u8; 500];
    let read = unsafe { (player.table.read)(null_mut(), fd, room.as_mut_ptr().cast(), 500) };
    assert_eq!((read, room), (500, [0; 500]));
    assert_eq!(unsafe { (player.table.close)(null_mut(), fd) }, 0);
}

#[test]
fn a_thread_reads_the_time_at_which_its_call_returned() {
    let player = Player::new();
    let listener = player.listener();
    let begun = player.now_us();
    let (fd, returned) = thread::scope(|scope| {
        let other = scope.spawn(|| {
            let table = PacketdrillTable::filled();
            let fd = accept(&table, listener);
            (fd, now_us(&table))
        });
        // packetdrill continues its script after the other thread has gone to sleep. The test does
        // the same.
        while !current().unwrap().is_blocked() {
            thread::yield_now();
        }
        player.open(|| player.sleep_ms(30));
        player.sleep_ms(1000);
        other.join().unwrap()
    });
    assert!(fd > listener);
    let waited = returned - begun;
    assert!((30_000..30_010).contains(&waited), "{waited}");
    assert!(player.now_us() - begun >= 1_030_000);
}

#[test]
fn a_wait_ends_on_time_while_another_thread_polls_the_clock() {
    let player = Player::new();
    let listener = player.listener();
    let begun = player.now_us();
    let (found, returned) = thread::scope(|scope| {
        let other = scope.spawn(|| {
            let table = PacketdrillTable::filled();
            let mut entry = libc::pollfd { fd: listener, events: libc::POLLIN, revents: 9 };
            let found = unsafe { (table.poll)(null_mut(), &raw mut entry, 1, 30) };
            (found, now_us(&table))
        });
        while !current().unwrap().is_blocked() {
            thread::yield_now();
        }
        player.sleep_ms(29);
        assert_eq!(unsafe { (player.table.usleep)(null_mut(), 990) }, 0);
        while player.now_us() < begun + 30_005 {}
        player.open(|| ());
        other.join().unwrap()
    });
    assert_eq!(found, 0);
    assert!((30_000..30_010).contains(&(returned - begun)), "{}", returned - begun);
    assert!(player.accept(listener) > listener);
}

#[test]
fn a_blocking_call_advances_the_clock_if_no_other_thread_does() {
    let player = Player::new();
    let listener = player.listener();
    let begun = player.now_us();
    let mut entry = libc::pollfd { fd: listener, events: libc::POLLIN, revents: 9 };
    let found = unsafe { (player.table.poll)(null_mut(), &raw mut entry, 1, 250) };
    assert_eq!((found, entry.revents), (0, 0));
    assert!((250_000..250_002).contains(&(player.now_us() - begun)));
    // A call that would block without end is interrupted.
    assert_eq!((player.accept(listener), errno()), (-1, libc::EINTR));
}

#[test]
fn packetdrill_gets_an_empty_packet_if_no_packet_will_come() {
    let player = Player::new();
    player.listener();
    assert!(player.receive().is_none());
}

#[test]
fn calls_on_sockets_fail_after_a_panic_and_the_clock_still_runs() {
    let player = Player::new();
    let listener = player.listener();
    let panicked = answer_int(|machine| machine.with(|_| panic!("on purpose")));
    assert_eq!((panicked, errno()), (-1, libc::EOPNOTSUPP));
    assert_eq!((player.accept(listener), errno()), (-1, libc::EOPNOTSUPP));
    assert!(player.receive().is_none());
    let before = player.now_us();
    player.sleep_ms(5);
    assert!(player.now_us() - before >= 5000);
}

#[test]
fn mechanisms_that_our_host_lacks_are_refused() {
    for (domain, kind) in [(libc::AF_INET, libc::SOCK_DGRAM), (libc::AF_UNIX, libc::SOCK_STREAM)] {
        let player = Player::new();
        let fd = unsafe { (player.table.socket)(null_mut(), domain, kind, 0) };
        assert_eq!((fd, errno()), (-1, libc::EOPNOTSUPP));
    }
    let player = Player::new();
    let (fd, one) = (player.socket(), 1_i32.to_ne_bytes());
    let set = unsafe {
        (player.table.setsockopt)(null_mut(), fd, libc::SOL_SOCKET, 999, one.as_ptr().cast(), 4)
    };
    assert_eq!((set, errno()), (-1, libc::EOPNOTSUPP));
    assert_eq!(player.send(Segment::default()), -1);
}

#[test]
fn the_values_of_options_have_linuxs_sizes() {
    let player = Player::new();
    let fd = player.socket();
    let tcp = libc::IPPROTO_TCP;
    let set = |level, name, octets: &[u8]| unsafe {
        let (at, length) = (octets.as_ptr().cast(), octets.len() as u32);
        (player.table.setsockopt)(null_mut(), fd, level, name, at, length)
    };
    assert_eq!(set(tcp, libc::TCP_CONGESTION, b"reno"), 0);
    assert_eq!(set(tcp, libc::TCP_NOTSENT_LOWAT, &u32::MAX.to_ne_bytes()), 0);
    assert_eq!(set(libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, &[0]), 0);
    assert_eq!((set(tcp, libc::TCP_NODELAY, &[1]), errno()), (-1, libc::EINVAL));
    let get = |level, name| unsafe {
        let (mut room, mut length) = ([0_u8; 512], 512);
        let place = room.as_mut_ptr().cast::<c_void>();
        // For a script's assertions, packetdrill reads options with `getsockopt` of the C library.
        let result = preload::getsockopt(fd, level, name, place, &raw mut length);
        (result, room[..length as usize].to_vec())
    };
    assert_eq!(get(tcp, libc::TCP_NOTSENT_LOWAT), (0, u32::MAX.to_ne_bytes().to_vec()));
    assert_eq!(get(tcp, libc::TCP_INFO).1.len(), crate::info::TCP_INFO_BYTES);
    assert_eq!(get(tcp, libc::TCP_CC_INFO), (0, Vec::new()));
    assert_eq!(get(libc::SOL_SOCKET, 55).1.len(), crate::info::MEMORY_BYTES);
}

#[test]
fn a_call_with_a_null_pointer_fails_with_efault() {
    let player = Player::new();
    let listener = player.listener();
    player.open(|| ());
    let fd = player.accept(listener);
    let table = &player.table;
    unsafe {
        assert_eq!((table.write)(null_mut(), fd, null(), 10), -1);
        assert_eq!(errno(), libc::EFAULT);
        assert_eq!((table.read)(null_mut(), fd, null_mut(), 10), -1);
        assert_eq!(errno(), libc::EFAULT);
        assert_eq!((table.sendmsg)(null_mut(), fd, null(), 0), -1);
        assert_eq!(errno(), libc::EFAULT);
        assert_eq!((table.poll)(null_mut(), null_mut(), 1, 0), -1);
        assert_eq!(errno(), libc::EFAULT);
        assert_eq!((table.packet_in)(null_mut(), null(), 40), -1);
    }
}

#[test]
fn poll_reports_for_each_socket_only_its_own_events() {
    let player = Player::new();
    let listener = player.listener();
    let ack = player.open(|| ());
    let fd = player.accept(listener);
    let data =
        Segment { seq: 1, ack, len: 100, flags: Flags::ACK, window: 9, ..Segment::default() };
    let polled = |asked: [(c_int, i16); 2]| {
        let entry = |(fd, events)| libc::pollfd { fd, events, revents: -1 };
        let mut entries = asked.map(entry);
        let count = unsafe { (player.table.poll)(null_mut(), entries.as_mut_ptr(), 2, 0) };
        (count, entries.map(|entry| entry.revents))
    };
    let (input, output) = (libc::POLLIN, libc::POLLOUT);
    assert_eq!(polled([(listener, input), (fd, input)]), (0, [0, 0]));
    assert_eq!(player.send(data), 0);
    assert_eq!(polled([(listener, input), (fd, input)]), (1, [0, input]));
    assert_eq!(polled([(fd, input | output), (listener, input)]), (1, [input | output, 0]));
}

#[test]
fn accept_writes_neither_address_nor_length_if_one_of_the_pointers_is_null() {
    let player = Player::new();
    let listener = player.listener();
    player.open(|| ());
    let mut length = 128;
    let fd = unsafe { (player.table.accept)(null_mut(), listener, null_mut(), &raw mut length) };
    assert!(fd > listener);
    assert_eq!(length, 128);
    let mut room = [7_u8; 128];
    let place = room.as_mut_ptr().cast();
    assert_eq!(unsafe { (player.table.accept)(null_mut(), fd, place, null_mut()) }, -1);
    assert_eq!((errno(), room), (libc::EINVAL, [7; 128]));
}

#[test]
fn a_failed_call_returns_minus_one_and_sets_errno() {
    let player = Player::new();
    let fd = player.socket();
    assert_eq!(unsafe { (player.table.listen)(null_mut(), fd + 5, 1) }, -1);
    assert_eq!(errno(), libc::EBADF);
    assert_eq!(unsafe { (player.table.shutdown)(null_mut(), fd, libc::SHUT_WR) }, -1);
    assert_eq!(errno(), libc::ENOTCONN);
    // The library replaces `close` for the program that loads the library.
    assert_eq!(unsafe { preload::close(fd) }, 0);
    assert_eq!(unsafe { (player.table.shutdown)(null_mut(), fd, libc::SHUT_WR) }, -1);
    assert_eq!(errno(), libc::EBADF);
}

#[test]
fn epoll_wait_returns_the_data_that_epoll_ctl_was_given() {
    let player = Player::new();
    let listener = player.listener();
    let table = &player.table;
    let epoll = unsafe { (table.epoll_create)(null_mut(), 1) };
    let asked = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0x1234_5678_9abc };
    let add = libc::EPOLL_CTL_ADD;
    assert_eq!(unsafe { (table.epoll_ctl)(null_mut(), epoll, add, listener, &raw const asked) }, 0);
    player.open(|| ());
    // SAFETY: zeros are a valid event.
    let mut found: [libc::epoll_event; 4] = unsafe { mem::zeroed() };
    let count = unsafe { (table.epoll_wait)(null_mut(), epoll, found.as_mut_ptr(), 4, 0) };
    let (events, data) = (found[0].events, found[0].u64);
    assert_eq!((count, events, data), (1, libc::EPOLLIN as u32, 0x1234_5678_9abc));
}

#[test]
fn recvmsg_reads_into_all_pieces_and_reports_the_unread_octets() {
    let player = Player::new();
    let listener = player.listener();
    let ack = player.open(|| ());
    let fd = player.accept(listener);
    let one = 1_i32.to_ne_bytes();
    let set = unsafe {
        let at = one.as_ptr().cast();
        (player.table.setsockopt)(null_mut(), fd, libc::IPPROTO_TCP, libc::TCP_INQ, at, 4)
    };
    assert_eq!(set, 0);
    let data =
        Segment { seq: 1, ack, len: 100, flags: Flags::ACK, window: 9, ..Segment::default() };
    assert_eq!(player.send(data), 0);
    let (mut first, mut second, mut control) = ([0_u8; 10], [0_u8; 20], [0_u8; 24]);
    let mut pieces = [
        libc::iovec { iov_base: first.as_mut_ptr().cast(), iov_len: 10 },
        libc::iovec { iov_base: second.as_mut_ptr().cast(), iov_len: 20 },
    ];
    // SAFETY: zeros are a valid message.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_iov = pieces.as_mut_ptr();
    message.msg_iovlen = 2;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = control.len();
    message.msg_namelen = 16;
    assert_eq!(unsafe { (player.table.recvmsg)(null_mut(), fd, &raw mut message, 0) }, 30);
    assert_eq!(message.msg_namelen, 0, "a connected socket returns no address");
    assert_eq!((message.msg_controllen, control[16..20].to_vec()), (24, vec![70, 0, 0, 0]));
    message.msg_iov = null_mut();
    assert_eq!(unsafe { (player.table.sendmsg)(null_mut(), fd, &raw const message, 0) }, -1);
}

#[test]
fn the_control_messages_of_a_timestamp_have_its_time_its_kind_and_its_octet_number() {
    let player = Player::new();
    let listener = player.listener();
    let next = player.open(|| ());
    let fd = player.accept(listener);
    let asked = (1_i32 << 9 | 1 << 4 | 1 << 7).to_ne_bytes();
    let (level, name) = (libc::SOL_SOCKET, libc::SO_TIMESTAMPING);
    let set =
        unsafe { (player.table.setsockopt)(null_mut(), fd, level, name, asked.as_ptr().cast(), 4) };
    assert_eq!(set, 0);
    let octets = [0_u8; 1000];
    let write = player.table.write;
    assert_eq!(unsafe { write(null_mut(), fd, octets.as_ptr().cast(), octets.len()) }, 1000);
    player.sleep_ms(10);
    let ack = next.wrapping_add(1000);
    let (flags, window, size_bytes) = (Flags::ACK, 65_535, 40);
    player.send(Segment { seq: 1, ack, flags, window, size_bytes, ..Segment::default() });
    let at = player.now_us();
    let mut control = [0_u8; 200];
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = control.len();
    let mut read = || {
        let place = &raw mut message;
        unsafe { (player.table.recvmsg)(null_mut(), fd, place, libc::MSG_ERRQUEUE) }
    };
    assert_eq!(read(), 0);
    assert_eq!((read(), errno()), (-1, libc::EAGAIN));
    assert_eq!(message.msg_flags, libc::MSG_ERRQUEUE | libc::MSG_TRUNC);
    assert_eq!(message.msg_controllen, 64 + 48);
    let long = |at: usize| i64::from_ne_bytes(*control[at..].first_chunk().unwrap());
    assert!((at - 10..=at).contains(&(long(16) * 1_000_000 + long(24) / 1000)));
    let int = |at: usize| u32::from_ne_bytes(*control[at..].first_chunk().unwrap());
    // After its header, the second control message contains the error, the kind of timestamp and
    // the number of the last octet.
    assert_eq!([int(80), int(88), int(92)], [libc::ENOMSG as u32, 2, 999]);
}

#[test]
fn only_a_scripts_assertions_are_run_and_other_commands_are_interpreted() {
    let player = Player::new();
    let run = |text: &std::ffi::CStr| unsafe { preload::system(text.as_ptr()) };
    assert_eq!(run(c"sysctl -q net.ipv4.tcp_syn_retries=3"), 0);
    assert_eq!(run(c"true; true /tmp/code_of_nobody"), 1 << 8);
    // A command is run only if it is one program with the file of a script's assertions as its last
    // word. The line above has two commands, so the script is refused. After that, a command that
    // follows the rule is still run.
    assert_eq!(run(c"true /tmp/code_of_nobody"), 0);
    assert_eq!(run(c"test -e /tmp/code_of_nobody"), 1 << 8);
    assert!(player.receive().is_none());
}

#[test]
fn calls_on_other_file_descriptors_become_system_calls() {
    let (mut place, mut length) = (0_i32, 4);
    let wrong = unsafe {
        preload::getsockopt(
            -1,
            libc::SOL_SOCKET,
            libc::SO_TYPE,
            (&raw mut place).cast(),
            &raw mut length,
        )
    };
    assert_eq!((wrong, errno()), (-1, libc::EBADF));
    assert_eq!((unsafe { preload::close(-1) }, errno()), (-1, libc::EBADF));
    assert_eq!(preload::mlockall(libc::MCL_CURRENT), 0);
    let ticks = unsafe { (preload::times(null_mut()), preload::times(null_mut())) };
    assert!(ticks.1 > ticks.0);
    assert!(!preload::is_active());
}

#[test]
fn a_call_fails_while_another_call_blocks() {
    let player = Player::new();
    let listener = player.listener();
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            let table = PacketdrillTable::filled();
            (accept(&table, listener), now_us(&table)).0
        });
        while !current().unwrap().is_blocked() {
            thread::yield_now();
        }
        let call = Call::Close { fd: listener - FIRST };
        assert_eq!(answer(|machine| super::guard::value(machine, &call)), -1);
        // Because of that call, the script is refused. So the blocked call on the other thread
        // fails.
        player.sleep_ms(1);
        assert_eq!(other.join().unwrap(), -1);
    });
}
