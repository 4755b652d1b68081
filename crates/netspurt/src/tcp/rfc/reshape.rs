//! Reshapes a segment that is to be retransmitted (`__tcp_retransmit_skb`). If the peer has shrunk
//! its window, the segment is cut at the edge of the window. A short segment takes in the segments
//! after it.

use super::config::RfcConfig;
use super::scoreboard::Scoreboard;
use super::send_window::SendWindow;

/// Reshapes the segment at `place` (the index in the scoreboard), as the rules `copies_need_window`
/// and `joins_copies` require.
pub(super) fn reshape(
    scoreboard: &mut Scoreboard,
    place: usize,
    window: &SendWindow,
    config: &RfcConfig,
) {
    let sent = scoreboard.get(place);
    let room = window.peer_edge().saturating_sub(sent.seq);
    let data = sent.end().min(window.end).saturating_sub(sent.seq);
    if config.send_rules.copies_need_window && room > 0 && room < data {
        // A segment beyond the window is not cut, because it is the oldest segment and probes the
        // window.
        let room = u32::try_from(room).expect("the room is smaller than a segment");
        scoreboard.divide(place, room);
    } else if config.send_rules.joins_copies && data < window.smss.min(room) {
        join(scoreboard, place, window);
    }
}

/// Joins the segment at `place` with the segments after it, as long as they fit completely into a
/// full segment and into the peer's window (`tcp_retrans_try_collapse`). Three kinds of segments
/// are not joined: segments that SACK reported, segments of another record (`MSG_EOR`), and the
/// segments of a packet for segmentation offload, if this packet has several segments.
fn join(scoreboard: &mut Scoreboard, place: usize, window: &SendWindow) {
    let goes_on = |scoreboard: &Scoreboard, place: usize| scoreboard.get(place).goes_on();
    if goes_on(scoreboard, place) || place > 0 && goes_on(scoreboard, place - 1) {
        return;
    }
    let first = scoreboard.get(place).seq;
    while place + 1 < scoreboard.len() && !scoreboard.get(place).ends_record() {
        let next = scoreboard.get(place + 1);
        let data_end = next.end().min(window.end);
        let fits = data_end - first <= window.smss && next.end() <= window.peer_edge();
        if next.sacked || next.goes_on() || !fits {
            return;
        }
        scoreboard.join_next(place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::Cause;
    use crate::tcp::rfc::sent_segment::SentSegment;
    use crate::units::Time;

    /// Reshapes the first of several segments with the lengths `lens`. This segment counts as lost.
    /// Full segments have 1000 octets, and the peer's window has `peer` octets. Returns the new
    /// lengths, and the number of lost octets.
    fn reshaped(lens: &[u32], peer: u64) -> (Vec<u64>, u64) {
        let config = RfcConfig::linux_6();
        let mut window = SendWindow::new(&config);
        window.on_syn(1000, 60_000);
        window.open((0, 1), Some(peer));
        (window.smss, window.nxt) = (1000, 1);
        let mut scoreboard = Scoreboard::default();
        for len in lens {
            scoreboard.push(SentSegment::first(window.nxt, *len, Time::ZERO), true, None);
            window.nxt += u64::from(*len);
        }
        window.end = window.nxt;
        scoreboard.mark_lost(0, Cause::Rack);
        reshape(&mut scoreboard, 0, &window, &config);
        (scoreboard.iter().map(SentSegment::len).collect(), scoreboard.lost())
    }

    /// Linux: `tcp_fragment` in `__tcp_retransmit_skb`.
    #[test]
    fn a_retransmission_is_cut_at_the_edge_of_the_window() {
        assert_eq!(reshaped(&[1000, 1000], 600), (vec![600, 400, 1000], 1000));
        assert_eq!(reshaped(&[1000, 1000], 1000), (vec![1000, 1000], 1000));
        assert_eq!(reshaped(&[1000, 1000], 0), (vec![1000, 1000], 1000), "it probes the window");
    }

    /// Linux: `tcp_retrans_try_collapse`.
    #[test]
    fn a_short_retransmission_is_joined_with_the_next_segments_if_they_fit_completely() {
        assert_eq!(reshaped(&[400, 300, 200, 200], 9000), (vec![900, 200], 900));
        assert_eq!(reshaped(&[1000, 200], 9000), (vec![1000, 200], 1000));
        assert_eq!(reshaped(&[400, 300, 200], 700), (vec![700, 200], 700), "the peer's window");
    }
}
