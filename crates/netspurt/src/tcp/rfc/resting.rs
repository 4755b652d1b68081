//! One end of a connection, at work or at rest. An end at rest takes little memory.

use std::sync::Arc;

use crate::packed::{Packed, with_zeros, without_zeros};

use super::config::RfcConfig;
use super::tcb::Tcb;

/// One end of a connection.
#[derive(Debug)]
pub(in crate::tcp) enum RfcEnd {
    /// At work.
    Awake(Box<Tcb>),
    /// At rest, until a method needs the full state.
    Resting(RestingTcb),
}

/// The state of an end at rest.
#[derive(Debug)]
pub(in crate::tcp) struct RestingTcb {
    config: Arc<RfcConfig>,
    /// The state beyond the configuration, [without zeros](without_zeros), because most counts are
    /// zero.
    octets: Box<[u8]>,
}

impl RestingTcb {
    /// Returns the end with the state that it had before the rest.
    fn woken(&self) -> Tcb {
        let mut tcb = Tcb::new(&self.config);
        tcb.unpack(&mut with_zeros(&self.octets).as_slice());
        tcb
    }
}

impl RfcEnd {
    /// Returns the end at work. Wakes it if it rests.
    #[inline]
    pub(in crate::tcp) fn awake(&mut self) -> &mut Tcb {
        if let Self::Resting(resting) = self {
            *self = Self::Awake(Box::new(resting.woken()));
        }
        match self {
            Self::Awake(tcb) => tcb,
            Self::Resting(_) => unreachable!("it was woken"),
        }
    }

    /// Reads the state of the end. An end at rest stays at rest.
    pub(in crate::tcp) fn view<T>(&self, look: impl FnOnce(&Tcb) -> T) -> T {
        match self {
            Self::Awake(tcb) => look(tcb),
            Self::Resting(resting) => look(&resting.woken()),
        }
    }

    /// Lets the end rest, unless one of its algorithms cannot be packed.
    pub(in crate::tcp) fn rest(&mut self) {
        if let Self::Awake(tcb) = self
            && tcb.can_be_packed()
        {
            let mut octets = Vec::with_capacity(size_of::<Tcb>());
            tcb.pack(&mut octets);
            let config = Arc::clone(&tcb.config);
            *self = Self::Resting(RestingTcb { config, octets: without_zeros(&octets).into() });
        }
    }
}
