//! Decides for which segments the sender reads its clock again while simulated time stands still.

use crate::packed::packed;

/// Decides when the clock is read for the sending times of segments, as Linux does
/// (`tcp_mstamp_refresh`). A retransmission has the time of its cause: when an ACK arrived, or when
/// a timer fired. All new data that leaves in one call (`tcp_write_xmit`) has the same, later time.
/// If the application writes more than a buffer of the host holds, several calls send these octets
/// (`tcp_push_one`).
#[derive(Debug, Default)]
pub(super) struct ClockReadings {
    /// Whether the clock is read for the next segment.
    due: bool,
    /// Whether a retransmission was sent since new data was last sent.
    copied: bool,
}

packed!(ClockReadings { due, copied });

impl ClockReadings {
    /// Notes that everything that may be sent now was sent.
    #[inline]
    pub(super) fn end_burst(&mut self) {
        self.due = true;
    }

    /// Notes that a retransmission is sent. Returns whether the clock is read for it.
    pub(super) fn on_copy(&mut self) -> bool {
        self.copied = true;
        core::mem::take(&mut self.due)
    }

    /// Notes that a segment of new data is sent. Returns whether the clock is read for it.
    #[inline]
    pub(super) fn on_new(&mut self) -> bool {
        core::mem::take(&mut self.due) | core::mem::take(&mut self.copied)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_is_read_for_each_burst_and_for_new_data_after_retransmissions() {
        let mut readings = ClockReadings::default();
        readings.end_burst();
        assert_eq!([readings.on_copy(), readings.on_copy()], [true, false]);
        assert_eq!([readings.on_new(), readings.on_new()], [true, false]);
        readings.end_burst();
        assert_eq!([readings.on_new(), readings.on_new()], [true, false]);
    }
}
