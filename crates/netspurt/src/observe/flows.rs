//! Which connection a packet belongs to.

use std::hash::{BuildHasher, Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use foldhash::quality::RandomState;
use hashbrown::HashTable;

use crate::ids::Side;
use crate::segment::Flags;
use crate::units::{Duration, Time};

/// How long a connection without further packets is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetimes {
    /// How long a connection is remembered after both FINs or a reset.
    pub closed: Duration,
    /// How long a connection is remembered that is open, as far as is known.
    pub idle: Duration,
}

/// Lifetimes for captures. A closed connection is kept as long as TIME-WAIT lasts, which is twice the
/// maximum segment lifetime of two minutes (RFC 9293 §3.4.2). An idle one is kept as long as an
/// address translator must keep it, which is 2 h 4 min (RFC 5382 §5).
impl Default for Lifetimes {
    fn default() -> Self {
        Self { closed: Duration::from_secs(4 * 60), idle: Duration::from_secs(124 * 60) }
    }
}

/// The two ends of a connection, in an order that does not depend on the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    addresses: [u128; 2],
    ports: [u16; 2],
    six: bool,
}

/// Only both addresses and both ports are hashed, so that hashing is fast.
impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let [a, b] = self.addresses;
        let ports = u64::from(self.ports[0]) << 16 | u64::from(self.ports[1]);
        if self.six {
            state.write_u128(a);
            state.write_u128(b);
            state.write_u64(ports);
        } else {
            state.write_u128((a << 32 | b) << 32 | u128::from(ports));
        }
    }
}

impl Key {
    /// The key of a packet from the first of `ends` to the second, and whether the key has this
    /// order.
    fn of(ends: [SocketAddr; 2]) -> (Self, bool) {
        let number = |end: SocketAddr| match end.ip() {
            IpAddr::V4(four) => u32::from(four).into(),
            IpAddr::V6(six) => u128::from(six),
        };
        let [from, to] = ends.map(|end| (number(end), end.port()));
        let ordered = from <= to;
        let (a, b) = if ordered { (from, to) } else { (to, from) };
        let six = ends[0].is_ipv6();
        (Self { addresses: [a.0, b.0], ports: [a.1, b.1], six }, ordered)
    }

    #[expect(clippy::cast_possible_truncation, reason = "an IPv4 address has 32 bits")]
    fn ends(self) -> [SocketAddr; 2] {
        let address = |number: u128| -> IpAddr {
            if self.six {
                Ipv6Addr::from(number).into()
            } else {
                Ipv4Addr::from(number as u32).into()
            }
        };
        let [a, b] = self.addresses.map(address);
        [SocketAddr::new(a, self.ports[0]), SocketAddr::new(b, self.ports[1])]
    }
}

/// An active connection.
#[derive(Debug)]
struct Live<T> {
    key: Key,
    number: u64,
    last: Time,
    /// Whether the first end of the key opened the connection.
    ordered: bool,
    /// The number of the initiator's SYN on the wire.
    isn: Option<u32>,
    /// By side: whether its FIN was seen.
    fins: [bool; 2],
    reset: bool,
    state: T,
}

/// The fields of a packet's headers that concern its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passing {
    /// When it was seen.
    pub at: Time,
    /// Its source and its destination.
    pub ends: [SocketAddr; 2],
    /// Its control bits.
    pub flags: Flags,
    /// Its sequence number.
    pub seq: u32,
    /// Its acknowledgement number.
    pub ack: u32,
}

/// A packet, assigned to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// The connection, by the order in which they were first seen, from 0.
    pub number: u64,
    /// The side that sent it; [`Side::From`] opened the connection.
    pub side: Side,
    /// Whether it is the first packet of its connection.
    pub born: bool,
}

/// A retired connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retired<T> {
    /// Its number.
    pub number: u64,
    /// Its two ends; the first is the initiator.
    pub ends: [SocketAddr; 2],
    /// What the observer kept of it.
    pub state: T,
}

/// The connections among packets. Each is born with its first packet and retired by a rule, so the
/// memory needed depends on the active ones. `T` is what the observer keeps of each.
///
/// A connection has two ends, each an address and a port. It is *born* with the first packet between
/// them, whatever packet that is: a capture may miss the beginning. Its [`Side::From`] is the end that
/// sent the SYN or got the SYN-ACK, or else the sender of the first packet. It is *retired* when the
/// same ends open another connection, by a SYN with another number, or when no packet was seen of it
/// for longer than its [`Lifetimes`] say. A later packet belongs to a new connection.
///
/// ```
/// use netspurt::ids::Side;
/// use netspurt::observe::{Flows, Lifetimes, Passing};
/// use netspurt::segment::Flags;
/// use netspurt::units::Time;
/// let mut flows: Flows<u32> = Flows::new(Lifetimes::default());
/// let ends = ["10.0.0.1:4000".parse().unwrap(), "10.0.0.2:80".parse().unwrap()];
/// let syn = Passing { at: Time::ZERO, ends, flags: Flags::SYN, seq: 7, ack: 0 };
/// let (_, packets) = flows.sight(&syn);
/// *packets += 1;
/// let flags = Flags::SYN.with(Flags::ACK);
/// let answer = Passing { ends: [ends[1], ends[0]], flags, seq: 9, ack: 8, ..syn };
/// let (sighting, packets) = flows.sight(&answer);
/// assert_eq!((sighting.number, sighting.side, *packets), (0, Side::To, 1));
/// assert_eq!(flows.into_all().count(), 1);
/// ```
#[derive(Debug)]
pub struct Flows<T> {
    lifetimes: Lifetimes,
    /// The hash depends on a random key, since captures may be made by an attacker.
    hashes: RandomState,
    /// Indices of `live`, by the hashes of their keys. It has no keys of its own, so that the
    /// processor's cache holds more of it.
    places: HashTable<u32>,
    live: Vec<Live<T>>,
    /// The next connection whose age is checked.
    hand: usize,
    /// Packets since the last check.
    unchecked: u8,
    born: u64,
    retired: Vec<Retired<T>>,
}

impl<T: Default> Flows<T> {
    /// The memory for this many connections is never freed.
    const ROOM: usize = 64;
    /// Each time this many packets have passed, the age of one connection is checked. The check
    /// reads memory that the packet does not need, which is slow.
    const CHECK_EVERY: u8 = 4;
    /// The number of connections that are checked when a connection begins. Two are too few if each
    /// connection has only one packet: a young connection takes the place of a retired one, and
    /// the next check finds the young one.
    const CHECKS_AT_BIRTH: u8 = 4;

    /// No connections.
    pub fn new(lifetimes: Lifetimes) -> Self {
        Self {
            lifetimes,
            hashes: RandomState::default(),
            places: HashTable::new(),
            live: Vec::new(),
            hand: 0,
            unchecked: 0,
            born: 0,
            retired: Vec::new(),
        }
    }

    /// Takes a TCP packet; returns its connection, and what the observer keeps of that.
    pub fn sight(&mut self, packet: &Passing) -> (Sighting, &mut T) {
        let Passing { at, flags, .. } = *packet;
        self.unchecked += 1;
        if self.unchecked == Self::CHECK_EVERY {
            self.unchecked = 0;
            self.look_at_one(at);
        }
        let (key, ordered) = Key::of(packet.ends);
        let opens = flags.has(Flags::SYN) && !flags.has(Flags::ACK);
        let hash = self.hashes.hash_one(key);
        let is_it = |place: &u32| self.live[*place as usize].key == key;
        let known = self.places.find(hash, is_it).copied();
        let lives = known.filter(|place| {
            let one = &self.live[*place as usize];
            !one.is_over(at, self.lifetimes) && (!opens || one.isn == Some(packet.seq))
        });
        if let (Some(place), None) = (known, lives) {
            self.retire(place);
        }
        let place = match lives {
            Some(place) => place,
            None => {
                (0..Self::CHECKS_AT_BIRTH).for_each(|_| self.look_at_one(at));
                self.add((key, hash), ordered, packet)
            }
        };
        let one = &mut self.live[place as usize];
        let side = if one.ordered == ordered { Side::From } else { Side::To };
        one.last = one.last.max(at);
        one.fins[side.index()] |= flags.has(Flags::FIN);
        one.reset |= flags.has(Flags::RST);
        (Sighting { number: one.number, side, born: lives.is_none() }, &mut one.state)
    }

    /// Adds the connection that begins with `packet`; returns its index.
    fn add(&mut self, (key, hash): (Key, u64), ordered: bool, packet: &Passing) -> u32 {
        let place = u32::try_from(self.live.len()).expect("fewer than 2^32 connections live");
        let [syn, ack] = [Flags::SYN, Flags::ACK].map(|flag| packet.flags.has(flag));
        self.live.push(Live {
            key,
            number: self.born,
            last: packet.at,
            // The sender of a SYN-ACK did not open the connection.
            ordered: ordered != (syn && ack),
            isn: syn.then(|| if ack { packet.ack.wrapping_sub(1) } else { packet.seq }),
            fins: [false; 2],
            reset: false,
            state: T::default(),
        });
        let hash_of = |place: &u32| self.hashes.hash_one(self.live[*place as usize].key);
        self.places.insert_unique(hash, place, hash_of);
        self.born += 1;
        place
    }

    /// Checks the next connection in turn, and retires it if its lifetime has ended at `at`. Calls
    /// check all connections again and again.
    fn look_at_one(&mut self, at: Time) {
        match self.live.get(self.hand) {
            None => self.hand = 0,
            Some(one) if one.is_over(at, self.lifetimes) => {
                self.retire(u32::try_from(self.hand).expect("a place"));
            }
            Some(_) => self.hand += 1,
        }
    }

    /// What is kept of the connection whose age the next packet will check. `None` if the next
    /// packet checks no connection, if the connection is not closed, or if a packet of it was seen
    /// within the last `quiet`.
    #[inline]
    pub fn look_at_closed(&mut self, at: Time, quiet: Duration) -> Option<&mut T> {
        if self.unchecked + 1 < Self::CHECK_EVERY {
            return None;
        }
        let one = self.live.get_mut(self.hand)?;
        let rests = one.is_closed() && at.saturating_since(one.last) > quiet;
        rests.then_some(&mut one.state)
    }

    fn retire(&mut self, place: u32) {
        let one = self.live.swap_remove(place as usize);
        let hash = self.hashes.hash_one(one.key);
        self.places.find_entry(hash, |known| *known == place).expect("its place").remove();
        if let Some(moved) = self.live.get(place as usize) {
            let before = u32::try_from(self.live.len()).expect("a place");
            let hash = self.hashes.hash_one(moved.key);
            *self.places.find_mut(hash, |known| *known == before).expect("its place") = place;
        }
        self.retired.push(one.retire());
        let most = 4 * self.live.len() + Self::ROOM;
        if self.live.capacity() > most {
            self.live.shrink_to(most / 2);
            let hash_of = |place: &u32| self.hashes.hash_one(self.live[*place as usize].key);
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

    /// All connections that were not returned yet: the retired ones, then the active ones.
    pub fn into_all(self) -> impl Iterator<Item = Retired<T>> {
        self.retired.into_iter().chain(self.live.into_iter().map(Live::retire))
    }
}

impl<T> Live<T> {
    fn retire(self) -> Retired<T> {
        let [a, b] = self.key.ends();
        let ends = if self.ordered { [a, b] } else { [b, a] };
        Retired { number: self.number, ends, state: self.state }
    }

    /// Whether both FINs or a reset were seen.
    fn is_closed(&self) -> bool {
        self.reset || self.fins == [true; 2]
    }

    /// Whether the connection has outlived its lifetime at `at`.
    fn is_over(&self, at: Time, lifetimes: Lifetimes) -> bool {
        let most = if self.is_closed() { lifetimes.closed } else { lifetimes.idle };
        at.saturating_since(self.last) > most
    }
}
