//! Holds one end of a connection in one of two forms: awake with its full state, or resting. A
//! resting end has its state packed into octets, so that it takes little memory.

use std::sync::Arc;

use crate::packed::{Packed, with_zeros, without_zeros};

use super::config::RfcConfig;
use super::tcb::Tcb;

/// One end of a connection.
#[derive(Debug)]
pub(in crate::tcp) enum RfcEnd {
    /// The end has its full state, and can be used.
    Awake(Box<Tcb>),
    /// The end rests: its state is packed until a method needs the full state.
    Resting(RestingTcb),
}

/// The packed state of a resting end.
#[derive(Debug)]
pub(in crate::tcp) struct RestingTcb {
    config: Arc<RfcConfig>,
    /// The state except the configuration. It is stored [without zeros](without_zeros), because
    /// most counts are zero.
    octets: Box<[u8]>,
}

impl RestingTcb {
    /// Returns the end with the state that it had when it was packed.
    fn woken(&self) -> Tcb {
        let mut tcb = Tcb::new(&self.config);
        tcb.unpack(&mut with_zeros(&self.octets).as_slice());
        tcb
    }
}

impl RfcEnd {
    /// Returns the full state of the end. Unpacks this state first if the end rests.
    #[inline]
    pub(in crate::tcp) fn awake(&mut self) -> &mut Tcb {
        if let Self::Resting(resting) = self {
            *self = Self::Awake(Box::new(resting.woken()));
        }
        match self {
            Self::Awake(tcb) => tcb,
            Self::Resting(_) => unreachable!("a resting end was woken above"),
        }
    }

    /// Calls the function `look` with the state of the end. A resting end stays packed.
    pub(in crate::tcp) fn view<T>(&self, look: impl FnOnce(&Tcb) -> T) -> T {
        match self {
            Self::Awake(tcb) => look(tcb),
            Self::Resting(resting) => look(&resting.woken()),
        }
    }

    /// Packs the state of the end if that is possible; see [`Tcb::can_be_packed`].
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
