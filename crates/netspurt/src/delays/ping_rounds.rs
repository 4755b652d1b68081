//! Lines that hold only a stamp, as a loop of `date` and `ping -c 1` writes them. A stamp is the
//! time of sending of the next probe. A round of the loop begins where the numbers begin again.

/// The rounds of the loop within one recording.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PingRounds {
    /// The last stamp, if the line of the probe that left at that time was not read yet.
    pending: Option<i64>,
    /// Whether the run began with a stamp.
    first: bool,
    /// Whether each stamp begins a round.
    going: bool,
    /// The last number as written, and the number that is added to numbers so that they continue.
    raw: Option<u64>,
    offset: u64,
    /// Whether a stamp was used as a probe's time of sending.
    used: bool,
}

impl PingRounds {
    /// Begins with the stamp `pending`, if there is one.
    pub fn begun(pending: Option<i64>) -> Self {
        Self { pending, first: pending.is_some(), ..Self::default() }
    }

    /// Takes the next stamp. `single` says that the run has had exactly one probe so far. Returns
    /// whether a round ends here.
    pub fn next(&mut self, ns: i64, single: bool) -> bool {
        self.going |= self.first && single;
        self.pending = Some(ns);
        self.going
    }

    /// Whether a round has begun that has no probe yet. A header then belongs to this round.
    pub fn awaits(&self) -> bool {
        self.going && self.pending.is_some()
    }

    /// Whether each stamp begins a round.
    pub fn is_going(&self) -> bool {
        self.going
    }

    /// Takes out the stamp for the next probe.
    pub fn take(&mut self) -> Option<i64> {
        let stamp = self.pending.take();
        self.used |= stamp.is_some();
        stamp
    }

    /// Returns the stamp that no probe has used yet.
    pub fn left(&self) -> Option<i64> {
        self.pending
    }

    /// Returns the number of a probe whose line has the number `raw`. Numbers that begin again
    /// continue behind `highest`.
    pub fn number(&mut self, raw: u64, highest: Option<u64>) -> u64 {
        if self.going && self.pending.is_some() && self.raw.is_some_and(|last| raw <= last) {
            self.offset = highest.map_or(0, |highest| (highest + 1).saturating_sub(raw));
        }
        self.raw = Some(raw);
        raw.saturating_add(self.offset)
    }

    /// Notes that a round ended and that its probe was lost. The number of that probe is not known.
    /// The next probe's number continues behind it.
    pub fn lose(&mut self) {
        self.raw.get_or_insert(u64::MAX);
    }

    /// Whether numbers began again. The statistics are then those of one round, and not of the run.
    pub fn repeated(&self) -> bool {
        self.offset > 0
    }

    /// Returns the note that stamps were used, if they were.
    pub fn note(&self) -> Option<String> {
        self.used.then(|| "stamps on lines of their own are times of sending".to_owned())
    }
}
