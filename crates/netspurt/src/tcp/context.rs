//! The arguments of one step of a connection. In a step, the connection reacts to one event.

use std::collections::VecDeque;

use crate::event::{CwndState, Events, What};
use crate::ids::EndId;
use crate::packed::{packed, packed_value};
use crate::segment::Segment;
use crate::units::Time;

/// One step of a connection: its instant, and where its events and its segments go.
pub(super) struct Context<'a> {
    pub(super) now: Time,
    pub(super) end: EndId,
    pub(super) events: &'a mut Events<Segment>,
    pub(super) outbox: &'a mut VecDeque<Segment>,
}

/// The congestion state that a connection reported last.
#[derive(Debug, Default)]
pub(super) struct CwndReport {
    last: Option<CwndState>,
}

packed!(CwndReport { last });
packed_value!(CwndState { cwnd_bytes, ssthresh_bytes, flight_bytes, dupacks, in_recovery });

impl CwndReport {
    /// Reports the state if it changed.
    pub(super) fn report(&mut self, state: CwndState, cx: &mut Context<'_>) {
        if self.last != Some(state) {
            self.last = Some(state);
            cx.events.report(cx.now, What::Cwnd { end: cx.end, state });
        }
    }
}
