//! Plays a script against an implementation, in virtual time.

use std::collections::VecDeque;

use crate::units::{Duration, Time};

use super::assertion::{Assertion, Message};
use super::call::{Call, Expected, Outcome};
use super::compare::differences;
use super::document::{Action, Event, Script};
use super::moment::Span;
use super::numbers::Numbers;
use super::packet::{EcnMark, Packet};
use super::story::{Entry, Failure, FailureKind, InSeconds};
use super::subject::{CallResult, Subject};

/// A tick of the time stamps option.
const STAMP_TICK: Duration = Duration::from_millis(1);
/// How far a run looks ahead for a packet that may come at any time.
const FAR: Duration = Duration::from_secs(3600);
/// What is due at one instant and sends nothing so often will never.
const PATIENCE: u32 = 10_000;

/// Plays `script` against `subject` and returns what happened.
///
/// # Errors
/// The first way in which the connection did not follow the script.
pub fn run(script: &Script, subject: &mut dyn Subject) -> Result<Vec<Entry>, Box<Failure>> {
    let mut runner = Runner {
        script,
        subject,
        now: Time::ZERO,
        previous: Time::ZERO,
        line: 1,
        waiting: VecDeque::new(),
        numbers: Numbers::default(),
        story: Vec::new(),
        blocked: None,
    };
    for event in &script.events {
        runner.line = event.line;
        runner.play(event)?;
    }
    runner.finish()?;
    Ok(runner.story)
}

/// A call that has not returned.
struct Blocked<'a> {
    line: usize,
    call: &'a Call,
    expected: &'a Expected,
    end: Time,
}

struct Runner<'a> {
    script: &'a Script,
    subject: &'a mut dyn Subject,
    now: Time,
    /// The instant that the next event's offset counts from.
    previous: Time,
    line: usize,
    /// Packets sent and not yet compared.
    waiting: VecDeque<(Time, Packet)>,
    numbers: Numbers,
    story: Vec<Entry>,
    blocked: Option<Blocked<'a>>,
}

type Step<T = ()> = Result<T, Box<Failure>>;

impl<'a> Runner<'a> {
    fn play(&mut self, event: &'a Event) -> Step {
        let span = event.moment.span(self.previous);
        if let Action::Outbound(packet) = &event.action {
            let at = self.expect(packet, span)?;
            self.previous = if event.moment.is_exact() { span.from } else { at };
            return Ok(());
        }
        self.advance(span.from)?;
        if self.now > span.from + self.tolerance() {
            let expected = format!("at {}", InSeconds(span.from));
            return Err(self.fail(
                FailureKind::Behind,
                expected,
                format!("it is {}", InSeconds(self.now)),
            ));
        }
        match &event.action {
            Action::Inbound(packet) => self.inject(packet)?,
            Action::Call { call, expected } => self.call(call, expected, span)?,
            Action::Check(assertions) => self.check(assertions)?,
            Action::Outbound(_) => unreachable!("dealt with above"),
        }
        self.previous = span.from;
        Ok(())
    }

    fn tolerance(&self) -> Duration {
        self.script.options.tolerance
    }

    fn fail(&self, kind: FailureKind, expected: String, actual: String) -> Box<Failure> {
        Box::new(Failure {
            script: self.script.name.clone(),
            title: self.script.options.title.clone(),
            line: self.line,
            text: self.script.lines.get(self.line - 1).cloned().unwrap_or_default(),
            kind,
            expected,
            actual,
            story: self.story.clone(),
        })
    }

    fn tell(&mut self, at: Time, text: String) {
        self.story.push(Entry { at, text });
    }

    /// Lets everything happen that is due until `to`.
    fn advance(&mut self, to: Time) -> Step {
        let latest = self.blocked.as_ref().map(|blocked| blocked.end + self.tolerance());
        if let Some(latest) = latest.filter(|latest| *latest < to) {
            self.advance_within(latest)?;
            self.refuse_blocked()?;
        }
        self.advance_within(to)
    }

    /// A call that should have returned by now has.
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
            if idle > PATIENCE {
                let actual = format!("something is due at {} and stays so", InSeconds(at));
                return Err(self.fail(FailureKind::Stuck, "an end of that".to_owned(), actual));
            }
        }
        self.now = self.now.max(to);
        self.drain().map(|_| ())
    }

    /// Takes what was sent until now; whether there was anything.
    fn drain(&mut self) -> Step<bool> {
        let mut count = 0;
        while let Some((at, segment)) = self.subject.poll(self.now) {
            let packet = self.numbers.show(&segment);
            self.tell(at, format!("> {}", Quiet(&packet)));
            self.waiting.push_back((at, packet));
            count += 1;
            if count > PATIENCE {
                let actual = format!("{count} packets at {}", InSeconds(self.now));
                return Err(self.fail(FailureKind::Stuck, "an end of that".to_owned(), actual));
            }
        }
        self.take_return()?;
        Ok(count > 0)
    }

    /// Looks whether the call that blocks is over.
    fn take_return(&mut self) -> Step {
        if self.blocked.is_none() {
            return Ok(());
        }
        let Some(outcome) = self.subject.returned(self.now) else { return Ok(()) };
        let blocked = self.blocked.take().expect("there is one");
        self.tell(self.now, format!("{} = {outcome}", blocked.call));
        let line = core::mem::replace(&mut self.line, blocked.line);
        self.judge_return(blocked.call, blocked.expected, &outcome)?;
        if self.now + self.tolerance() < blocked.end || self.now > blocked.end + self.tolerance() {
            let expected = format!("{} returns at {}", blocked.call, InSeconds(blocked.end));
            let actual = format!("it returned at {}", InSeconds(self.now));
            return Err(self.fail(FailureKind::Timing, expected, actual));
        }
        self.line = line;
        Ok(())
    }

    fn judge_return(&self, call: &Call, expected: &Expected, outcome: &Outcome) -> Step {
        if expected.admits(outcome) {
            return Ok(());
        }
        let expected = format!("{call} = {expected}");
        Err(self.fail(FailureKind::Returned, expected, format!("{call} = {outcome}")))
    }

    fn inject(&mut self, packet: &Packet) -> Step {
        let segment = self.numbers.segment(packet).map_err(|echo| {
            let expected = format!("an outbound packet with `TS val {} ecr …` before", echo.0);
            let actual = "no outbound packet so far had its `TS val` written out".to_owned();
            self.fail(FailureKind::Echo, expected, actual)
        })?;
        self.tell(self.now, format!("< {packet}"));
        self.subject.inject(self.now, &segment);
        self.drain().map(|_| ())
    }

    fn call(&mut self, call: &'a Call, expected: &'a Expected, span: Span) -> Step {
        if let Some(blocked) = &self.blocked {
            let wanted = format!("line {}'s call to return first", blocked.line);
            return Err(self.fail(FailureKind::Blocking, wanted, "it still blocks".to_owned()));
        }
        let lasts = span.to > span.from;
        match self.subject.call(self.now, call) {
            CallResult::Returned(outcome) => {
                self.tell(self.now, format!("{call} = {outcome}"));
                self.judge_return(call, expected, &outcome)?;
                if span.to > self.now + self.tolerance() {
                    let wanted = format!("it blocks until {}", InSeconds(span.to));
                    let actual = "it returned at once".to_owned();
                    return Err(self.fail(FailureKind::Blocking, wanted, actual));
                }
            }
            CallResult::Blocks => {
                self.tell(self.now, format!("{call} blocks"));
                if !lasts {
                    let wanted = "it returns at once; else write `start...end`".to_owned();
                    return Err(self.fail(FailureKind::Blocking, wanted, "it blocks".to_owned()));
                }
                self.blocked = Some(Blocked { line: self.line, call, expected, end: span.to });
            }
            CallResult::NotSupported(what) => {
                let wanted = format!("{call} = {expected}");
                return Err(self.fail(FailureKind::NotSupported, wanted, what));
            }
        }
        self.drain().map(|_| ())
    }

    fn check(&mut self, assertions: &[Assertion]) -> Step {
        let info = self.subject.info(self.now);
        for assertion in assertions {
            self.line = assertion.line;
            let wrong = match assertion.expression.value(&info) {
                Ok(0) => None,
                Ok(_) => {
                    self.tell(self.now, assertion.to_string());
                    continue;
                }
                Err(error) => Some(error.to_string()),
            };
            let fields = assertion.expression.fields();
            let told = fields.iter().filter_map(|field| {
                info.get(*field).map(|value| format!("{} is {value}", field.name()))
            });
            let said = match &assertion.message {
                None => None,
                Some(Message::Text(text)) => Some(text.clone()),
                Some(Message::Value(value)) => value.value(&info).ok().map(|v| v.to_string()),
            };
            let parts: Vec<String> = wrong.into_iter().chain(told).chain(said).collect();
            return Err(self.fail(FailureKind::Assertion, assertion.to_string(), parts.join("; ")));
        }
        Ok(())
    }

    /// Waits for the next packet and compares it; returns when it was sent.
    fn expect(&mut self, wanted: &Packet, span: Span) -> Step<Time> {
        let open = span.to == Time::NEVER;
        let latest = if open { self.now + FAR } else { span.to + self.tolerance() };
        let expected = match span {
            _ if open => format!("> {wanted}"),
            Span { from, to } if from == to => format!("{} > {wanted}", InSeconds(from)),
            Span { from, to } => format!("{}~{} > {wanted}", InSeconds(from), InSeconds(to)),
        };
        if !self.wait_for_packet(latest)? {
            let actual = format!("nothing until {}", InSeconds(latest));
            return Err(self.fail(FailureKind::Missing, expected, actual));
        }
        let (at, mut sent) = self.waiting.pop_front().expect("there is one");
        self.pair_stamps(wanted, &mut sent);
        let actual = format!("{} > {}", InSeconds(at), Quiet(&sent));
        let off = differences(wanted, &sent, self.stamp_ticks());
        if !off.is_empty() {
            return Err(self.fail(FailureKind::Packet(off), expected, actual));
        }
        if at > latest || !open && at + self.tolerance() < span.from {
            return Err(self.fail(FailureKind::Timing, expected, actual));
        }
        Ok(at)
    }

    fn pair_stamps(&mut self, wanted: &Packet, sent: &mut Packet) {
        let stamps = wanted.options.as_ref().and_then(|options| options.timestamps);
        let shown = sent.options.as_mut().and_then(|options| options.timestamps.as_mut());
        if let (Some(wanted), Some(shown)) = (stamps, shown) {
            shown.val = self.numbers.pair(wanted.val, shown.val);
        }
    }

    /// How far a time stamp may be off.
    fn stamp_ticks(&self) -> u32 {
        let ticks = self.tolerance().as_nanos().div_ceil(STAMP_TICK.as_nanos());
        u32::try_from(ticks).unwrap_or(u32::MAX)
    }

    /// Lets time pass until a packet is there or `latest` is over; whether one is.
    fn wait_for_packet(&mut self, latest: Time) -> Step<bool> {
        while self.waiting.is_empty() {
            let Some(at) = self.subject.next_wakeup().filter(|at| *at <= latest) else {
                return Ok(false);
            };
            self.advance(at)?;
        }
        Ok(true)
    }

    /// The script is over: nothing may be left that was due before.
    fn finish(&mut self) -> Step {
        let end = self.blocked.as_ref().map_or(self.previous, |blocked| blocked.end);
        self.advance(end.max(self.previous))?;
        if let Some(blocked) = &self.blocked {
            let latest = blocked.end + self.tolerance();
            self.advance(latest)?;
            self.refuse_blocked()?;
        }
        let end = end.max(self.previous);
        let Some((at, packet)) = self.waiting.pop_front().filter(|(at, _)| *at < end) else {
            return Ok(());
        };
        let expected = format!("no more packets before the script's end at {}", InSeconds(end));
        let actual = format!("{} > {}", InSeconds(at), Quiet(&packet));
        Err(self.fail(FailureKind::Unexpected, expected, actual))
    }
}

/// A packet sent, without saying that it has no congestion mark.
struct Quiet<'a>(&'a Packet);

impl core::fmt::Display for Quiet<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let ecn = self.0.ecn.filter(|mark| *mark != EcnMark::NotCapable);
        write!(f, "{}", Packet { ecn, ..self.0.clone() })
    }
}
