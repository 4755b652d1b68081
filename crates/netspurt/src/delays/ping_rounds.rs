//! Lines that are a stamp alone, as a loop of `date` and `ping -c 1` writes them: the next probe
//! left then, and where its numbers begin again, a round of the loop does.

/// The rounds of one run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PingRounds {
    /// The last stamp, until the probe that left then is known.
    pending: Option<i64>,
    /// Whether the run began with a stamp.
    first: bool,
    /// Whether each stamp begins a round.
    going: bool,
    /// The last number as written, and what is added to it.
    raw: Option<u64>,
    offset: u64,
    /// Whether a stamp was a probe's time of sending.
    used: bool,
}

impl PingRounds {
    /// The rounds of a run that begins with a stamp.
    pub fn begun(pending: Option<i64>) -> Self {
        Self { pending, first: pending.is_some(), ..Self::default() }
    }

    /// The next stamp; `single` tells whether the run has had one probe so far. Returns whether a
    /// round ends.
    pub fn next(&mut self, ns: i64, single: bool) -> bool {
        self.going |= self.first && single;
        self.pending = Some(ns);
        self.going
    }

    /// Whether a round has begun that has no probe yet, so that a header is its own.
    pub fn awaits(&self) -> bool {
        self.going && self.pending.is_some()
    }

    /// Whether rounds go on.
    pub fn is_going(&self) -> bool {
        self.going
    }

    /// The stamp of the next probe, which is used up.
    pub fn take(&mut self) -> Option<i64> {
        let stamp = self.pending.take();
        self.used |= stamp.is_some();
        stamp
    }

    /// The stamp that no probe has used.
    pub fn left(&self) -> Option<i64> {
        self.pending
    }

    /// The number of a probe that is written as `raw` and comes behind `highest`.
    pub fn number(&mut self, raw: u64, highest: Option<u64>) -> u64 {
        if self.going && self.pending.is_some() && self.raw.is_some_and(|last| raw <= last) {
            self.offset = highest.map_or(0, |highest| (highest + 1).saturating_sub(raw));
        }
        self.raw = Some(raw);
        raw.saturating_add(self.offset)
    }

    /// A round ended whose probe was lost, so that its number is not known: the next one is later.
    pub fn lose(&mut self) {
        self.raw.get_or_insert(u64::MAX);
    }

    /// Whether numbers began again, so that statistics are those of a round.
    pub fn repeated(&self) -> bool {
        self.offset > 0
    }

    /// The note about stamps that were used.
    pub fn note(&self) -> Option<String> {
        self.used.then(|| "stamps on lines of their own are times of sending".to_owned())
    }
}
