//! Accounts for the memory of a receive buffer as Linux does, and computes the receive window from
//! it.

use std::collections::VecDeque;

use crate::packed::packed_value;
use crate::units::{Duration, Time};

use super::beyond::{HeldPacket, PacketsBeyond};
use super::buffer_tuning::BufferTuning;
use super::config::RfcConfig;
use super::info::MemoryInfo;

/// Octets that a packet's buffer has in addition to the IP datagram.
const HEAD_ROOM: u64 = 384;
/// Octets of the buffer of a small packet (`SKB_SMALL_HEAD_CACHE_SIZE`).
const SMALL_BUFFER: u64 = 576;
/// Octets of the descriptor of a packet's buffer (`struct sk_buff`).
const DESCRIPTOR: u64 = 256;
/// Octets of a page.
const PAGE: u64 = 4096;
/// The share of the memory that counts as receive window is given in 256ths. At first, this share
/// is one half.
const WHOLE: u64 = 256;
/// Segments in order with fewer octets than this do not raise the threshold (`rcv_ssthresh`) that
/// limits the receive window (`tcp_event_data_recv`). Segments beyond a hole (a range of octets
/// that has not arrived) may raise it with fewer octets.
const GROWS_FROM: u64 = 128;
/// The minimum memory of a socket (`SOCK_MIN_RCVBUF`).
const MEMORY_MIN: u64 = 2304;

/// Octets of the buffer of an IP datagram with `size` octets. A TUN device and many network cards
/// allocate a small buffer or a power of two up to a page, and whole pages above that.
///
/// departs: Linux - how much memory a packet takes depends on the device, and so does the part of
/// the buffer that is window; here every packet takes as much as on a TUN device.
const fn buffer_of(size: u64) -> u64 {
    let linear = size + HEAD_ROOM;
    if linear <= SMALL_BUFFER {
        SMALL_BUFFER
    } else if linear <= PAGE {
        linear.next_power_of_two()
    } else {
        PAGE + (linear - PAGE).next_multiple_of(PAGE)
    }
}

/// Octets of memory that Linux accounts for an IP datagram with `size` octets (`skb->truesize`):
/// its buffer and the descriptor.
pub(super) const fn truesize(size: u64) -> u64 {
    buffer_of(size) + DESCRIPTOR
}

/// Octets that still fit behind an IP datagram with `size` octets in the datagram's buffer.
pub(super) const fn room_behind(size: u64) -> u64 {
    let linear = size + HEAD_ROOM;
    if linear <= PAGE { buffer_of(size) - linear } else { 0 }
}

/// The results of the handshake that concern the receive buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opening {
    /// Octets of the longest segment that the peer may send.
    pub(super) advertised: u64,
    /// Octets of the longest segment that may be sent to the peer.
    pub(super) smss: u64,
    /// Whether SACK reports what arrives beyond a hole.
    pub(super) reports: bool,
    /// The shift of advertised windows.
    pub(super) shift: u8,
}

/// An arrival: a segment, or several segments of one length that were merged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    /// Octets of payload in total.
    pub(super) len: u64,
    /// Octets of payload in each segment.
    pub(super) part: u64,
    /// The number of segments. Segments that were merged before they reached this end count as one
    /// segment.
    pub(super) packets: u64,
    /// The octets of memory that the segments take.
    pub(super) memory: u64,
    /// Octets that still fit into `memory`, behind the payload.
    pub(super) room: u64,
}

impl Load {
    /// Returns the packet that arrived. It begins at the octet `left`.
    pub(super) fn packet(&self, left: u64) -> HeldPacket {
        HeldPacket { left, end: left + self.len, memory: self.memory, room: self.room }
    }
}

/// The receive buffer, counted as in Linux: in octets of memory. Only a share of this memory counts
/// as receive window.
///
/// The memory is counted by these rules of Linux 6.18 (`tcp_grow_window`, `tcp_select_window`,
/// `tcp_measure_rcv_mss`, `tcp_clamp_window`, `tcp_rcvbuf_grow`, `tcp_set_rcvbuf`):
///
/// - The window has a threshold (`rcv_ssthresh`), which begins as the first window. Each segment
///   that uses its memory well raises the threshold by two full segments, or by twice the octets of
///   the segment, whichever is more.
/// - The share of the memory that counts as window is computed from the segments: payload divided
///   by memory (`scaling_ratio`).
/// - The window is the smaller of two values: the threshold, and the window's share of the free
///   memory. Its right edge moves left only if there is no memory for the next octets.
/// - A buffer whose size is not fixed grows in three cases: when [`BufferTuning`] says so, for data
///   beyond a hole, and when it is full. It has a maximum size.
#[derive(Debug)]
pub(super) struct ReceiveMemory {
    /// The size of the buffer, in octets of memory.
    size: u64,
    /// The maximum size of the buffer, in octets of memory.
    size_max: u64,
    /// Whether the size is fixed, because the application asked for it or because autotuning is
    /// off.
    fixed: bool,
    /// Whether an application has accepted the connection. Before that, data beyond a hole does not
    /// enlarge the buffer.
    pub(super) accepted: bool,
    /// The share of the memory that counts as window, in 256ths.
    share: u64,
    /// Octets of the largest window.
    clamp: u64,
    /// The upper bound of `clamp`.
    clamp_max: u64,
    /// The threshold of the window, in octets (`rcv_ssthresh`).
    threshold: u64,
    /// The fields of [`Opening`] with the same names.
    advertised: u64,
    reports: bool,
    shift: u8,
    /// The packets that wait for the application.
    unread: VecDeque<HeldPacket>,
    /// The octets of memory of all packets that wait for the application.
    unread_memory: u64,
    /// Memory of the last arrival, if the application reads data as it arrives. This memory is not
    /// free yet when the acknowledgment is sent, because the application reads the data only
    /// afterwards.
    pub(super) last_arrival_memory: u64,
    /// The packets beyond a hole.
    beyond: PacketsBeyond,
    tuning: BufferTuning,
}

packed_value!(ReceiveMemory {
    size,
    size_max,
    fixed,
    accepted,
    share,
    clamp,
    clamp_max,
    threshold,
    advertised,
    reports,
    shift,
    unread,
    unread_memory,
    last_arrival_memory,
    beyond,
    tuning
});

impl ReceiveMemory {
    /// The memory of a new connection. The result is `None` if memory is not counted.
    pub(super) fn new(config: &RfcConfig) -> Option<Self> {
        let rules = &config.receive_rules;
        let window = config.receive_buffer_bytes;
        let (size, size_max) = match config.receive_memory_bytes {
            Some(memory) => (memory.max(MEMORY_MIN), memory.max(MEMORY_MIN)),
            None if rules.autotuning => ((2 * config.first_window_bytes).min(window), window),
            None => (2 * window, 2 * window),
        };
        let is_set = config.receive_memory_bytes.is_some();
        rules.counts_memory.then(|| Self {
            size,
            size_max,
            fixed: is_set || !rules.autotuning,
            accepted: true,
            share: WHOLE / 2,
            clamp: u64::MAX,
            clamp_max: if is_set || rules.autotuning { u64::MAX } else { window },
            threshold: size / 2,
            advertised: config.mss.into(),
            reports: false,
            shift: 0,
            unread: VecDeque::new(),
            unread_memory: 0,
            last_arrival_memory: 0,
            beyond: PacketsBeyond::default(),
            tuning: BufferTuning::default(),
        })
    }

    /// Returns the window, in octets, that `memory` octets of memory allow.
    fn window_of(&self, memory: u64) -> u64 {
        memory * self.share / WHOLE
    }

    /// Octets of memory that are occupied: by data for the application, and by data beyond a hole.
    fn used(&self) -> u64 {
        self.unread_memory + self.beyond.memory()
    }

    /// Returns the receive window for which there is free memory, in octets.
    fn free(&self) -> u64 {
        self.window_of(self.size.saturating_sub(self.used() + self.last_arrival_memory))
    }

    /// The window of a SYN, before it is rounded.
    pub(super) fn first_window(&self) -> u64 {
        self.window_of(self.size).min(self.clamp_max)
    }

    /// Sets the threshold and the limits of the window when the connection is open. A window of
    /// `window` octets was advertised (`tcp_init_buffer_space`).
    pub(super) fn open(&mut self, window: u64, opening: &Opening, now: Time) {
        let &Opening { advertised, reports, shift, .. } = opening;
        (self.advertised, self.reports, self.shift) = (advertised, reports, shift);
        let full = self.window_of(self.size);
        self.clamp = full.min(self.clamp_max);
        if self.clamp > 2 * advertised && self.clamp + advertised > full {
            // The room for one segment is kept free.
            self.clamp = (2 * advertised).max(full - advertised);
        }
        self.threshold = window.min(self.clamp);
        self.tuning.begin(self.threshold.min(window).min(10 * advertised), now);
    }

    /// Returns the state, for reports.
    pub(super) fn info(&self) -> MemoryInfo {
        MemoryInfo {
            size: self.size,
            used: self.used(),
            threshold: self.threshold,
            rtt: self.rtt(),
            read: self.tuning.space(),
        }
    }

    /// The round trip as this end measured it. The result is zero if the round trip is not known.
    pub(super) fn rtt(&self) -> Duration {
        self.tuning.rtt()
    }

    /// Fixes the size of the buffer, as the application requests.
    pub(super) fn fix(&mut self, size: u64) {
        self.size = size.max(MEMORY_MIN);
        self.size_max = self.size;
        self.fixed = true;
    }

    /// Returns the estimate of how many octets the application reads in a round trip.
    pub(super) fn tuning(&mut self) -> &mut BufferTuning {
        &mut self.tuning
    }

    /// True if nothing waits for the application.
    pub(super) fn is_read(&self) -> bool {
        self.unread.is_empty()
    }

    /// Returns the number of free octets in the last page in use.
    pub(super) fn page_rest(&self) -> u64 {
        self.used().next_multiple_of(PAGE) - self.used()
    }

    /// Keeps a packet for the application. If the packet continues the packet before it and fits
    /// into the memory of that packet, it needs no memory of its own.
    pub(super) fn keep(&mut self, packet: HeldPacket) {
        if !self.unread.back_mut().is_some_and(|last| last.append(&packet)) {
            self.unread.push_back(packet);
            self.unread_memory += packet.memory;
        }
    }

    /// Frees the next packet that ends at the octet `octet` or before it. The application has read
    /// everything up to `octet`. Returns the end of this packet, or `octet` if there is no such
    /// packet.
    #[inline]
    pub(super) fn release_next(&mut self, octet: u64) -> u64 {
        let end = self.unread.front().map_or(octet, |first| first.end.min(octet));
        while let Some(first) = self.unread.front()
            && first.end <= end
        {
            self.unread_memory -= first.memory;
            self.unread.pop_front();
        }
        end
    }

    /// Keeps a packet beyond a hole, unless another packet beyond the hole contains it. A full
    /// segment has `full` octets. The buffer may grow for the octets from the hole to the last
    /// octet; `beyond` is their number. Returns whether the threshold rose.
    pub(super) fn keep_beyond(&mut self, left: u64, load: &Load, full: u64, beyond: u64) -> bool {
        let threshold_may_rise = self.reports;
        let room = self.room_of_threshold();
        let kept = self.beyond.add(load.packet(left));
        let rose = kept && threshold_may_rise && self.raise_threshold(load, full, room);
        if self.accepted {
            self.grow(self.tuning.space(), beyond);
        }
        rose
    }

    /// Moves the packets that begin before the octet `next`: they are no longer beyond a hole.
    /// Earlier, the octets up to the octet `before` had arrived in order. If `keeps` is true, the
    /// packets wait for the application; otherwise the application reads them at once.
    pub(super) fn close_gap(&mut self, before: u64, next: u64, keeps: bool) {
        let mut at = before;
        for packet in self.beyond.take_before(next) {
            if packet.end > at && keeps {
                self.keep(packet);
            }
            at = at.max(packet.end);
        }
    }

    /// Computes from an arrival which share of the memory counts as window. The caller calls this
    /// if the segments of the arrival are longer than what counted as a full segment until then.
    /// The last advertised window has `advertised` octets.
    pub(super) fn learn_share(&mut self, load: &Load, advertised: u64) {
        let share = (load.len * WHOLE / load.memory.max(1)).max(1);
        if share == self.share {
            return;
        }
        self.share = share;
        let clamp = self.window_of(self.size).max(MEMORY_MIN / 2).min(self.clamp_max);
        if clamp < self.clamp {
            self.threshold = self.threshold.min(clamp);
        } else {
            self.threshold = self.threshold.max(advertised.min(clamp));
        }
        self.clamp = clamp;
        self.tuning.bound(clamp);
    }

    /// Returns by how much the threshold may rise at most.
    fn room_of_threshold(&self) -> u64 {
        self.clamp.min(self.free()).saturating_sub(self.threshold)
    }

    /// Raises the threshold for an arrival in order, if the rules allow it. Returns whether the
    /// threshold rose. A full segment has `full` octets.
    pub(super) fn grow_threshold(&mut self, load: &Load, full: u64) -> bool {
        let room = self.room_of_threshold();
        load.len >= GROWS_FROM && self.raise_threshold(load, full, room)
    }

    /// Raises the threshold for an arrival, by at most `room` octets. Returns whether it rose.
    fn raise_threshold(&mut self, load: &Load, full: u64, room: u64) -> bool {
        let &Load { len, memory, .. } = load;
        if room == 0 {
            return false;
        }
        let step = self.step(len, memory, full);
        if step > 0 {
            self.threshold += room.min(step.max(2 * len));
        }
        step > 0
    }

    /// Returns by how much a segment raises the threshold. The more of its memory a segment uses,
    /// the larger the step.
    fn step(&self, len: u64, memory: u64, full: u64) -> u64 {
        let mut memory = self.window_of(memory);
        if memory <= len {
            return 2 * self.advertised;
        }
        let mut window = self.window_of(self.size_max) / 2;
        memory /= 2;
        while self.threshold <= window {
            if memory <= len {
                return 2 * full;
            }
            (memory, window) = (memory / 2, window / 2);
        }
        0
    }

    /// Enlarges the buffer, if the application's reading or data beyond a hole needs it. Up to its
    /// maximum size, the buffer then has room for three amounts: twice the `copied` octets that the
    /// application read in a round trip, the octets that the sender adds in slow start, and the
    /// `beyond` octets beyond a hole.
    pub(super) fn grow(&mut self, copied: u64, beyond: u64) {
        let before = self.tuning.take_space(copied);
        if self.fixed {
            return;
        }
        let twice = 2 * copied;
        let climb = twice * copied.saturating_sub(before) / before.max(1);
        let window = twice + 2 * climb + beyond;
        let size = (window * WHOLE / self.share).min(self.size_max);
        if size > self.size {
            self.size = size;
            self.clamp = self.window_of(size).min(self.clamp_max);
        }
    }

    /// Whether there is memory for more data. A full buffer grows, unless its size is fixed. If it
    /// stays full, the window's threshold falls to at most two segments.
    pub(super) fn takes_more(&mut self) -> bool {
        let used = self.used();
        if used <= self.size {
            return true;
        }
        if !self.fixed {
            self.size = self.size.max(used.min(self.size_max));
        }
        if used > self.size {
            self.threshold = self.clamp.min(2 * self.advertised);
        }
        used <= self.size
    }

    /// Returns the window to advertise, and whether the free memory has room for less than half of
    /// the largest window. The last advertised window has `advertised` octets, and a full segment
    /// has `full` octets.
    pub(super) fn window(&self, advertised: u64, full: u64) -> (u64, bool) {
        let shift = self.shift;
        let (mut free, all) = (self.free(), self.window_of(self.size));
        let window_max = self.clamp.min(all);
        let full = full.min(window_max);
        let scarce = free < window_max / 2;
        if scarce {
            free = free >> shift << shift;
            if free < all / 16 || free < full {
                return (self.least_window(full), true);
            }
        }
        let free = free.min(self.threshold);
        if full == 0 {
            return (0, scarce);
        }
        let window = if shift > 0 {
            free.next_multiple_of(1 << shift)
        } else if advertised + full <= free || advertised > free {
            free - free % full
        } else if full == window_max && free > advertised + window_max / 2 {
            free
        } else {
            advertised
        };
        (window, scarce)
    }

    /// Returns the window of a buffer that is full or nearly full. This window is a full segment if
    /// no unread data fills the buffer, but only data beyond a hole or the last arrival. Otherwise
    /// it is zero.
    ///
    /// departs: Linux - if only data beyond a hole fills the buffer, the window still has room for
    /// a full segment, so that the hole can be filled; Linux drops some of that data
    /// (`tcp_prune_ofo_queue`).
    fn least_window(&self, full: u64) -> u64 {
        let blocked = !self.beyond.is_empty() || self.last_arrival_memory > 0;
        let blocked = blocked && self.unread.is_empty();
        if blocked { full.next_multiple_of(1 << self.shift) } else { 0 }
    }

    /// Returns the window, but at least the octets that remain of the last advertised window;
    /// `left` is their number.
    pub(super) fn not_below(&self, window: u64, left: u64) -> u64 {
        if window < left { left.next_multiple_of(1 << self.shift) } else { window }
    }

    /// Whether a window with `left` remaining octets is so small that the host should advertise a
    /// larger window.
    pub(super) fn is_small(&self, left: u64) -> bool {
        2 * left <= self.clamp
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected values were measured on Linux 6.18 on a TUN device, with 40 octets of headers.
    #[test]
    fn the_buffer_of_a_packet_is_small_or_a_power_of_two_or_consists_of_whole_pages() {
        let memory = |payload: u64| truesize(40 + payload);
        assert_eq!((memory(1), memory(152), memory(153), memory(600)), (832, 832, 1280, 1280));
        assert_eq!((memory(601), memory(1460), memory(2000)), (2304, 2304, 4352));
        assert_eq!(memory(4000), 8448);
    }

    #[test]
    fn a_datagram_leaves_room_in_its_buffer_unless_the_buffer_consists_of_pages() {
        assert_eq!((room_behind(41), room_behind(192), room_behind(193)), (151, 0, 447));
        assert_eq!((room_behind(3712), room_behind(3713)), (0, 0));
    }
}
