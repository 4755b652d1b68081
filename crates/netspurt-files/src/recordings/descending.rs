//! Recognises tables whose first row is the last probe.

/// Records whether the times of sending rise or fall from row to row.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RowOrder {
    last: Option<i64>,
    fell: bool,
    /// True if some row has no time, or has a later time than the row before it.
    rose: bool,
}

impl RowOrder {
    /// Reads the next row's time of sending.
    pub fn row(&mut self, sent: Option<i64>) {
        self.rose |= sent.is_none() || self.last.is_some_and(|last| sent > Some(last));
        self.fell |= self.last.is_some_and(|last| sent < Some(last));
        self.last = sent;
    }

    /// True if some time fell, and no time rose or was missing.
    pub fn is_descending(self) -> bool {
        self.fell && !self.rose
    }
}
