//! Reads the log of a loop that calls `date` and ping, usually `ping -c 1`. Each call of `date`
//! writes a line that holds only a timestamp. This timestamp is the time at which the next probe
//! was sent.
//!
//! Such a loop is one *run*, which becomes one recording. Each pass through the loop is a *round*
//! of the run: a timestamp and the output of one call of ping. In each round, ping numbers its
//! probes from the start.

/// The state of a run while its lines are read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PingRounds {
    /// The last timestamp in nanoseconds, if the line of its probe was not read yet.
    pending: Option<i64>,
    /// Whether the run began with a timestamp.
    starts_with_timestamp: bool,
    /// Whether each timestamp begins a round. This is known when the run has two timestamps.
    is_loop: bool,
    /// The last number as ping wrote it.
    raw: Option<u64>,
    /// The value that is added to the numbers of this round. With this value, the numbers continue
    /// the numbers of the previous round.
    offset: u64,
    /// Whether a timestamp was used as a probe's time of sending.
    used: bool,
}

impl PingRounds {
    /// Begins a run with the timestamp `pending`, or without a timestamp if it is `None`.
    pub fn starting_with(pending: Option<i64>) -> Self {
        Self { pending, starts_with_timestamp: pending.is_some(), ..Self::default() }
    }

    /// Reads the next timestamp. `one_probe` says that the run has had exactly one probe so far.
    /// Returns true if the timestamp ends a round and begins the next one.
    pub fn next(&mut self, ns: i64, one_probe: bool) -> bool {
        self.is_loop |= self.starts_with_timestamp && one_probe;
        self.pending = Some(ns);
        self.is_loop
    }

    /// True if the current round has no probe yet. If ping's header line comes now, it belongs to
    /// this round. Otherwise a header line begins a new run.
    pub fn needs_probe(&self) -> bool {
        self.is_loop && self.pending.is_some()
    }

    /// True if each timestamp begins a round.
    pub fn is_loop(&self) -> bool {
        self.is_loop
    }

    /// Removes and returns the timestamp of the next probe.
    pub fn take(&mut self) -> Option<i64> {
        let timestamp_ns = self.pending.take();
        self.used |= timestamp_ns.is_some();
        timestamp_ns
    }

    /// Returns the timestamp that no probe has used yet.
    pub fn pending(&self) -> Option<i64> {
        self.pending
    }

    /// Converts `raw`, the number in a probe's line, to the number of the probe within the run. If
    /// ping starts to count from the beginning in a new round, the numbers of the run continue
    /// after `highest`.
    pub fn number(&mut self, raw: u64, highest: Option<u64>) -> u64 {
        if self.needs_probe() && self.raw.is_some_and(|last| raw <= last) {
            self.offset =
                highest.map_or(0, |highest| highest.saturating_add(1).saturating_sub(raw));
        }
        self.raw = Some(raw);
        raw.saturating_add(self.offset)
    }

    /// Records that a round ended and that its probe was lost. The lost probe has taken a number of
    /// the run. So if no number has been read yet, ping's numbering starts again with the next
    /// number.
    pub fn lose(&mut self) {
        self.raw.get_or_insert(u64::MAX);
    }

    /// True if a later round began to count from the start. Then the statistics are for one round,
    /// and not for the run.
    pub fn numbers_restarted(&self) -> bool {
        self.offset > 0
    }

    /// Returns the note that timestamps were used, if they were.
    pub fn note(&self) -> Option<String> {
        self.used.then(|| "lines with only a timestamp give the times of sending".to_owned())
    }
}
