//! Holds the frames that are on their way over the links of a network, and the events that are
//! reported about them. A frame is a simulated segment, or stands for a real packet in a live run.

use crate::event::{Events, Wanted};
use crate::ids::{EndId, FlowId};
use crate::stage::Frame;

/// The data that links need about a frame on its way: the frame's place (its index) in the
/// [`Transit`], and the fields that every link uses. Each frame has only one valid parcel, although
/// parcels are `Copy`. The owner of a parcel either passes it on, or takes the frame out of the
/// transit.
///
/// A parcel consists of two words, because the compiler keeps two words in registers. If a parcel
/// had four fields, the compiler would write them to the stack one by one, and copy them from the
/// stack immediately. The copy would wait for the writes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Parcel {
    /// The frame's place in the low half, and its size in octets in the high half.
    place_and_size: u64,
    /// The destination (an end of a flow) in the low half, and the node of this end in the high
    /// half.
    dest_and_home: u64,
}

#[expect(clippy::cast_possible_truncation, reason = "each half is a number of 32 bits")]
impl Parcel {
    #[inline(always)]
    fn new(place: u32, size_bytes: u32, dest: EndId, home: u32) -> Self {
        let pair = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
        Self { place_and_size: pair(place, size_bytes), dest_and_home: pair(dest.place(), home) }
    }

    #[inline(always)]
    fn place(self) -> usize {
        self.place_and_size as u32 as usize
    }

    /// The size of the frame in octets.
    #[inline(always)]
    pub fn size_bytes(self) -> u32 {
        (self.place_and_size >> 32) as u32
    }

    /// The destination end.
    #[inline(always)]
    pub fn dest(self) -> EndId {
        EndId::at(self.dest_and_home as u32)
    }

    /// The number of the node at which the destination end is.
    #[inline(always)]
    pub fn home(self) -> u32 {
        (self.dest_and_home >> 32) as u32
    }
}

/// A frame at its place in the transit. A simulated segment fills one cache line. When the frame
/// arrives, this line is usually no longer in the first-level cache. Because of the alignment, the
/// processor then fetches one line instead of two.
#[derive(Debug)]
#[repr(align(64))]
struct StoredFrame<F>(F);

/// The frames that the links of a network carry, and the events that the network reports.
///
/// A frame is written when it leaves its source, and read when it arrives. On the way, its parcel
/// is copied from link to link. Only two things touch the frame on the way: links that mark, copy,
/// fragment or inspect packets, and nodes that record events.
///
/// ```
/// use netspurt::event::Wanted;
/// use netspurt::link::Transit;
/// use netspurt::segment::Segment;
/// let mut transit = Transit::new(Wanted::default());
/// let parcel = transit.enter(Segment { size_bytes: 1500, ..Segment::default() }, 0);
/// assert_eq!((parcel.size_bytes(), transit.len()), (1500, 1));
/// assert_eq!(transit.leave(parcel).size_bytes, 1500);
/// assert!(transit.is_empty());
/// ```
#[derive(Debug)]
pub struct Transit<F> {
    /// The buffer for events.
    pub events: Events<F>,
    frames: Vec<StoredFrame<F>>,
    /// The free places in `frames`. The place that became free last is used again first, because it
    /// is probably still in the processor's cache.
    free: Vec<u32>,
    /// For each flow, the number of its frames on their way.
    in_flight: Vec<u32>,
}

impl<F: Frame> Transit<F> {
    /// Creates the transit of a network. The network reports the events in `wanted`.
    pub fn new(wanted: Wanted) -> Self {
        Self {
            events: Events::new(wanted),
            frames: Vec::new(),
            free: Vec::new(),
            in_flight: Vec::new(),
        }
    }

    /// The number of frames on their way.
    pub fn len(&self) -> usize {
        self.frames.len() - self.free.len()
    }

    /// True if no frame is on its way.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many frames of `flow` are on their way.
    #[inline]
    pub fn in_flight(&self, flow: FlowId) -> u32 {
        self.in_flight.get(flow.index()).copied().unwrap_or(0)
    }

    /// Stores a frame and returns its parcel. `home` is the node of the frame's destination end.
    #[inline]
    pub fn enter(&mut self, frame: F, home: u32) -> Parcel {
        let (size_bytes, dest) = (frame.size_bytes(), frame.dest());
        match self.in_flight.get_mut(dest.flow().index()) {
            Some(count) => *count += 1,
            None => self.count_first(dest.flow()),
        }
        let place = match self.free.pop() {
            Some(place) => {
                self.frames[place as usize].0 = frame;
                place
            }
            None => self.add(frame),
        };
        Parcel::new(place, size_bytes, dest, home)
    }

    /// Counts the first frame of a flow that has no counter yet.
    #[cold]
    fn count_first(&mut self, flow: FlowId) {
        self.in_flight.resize(flow.index() + 1, 0);
        self.in_flight[flow.index()] = 1;
    }

    #[cold]
    fn add(&mut self, frame: F) -> u32 {
        self.frames.push(StoredFrame(frame));
        u32::try_from(self.frames.len() - 1).expect("fewer than 2^32 frames on their way")
    }

    /// The frame of `parcel`.
    #[inline]
    pub fn frame(&self, parcel: Parcel) -> &F {
        &self.frames[parcel.place()].0
    }

    /// Removes and returns the frame of `parcel`.
    #[inline]
    pub fn leave(&mut self, parcel: Parcel) -> F {
        self.free.push(parcel.place() as u32);
        self.in_flight[parcel.dest().flow().index()] -= 1;
        self.frames[parcel.place()].0
    }

    /// Puts a copy of the frame of `parcel` on its way, and returns the copy's parcel.
    pub(super) fn copy(&mut self, parcel: Parcel) -> Parcel {
        self.enter(*self.frame(parcel), parcel.home())
    }

    /// Sets the congestion mark of the frame of `parcel` (RFC 3168 §5).
    pub(super) fn mark(&mut self, parcel: Parcel) {
        let frame = &mut self.frames[parcel.place()].0;
        *frame = frame.with_mark();
    }
}
