//! Tables whose last probe comes first.

/// The direction in which the times of sending run from row to row.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RowOrder {
    last: Option<i64>,
    fell: bool,
    /// A row has a later time than the one before it, or none.
    rose: bool,
}

impl RowOrder {
    /// The next row, with its time of sending.
    pub fn row(&mut self, sent: Option<i64>) {
        self.rose |= sent.is_none() || self.last.is_some_and(|last| sent > Some(last));
        self.fell |= self.last.is_some_and(|last| sent < Some(last));
        self.last = sent;
    }

    /// Whether the times fall throughout.
    pub fn is_descending(self) -> bool {
        self.fell && !self.rose
    }
}
