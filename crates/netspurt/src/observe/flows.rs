//! Finds the connection to which a packet belongs. The *observer* is the code that uses [`Flows`],
//! the list of connections.

use std::cmp::Reverse;
use std::hash::{BuildHasher, Hash, Hasher};
use std::net::SocketAddr;

use foldhash::quality::RandomState;
use hashbrown::HashTable;

use crate::ids::Side;
use crate::segment::Flags;
use crate::units::{Duration, Time};

use super::{EndPair, Observed};

/// How long a connection without further packets is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetimes {
    /// How long a connection with both FINs or a reset is remembered after its last packet.
    pub closed: Duration,
    /// How long any other connection is remembered after its last packet.
    pub idle: Duration,
}

/// Lifetimes for captures. A closed connection is kept as long as TIME-WAIT lasts, which is twice
/// the maximum segment lifetime of two minutes (RFC 9293 §3.4.2). An idle connection is kept as
/// long as an address translator must keep it, which is 2 h 4 min (RFC 5382 §5).
impl Default for Lifetimes {
    fn default() -> Self {
        Self { closed: Duration::from_secs(4 * 60), idle: Duration::from_secs(124 * 60) }
    }
}

/// The number of recent connections that are found without a search.
const RECENT: usize = 1 << 12;

/// An active connection. The fields that are used for every packet come first, and the beginning of
/// the state follows them. These fields therefore take few cache lines.
#[derive(Debug)]
#[repr(C)]
struct Live<T> {
    /// The two ends, in an order that does not depend on the sender.
    key: EndPair,
    /// When the last packet was seen.
    last: Time,
    /// Whether the first end of the key opened the connection.
    ordered: bool,
    /// How far the connection is closed.
    closing: Closing,
    /// The sequence number of the last packet of each side that was no reset. `None` before the
    /// first such packet.
    seqs: [Option<u32>; 2],
    state: T,
    number: u64,
    /// The sequence number of the initiator's SYN on the wire. `None` if the first packet was
    /// neither a SYN nor a SYN-ACK.
    isn: Option<u32>,
}

/// The FINs and the resets of a connection, in one octet. If they were several fields, the
/// processor would write one field and then read several at once, and it waits for such a read.
///
/// The lowest two bits say whether the FIN of each side was seen. The next two bits say whether the
/// last packet of each side was a reset. A host that resets a connection sends nothing more. So if
/// a side goes on, its reset was forged or without effect.
#[derive(Clone, Copy, Debug, Default)]
struct Closing(u8);

impl Closing {
    const FINS: u8 = 0b11;
    const FIRST_RESET: u8 = 0b100;

    #[inline]
    fn take(&mut self, side: Side, flags: Flags) {
        let fin = u8::from(flags.has(Flags::FIN)) << side.index();
        let reset = Self::FIRST_RESET << side.index();
        let resets = if flags.has(Flags::RST) { self.0 | reset } else { self.0 & !reset };
        self.0 = resets | fin;
    }

    /// Whether both FINs were seen, or a reset that is the last packet of its side.
    #[inline]
    fn is_closed(self) -> bool {
        self.0 >= Self::FINS
    }
}

/// When a packet was seen, and the fields of its headers that concern its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passing {
    /// When the packet was seen.
    pub at: Time,
    /// The source and the destination.
    pub ends: EndPair,
    /// The control bits.
    pub flags: Flags,
    /// The sequence number.
    pub seq: u32,
    /// The acknowledgment number.
    pub ack: u32,
}

impl Passing {
    /// The fields of `segment`, which was seen at the instant `at` on its way between `ends`.
    #[inline]
    pub fn of(at: Time, ends: EndPair, segment: &impl Observed) -> Self {
        Self { at, ends, flags: segment.flags(), seq: segment.seq(), ack: segment.ack() }
    }
}

/// A packet, assigned to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// The number of the connection. Connections are numbered from 0 in the order of their first
    /// packets.
    pub number: u64,
    /// The side that sent the packet. [`Side::From`] counts as the initiator of the connection.
    pub side: Side,
    /// Whether the packet is the first packet of its connection.
    pub born: bool,
}

/// A connection that is no longer followed. [`Flows`] says when a connection is retired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retired<T> {
    /// The number of the connection.
    pub number: u64,
    /// The two ends. The first is the initiator.
    pub ends: [SocketAddr; 2],
    /// What the observer kept of the connection.
    pub state: T,
}

/// The connections to which packets belong. `T` is what the observer keeps of each connection.
///
/// A connection has two ends, each an address and a port. A connection is *born* with the first
/// packet between its ends. Any packet may be the first, because a capture may miss the beginning.
/// If the first packet is a SYN-ACK, [`Side::From`] is the end to which this packet goes. Otherwise
/// [`Side::From`] is the sender of the first packet. A connection is *retired* when the same ends
/// begin another connection, or when none of its packets was seen for longer than its [`Lifetimes`]
/// allow. A packet that comes after that belongs to a new connection. The needed memory depends
/// only on the number of active connections, which are the connections that are not retired. Three
/// kinds of packets show that the same ends begin another connection:
///
/// * a SYN that has another sequence number;
/// * a SYN-ACK that acknowledges another SYN;
/// * after both FINs or a reset, a packet that is not a reset and has a sequence number far from
///   its sender's last sequence number.
///
/// ```
/// use netspurt::ids::Side;
/// use netspurt::observe::{Flows, Lifetimes, Passing};
/// use netspurt::segment::Flags;
/// use netspurt::units::Time;
/// let mut flows: Flows<u32> = Flows::new(Lifetimes::default());
/// let [client, server] = ["10.0.0.1:4000", "10.0.0.2:80"].map(|end| end.parse().unwrap());
/// let ends = [client, server].into();
/// let syn = Passing { at: Time::ZERO, ends, flags: Flags::SYN, seq: 7, ack: 0 };
/// let (_, packets) = flows.sight(&syn);
/// *packets += 1;
/// let flags = Flags::SYN.with(Flags::ACK);
/// let answer = Passing { ends: [server, client].into(), flags, seq: 9, ack: 8, ..syn };
/// let (sighting, packets) = flows.sight(&answer);
/// assert_eq!((sighting.number, sighting.side, *packets), (0, Side::To, 1));
/// assert_eq!(flows.into_all().count(), 1);
/// ```
#[derive(Debug)]
pub struct Flows<T> {
    lifetimes: Lifetimes,
    /// The hash depends on a random key, because an attacker may have made the capture.
    hashes: RandomState,
    /// For each connection, its index in `live`, by the hash of its key. The table does not store
    /// the keys, so more of the table fits into the processor's cache.
    places: HashTable<u32>,
    live: Vec<Live<T>>,
    /// For each connection of `live`, an instant before which a check of its age has no effect. A
    /// check reads this list first, because `live` is mostly not in the processor's cache.
    due: Vec<Time>,
    /// For each value of the lowest bits of the hash, the index of the connection that was found
    /// last. The index may be out of date.
    recent: Box<[u32; RECENT]>,
    /// The next connection whose age is checked.
    next_checked: usize,
    /// The number of packets since the last check.
    unchecked: u8,
    born: u64,
    retired: Vec<Retired<T>>,
}

impl<T: Default> Flows<T> {
    /// If the list has memory for at most `ROOM` connections, no memory is freed.
    const ROOM: usize = 64;
    /// The age of one connection is checked after each group of `CHECK_EVERY` packets.
    const CHECK_EVERY: u8 = 4;
    /// The number of connections that are checked when a connection begins. Two checks are too few
    /// if each connection has only one packet. When the first check retires a connection, the
    /// youngest connection moves to the freed index. The second check then finds only this young
    /// connection.
    const CHECKS_AT_BIRTH: u8 = 4;

    /// Makes an empty list of connections.
    pub fn new(lifetimes: Lifetimes) -> Self {
        Self {
            lifetimes,
            hashes: RandomState::default(),
            places: HashTable::new(),
            live: Vec::new(),
            due: Vec::new(),
            recent: Box::new([0; RECENT]),
            next_checked: 0,
            unchecked: 0,
            born: 0,
            retired: Vec::new(),
        }
    }

    /// Processes a TCP packet. Returns its connection, and what the observer keeps of this
    /// connection.
    #[inline(always)]
    pub fn sight(&mut self, packet: &Passing) -> (Sighting, &mut T) {
        let Passing { at, flags, .. } = *packet;
        self.unchecked += 1;
        if self.unchecked == Self::CHECK_EVERY {
            self.unchecked = 0;
            self.check_one(at);
        }
        let (key, ordered) = packet.ends.ordered();
        let hash = Self::hash(&self.hashes, key);
        let known = self.find(key, hash);
        let lives = known.filter(|place| {
            let one = &self.live[*place as usize];
            !one.is_over(at, self.lifetimes) && one.has(packet, ordered)
        });
        let place = match lives {
            Some(place) => place,
            None => self.begin((key, hash), ordered, packet, known),
        };
        let one = &mut self.live[place as usize];
        let side = one.side(ordered);
        one.last = one.last.max(at);
        one.closing.take(side, flags);
        // A reset may have any number.
        if !flags.has(Flags::RST) {
            one.seqs[side.index()] = Some(packet.seq);
        }
        if one.is_closed() {
            self.due[place as usize] = Time::ZERO;
        }
        (Sighting { number: one.number, side, born: lives.is_none() }, &mut one.state)
    }

    /// Returns the side that sent a packet between `ends`, and what the observer keeps of the
    /// active connection between these ends. The packet itself was not captured. Another packet
    /// quotes it, for example an ICMP message.
    pub fn known(&mut self, ends: EndPair) -> Option<(Side, &mut T)> {
        let (key, ordered) = ends.ordered();
        let hash = Self::hash(&self.hashes, key);
        let place = self.find(key, hash)?;
        let one = &mut self.live[place as usize];
        Some((one.side(ordered), &mut one.state))
    }

    /// The hash of `key`.
    #[inline(always)]
    #[expect(clippy::manual_hash_one, reason = "the compiler may not inline `hash_one`")]
    fn hash(hashes: &RandomState, key: EndPair) -> u64 {
        let mut hasher = hashes.build_hasher();
        key.hash(&mut hasher);
        hasher.finish()
    }

    /// The index of the connection between the ends `key`. Most packets belong to a connection of
    /// which another packet was seen shortly before.
    #[inline(always)]
    fn find(&mut self, key: EndPair, hash: u64) -> Option<u32> {
        let recent = self.recent[hash as usize % RECENT];
        if self.live.get(recent as usize).is_some_and(|one| one.key == key) {
            return Some(recent);
        }
        self.search(key, hash)
    }

    #[inline(never)]
    fn search(&mut self, key: EndPair, hash: u64) -> Option<u32> {
        let is_it = |place: &u32| self.live[*place as usize].key == key;
        let place = *self.places.find(hash, is_it)?;
        self.recent[hash as usize % RECENT] = place;
        Some(place)
    }

    /// Begins a connection with `packet`, and returns its index. `over` is the index of an earlier
    /// connection between the same ends. The earlier connection is retired first.
    #[inline(never)]
    fn begin(
        &mut self,
        key: (EndPair, u64),
        ordered: bool,
        packet: &Passing,
        over: Option<u32>,
    ) -> u32 {
        if let Some(over) = over {
            self.retire(over);
        }
        (0..Self::CHECKS_AT_BIRTH).for_each(|_| self.check_one(packet.at));
        self.add(key, ordered, packet)
    }

    /// Adds the connection that begins with `packet`, and returns its index.
    fn add(&mut self, (key, hash): (EndPair, u64), ordered: bool, packet: &Passing) -> u32 {
        let place = u32::try_from(self.live.len()).expect("fewer than 2^32 active connections");
        let [syn, ack] = [Flags::SYN, Flags::ACK].map(|flag| packet.flags.has(flag));
        self.live.push(Live {
            key,
            number: self.born,
            last: packet.at,
            // The sender of a SYN-ACK did not open the connection.
            ordered: ordered != (syn && ack),
            isn: syn.then(|| if ack { packet.ack.wrapping_sub(1) } else { packet.seq }),
            closing: Closing::default(),
            seqs: [None; 2],
            state: T::default(),
        });
        self.due.push(Time::ZERO);
        let hash_of = |place: &u32| Self::hash(&self.hashes, self.live[*place as usize].key);
        self.places.insert_unique(hash, place, hash_of);
        self.born += 1;
        place
    }

    /// Checks the next connection, and retires it if its lifetime has ended at the instant `at`.
    /// After the last connection, the checks begin again with the first connection.
    fn check_one(&mut self, at: Time) {
        match self.due.get(self.next_checked) {
            None => self.next_checked = 0,
            Some(due) if at > *due && self.live[self.next_checked].is_over(at, self.lifetimes) => {
                self.retire(u32::try_from(self.next_checked).expect("an index has 32 bits"));
            }
            Some(_) => self.next_checked += 1,
        }
    }

    /// Looks at the connection whose age will be checked at the next packet. Returns what is kept
    /// of this connection if it is closed and had no packet for longer than the time `quiet`.
    /// Returns `None` otherwise, and also if no age will be checked at the next packet. A
    /// connection is returned once after its last packet, and perhaps again just before it is
    /// retired. `quiet` must be the same for all calls, and shorter than the lifetime of a closed
    /// connection.
    #[inline]
    pub fn look_at_closed(&mut self, at: Time, quiet: Duration) -> Option<&mut T> {
        if self.unchecked + 1 < Self::CHECK_EVERY {
            return None;
        }
        self.due.get(self.next_checked).filter(|due| at > **due)?;
        self.look_at_due(at, quiet)
    }

    #[inline(never)]
    fn look_at_due(&mut self, at: Time, quiet: Duration) -> Option<&mut T> {
        let (one, due) =
            (self.live.get_mut(self.next_checked)?, self.due.get_mut(self.next_checked)?);
        let rests = one.is_closed() && at.saturating_since(one.last) > quiet;
        *due = match one.is_closed() && !rests {
            true => one.last + quiet,
            false => one.last + one.lifetime(self.lifetimes),
        };
        rests.then_some(&mut one.state)
    }

    fn retire(&mut self, place: u32) {
        let one = self.live.swap_remove(place as usize);
        self.due.swap_remove(place as usize);
        let hash = Self::hash(&self.hashes, one.key);
        self.places
            .find_entry(hash, |known| *known == place)
            .expect("each connection has an index")
            .remove();
        if let Some(moved) = self.live.get(place as usize) {
            let before = u32::try_from(self.live.len()).expect("an index has 32 bits");
            let hash = Self::hash(&self.hashes, moved.key);
            *self
                .places
                .find_mut(hash, |known| *known == before)
                .expect("each connection has an index") = place;
        }
        self.retired.push(one.retire());
        let most = 4 * self.live.len() + Self::ROOM;
        if self.live.capacity() > most {
            self.live.shrink_to(most / 2);
            self.due.shrink_to(most / 2);
            let hash_of = |place: &u32| Self::hash(&self.hashes, self.live[*place as usize].key);
            self.places.shrink_to(most / 2, hash_of);
        }
    }

    /// The number of active connections.
    pub fn live(&self) -> usize {
        self.live.len()
    }

    /// The number of connections so far.
    pub fn born(&self) -> u64 {
        self.born
    }

    /// Whether a connection was retired since the last call of
    /// [`take_retired`](Self::take_retired).
    pub fn has_retired(&self) -> bool {
        !self.retired.is_empty()
    }

    /// The connections that were retired since the last call.
    pub fn take_retired(&mut self) -> impl Iterator<Item = Retired<T>> + '_ {
        self.retired.drain(..)
    }

    /// The states of all active connections.
    #[cfg(test)]
    pub fn states(&mut self) -> impl Iterator<Item = &mut T> {
        self.live.iter_mut().map(|one| &mut one.state)
    }

    /// Returns the active connections, in the order of their first packets. The sorting needs
    /// no further memory.
    pub fn into_ordered(mut self) -> OrderedFlows<T> {
        self.live.sort_unstable_by_key(|one| Reverse(one.number));
        OrderedFlows { last_first: self.live }
    }

    /// All connections that were not returned yet: first the retired connections, then the active
    /// connections.
    pub fn into_all(self) -> impl Iterator<Item = Retired<T>> {
        self.retired.into_iter().chain(self.live.into_iter().map(Live::retire))
    }
}

/// Connections that were active at the end, in the order of their first packets.
#[derive(Debug)]
pub struct OrderedFlows<T> {
    last_first: Vec<Live<T>>,
}

impl<T> Iterator for OrderedFlows<T> {
    type Item = Retired<T>;

    fn next(&mut self) -> Option<Retired<T>> {
        // The caller may need memory while it takes the connections. So unused memory of the list
        // is freed each time that the list is less than half full.
        if self.last_first.len() < self.last_first.capacity() / 2 {
            self.last_first.shrink_to_fit();
        }
        self.last_first.pop().map(Live::retire)
    }
}

impl<T> Live<T> {
    /// A packet after the end of a connection still belongs to the connection if its sequence
    /// number is *near*. A near number differs by less than `NEAR` from the number of its sender's
    /// last packet. The largest window has 2^30 octets (RFC 7323 §2.3). `NEAR` is smaller, because
    /// nearly all windows are far smaller.
    const NEAR: u32 = 1 << 26;
    /// A SYN carries fewer than `SYN_DATA_MAX` octets of data (RFC 7413), and its SYN-ACK
    /// acknowledges them.
    const SYN_DATA_MAX: u32 = 1 << 16;

    /// The side that sent a packet. `ordered` says whether the packet's ends have the order of the
    /// key.
    #[inline(always)]
    fn side(&self, ordered: bool) -> Side {
        if self.ordered == ordered { Side::From } else { Side::To }
    }

    /// Whether `packet` belongs to this connection, and not to a later connection between the same
    /// ends.
    #[inline(always)]
    fn has(&self, packet: &Passing, ordered: bool) -> bool {
        if !packet.flags.has(Flags::SYN) && !self.is_closed() {
            return true;
        }
        self.has_rare(packet, self.side(ordered))
    }

    /// Like [`has`](Self::has), for a SYN, a SYN-ACK, or a packet after the end of the connection.
    #[inline(never)]
    fn has_rare(&self, packet: &Passing, side: Side) -> bool {
        let Passing { flags, seq, ack, .. } = *packet;
        let known = self.seqs[side.index()];
        match (flags.has(Flags::SYN), flags.has(Flags::ACK), side) {
            (false, _, _) => {
                flags.has(Flags::RST) || known.is_none_or(|known| Self::are_near(known, seq))
            }
            (true, false, Side::From) => self.isn == Some(seq),
            // Both sides may open the connection at the same time (RFC 9293 §3.5).
            (true, false, Side::To) => known.is_none_or(|known| known == seq),
            (true, true, Side::From) => self.isn.is_none_or(|isn| isn == seq),
            (true, true, Side::To) => match self.isn {
                Some(isn) => ack.wrapping_sub(1).wrapping_sub(isn) < Self::SYN_DATA_MAX,
                None => known.is_none_or(|known| Self::are_near(known, seq)),
            },
        }
    }

    fn retire(self) -> Retired<T> {
        let [a, b] = self.key.sockets();
        let ends = if self.ordered { [a, b] } else { [b, a] };
        Retired { number: self.number, ends, state: self.state }
    }

    /// Whether two sequence numbers of one sender are near enough to belong to one connection.
    fn are_near(one: u32, other: u32) -> bool {
        one.wrapping_sub(other).min(other.wrapping_sub(one)) < Self::NEAR
    }

    /// Whether both FINs were seen, or a reset that is the last packet of its side.
    #[inline]
    fn is_closed(&self) -> bool {
        self.closing.is_closed()
    }

    /// Whether the lifetime of the connection has ended at the instant `at`.
    fn is_over(&self, at: Time, lifetimes: Lifetimes) -> bool {
        at.saturating_since(self.last) > self.lifetime(lifetimes)
    }

    /// How long the connection is remembered after its last packet.
    fn lifetime(&self, lifetimes: Lifetimes) -> Duration {
        if self.is_closed() { lifetimes.closed } else { lifetimes.idle }
    }
}
