//! The table of functions that packetdrill passes to a library. The library fills the table. A
//! machine is the simulated host on which a script is played, with its clock.

use std::ffi::{CStr, c_char, c_int, c_long, c_void};
use std::panic::catch_unwind;
use std::process;

use libc::{epoll_event, iovec, msghdr, pollfd, socklen_t, timeval};

use super::guard::set_current;
use super::{options, packets, preload, sockets, transfers, waits};
use crate::machine::DrillMachine;
use crate::shell::Setup;
use crate::world::DrillWorld;

type OwnPointer = *mut c_void;
type Writable = *mut c_void;
type Readable = *const c_void;
type LengthPlace = *mut socklen_t;

/// packetdrill's table: a pointer that the library may choose, and then pointers to functions. Each
/// function gets the chosen pointer as its first argument. The order and the arguments are the same
/// as in packetdrill at commit 2c4001c4.
#[repr(C)]
#[expect(missing_docs, reason = "most names are those of system calls, which manuals explain")]
pub struct PacketdrillTable {
    pub user: OwnPointer,
    pub free: unsafe extern "C" fn(OwnPointer),
    pub socket: unsafe extern "C" fn(OwnPointer, c_int, c_int, c_int) -> c_int,
    pub bind: unsafe extern "C" fn(OwnPointer, c_int, Readable, socklen_t) -> c_int,
    pub listen: unsafe extern "C" fn(OwnPointer, c_int, c_int) -> c_int,
    pub accept: unsafe extern "C" fn(OwnPointer, c_int, Writable, LengthPlace) -> c_int,
    pub connect: unsafe extern "C" fn(OwnPointer, c_int, Readable, socklen_t) -> c_int,
    pub read: unsafe extern "C" fn(OwnPointer, c_int, Writable, usize) -> isize,
    pub readv: unsafe extern "C" fn(OwnPointer, c_int, *const iovec, c_int) -> isize,
    pub recv: unsafe extern "C" fn(OwnPointer, c_int, Writable, usize, c_int) -> isize,
    pub recvfrom: unsafe extern "C" fn(
        OwnPointer,
        c_int,
        Writable,
        usize,
        c_int,
        Writable,
        LengthPlace,
    ) -> isize,
    pub recvmsg: unsafe extern "C" fn(OwnPointer, c_int, *mut msghdr, c_int) -> isize,
    pub write: unsafe extern "C" fn(OwnPointer, c_int, Readable, usize) -> isize,
    pub writev: unsafe extern "C" fn(OwnPointer, c_int, *const iovec, c_int) -> isize,
    pub send: unsafe extern "C" fn(OwnPointer, c_int, Readable, usize, c_int) -> isize,
    pub sendto: unsafe extern "C" fn(
        OwnPointer,
        c_int,
        Readable,
        usize,
        c_int,
        Readable,
        socklen_t,
    ) -> isize,
    pub sendmsg: unsafe extern "C" fn(OwnPointer, c_int, *const msghdr, c_int) -> isize,
    pub fcntl: unsafe extern "C" fn(OwnPointer, c_int, c_int, c_long) -> c_int,
    pub ioctl: unsafe extern "C" fn(OwnPointer, c_int, u64, *mut c_int) -> c_int,
    pub close: unsafe extern "C" fn(OwnPointer, c_int) -> c_int,
    pub shutdown: unsafe extern "C" fn(OwnPointer, c_int, c_int) -> c_int,
    pub getsockopt:
        unsafe extern "C" fn(OwnPointer, c_int, c_int, c_int, Writable, LengthPlace) -> c_int,
    pub setsockopt:
        unsafe extern "C" fn(OwnPointer, c_int, c_int, c_int, Readable, socklen_t) -> c_int,
    pub poll: unsafe extern "C" fn(OwnPointer, *mut pollfd, u64, c_int) -> c_int,
    pub packet_in: unsafe extern "C" fn(OwnPointer, Readable, usize) -> c_int,
    pub packet_out: unsafe extern "C" fn(OwnPointer, Writable, *mut usize, *mut i64) -> c_int,
    pub usleep: unsafe extern "C" fn(OwnPointer, u32) -> c_int,
    pub gettimeofday: unsafe extern "C" fn(OwnPointer, *mut timeval, Writable) -> c_int,
    pub epoll_create: unsafe extern "C" fn(OwnPointer, c_int) -> c_int,
    pub epoll_ctl:
        unsafe extern "C" fn(OwnPointer, c_int, c_int, c_int, *const epoll_event) -> c_int,
    pub epoll_wait:
        unsafe extern "C" fn(OwnPointer, c_int, *mut epoll_event, c_int, c_int) -> c_int,
    pub pipe: unsafe extern "C" fn(OwnPointer, *mut c_int) -> c_int,
    pub splice:
        unsafe extern "C" fn(OwnPointer, c_int, *mut i64, c_int, *mut i64, usize, u32) -> c_int,
}

impl PacketdrillTable {
    /// Returns the table of this library. Its pointer `user` is null: packetdrill plays one script
    /// at a time, so the functions find the script's machine without a pointer.
    pub(super) fn filled() -> Self {
        Self {
            user: std::ptr::null_mut(),
            free,
            socket: sockets::socket,
            bind: sockets::bind,
            listen: sockets::listen,
            accept: sockets::accept,
            connect: sockets::connect,
            read: transfers::read,
            readv: transfers::readv,
            recv: transfers::recv,
            recvfrom: transfers::recvfrom,
            recvmsg: transfers::recvmsg,
            write: transfers::write,
            writev: transfers::writev,
            send: transfers::send,
            sendto: transfers::sendto,
            sendmsg: transfers::sendmsg,
            fcntl: sockets::fcntl,
            ioctl: sockets::ioctl,
            close: sockets::close,
            shutdown: sockets::shutdown,
            getsockopt: options::getsockopt,
            setsockopt: options::setsockopt,
            poll: waits::poll,
            packet_in: packets::packet_in,
            packet_out: packets::packet_out,
            usleep: waits::usleep,
            gettimeofday: waits::gettimeofday,
            epoll_create: waits::epoll_create,
            epoll_ctl: waits::epoll_ctl,
            epoll_wait: waits::epoll_wait,
            pipe: sockets::pipe,
            splice: sockets::splice,
        }
    }
}

unsafe extern "C" fn free(_: OwnPointer) {
    // Only the machine's destructor could panic here. Its script is over, so the panic is ignored.
    let _ = catch_unwind(|| set_current(None));
}

/// Begins a script: makes a machine from `flags`, the text of `--so_flags`, and fills packetdrill's
/// table. Ends the program with status 2 if the flags are wrong, or if the library panics. The
/// program also ends with status 2 if `LD_PRELOAD` does not name this library, because packetdrill
/// would then run the script's shell commands on the real computer.
///
/// # Safety
/// `flags` is null or ends with a zero. A table can be written to `table`.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn packetdrill_interface_init(
    flags: *const c_char,
    table: *mut PacketdrillTable,
) {
    if !preload::is_active() {
        stop(
            "LD_PRELOAD does not name this library: put it there, because without it packetdrill \
             would run the script's shell commands on this computer",
        );
    }
    let flags = match flags.is_null() {
        true => String::new(),
        // SAFETY: the caller meets the conditions of `# Safety`.
        false => unsafe { CStr::from_ptr(flags) }.to_string_lossy().into_owned(),
    };
    let begun = catch_unwind(move || begin(&flags));
    match begun {
        // SAFETY: the caller meets the conditions of `# Safety`. `write` does not drop the old
        // contents, which are only zeros.
        Ok(Ok(())) => unsafe { table.write(PacketdrillTable::filled()) },
        Ok(Err(mistake)) => stop(&mistake),
        Err(_) => stop("a fault of netspurt: the library panicked"),
    }
}

/// Makes the machine of a script.
///
/// # Errors
/// When the flags have a mistake. The error describes the mistake.
pub(super) fn begin(flags: &str) -> Result<(), String> {
    let setup = Setup::read(flags)?;
    set_current(Some(DrillMachine::new(DrillWorld::new(setup))));
    Ok(())
}

fn stop(why: &str) -> ! {
    eprintln!("netspurt: {why}");
    process::exit(2)
}
