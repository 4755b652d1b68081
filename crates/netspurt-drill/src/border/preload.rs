//! Functions of the C library whose place this library takes where `LD_PRELOAD` names it.

use std::ffi::{CStr, c_char, c_int, c_long, c_void};
use std::os::unix::process::ExitStatusExt;
use std::panic::catch_unwind;
use std::process::Command;
use std::ptr;
use std::sync::atomic::{AtomicI64, Ordering};

use libc::socklen_t;

use super::fds::is_ours;
use super::guard::current;
use super::{options, sockets};

/// Whether `LD_PRELOAD` names this library, so that packetdrill calls the functions here and not the C
/// library's.
pub(super) fn is_active() -> bool {
    // SAFETY: null stands for the program with what was loaded at its start, and the name ends with
    // a zero. The function that is found is not called.
    let found = unsafe {
        let program = libc::dlopen(ptr::null(), libc::RTLD_NOW);
        libc::dlsym(program, c"packetdrill_interface_init".as_ptr())
    };
    !found.is_null()
}

/// Takes a script's shell command, which is read and not run. Only the Python in which packetdrill
/// writes a script's assertions is run.
///
/// # Safety
/// `text` is null or ends with a zero.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn system(text: *const c_char) -> c_int {
    const FAILED: c_int = 1 << 8;
    if text.is_null() {
        return 1;
    }
    // SAFETY: the caller says so.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
    let run = move || match current() {
        _ if is_code(&text) => run_code(&text),
        Some(machine) if machine.command(&text) => 0,
        _ => FAILED,
    };
    catch_unwind(run).unwrap_or(FAILED)
}

/// Whether a command is a program and the file in which packetdrill has written a script's assertions.
fn is_code(text: &str) -> bool {
    let is_plain = !text.contains([';', '&', '|', '<', '>', '$', '`', '\n']);
    let file = text.split_whitespace().next_back().unwrap_or_default();
    is_plain && file.starts_with("/tmp/code_")
}

/// Runs a command; its status as `system` returns it.
fn run_code(text: &str) -> c_int {
    let shell = Command::new("/bin/sh").arg("-c").arg(text).env_remove("LD_PRELOAD").status();
    shell.map_or(-1, ExitStatusExt::into_raw)
}

/// Reads an option of one of our sockets, or of another file.
///
/// # Safety
/// As for the C library's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn getsockopt(
    fd: c_int,
    level: c_int,
    number: c_int,
    place: *mut c_void,
    length: *mut socklen_t,
) -> c_int {
    if is_ours(fd) {
        // SAFETY: the caller says so.
        return unsafe { options::getsockopt(ptr::null_mut(), fd, level, number, place, length) };
    }
    // SAFETY: the arguments are the system call's own, as the caller gave them.
    let result = unsafe { libc::syscall(libc::SYS_getsockopt, fd, level, number, place, length) };
    result as c_int
}

/// Closes one of our sockets, or another file.
///
/// # Safety
/// As for the C library's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn close(fd: c_int) -> c_int {
    if is_ours(fd) {
        return sockets::close_ours(fd);
    }
    // SAFETY: the argument is a number, which the caller owns.
    let result = unsafe { libc::syscall(libc::SYS_close, fd) };
    result as c_int
}

/// Locks nothing into memory: virtual time does not suffer from pages that are fetched late. So
/// packetdrill needs no privilege.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn mlockall(_: c_int) -> c_int {
    0
}

/// Counts, so that packetdrill does not wait for a tick of the machine before it starts.
///
/// # Safety
/// As for the C library's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn times(place: *mut c_void) -> c_long {
    static TICKS: AtomicI64 = AtomicI64::new(0);
    if place.is_null() {
        return TICKS.fetch_add(1, Ordering::Relaxed);
    }
    // SAFETY: the caller's place is for a `tms`.
    unsafe { libc::syscall(libc::SYS_times, place) }
}
