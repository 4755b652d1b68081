//! Reads the output of ping: Linux iputils, BusyBox, BSD, macOS, and hping3.

use netspurt::delays::{Delays, Probe};
use netspurt::units::{Duration, Time};

use super::line_stamp::{LogClock, StampedLine, UNKNOWN_STAMP, UnreadStamps};
use super::ping_line::{Dialect, Header, PingLine, Reply, foreign, read};
use super::ping_rounds::PingRounds;
use super::reading::{Hints, Malformed, Reading, RecordingError, counted};
use super::slips::{CarryForm, MissingCarries};
use super::stamp::of_line;
use super::tally::{MISSING_MAX, Tally};
use super::text::{MILLISECOND, integer, lines, names_loopback};

/// The number of different sequence numbers: an ICMP echo has 16 bits for its number (RFC 792).
const NUMBERS: u64 = 1 << 16;

/// The shortest interval of ping without privileges (iputils), in nanoseconds. If the reply to a
/// request comes after the reply to the request that left *n* intervals later, the delay of the
/// earlier request is at least *n* intervals.
const INTERVAL_NS_MIN: u64 = 2 * MILLISECOND;

/// The highest number that counts as one of a run's first numbers.
const FIRST_NUMBERS_MAX: u64 = 16;

/// The number of octets of the IP header.
const fn ip_header(v6: bool) -> u32 {
    if v6 { 40 } else { 20 }
}

/// The facts about one run of ping, from the lines that were read so far.
#[derive(Clone, Debug, Default)]
struct PingRun {
    header: Option<Header>,
    dialect: Dialect,
    tally: Tally,
    /// The highest number so far, unwrapped.
    highest: Option<u64>,
    /// The tool's own counts of sent and of received probes.
    statistics: Option<(u64, u64)>,
    /// The time in the statistics line, in milliseconds.
    millis: Option<u64>,
    /// The maximum number of probes that were in flight together; `None` if the log does not give
    /// it.
    pipe: Option<u64>,
    stamped: bool,
    corrupt: u64,
    /// The number of replies to probes that were already answered, if ping did not mark these
    /// replies as duplicates.
    unmarked: u64,
    /// The number of delays below the resolution of the output.
    below: u64,
    /// The number of delays below zero.
    negative: u64,
    /// Whether the header or the first reply names an address of loopback.
    loopback: bool,
    /// Delays such as 53.10, which mean 54.0 if iputils wrote the log.
    missing_carries: MissingCarries,
    unread: UnreadStamps,
    rounds: PingRounds,
}

impl PingRun {
    fn is_empty(&self) -> bool {
        self.header.is_none() && self.tally.is_empty() && self.statistics.is_none()
    }

    /// Unwraps the 16 bits `raw` to the full number that is nearest to the highest number so far.
    fn unwrap(&self, raw: u64) -> u64 {
        let Some(highest) = self.highest else { return raw };
        if raw >= NUMBERS {
            return raw;
        }
        let ahead = raw.wrapping_sub(highest) % NUMBERS;
        let behind = NUMBERS - ahead;
        if ahead < NUMBERS / 2 || behind > highest {
            highest.saturating_add(ahead)
        } else {
            highest - behind
        }
    }

    /// True if a reply must belong to a new run that began without a header. After the statistics
    /// of the current run, every reply belongs to a new run. Before the statistics, three
    /// conditions must hold. The reply's number is one of the first numbers of a run. The reply is
    /// not marked as a duplicate. The reply cannot be a repeated or late reply of the current run.
    fn begins_run(&self, reply: &Reply<'_>) -> bool {
        if self.statistics.is_some() {
            return true;
        }
        let Some(highest) = self.highest else { return false };
        if reply.duplicate || reply.number > FIRST_NUMBERS_MAX {
            return false;
        }
        let ahead = reply.number.wrapping_sub(highest) % NUMBERS;
        let behind = NUMBERS - ahead;
        let too_early = reply.nanos() < behind * INTERVAL_NS_MIN;
        let impossible = ahead > NUMBERS / 4 && behind > FIRST_NUMBERS_MAX && too_early;
        let repeated = reply.number <= 2
            && self.unwrap(reply.number) == reply.number
            && self.tally.answered(reply.number)
            && highest >= reply.number + 3
            && self.dialect != Dialect::Bsd;
        impossible || repeated || self.repeats_first_number(reply.number)
    }

    /// True if `number` begins a new run. Such a number repeats the run's lowest number after
    /// higher numbers, and the tool would have marked a duplicate.
    fn repeats_first_number(&self, number: u64) -> bool {
        let ends = self.tally.ends();
        self.dialect.marks_duplicates()
            && self.unwrap(number) == number
            && self.tally.answered(number)
            && ends.is_some_and(|(lowest, highest)| number == lowest && highest > number)
    }

    /// Unwraps the number of a reply. A number far below the highest number means that the probe
    /// left long ago. If the reply's delay is too short for such a probe, the number is unwrapped
    /// to one above the highest.
    fn place(&self, reply: &Reply<'_>) -> u64 {
        let number = self.unwrap(reply.number);
        let behind = self.highest.map_or(0, |highest| highest.saturating_sub(number));
        let too_early = reply.nanos() < behind.saturating_mul(INTERVAL_NS_MIN);
        if behind > NUMBERS / 4 && too_early { number.saturating_add(NUMBERS) } else { number }
    }

    fn saw(&mut self, number: u64) {
        self.highest = Some(self.highest.map_or(number, |highest| highest.max(number)));
    }

    /// Processes a line that holds only a timestamp.
    fn timestamp_line(&mut self, ns: i64, local: bool) {
        self.tally.local |= local;
        if self.is_empty() {
            self.rounds = PingRounds::starting_with(Some(ns));
            return;
        }
        let one_probe = match self.tally.ends() {
            Some((lowest, highest)) => lowest == highest,
            None => self.statistics == Some((1, 0)),
        };
        let sent_ns = self.rounds.pending();
        if self.rounds.next(ns, one_probe) {
            self.close_round(sent_ns);
        }
    }

    /// Ends a round ([`PingRounds`]). `sent_ns` is the round's timestamp if no line has reported
    /// the round's probe. If the statistics do not count a reply either, the probe left at
    /// `sent_ns` and is lost.
    fn close_round(&mut self, sent_ns: Option<i64>) {
        let lost = self.statistics.is_some_and(|(_, received)| received == 0);
        if sent_ns.is_some() && lost {
            let number = self.highest.map_or(1, |highest| highest.saturating_add(1));
            self.saw(number);
            self.tally.sent(number).set_sent(sent_ns);
            self.rounds.lose();
            self.stamped = true;
        }
        (self.statistics, self.millis) = (None, None);
    }

    /// Returns the number of a reply or of a lost probe. If a line with only a timestamp gives the
    /// time at which the probe left, also returns this time. `raw` is the number in the line, and
    /// `placed` is the same number unwrapped.
    fn numbered(&mut self, raw: u64, placed: u64) -> (u64, Option<i64>) {
        let own = self.rounds.number(raw, self.highest);
        let number = if self.rounds.is_loop() { own } else { placed };
        (number, self.rounds.take())
    }

    fn reply(&mut self, reply: &Reply<'_>, stamp: Option<i64>) {
        let (number, sent_ns) = self.numbered(reply.number, self.place(reply));
        if self.dialect == Dialect::Unknown || reply.dialect == Dialect::Busybox {
            self.dialect = reply.dialect;
        }
        self.saw(number);
        if reply.corrupt {
            self.corrupt += 1;
            self.tally.sent(number);
            return;
        }
        if self.dialect.marks_duplicates() && !reply.duplicate && self.tally.answered(number) {
            self.unmarked += 1;
        }
        let (rtt, carry_form) = self.delay(reply);
        let v6 = reply.v6 || self.header.is_some_and(|header| header.v6);
        let has_header = reply.dialect == Dialect::Hping || reply.bytes == 0;
        let wire_bytes = reply.bytes.saturating_add(if has_header { 0 } else { ip_header(v6) });
        if !self.tally.reply(number, rtt, wire_bytes) {
            return;
        }
        self.missing_carries.note(number, carry_form);
        if sent_ns.is_some() {
            self.stamped = true;
            self.tally.sent(number).set_sent(sent_ns);
        }
        if let (Some(stamp), Some(rtt)) = (stamp, rtt) {
            self.stamped = true;
            let rtt = i64::try_from(rtt.as_nanos()).unwrap_or(i64::MAX);
            self.tally.sent(number).set_sent(Some(stamp.saturating_sub(rtt)));
        }
    }

    /// Returns the delay of a reply. If iputils may have rounded the delay without a carry
    /// ([`MissingCarries`]), also returns the form of the delay.
    fn delay(&mut self, reply: &Reply<'_>) -> (Option<Duration>, Option<CarryForm>) {
        self.negative += u64::from(reply.negative);
        let Some((rtt, digits)) = reply.time else { return (None, None) };
        if reply.below {
            self.below += 1;
            return (Some(Duration::from_nanos(rtt.as_nanos() / 2)), None);
        }
        (Some(rtt), self.missing_carries.read(digits))
    }

    /// Returns the first number of the run. If the log has the run's header or statistics, the
    /// result is the number with which the tool begins, or the lowest number in the log if that is
    /// lower. Otherwise the result is the lowest number in the log.
    fn first(&self, lowest: u64, highest: u64) -> u64 {
        let from_one = match self.dialect {
            Dialect::Iputils => true,
            Dialect::Busybox | Dialect::Bsd | Dialect::Hping => false,
            // An unknown tool counts from 1, unless the count in its statistics differs from the
            // highest number.
            Dialect::Unknown => self.statistics.is_none_or(|(sent, _)| sent == highest),
        };
        let first = u64::from(from_one);
        let has_start = self.header.is_some() || self.statistics.is_some();
        if has_start { first.min(lowest) } else { lowest }
    }

    /// Returns the first and the last number of the run. The last number is the highest number in
    /// the log, or a higher number if the tool's statistics count more probes.
    fn range(&self) -> Option<(u64, u64)> {
        let counted = self.statistics.map(|(sent, _)| sent);
        let Some((lowest, highest)) = self.tally.ends() else {
            let first = u64::from(self.dialect == Dialect::Iputils);
            return counted
                .and_then(|sent| sent.checked_sub(1))
                .map(|steps| (first, first.saturating_add(steps)));
        };
        let first = self.first(lowest, highest);
        let end = counted.map_or(0, |sent| first.saturating_add(sent).saturating_sub(1));
        Some((first, highest.max(end)))
    }

    fn finish(mut self, name: &str, hints: &Hints) -> Result<Delays, RecordingError> {
        if self.rounds.is_loop() && self.rounds.pending().is_some() {
            self.close_round(self.rounds.pending());
        }
        if self.rounds.numbers_restarted() {
            (self.statistics, self.millis) = (None, None);
        }
        let mut delays = Delays::new(name, self.dialect.name());
        delays.loopback = self.loopback;
        if matches!(self.dialect, Dialect::Iputils | Dialect::Unknown) {
            let carried = self.missing_carries.carry(&mut self.tally);
            if carried > 0 {
                delays.notes.push(format!(
                    "delays like 53.10 ms that were read as 54.0 ms, because iputils rounds \
                     without a carry: {carried}"
                ));
            }
        }
        if self.negative > 0 {
            delays.notes.push(format!(
                "delays below zero, which are left out because a clock was set back: {}",
                self.negative
            ));
        }
        let received = self.tally.received();
        // The run has only a summary: the delays of the received probes are unknown.
        if let (Some((sent, counted)), true) = (self.statistics, received == 0)
            && counted > 0
        {
            return summary(delays, sent, counted);
        }
        let range = self.range();
        let (interval, paced) = self.interval(hints);
        self.remark(range, (interval, paced), &mut delays);
        self.tally.finish(&mut delays, range, Some(interval))?;
        Ok(delays)
    }

    /// Returns the interval of the probes in nanoseconds, computed from the time in the statistics
    /// line. The statistics line has the time from the first request to the last event, which
    /// usually is the last reply.
    fn pace(&self) -> Option<u64> {
        let ((sent, _), millis) = (self.statistics?, self.millis?);
        let (steps, (_, last)) =
            (sent.checked_sub(1).filter(|steps| *steps > 0)?, self.tally.ends()?);
        let reply = self.tally.rtt(last).map_or(0, Duration::as_nanos);
        let interval_ns = millis.saturating_mul(MILLISECOND).saturating_sub(reply) / steps;
        // If the time in the statistics is too short for the delays and for the number of probes in
        // flight, it is not used.
        let mean_max = interval_ns.saturating_mul(self.pipe.unwrap_or(1).saturating_add(1));
        (self.tally.mean_ns() <= mean_max).then(|| rounded(interval_ns))
    }

    /// Processes a line that reports a probe without a reply.
    fn sent(&mut self, number: u64, given_up: bool) {
        let (number, sent_ns) = self.numbered(number, self.unwrap(number));
        self.saw(number);
        let slot = self.tally.sent(number);
        slot.given_up |= given_up;
        if sent_ns.is_some() {
            slot.set_sent(sent_ns);
            self.stamped = true;
        }
    }

    /// Returns the interval of the probes, and its source.
    fn interval(&self, hints: &Hints) -> (Duration, Paced) {
        const USUAL_INTERVAL: Duration = Duration::from_secs(1);
        let usual = USUAL_INTERVAL.as_nanos();
        match (hints.interval, self.pace()) {
            (Some(interval), _) => (interval, Paced::AsGiven),
            (None, Some(interval_ns))
                if interval_ns > 0 && interval_ns.abs_diff(usual) > usual / 20 =>
            {
                (Duration::from_nanos(interval_ns), Paced::ByStatistics)
            }
            (None, Some(interval_ns)) if interval_ns > 0 => (USUAL_INTERVAL, Paced::ByStatistics),
            (None, _) => (USUAL_INTERVAL, Paced::Usual("ping")),
        }
    }

    fn remark(
        &self,
        range: Option<(u64, u64)>,
        (interval, paced): (Duration, Paced),
        delays: &mut Delays,
    ) {
        let notes = &mut delays.notes;
        if !self.stamped {
            notes.push(paced.note(interval));
        }
        notes.extend(self.rounds.note());
        notes.extend(self.unread.note());
        if let (Some((sent, received)), Some((first, last))) = (self.statistics, range) {
            let read = (last - first).saturating_add(1);
            let answered = self.tally.received();
            if (read, answered) != (sent, received) {
                notes.push(format!(
                    "the statistics line counts {sent} probes sent and {received} received, but \
                     the other lines show {read} probes and {answered} replies"
                ));
            }
        }
        if let Some(interval_ns) = self.pace()
            && !self.stamped
            && interval_ns.abs_diff(interval.as_nanos()) > interval.as_nanos() / 5
        {
            let computed = Duration::from_nanos(interval_ns);
            let argument = computed.to_string().replace(' ', "");
            notes.push(format!(
                "by the statistics line, probes left every {computed}: omit `--interval`, or write \
                 `--interval {argument}`"
            ));
        }
        let lowest = self.tally.ends().map_or(0, |(lowest, _)| lowest);
        if range.is_some_and(|(first, _)| first == lowest) && lowest > 1 {
            notes.push(format!("the log begins with number {lowest}"));
        }
        if let (Some((first, last)), Some(answered)) = (range, self.tally.first_answered()) {
            if answered > first {
                let one = "probe before the first answer is counted as lost";
                let many = "probes before the first answer are counted as lost";
                notes.push(counted(answered - first, [one, many]));
            }
            if self.statistics.is_some() && self.tally.is_open(last) {
                notes.push(
                    "the last probe may have been in flight when ping stopped; it is counted as lost"
                        .to_owned(),
                );
            }
        }
        let counted = [
            (self.corrupt, "replies had a wrong checksum and are not counted, as in ping"),
            (
                self.unmarked,
                "repeated numbers are not marked as duplicates: another run may have started there",
            ),
            (self.below, "delays have only a bound, as in `time<1ms`: half of the bound was used"),
        ];
        for (count, what) in counted.into_iter().filter(|(count, _)| *count > 0) {
            notes.push(format!("{count} {what}"));
        }
    }
}

/// Rounds an interval to two digits if this changes the interval by at most a fiftieth, and
/// otherwise to three digits. The reason for rounding is that users choose round values.
fn rounded(ns: u64) -> u64 {
    let to = |digits: u32| {
        let unit = 10_u64.pow(ns.checked_ilog10().unwrap_or(0).saturating_sub(digits - 1));
        ns.saturating_add(unit / 2) / unit * unit
    };
    if to(2).abs_diff(ns) <= ns / 50 { to(2) } else { to(3) }
}

/// The source of the interval between probes whose times of sending are not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Paced {
    /// The user gave the interval.
    AsGiven,
    /// The interval was computed from the statistics line.
    ByStatistics,
    /// The interval is a guess: the usual interval of this tool.
    Usual(&'static str),
}

impl Paced {
    /// Returns `AsGiven` if the user gave the interval, otherwise the usual interval of `tool`.
    pub(super) fn of(given: bool, tool: &'static str) -> Self {
        if given { Self::AsGiven } else { Self::Usual(tool) }
    }

    /// The note that times of sending are not recorded.
    pub(super) fn note(self, interval: Duration) -> String {
        match self {
            Self::AsGiven => {
                format!("times of sending computed: one probe every {interval}, as given")
            }
            Self::ByStatistics => format!(
                "times of sending computed: one probe every {interval}, by the statistics line; \
                 `--interval TIME` sets another interval"
            ),
            Self::Usual(tool) => {
                let stamps = match tool {
                    "ping" => "; `ping -D` of Linux records the times",
                    "fping" => "; `fping -D` records the times",
                    _ => "",
                };
                format!(
                    "times of sending guessed: one probe every {interval}, the usual interval of \
                     {tool}; `--interval TIME` sets the true interval{stamps}"
                )
            }
        }
    }
}

/// Makes a recording for which only the counts are known.
///
/// # Errors
/// When more than [`MISSING_MAX`] probes are lost.
pub(super) fn summary(
    mut delays: Delays,
    sent: u64,
    received: u64,
) -> Result<Delays, RecordingError> {
    let lost = sent.saturating_sub(received);
    if lost > MISSING_MAX {
        return Err(RecordingError::new(
            format!("the statistics of a run count {lost} lost probes, more than {MISSING_MAX}"),
            "remove this run from the file",
        ));
    }
    delays.untimed = received;
    delays.probes = (0..lost).map(|n| Probe::lost(n, Time::from_nanos(n))).collect();
    delays.notes.push(format!(
        "the file has only a summary: it gives neither the delays of the {received} replies, nor \
         which {lost} of the {sent} probes were lost"
    ));
    Ok(delays)
}

/// Whether the line has a form that ping writes.
pub(super) fn knows(line: &str) -> bool {
    let (_, line) = of_line(line.trim_start());
    matches!(read(line), PingLine::Header(_) | PingLine::Reply(_) | PingLine::Sent { .. })
        || matches!(read(line), PingLine::Statistics { .. } if line.contains("transmitted"))
}

/// Reads the runs of `text`.
///
/// # Errors
/// When more than [`MISSING_MAX`] probes are missing.
pub(super) fn parse(name: &str, text: &str, hints: &Hints) -> Result<Reading, RecordingError> {
    let mut reading = Reading::default();
    let mut runs = Vec::new();
    let mut run = PingRun::default();
    let mut clock = LogClock::default();
    for (number, full_line) in lines(text) {
        let StampedLine { ns: stamp, local, refused, rest } = clock.read(full_line);
        if let (Some(ns), true) = (stamp, rest.is_empty()) {
            run.timestamp_line(ns, local);
            continue;
        }
        let line = match read(rest) {
            // Another program may have put its own timestamp before the line.
            PingLine::Foreign => headed(rest),
            line => line,
        };
        match line {
            PingLine::Header(header) => {
                if run.rounds.needs_probe() {
                    run.header = run.header.or(Some(header));
                } else {
                    next_run(&mut run, &mut runs);
                    run.header = Some(header);
                    run.loopback = names_loopback(rest);
                }
                run.dialect = header.dialect;
            }
            PingLine::Reply(reply) => {
                if !run.rounds.is_loop() && run.begins_run(&reply) {
                    next_run(&mut run, &mut runs);
                }
                run.loopback |= run.tally.is_empty() && names_loopback(rest);
                run.reply(&reply, stamp);
                run.tally.local |= stamp.is_some() && local;
                match refused {
                    Some(why) => run.unread.saw(full_line, why),
                    None => run.unread.saw(foreign(rest), UNKNOWN_STAMP),
                }
            }
            PingLine::Sent { number, given_up } => {
                if run.statistics.is_some() {
                    end(&mut run, &mut runs);
                }
                run.sent(number, given_up);
            }
            PingLine::Statistics { sent, received, millis } => {
                run.statistics = Some((sent, received));
                run.millis = millis;
                run.dialect = run.dialect.or_of_statistics(full_line);
            }
            PingLine::Ordinary => run.pipe = pipe(full_line).or(run.pipe),
            PingLine::Broken(why) => reading.malformed.push(Malformed::new(number, full_line, why)),
            PingLine::Foreign => {
                let why = "not a line that ping writes";
                reading.malformed.push(Malformed::new(number, full_line, why));
            }
        }
    }
    end(&mut run, &mut runs);
    reading.recordings = finished(runs, name, hints)?;
    Ok(reading)
}

/// Ends the run, and begins the next run. A timestamp that no probe has used goes to the next run.
fn next_run(run: &mut PingRun, runs: &mut Vec<PingRun>) {
    let pending = run.rounds.pending();
    end(run, runs);
    run.rounds = PingRounds::starting_with(pending);
}

/// Reads a header that follows text of another program, such as a timestamp.
fn headed(line: &str) -> PingLine<'_> {
    let header = line.find("PING ").map(|at| &line[at..]);
    let header = header.filter(|text| text.contains('(') || text.contains(" data bytes"));
    header.map_or(PingLine::Foreign, read)
}

/// Reads `pipe`, such as 3 in `rtt min/avg/max/mdev = 20.2/27.2/47.9/6.0 ms, pipe 3`.
fn pipe(line: &str) -> Option<u64> {
    Some(integer(line.split_once(", pipe ")?.1)?.0)
}

/// Makes the recordings of all runs of a file.
///
/// # Errors
/// When more than [`MISSING_MAX`] probes of all runs together are lost.
fn finished(runs: Vec<PingRun>, name: &str, hints: &Hints) -> Result<Vec<Delays>, RecordingError> {
    let has_foreign = runs.iter().any(|run| run.missing_carries.is_foreign());
    let (mut all, mut missing) = (Vec::with_capacity(runs.len()), 0);
    for mut run in runs {
        if has_foreign {
            run.missing_carries = MissingCarries::default();
        }
        let recording = run.finish(name, hints)?;
        missing += recording.probes.iter().filter(|probe| probe.rtt.is_none()).count() as u64;
        if missing > MISSING_MAX {
            return Err(RecordingError::new(
                format!("the runs in the file have more than {MISSING_MAX} lost probes together"),
                "split the file, so that each run is in a file of its own",
            ));
        }
        all.push(recording);
    }
    Ok(all)
}

/// Ends a run, if one has started.
fn end(run: &mut PingRun, runs: &mut Vec<PingRun>) {
    let ended = core::mem::take(run);
    if !ended.is_empty() {
        runs.push(ended);
    }
}
