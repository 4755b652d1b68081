//! The data file: a header and a line for each echo probe, each written immediately.
//!
//! If the process is killed, the file contains whole lines, except perhaps the last.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use netspurt::units::Duration;
use serde_json::{Value, json};

use super::clock::{ClockReading, raw_ns};

/// An answer with its stamps.
#[derive(Clone, Copy, Debug)]
pub(super) struct EchoReply {
    pub left: ClockReading,
    pub came: ClockReading,
    pub kernel_left_ns: Option<u64>,
    pub kernel_came_ns: Option<u64>,
    pub hops_left: Option<u8>,
    /// By how much the machine's clock was set meanwhile.
    pub step_ns: i64,
}

impl EchoReply {
    /// The round trip as the program saw it.
    fn by_user(&self) -> u64 {
        self.came.raw_ns.saturating_sub(self.left.raw_ns)
    }

    /// The round trip as the kernel saw it, where its stamps can be trusted: there, in order, not
    /// outside of the program's, and on a clock that nobody set meanwhile.
    fn by_kernel(&self) -> Option<u64> {
        let span = self.kernel_came_ns?.checked_sub(self.kernel_left_ns?)?;
        // Steering, and the readings of two clocks.
        const APART_NS: u64 = 200_000;
        let most = self.by_user() + self.by_user() / 1000 + APART_NS;
        (self.step_ns == 0 && span <= most).then_some(span)
    }

    /// The fields of a line that every answer has.
    fn put(&self, line: &mut String) {
        let (rtt, by) = match self.by_kernel() {
            Some(span) => (span, "kernel"),
            None => (self.by_user(), "user"),
        };
        let _ =
            write!(line, ",\"rtt_ns\":{rtt},\"by\":\"{by}\",\"user_rtt_ns\":{}", self.by_user());
        let _ = write!(line, ",\"user_rx_ns\":{}", self.came.unix_ns);
        if let Some(ns) = self.kernel_came_ns {
            let _ = write!(line, ",\"kernel_rx_ns\":{ns}");
        }
        if let Some(hops) = self.hops_left {
            let _ = write!(line, ",\"ttl\":{hops}");
        }
        if self.step_ns != 0 {
            let _ = write!(line, ",\"clock_step_ns\":{}", self.step_ns);
        }
    }
}

/// What became of an echo probe.
#[derive(Clone, Debug)]
pub(super) enum ProbeOutcome {
    Answered(EchoReply),
    Lost,
    /// Given back, or not even sent: why.
    Failed(String),
}

/// An echo probe that is over.
#[derive(Clone, Copy, Debug)]
pub(super) struct EchoProbeRow<'a> {
    pub number: u64,
    pub octets: u16,
    pub left: ClockReading,
    pub kernel_left_ns: Option<u64>,
    pub outcome: &'a ProbeOutcome,
}

/// When a new file is begun.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rotation {
    /// After so many echo probes.
    pub echo_probes: Option<u64>,
    /// After so long.
    pub span: Option<Duration>,
}

impl Rotation {
    fn is_on(self) -> bool {
        self.echo_probes.is_some() || self.span.is_some()
    }
}

/// The data files of a run, and whoever watches: both get the same lines.
pub struct Book {
    /// The file without its number; `None` keeps nothing.
    path: Option<PathBuf>,
    header: Value,
    rotation: Rotation,
    watcher: Box<dyn Write>,
    file: Option<File>,
    part: u64,
    /// Echo probes in this part, and when it was begun.
    rows: u64,
    begun_ns: u64,
    line: String,
}

impl Book {
    /// Begins a book at `path` with `header`, to which it adds the part's number.
    ///
    /// # Errors
    /// When there is such a file, or it cannot be made.
    pub fn begin(
        path: Option<&Path>,
        header: Value,
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

    /// The name of a part.
    fn name(&self, part: u64) -> Option<PathBuf> {
        let path = self.path.as_deref()?;
        if !self.rotation.is_on() {
            return Some(path.to_owned());
        }
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let end = path.extension().map_or("jsonl".into(), |end| end.to_string_lossy());
        Some(path.with_file_name(format!("{stem}-{part:03}.{end}")))
    }

    /// Begins the next part.
    fn next_part(&mut self) -> io::Result<()> {
        self.part += 1;
        (self.rows, self.begun_ns) = (0, raw_ns());
        self.header["part"] = self.part.into();
        if let Some(name) = self.name(self.part) {
            let file = File::create_new(&name)
                .map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", name.display())))?;
            self.file = Some(file);
            self.header["file"] = name.to_string_lossy().into();
        }
        self.line = format!("{}\n", self.header);
        self.put().map(|_| ())
    }

    /// Writes the line into the file, then to the watcher; whether one is still there.
    fn put(&mut self) -> io::Result<bool> {
        if let Some(file) = &mut self.file {
            file.write_all(self.line.as_bytes())?;
        }
        let told = self.watcher.write_all(self.line.as_bytes()).and_then(|()| self.watcher.flush());
        Ok(told.is_ok())
    }

    /// Keeps an echo probe; whether anybody still watches.
    pub(super) fn row(&mut self, row: &EchoProbeRow<'_>) -> io::Result<bool> {
        let long = self
            .rotation
            .span
            .is_some_and(|span| raw_ns().saturating_sub(self.begun_ns) >= span.as_nanos());
        if self.rotation.echo_probes.is_some_and(|most| self.rows >= most)
            || (long && self.rows > 0)
        {
            let next = self.name(self.part + 1).map(|name| name.to_string_lossy().into_owned());
            self.line = format!("{}\n", json!({ "end": "continued", "next": next }));
            self.put()?;
            self.next_part()?;
        }
        self.rows += 1;
        let EchoProbeRow { number, octets, left, kernel_left_ns, outcome } = row;
        let line = &mut self.line;
        line.clear();
        let _ = write!(
            line,
            "{{\"echo_probe\":{number},\"octets\":{octets},\"raw_ns\":{}",
            left.raw_ns
        );
        let _ = write!(line, ",\"user_tx_ns\":{}", left.unix_ns);
        if let Some(ns) = kernel_left_ns {
            let _ = write!(line, ",\"kernel_tx_ns\":{ns}");
        }
        match outcome {
            ProbeOutcome::Answered(answer) => answer.put(line),
            ProbeOutcome::Lost => line.push_str(",\"lost\":true"),
            ProbeOutcome::Failed(why) => {
                let _ = write!(line, ",\"lost\":true,\"why\":{}", Value::from(why.as_str()));
            }
        }
        line.push_str("}\n");
        self.put()
    }

    /// Keeps an answer to an echo probe that is over: a late one, or a duplicate.
    pub(super) fn stray(&mut self, number: u64, late: bool, answer: &EchoReply) -> io::Result<()> {
        let what = if late { "late" } else { "duplicate" };
        self.line = format!("{{\"{what}\":{number}");
        answer.put(&mut self.line);
        self.line.push_str("}\n");
        self.put().map(|_| ())
    }

    /// Keeps that the machine's clock was set before the echo probe `number` left.
    pub(super) fn step(&mut self, number: u64, step_ns: i64) -> io::Result<()> {
        self.line = format!("{{\"clock_step_ns\":{step_ns},\"before\":{number}}}\n");
        self.put().map(|_| ())
    }

    /// Keeps a line of any other kind.
    ///
    /// # Errors
    /// When the file fails.
    pub fn say(&mut self, what: &Value) -> io::Result<bool> {
        self.line = format!("{what}\n");
        self.put()
    }
}
