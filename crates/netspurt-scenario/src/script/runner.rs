//! Plays a script against an implementation of TCP (the subject) in virtual time. A script is a
//! test in packetdrill's notation.

use std::collections::VecDeque;

use netspurt::units::{Duration, Time};

use super::assertion::{Assertion, EvaluationError, Scope, Variables};
use super::call::{Call, CallOutcome, Expected};
use super::change::HostChange;
use super::compare::differences;
use super::dialect::ScriptDialect;
use super::document::{Script, ScriptAction, ScriptEvent};
use super::event_time::EventSpan;
use super::joined::join;
use super::numbers::Numbers;
use super::packet::{EcnMark, ScriptPacket};
use super::statement::Statement;
use super::subject::{CallResult, Subject};
use super::transcript::{FailureKind, InSeconds, ScriptFailure, TranscriptEntry};
use super::unreachable::Unreachable;

/// A tick of the timestamps option.
const STAMP_TICK: Duration = Duration::from_millis(1);
/// How long a run waits for a packet that may come at any time.
const LOOKAHEAD: Duration = Duration::from_secs(3600);
/// At one instant, the implementation may send at most this many packets, and make at most this
/// many steps in a row without progress. Above this limit, it counts as stuck.
const STEPS_MAX: u32 = 10_000;

/// Plays `script` against `subject` and returns what happened.
///
/// # Errors
/// When the connection does not do what the script says, does not support a part of the script, or
/// makes no progress. The error describes the first such fault.
pub fn run(
    script: &Script,
    subject: &mut dyn Subject,
) -> Result<Vec<TranscriptEntry>, Box<ScriptFailure>> {
    let mut runner = Runner {
        script,
        subject,
        now: Time::ZERO,
        previous: Time::ZERO,
        line: 1,
        waiting: VecDeque::new(),
        numbers: Numbers::default(),
        variables: Variables::new(),
        transcript: Vec::new(),
        blocked: None,
    };
    for event in &script.events {
        runner.line = event.line;
        runner.play(event)?;
    }
    runner.finish()?;
    Ok(runner.transcript)
}

/// A call that blocks.
struct Blocked<'a> {
    line: usize,
    call: &'a Call,
    expected: &'a Expected,
    /// When the call must return.
    end: Time,
    /// How much the instant of the return may differ from `end`.
    tolerance: Duration,
}

struct Runner<'a> {
    script: &'a Script,
    subject: &'a mut dyn Subject,
    now: Time,
    /// The instant from which the next event's offset counts.
    previous: Time,
    line: usize,
    /// Packets that were sent but not compared yet.
    waiting: VecDeque<(Time, ScriptPacket)>,
    numbers: Numbers,
    /// The variables that code blocks have set.
    variables: Variables,
    transcript: Vec<TranscriptEntry>,
    blocked: Option<Blocked<'a>>,
}

type Step<T = ()> = Result<T, Box<ScriptFailure>>;

impl<'a> Runner<'a> {
    fn play(&mut self, event: &'a ScriptEvent) -> Step {
        let span = event.time.span(self.previous);
        if let ScriptAction::Outbound(packet) = &event.action {
            let at = self.expect(packet, span)?;
            // In packetdrill's dialect, an offset counts from the instant at which the previous
            // event happened.
            let written = event.time.is_exact() && !self.is_packetdrill();
            self.previous = if written { span.first } else { at };
            return Ok(());
        }
        self.advance(span.first)?;
        if self.now > span.first + self.tolerance(span) {
            let expected = format!("the line happens at {}", InSeconds(span.first));
            return Err(self.fail(
                FailureKind::Behind,
                expected,
                format!("the time is already {}", InSeconds(self.now)),
            ));
        }
        match &event.action {
            ScriptAction::Inbound(packet) => self.inject(packet)?,
            ScriptAction::Unreachable(message) => self.report(message)?,
            ScriptAction::Call { call, expected } => self.call(call, expected, span)?,
            ScriptAction::Check(statements) => self.check(statements)?,
            ScriptAction::Change(changes) => self.change(changes)?,
            ScriptAction::Outbound(_) => unreachable!("handled above"),
        }
        self.previous = span.first;
        Ok(())
    }

    fn is_packetdrill(&self) -> bool {
        self.script.options.dialect == ScriptDialect::Packetdrill
    }

    /// How far the instant of an event may be outside of this span.
    fn tolerance(&self, span: EventSpan) -> Duration {
        self.script.options.tolerance.at(span.first.saturating_since(self.previous))
    }

    fn fail(&self, kind: FailureKind, expected: String, actual: String) -> Box<ScriptFailure> {
        Box::new(ScriptFailure {
            script: self.script.name.clone(),
            title: self.script.options.title.clone(),
            line: self.line,
            text: self.script.lines.get(self.line - 1).cloned().unwrap_or_default(),
            kind,
            expected,
            actual,
            transcript: self.transcript.clone(),
        })
    }

    fn note(&mut self, at: Time, text: String) {
        self.transcript.push(TranscriptEntry { at, text });
    }

    /// Runs everything that is due until the instant `to`. Fails if a call that should return
    /// before this instant still blocks.
    fn advance(&mut self, to: Time) -> Step {
        let latest = self.blocked.as_ref().map(|blocked| blocked.end + blocked.tolerance);
        if let Some(latest) = latest.filter(|latest| *latest < to) {
            self.advance_within(latest)?;
            self.refuse_blocked()?;
        }
        self.advance_within(to)
    }

    /// Fails if a call that should have returned still blocks.
    fn refuse_blocked(&mut self) -> Step {
        let Some(blocked) = &self.blocked else { return Ok(()) };
        self.line = blocked.line;
        let expected = format!("{} returns at {}", blocked.call, InSeconds(blocked.end));
        Err(self.fail(FailureKind::Blocking, expected, "it still blocks".to_owned()))
    }

    fn advance_within(&mut self, to: Time) -> Step {
        let mut idle = 0;
        while let Some(at) = self.subject.next_wakeup().filter(|at| *at <= to) {
            let later = at > self.now;
            self.now = self.now.max(at);
            idle = if self.drain()? || later { 0 } else { idle + 1 };
            if idle > STEPS_MAX {
                let actual = format!("an event stays due at {}", InSeconds(at));
                return Err(self.fail(FailureKind::Stuck, "progress".to_owned(), actual));
            }
        }
        self.now = self.now.max(to);
        self.drain().map(|_| ())
    }

    /// Collects the packets that were sent until now. Returns whether there were any.
    fn drain(&mut self) -> Step<bool> {
        let mut count = 0;
        while let Some((at, segment)) = self.subject.poll(self.now) {
            let packet = self.numbers.show(&segment);
            let shown = self.numbers.with_own_stamps(packet.clone());
            self.note(at, format!("> {}", WithoutNoEcn(&shown)));
            self.waiting.push_back((at, packet));
            count += 1;
            if count > STEPS_MAX {
                let actual = format!("{count} packets at {}", InSeconds(self.now));
                return Err(self.fail(FailureKind::Stuck, "progress".to_owned(), actual));
            }
        }
        self.take_return()?;
        Ok(count > 0)
    }

    /// If the blocking call has returned, checks its result and the time of its return.
    fn take_return(&mut self) -> Step {
        if self.blocked.is_none() {
            return Ok(());
        }
        let Some(outcome) = self.subject.returned(self.now) else { return Ok(()) };
        let blocked = self.blocked.take().expect("checked above");
        self.note(self.now, format!("{} = {outcome}", blocked.call));
        let line = core::mem::replace(&mut self.line, blocked.line);
        self.judge_return(blocked.call, blocked.expected, &outcome)?;
        let tolerance = blocked.tolerance;
        if self.now + tolerance < blocked.end || self.now > blocked.end + tolerance {
            let expected = format!("{} returns at {}", blocked.call, InSeconds(blocked.end));
            let actual = format!("it returned at {}", InSeconds(self.now));
            return Err(self.fail(FailureKind::Timing, expected, actual));
        }
        self.line = line;
        Ok(())
    }

    fn judge_return(&self, call: &Call, expected: &Expected, outcome: &CallOutcome) -> Step {
        if expected.admits(outcome, self.script.options.tolerance.least.as_nanos()) {
            return Ok(());
        }
        let expected = format!("{call} = {expected}");
        Err(self.fail(FailureKind::Returned, expected, format!("{call} = {outcome}")))
    }

    fn inject(&mut self, packet: &ScriptPacket) -> Step {
        let segment = self.numbers.segment(packet).map_err(|echo| {
            let expected = format!(
                "an earlier outbound packet with a `TS val`, for example `TS val {} ecr …`",
                echo.0
            );
            let actual =
                "no outbound packet before this one has a `TS val` in the script".to_owned();
            self.fail(FailureKind::Echo, expected, actual)
        })?;
        self.note(self.now, format!("< {packet}"));
        self.subject.inject(self.now, &segment);
        self.drain().map(|_| ())
    }

    /// Passes an ICMP message to the subject.
    fn report(&mut self, message: &Unreachable) -> Step {
        self.note(self.now, format!("< {message}"));
        let seq = self.numbers.own_on_wire(message.seq);
        let result = self.subject.unreachable(self.now, &Unreachable { seq, ..*message });
        result.map_err(|what| self.fail(FailureKind::NotSupported, message.to_string(), what))?;
        self.drain().map(|_| ())
    }

    fn call(&mut self, call: &'a Call, expected: &'a Expected, span: EventSpan) -> Step {
        if let Some(blocked) = &self.blocked {
            let wanted = format!("the call in line {} returns first", blocked.line);
            return Err(self.fail(FailureKind::Blocking, wanted, "it still blocks".to_owned()));
        }
        match self.subject.call(self.now, call) {
            CallResult::Returned(outcome) => {
                self.note(self.now, format!("{call} = {outcome}"));
                self.judge_return(call, expected, &outcome)?;
                if span.last > self.now + self.call_tolerance(span) {
                    let wanted = format!("it blocks until {}", InSeconds(span.last));
                    let actual = "it returned immediately".to_owned();
                    return Err(self.fail(FailureKind::Blocking, wanted, actual));
                }
            }
            CallResult::Blocks => {
                self.note(self.now, format!("{call} blocks"));
                if !span.lasts {
                    let wanted =
                        "it returns immediately; if it may block, write `start...end`".to_owned();
                    return Err(self.fail(FailureKind::Blocking, wanted, "it blocks".to_owned()));
                }
                let tolerance = self.call_tolerance(span);
                let (line, end) = (self.line, span.last);
                self.blocked = Some(Blocked { line, call, expected, end, tolerance });
            }
            CallResult::NotSupported(what) => {
                let wanted = format!("{call} = {expected}");
                let actual = format!("not supported: {what}");
                return Err(self.fail(FailureKind::NotSupported, wanted, actual));
            }
        }
        self.drain().map(|_| ())
    }

    /// How much the end of a call may differ from the end of this span.
    fn call_tolerance(&self, span: EventSpan) -> Duration {
        self.script.options.tolerance.at(span.last.saturating_since(span.first))
    }

    fn change(&mut self, changes: &[HostChange]) -> Step {
        for change in changes {
            self.note(self.now, format!("change to {change}"));
            self.subject
                .change(self.now, change)
                .map_err(|what| self.fail(FailureKind::NotSupported, change.to_string(), what))?;
        }
        self.drain().map(|_| ())
    }

    fn check(&mut self, statements: &[Statement]) -> Step {
        let info = self.subject.info(self.now);
        for statement in statements {
            self.line = statement.line();
            let scope = Scope { info: &info, variables: &self.variables };
            match statement {
                Statement::Assert(assertion) => {
                    if let Err(actual) = judge(assertion, scope) {
                        let expected = assertion.to_string();
                        return Err(self.fail(FailureKind::Assertion, expected, actual));
                    }
                    self.note(self.now, assertion.to_string());
                }
                Statement::Print { values, .. } => {
                    let texts: Result<Vec<String>, _> =
                        values.iter().map(|value| value.text(scope)).collect();
                    let text = texts.map_err(|error| self.unvalued(statement, &error))?;
                    self.note(self.now, format!("print {}", text.join(" ")));
                }
                Statement::Assign { name, value, .. } => {
                    let value = value.value(scope);
                    let value = value.map_err(|error| self.unvalued(statement, &error))?;
                    self.variables.insert(name.clone(), value);
                }
            }
        }
        Ok(())
    }

    /// The failure of a statement whose expression cannot be evaluated.
    fn unvalued(&self, statement: &Statement, error: &EvaluationError) -> Box<ScriptFailure> {
        self.fail(FailureKind::Assertion, statement.to_string(), error.to_string())
    }

    /// Waits for the next packet and returns its instant. Fails if the packet differs from the
    /// packet `wanted`, or was sent outside of `span` by more than the tolerance.
    fn expect(&mut self, wanted: &ScriptPacket, span: EventSpan) -> Step<Time> {
        let open = span.last == Time::NEVER;
        let tolerance = self.tolerance(span);
        let latest = if open { self.now + LOOKAHEAD } else { span.last + tolerance };
        let expected = match span {
            _ if open => format!("> {wanted}"),
            EventSpan { first, last, .. } if first == last => {
                format!("{} > {wanted}", InSeconds(first))
            }
            EventSpan { first, last, .. } => {
                format!("{}~{} > {wanted}", InSeconds(first), InSeconds(last))
            }
        };
        if !self.wait_for_packet(latest)? {
            let actual = format!("nothing until {}", InSeconds(latest));
            return Err(self.fail(FailureKind::Missing, expected, actual));
        }
        let (at, sent) = self.take_packet(wanted, tolerance)?;
        self.pair_stamps(wanted, &sent);
        let sent = self.numbers.with_own_stamps(sent);
        let actual = format!("{} > {}", InSeconds(at), WithoutNoEcn(&sent));
        let off = differences(wanted, &sent, self.stamp_ticks());
        if !off.is_empty() {
            return Err(self.fail(FailureKind::Packet(off), expected, actual));
        }
        if at > latest || !open && at + tolerance < span.first {
            return Err(self.fail(FailureKind::Timing, expected, actual));
        }
        Ok(at)
    }

    /// Takes the next packet, and returns it with its time. If a line may stand for several
    /// segments, this function takes as many segments as the payload of the packet `wanted` needs.
    /// These segments must follow each other within the time `tolerance`. The returned time is that
    /// of the last segment, as in packetdrill.
    fn take_packet(
        &mut self,
        wanted: &ScriptPacket,
        tolerance: Duration,
    ) -> Step<(Time, ScriptPacket)> {
        let (mut at, mut sent) = self.waiting.pop_front().expect("a packet is waiting");
        while sent.len < wanted.len && !self.script.options.strict_segments {
            if !self.wait_for_packet(at + tolerance)? {
                break;
            }
            let next = self.waiting.front();
            let joined = next.and_then(|(at, next)| Some((*at, join(&sent, next)?)));
            let Some(joined) = joined else { break };
            self.waiting.pop_front();
            (at, sent) = joined;
        }
        Ok((at, sent))
    }

    fn pair_stamps(&mut self, wanted: &ScriptPacket, sent: &ScriptPacket) {
        let stamps = |packet: &ScriptPacket| packet.options.as_ref()?.timestamps;
        if let (Some(wanted), Some(sent)) = (stamps(wanted), stamps(sent)) {
            self.numbers.pair(wanted.val, sent.val);
        }
    }

    /// The number of ticks by which a timestamp may differ.
    fn stamp_ticks(&self) -> u32 {
        if !self.script.options.compares_stamps {
            return u32::MAX;
        }
        // Timestamps count from the start of the script, so their tolerance depends on the time
        // since this start.
        let tolerance = self.script.options.tolerance.at(self.now.saturating_since(Time::ZERO));
        let ticks = tolerance.as_nanos().div_ceil(STAMP_TICK.as_nanos());
        u32::try_from(ticks).unwrap_or(u32::MAX)
    }

    /// Runs until a packet is sent, but not beyond `latest`. Returns whether a packet was sent.
    fn wait_for_packet(&mut self, latest: Time) -> Step<bool> {
        while self.waiting.is_empty() {
            let Some(at) = self.subject.next_wakeup().filter(|at| *at <= latest) else {
                return Ok(false);
            };
            self.advance(at)?;
        }
        Ok(true)
    }

    /// Ends the run. Fails if a call still blocks. In our own dialect, this function also fails if
    /// a packet that the script does not list was sent before the end.
    fn finish(&mut self) -> Step {
        let end = self.blocked.as_ref().map_or(self.previous, |blocked| blocked.end);
        self.advance(end.max(self.previous))?;
        if let Some(blocked) = &self.blocked {
            let latest = blocked.end + blocked.tolerance;
            self.advance(latest)?;
            self.refuse_blocked()?;
        }
        if self.is_packetdrill() {
            return Ok(());
        }
        let end = end.max(self.previous);
        let Some((at, packet)) = self.waiting.pop_front().filter(|(at, _)| *at < end) else {
            return Ok(());
        };
        let expected = format!("no further packet before the script ends at {}", InSeconds(end));
        let packet = self.numbers.with_own_stamps(packet);
        let actual = format!("{} > {}", InSeconds(at), WithoutNoEcn(&packet));
        Err(self.fail(FailureKind::Unexpected, expected, actual))
    }
}

/// Returns why an assertion does not hold.
fn judge(assertion: &Assertion, scope: Scope<'_>) -> Result<(), String> {
    let wrong = match assertion.expression.value(scope) {
        Ok(0) => None,
        Ok(_) => return Ok(()),
        Err(error) => Some(error.to_string()),
    };
    let fields = assertion.expression.fields();
    let values = fields.iter().filter_map(|field| {
        scope.info.get(*field).map(|value| format!("{} is {value}", field.name()))
    });
    let note = assertion.message.as_ref().and_then(|message| message.text(scope).ok());
    let parts: Vec<String> = wrong.into_iter().chain(values).chain(note).collect();
    Err(parts.join("; "))
}

/// Displays a packet that was sent, without `[noecn]`.
struct WithoutNoEcn<'a>(&'a ScriptPacket);

impl core::fmt::Display for WithoutNoEcn<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let ecn = self.0.ecn.filter(|mark| *mark != EcnMark::NotCapable);
        write!(f, "{}", ScriptPacket { ecn, ..self.0.clone() })
    }
}
