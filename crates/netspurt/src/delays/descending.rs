//! Finds tables that begin with the last probe.

/// Whether the times of sending rise or fall from row to row.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RowOrder {
    last: Option<i64>,
    fell: bool,
    /// Whether some row has no time, or has a later time than the row before it.
    rose: bool,
}

impl RowOrder {
    /// Takes the next row's time of sending.
    pub fn row(&mut self, sent: Option<i64>) {
        self.rose |= sent.is_none() || self.last.is_some_and(|last| sent > Some(last));
        self.fell |= self.last.is_some_and(|last| sent < Some(last));
        self.last = sent;
    }

    /// Whether times fell, and no time rose or was missing.
    pub fn is_descending(self) -> bool {
        self.fell && !self.rose
    }
}
