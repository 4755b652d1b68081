//! The data file of a series of echo probes: a header, and a line for each echo probe. Each line is
//! written immediately. If the process is killed, only the last line may be incomplete. A long run
//! may have several data files. Each of them holds a *part* of the run.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use netspurt::units::Duration;
use serde::Serialize;

use super::clock::{ClockReading, raw_ns};
use super::lines::{
    ClockStepLine, ContinuedLine, EchoProbeLine, ProbeHeader, ReplyFields, StampedBy, StrayLine,
};

/// An answer to an echo probe, with the timestamps of the probe and of the answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct EchoReply {
    pub sent_at: ClockReading,
    pub received_at: ClockReading,
    pub kernel_sent_ns: Option<u64>,
    pub kernel_received_ns: Option<u64>,
    pub hops_left: Option<u8>,
    /// The nanoseconds by which the machine's clock was set between probe and answer.
    pub step_ns: i64,
}

impl EchoReply {
    /// The round trip by the program's timestamps, in nanoseconds.
    pub(super) fn by_user(&self) -> u64 {
        self.received_at.raw_ns.saturating_sub(self.sent_at.raw_ns)
    }

    /// The round trip by the kernel's timestamps, in nanoseconds. `None` if these timestamps cannot
    /// be trusted: one is missing, they are out of order, or the machine's clock was set between
    /// probe and answer. Also `None` if this round trip is clearly longer than the round trip by
    /// the program's timestamps.
    pub(super) fn by_kernel(&self) -> Option<u64> {
        let span = self.kernel_received_ns?.checked_sub(self.kernel_sent_ns?)?;
        // The tolerance covers the frequency corrections of the kernel's clock (NTP), and the time
        // between the readings of two clocks.
        const APART_NS: u64 = 200_000;
        let most = self.by_user() + self.by_user() / 1000 + APART_NS;
        (self.step_ns == 0 && span <= most).then_some(span)
    }

    /// The fields that the answer has in the data file.
    fn fields(&self) -> ReplyFields {
        let (rtt_ns, by) = match self.by_kernel() {
            Some(span) => (span, StampedBy::Kernel),
            None => (self.by_user(), StampedBy::User),
        };
        ReplyFields {
            rtt_ns,
            by,
            user_rtt_ns: self.by_user(),
            user_rx_ns: self.received_at.unix_ns,
            kernel_rx_ns: self.kernel_received_ns,
            ttl: self.hops_left,
            clock_step_ns: self.step_ns,
        }
    }
}

/// The outcome of an echo probe.
#[derive(Clone, Debug)]
pub(super) enum ProbeOutcome {
    Answered(EchoReply),
    Lost,
    /// The probe caused an ICMP error or could not be sent. The text says why.
    Failed(String),
}

/// A finished echo probe: it was answered, was lost, caused an ICMP error, or could not be sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct EchoProbeRow<'a> {
    pub number: u64,
    pub octets: u16,
    pub sent_at: ClockReading,
    pub kernel_sent_ns: Option<u64>,
    pub outcome: &'a ProbeOutcome,
}

/// A receiver of the outcomes of echo probes.
pub(super) trait Keep {
    /// Records a finished echo probe. Returns whether the probing continues.
    fn row(&mut self, row: &EchoProbeRow<'_>) -> io::Result<bool>;

    /// Records an answer to the finished echo probe `number`. `late` is true for the first answer
    /// to an echo probe that was finished without an answer, and false for a duplicate.
    fn stray(&mut self, number: u64, late: bool, answer: &EchoReply) -> io::Result<()>;

    /// Records that the machine's clock was set before the echo probe `number` left.
    fn step(&mut self, number: u64, step_ns: i64) -> io::Result<()>;
}

/// The limits of a data file. When one of them is reached, a new file begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rotation {
    /// The number of echo probes in a file.
    pub echo_probes: Option<u64>,
    /// The time after which the next file begins.
    pub span: Option<Duration>,
}

impl Rotation {
    fn is_on(self) -> bool {
        self.echo_probes.is_some() || self.span.is_some()
    }
}

/// The data files of a run and the process that watches the run. Both get the same lines.
pub(super) struct Book {
    /// The path of the file, without the number of a part; `None` if no file is written.
    path: Option<PathBuf>,
    header: ProbeHeader,
    rotation: Rotation,
    watcher: Box<dyn Write>,
    file: Option<File>,
    part: u64,
    /// The number of echo probes in this part.
    rows: u64,
    /// When this part was begun.
    begun_ns: u64,
    line: String,
}

impl Book {
    /// Begins the data file at `path`, and writes `header` as its first line. The header gets the
    /// number of the part.
    ///
    /// # Errors
    /// When the file exists, or cannot be made or written.
    pub(super) fn begin(
        path: Option<&Path>,
        header: ProbeHeader,
        rotation: Rotation,
        watcher: Box<dyn Write>,
    ) -> io::Result<Self> {
        let mut book = Self {
            path: path.map(Path::to_owned),
            header,
            rotation,
            watcher,
            file: None,
            part: 0,
            rows: 0,
            begun_ns: raw_ns(),
            line: String::new(),
        };
        book.next_part()?;
        Ok(book)
    }

    /// The path of a part's file; `None` if no file is written.
    fn name(&self, part: u64) -> Option<PathBuf> {
        let path = self.path.as_deref()?;
        if !self.rotation.is_on() {
            return Some(path.to_owned());
        }
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let end = path.extension().map_or("jsonl".into(), |end| end.to_string_lossy());
        Some(path.with_file_name(format!("{stem}-{part:03}.{end}")))
    }

    /// Begins the file of the next part.
    fn next_part(&mut self) -> io::Result<()> {
        self.part += 1;
        (self.rows, self.begun_ns) = (0, raw_ns());
        self.header.part = self.part;
        if let Some(name) = self.name(self.part) {
            let file = File::create_new(&name)
                .map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", name.display())))?;
            self.file = Some(file);
            self.header.file = Some(name.to_string_lossy().into_owned());
        }
        self.line = line(&self.header)?;
        self.put().map(|_| ())
    }

    /// Writes the line to the file and then to the watcher. Returns whether a watcher is still
    /// there.
    fn put(&mut self) -> io::Result<bool> {
        if let Some(file) = &mut self.file {
            file.write_all(self.line.as_bytes())?;
        }
        let written =
            self.watcher.write_all(self.line.as_bytes()).and_then(|()| self.watcher.flush());
        Ok(written.is_ok())
    }

    /// Writes the value `what` as a line. Returns whether a watcher is still there.
    ///
    /// # Errors
    /// When writing to the file fails.
    pub(super) fn say(&mut self, what: &impl Serialize) -> io::Result<bool> {
        self.line = line(what)?;
        self.put()
    }

    /// Whether the next echo probe needs a new file.
    fn is_full(&self) -> bool {
        let long = |span: Duration| raw_ns().saturating_sub(self.begun_ns) >= span.as_nanos();
        self.rotation.echo_probes.is_some_and(|most| self.rows >= most)
            || (self.rows > 0 && self.rotation.span.is_some_and(long))
    }
}

impl Keep for Book {
    fn row(&mut self, row: &EchoProbeRow<'_>) -> io::Result<bool> {
        if self.is_full() {
            let next = self.name(self.part + 1).map(|name| name.to_string_lossy().into_owned());
            self.say(&ContinuedLine { end: "continued", next })?;
            self.next_part()?;
        }
        self.rows += 1;
        self.say(&row.line())
    }

    fn stray(&mut self, number: u64, late: bool, answer: &EchoReply) -> io::Result<()> {
        let reply = answer.fields();
        let line = if late {
            StrayLine::Late { late: number, reply }
        } else {
            StrayLine::Duplicate { duplicate: number, reply }
        };
        self.say(&line).map(|_| ())
    }

    fn step(&mut self, number: u64, clock_step_ns: i64) -> io::Result<()> {
        self.say(&ClockStepLine { clock_step_ns, before: number }).map(|_| ())
    }
}

impl EchoProbeRow<'_> {
    fn line(&self) -> EchoProbeLine<'_> {
        let (reply, why) = match self.outcome {
            ProbeOutcome::Answered(answer) => (Some(answer.fields()), None),
            ProbeOutcome::Lost => (None, None),
            ProbeOutcome::Failed(why) => (None, Some(why.as_str())),
        };
        EchoProbeLine {
            echo_probe: self.number,
            octets: self.octets,
            raw_ns: self.sent_at.raw_ns,
            user_tx_ns: self.sent_at.unix_ns,
            kernel_tx_ns: self.kernel_sent_ns,
            reply,
            lost: reply.is_none(),
            why,
        }
    }
}

/// Returns the value `what` as a line of JSON.
fn line(what: &impl Serialize) -> io::Result<String> {
    Ok(serde_json::to_string(what)? + "\n")
}
