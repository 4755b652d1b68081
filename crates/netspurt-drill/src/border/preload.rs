//! The functions of the C library that this library replaces if `LD_PRELOAD` names this library.

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

/// Whether `LD_PRELOAD` names this library. If so, packetdrill calls the functions of this file
/// instead of the functions of the C library.
pub(super) fn is_active() -> bool {
    // SAFETY: null stands for the program and the libraries that were loaded at its start. The name
    // ends with a zero. The function that `dlsym` finds is not called.
    let found = unsafe {
        let program = libc::dlopen(ptr::null(), libc::RTLD_NOW);
        libc::dlsym(program, c"packetdrill_interface_init".as_ptr())
    };
    !found.is_null()
}

/// Interprets a script's shell command instead of running it. Runs only the Python file into which
/// packetdrill writes a script's assertions.
///
/// # Safety
/// `text` is null or ends with a zero.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn system(text: *const c_char) -> c_int {
    /// The wait status of a command that exited with 1.
    const FAILED: c_int = 1 << 8;
    if text.is_null() {
        return 1;
    }
    // SAFETY: the caller guarantees that `text` ends with a zero.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
    let run = move || match current() {
        _ if runs_assertions(&text) => run_in_shell(&text),
        Some(machine) if machine.command(&text) => 0,
        _ => FAILED,
    };
    catch_unwind(run).unwrap_or(FAILED)
}

/// Whether a command is one program whose last argument is the file into which packetdrill has
/// written a script's assertions.
fn runs_assertions(text: &str) -> bool {
    let is_plain = !text.contains([';', '&', '|', '<', '>', '$', '`', '\n']);
    let file = text.split_whitespace().next_back().unwrap_or_default();
    is_plain && file.starts_with("/tmp/code_")
}

/// Runs a command in a shell, without this library. Returns the status in the form of `system`.
fn run_in_shell(text: &str) -> c_int {
    let shell = Command::new("/bin/sh").arg("-c").arg(text).env_remove("LD_PRELOAD").status();
    shell.map_or(-1, ExitStatusExt::into_raw)
}

/// Reads an option of one of our sockets. For other files, makes the system call.
///
/// # Safety
/// The caller must follow the rules of the C library's function of the same name.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn getsockopt(
    fd: c_int,
    level: c_int,
    number: c_int,
    place: *mut c_void,
    length: *mut socklen_t,
) -> c_int {
    if is_ours(fd) {
        // SAFETY: the caller guarantees that `place` and `length` are valid for the option.
        return unsafe { options::getsockopt(ptr::null_mut(), fd, level, number, place, length) };
    }
    // SAFETY: the system call gets the caller's arguments unchanged.
    let result = unsafe { libc::syscall(libc::SYS_getsockopt, fd, level, number, place, length) };
    result as c_int
}

/// Closes one of our sockets. For other files, makes the system call.
///
/// # Safety
/// The caller must follow the rules of the C library's function of the same name.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn close(fd: c_int) -> c_int {
    if is_ours(fd) {
        return sockets::close_ours(fd);
    }
    // SAFETY: the system call reads no memory, and the caller owns the descriptor.
    let result = unsafe { libc::syscall(libc::SYS_close, fd) };
    result as c_int
}

/// Does nothing, so packetdrill needs no privilege. Memory need not be locked, because page faults
/// do not delay virtual time.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn mlockall(_: c_int) -> c_int {
    0
}

/// Returns a larger number at each call with a null pointer. Before packetdrill starts a script,
/// packetdrill calls this function until the number changes. So packetdrill does not wait for a
/// tick of the computer's clock.
///
/// # Safety
/// The caller must follow the rules of the C library's function of the same name.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn times(place: *mut c_void) -> c_long {
    static TICKS: AtomicI64 = AtomicI64::new(0);
    if place.is_null() {
        return TICKS.fetch_add(1, Ordering::Relaxed);
    }
    // SAFETY: the caller guarantees that `place` points to a `tms`.
    unsafe { libc::syscall(libc::SYS_times, place) }
}
