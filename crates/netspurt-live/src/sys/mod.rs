//! Makes system calls, and two calls of the C library, for which no safe wrapper exists. This is
//! the only `unsafe` code of this crate.
//!
//! Each function here is safe to call. The types of its arguments guarantee that the arguments are
//! valid; only [`fork`] also requires a process with one thread. The memory that the kernel uses
//! exists until the call ends. The result is read only up to the length that the kernel wrote.

#![expect(unsafe_code, reason = "these system calls and C functions have no safe wrapper")]

mod batch;
mod outbox;
mod stamped;
mod tun;

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

pub use batch::{BATCH, Batch, Received};
pub use outbox::{Outbox, OutgoingPacket};
pub use stamped::{
    StampedDatagram, Trouble, only_icmp6, receive_stamped, set_ip_option, stamp_datagrams,
};
pub use tun::{TUN_NODE, open_tun};

/// The kinds of new namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unshared {
    /// A namespace of network devices, addresses, routes and sockets.
    Network,
    /// A namespace as for [`Network`](Self::Network), and a new user namespace that owns it.
    UserAndNetwork,
    /// A namespace of mounts, and a namespace of the processes that are created afterwards.
    ProcessesAndMounts,
}

/// Moves the calling thread into new namespaces.
///
/// # Errors
/// When the kernel refuses. It refuses a user namespace to a process with more than one
/// thread.
pub fn unshare(what: Unshared) -> io::Result<()> {
    let flags = match what {
        Unshared::Network => libc::CLONE_NEWNET,
        Unshared::UserAndNetwork => libc::CLONE_NEWUSER | libc::CLONE_NEWNET,
        Unshared::ProcessesAndMounts => libc::CLONE_NEWPID | libc::CLONE_NEWNS,
    };
    // SAFETY: no memory is passed. Rust relies on the fact that threads share memory and file
    // descriptors. None of these flags ends this sharing.
    checked(unsafe { libc::unshare(flags) })
}

/// Returns free memory of this process to the operating system. By itself, glibc keeps freed memory
/// if memory at a higher address is still in use. With another C library, this function does
/// nothing.
pub fn return_free_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: no memory is passed, and memory in use is not changed.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// From this call on, an allocation of 128 KiB or more gets its own pages, unless it fits into
/// freed memory. These pages return to the operating system when the allocation is freed. glibc
/// begins with the same limit. But when such an allocation is freed, glibc raises the limit to the
/// size of this allocation, up to 32 MiB (mallopt(3), `M_MMAP_THRESHOLD`). With another C library,
/// this function does nothing.
pub fn keep_large_allocations_apart() {
    #[cfg(target_env = "gnu")]
    // SAFETY: no memory is passed, and memory in use is not changed.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 128 << 10);
    }
}

fn checked(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Sets a socket option. The value of the option is a C `int`.
///
/// # Errors
/// When the kernel refuses.
pub fn set_option(fd: BorrowedFd<'_>, level: i32, name: i32, value: i32) -> io::Result<()> {
    let length = mem::size_of::<i32>() as libc::socklen_t;
    let place = (&raw const value).cast();
    // SAFETY: `value` outlives the call, and `length` is its size.
    checked(unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, place, length) })
}

/// Reads an option of a socket into the buffer `out`. Returns the number of octets that the kernel
/// wrote.
///
/// # Errors
/// When the kernel refuses.
pub fn read_option(fd: BorrowedFd<'_>, level: i32, name: i32, out: &mut [u8]) -> io::Result<usize> {
    let mut length = libc::socklen_t::try_from(out.len()).map_err(io::Error::other)?;
    let place = out.as_mut_ptr().cast();
    // SAFETY: the kernel writes at most `length` octets of the buffer `out`, and returns their
    // number.
    checked(unsafe { libc::getsockopt(fd.as_raw_fd(), level, name, place, &raw mut length) })?;
    Ok(length as usize)
}

/// Makes a copy of this process, which must have only one thread. Returns `None` in the copy, and
/// the process id of the copy in the original.
///
/// # Errors
/// When the kernel refuses.
pub fn fork() -> io::Result<Option<u32>> {
    // SAFETY: the caller guarantees that there is only one thread. The copy has this thread, so no
    // missing thread holds a lock.
    let number = unsafe { libc::fork() };
    checked(number)?;
    Ok(u32::try_from(number).ok().filter(|number| *number > 0))
}

/// Ends this process immediately. Nothing is flushed, and no value is dropped.
pub fn end(status: i32) -> ! {
    // SAFETY: the call does not return.
    unsafe { libc::_exit(status) }
}

/// If `leave` is true, this process ignores the terminal's keys that interrupt, quit or stop
/// programs. Otherwise the keys have their usual effect. Processes that this process starts inherit
/// the setting.
pub fn ignore_terminal_keys(leave: bool) {
    let what = if leave { libc::SIG_IGN } else { libc::SIG_DFL };
    for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGTSTP] {
        // SAFETY: the call sets no handler, so no code of ours runs in a signal.
        unsafe { libc::signal(signal, what) };
    }
}

/// The link address of every host's device. Each wire has only one host, so addresses are not
/// resolved. TCP accepts no packets to the broadcast address, so the device needs its own address.
pub const HOST_STATION: [u8; 6] = [2, 0, 0, 0, 0, 2];

/// Makes the address with which packet sockets name a device and the host behind it.
fn device_address(device: u32, protocol: u16) -> libc::sockaddr_ll {
    let mut sll_addr = [0; 8];
    sll_addr[..6].copy_from_slice(&HOST_STATION);
    libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: protocol.to_be(),
        sll_ifindex: device.cast_signed(),
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 6,
        sll_addr,
    }
}

/// Binds a packet socket to the device numbered `device`, for every protocol.
///
/// # Errors
/// When the kernel refuses.
pub fn bind_packets(fd: BorrowedFd<'_>, device: u32) -> io::Result<()> {
    const EVERY_PROTOCOL: u16 = libc::ETH_P_ALL as u16;
    let address = device_address(device, EVERY_PROTOCOL);
    let length = mem::size_of_val(&address) as libc::socklen_t;
    // SAFETY: `address` outlives the call, and `length` is its size.
    checked(unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), length) })
}

/// Makes the request structure for the device `name`.
fn about(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: zeros are a valid `ifreq`.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    if name.len() >= request.ifr_name.len() {
        return Err(io::Error::from_raw_os_error(libc::ENAMETOOLONG));
    }
    for (place, octet) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *place = octet.cast_signed();
    }
    Ok(request)
}

/// Sets the MTU of a network device: the number of octets of its largest packet.
///
/// # Errors
/// When the kernel refuses, or the name is too long.
pub fn set_mtu(fd: BorrowedFd<'_>, device: &str, mtu: u16) -> io::Result<()> {
    let mut request = about(device)?;
    request.ifr_ifru.ifru_mtu = mtu.into();
    // SAFETY: `request` outlives the call.
    checked(unsafe { libc::ioctl(fd.as_raw_fd(), libc::SIOCSIFMTU as _, &raw mut request) })
}

/// Sets a value of a network device through the old ethtool interface. `command` names the value.
///
/// # Errors
/// When the kernel refuses, or the name is too long.
pub fn set_device_value(
    fd: BorrowedFd<'_>,
    device: &str,
    command: u32,
    value: u32,
) -> io::Result<()> {
    const SIOCETHTOOL: libc::Ioctl = 0x8946;
    /// `struct ethtool_value`.
    #[repr(C)]
    struct Value {
        command: u32,
        value: u32,
    }
    let mut request = about(device)?;
    let mut body = Value { command, value };
    request.ifr_ifru.ifru_data = (&raw mut body).cast();
    // SAFETY: `request` and the value `body`, to which it points, outlive the call.
    checked(unsafe { libc::ioctl(fd.as_raw_fd(), SIOCETHTOOL, &raw mut request) })
}

/// Gives the calling thread a real-time priority (`SCHED_FIFO`), so that it runs before all threads
/// without a real-time priority.
///
/// # Errors
/// When the thread may not have a real-time priority.
pub fn set_real_time(priority: i32) -> io::Result<()> {
    // SAFETY: zeros are a valid `sched_param`, which outlives the call; 0 is the calling thread.
    unsafe {
        let mut parameters: libc::sched_param = mem::zeroed();
        parameters.sched_priority = priority;
        checked(libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters))
    }
}

/// Creates and closes a BPF map, to test whether the calling process may create BPF maps.
///
/// # Errors
/// When the process may not create BPF maps, or the kernel has no BPF.
pub fn try_bpf() -> io::Result<()> {
    const MAKE_MAP: libc::c_int = 0;
    const ARRAY: u32 = 2;
    // The beginning of `union bpf_attr`: the kind of the map, the length of a key, the length of a
    // value, the number of entries, and the flags.
    let asked: [u32; 5] = [ARRAY, 4, 4, 1, 0];
    // SAFETY: the array `asked` outlives the call, which reads the given number of octets.
    let fd =
        unsafe { libc::syscall(libc::SYS_bpf, MAKE_MAP, asked.as_ptr(), mem::size_of_val(&asked)) };
    let fd = i32::try_from(fd).unwrap_or(-1);
    checked(fd)?;
    // SAFETY: the kernel has just returned this descriptor, and nothing else uses it.
    drop(unsafe { OwnedFd::from_raw_fd(fd) });
    Ok(())
}
