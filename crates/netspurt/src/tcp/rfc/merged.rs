//! Handles arriving segments if some of them wait to be merged with later segments.

use crate::segment::Segment;

use super::super::context::Context;
use super::merge::can_wait;
use super::state::TcpState;
use super::tcb::Tcb;

/// Processes an arrived segment, or lets it wait if the host merges segments.
#[inline]
pub(in crate::tcp) fn on_segment(tcb: &mut Tcb, segment: &Segment, cx: &mut Context<'_>) {
    if tcb.config.receive_rules.gro.is_zero() {
        tcb.on_segment(segment, cx);
    } else {
        merge(tcb, segment, cx);
    }
}

/// Merges an arrived segment with the waiting segment, lets it wait, or processes it immediately.
#[inline(never)]
fn merge(tcb: &mut Tcb, segment: &Segment, cx: &mut Context<'_>) {
    if tcb.merging.is_continued_by(segment) {
        tcb.merging.append(segment);
    } else {
        take_merged(tcb, cx);
        if !can_wait(segment) || tcb.life().state() != TcpState::Established {
            return tcb.on_segment(segment, cx);
        }
        tcb.merging.begin(segment, cx.now + tcb.config.receive_rules.gro);
    }
    if tcb.merging.is_complete(segment) {
        take_merged(tcb, cx);
    }
}

/// Processes the merged segment that waits, if there is one.
pub(super) fn take_merged(tcb: &mut Tcb, cx: &mut Context<'_>) {
    if let Some((held, full)) = tcb.merging.take() {
        tcb.rx.merged = Some(full);
        tcb.on_segment(&held, cx);
        tcb.rx.merged = tcb.config.merged_mss;
    }
}
