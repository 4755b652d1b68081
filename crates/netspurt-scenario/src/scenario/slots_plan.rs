//! Draws the delays, rates and handovers of a link with slots. A slot is the time in which a
//! terminal on the ground uses one satellite.

use std::borrow::Cow;

use netspurt::rng::Stream;
use netspurt::units::{BitRate, Duration};

use super::error::Problem;
use super::link_place::LinkPlace;
use super::link_spec::{
    ArrivalFateWord, BetweenWord, DirectionWord, FlightFateWord, HandoverTable, LinkSpec,
    QueueFateWord, RateTable, TimelineSpec,
};
use super::quantity::{BothWays, WordOr};
use super::slots_spec::{JitterTable, OutagesTable, SlotsTable};

/// The maximum number of slots in a run. The same maximum applies to the steps of the jitter, and
/// to any other period in the table `slots`. This maximum limits the length of the drawn timelines.
const POINTS_MAX: u64 = 2_000_000;

/// The link with the timelines and handovers that are drawn for its slots up to `stop`. A link
/// without slots is returned unchanged.
pub(super) fn with_drawn_slots<'a>(
    spec: &'a LinkSpec,
    place: &LinkPlace<'_>,
    stop: Duration,
) -> Result<Cow<'a, LinkSpec>, Problem> {
    let Some(table) = &spec.slots else { return Ok(Cow::Borrowed(spec)) };
    check(spec, table, place, stop)?;
    let slots = drawn(table, place, stop);
    let mut link = LinkSpec { slots: None, ..spec.clone() };
    let [forward, reverse] = spec.delay.each();
    let timeline = |way: usize, fixed: &WordOr<Duration, TimelineSpec>| {
        let WordOr::Word(fixed) = fixed else { unreachable!("`check` refuses other delays") };
        WordOr::Table(match &table.jitter {
            Some(jitter) if !jitter.difference.is_zero() => {
                let process = Jitter::new(jitter, place.stream(way, "slots-jitter"));
                sampled(&slots, *fixed, process, stop)
            }
            _ => lines(&slots, *fixed),
        })
    };
    link.delay = BothWays::Each(timeline(0, forward), timeline(1, reverse));
    if table.share.is_some() {
        let [forward, reverse] = spec.rate.each().map(|rate| shared(rate, &slots));
        link.rate = BothWays::Each(forward, reverse);
    }
    link.handovers = dead_times(table, &slots, place, stop);
    Ok(Cow::Owned(link))
}

/// A slot with the values that were drawn for it. Times are in nanoseconds.
struct DrawnSlot {
    start: f64,
    end: f64,
    /// The delay at the start of the slot.
    base: f64,
    /// The change of the delay, in nanoseconds for each nanosecond.
    slope: f64,
    /// The spike: an additional delay at the start of the slot, and the instant at which it ends.
    spike: [f64; 2],
    /// The gap: how long nothing is transmitted at the start of the slot. Zero for no gap.
    gap: Duration,
    /// The share of the link's rate that is available.
    share: f64,
}

impl DrawnSlot {
    fn delay(&self, at: f64) -> f64 {
        (self.base + self.slope * (at - self.start)).max(0.0)
    }
}

fn drawn(table: &SlotsTable, place: &LinkPlace<'_>, stop: Duration) -> Vec<DrawnSlot> {
    let named = |effect: &str| place.shared(effect);
    let (mut base, mut drift) = (named("slots-base"), named("slots-drift"));
    let (mut spikes, mut gaps) = (named("slots-spike"), named("slots-gap"));
    let mut shares = named("slots-share");
    let mut starts = vec![Duration::ZERO];
    let first = table.phase.as_nanos() % table.period.as_nanos();
    let mut next = Duration::from_nanos(first);
    while next < stop {
        if !next.is_zero() {
            starts.push(next);
        }
        next = next + table.period;
    }
    let ends = starts[1..].iter().copied().chain([stop]);
    let per_second = table.drift.as_secs_f64();
    let mut slots = Vec::new();
    for (start, end) in starts.iter().zip(ends) {
        let (start, end) = (nanos(*start), nanos(end));
        // Each effect has its own random stream, so one effect does not change the draws of
        // another. A spike and a gap are also drawn for the first slot, but they are not used.
        let spike = table.spike.map_or([0.0; 2], |spike| {
            let (height, lasts) =
                (within(spike.height, &mut spikes), within(spike.lasts, &mut spikes));
            if start > 0.0 { [height, (start + lasts).min(end)] } else { [0.0; 2] }
        });
        let gap = table.gap.filter(|gap| gaps.chance(gap.probability.0) && start > 0.0);
        let share =
            table.share.map_or(1.0, |[min, max]| min * libm::pow(max / min, shares.uniform()));
        slots.push(DrawnSlot {
            start,
            end,
            base: within(table.base, &mut base),
            slope: per_second * (2.0 * drift.uniform() - 1.0),
            spike,
            gap: gap.map_or(Duration::ZERO, |gap| gap.dead),
            share,
        });
    }
    slots
}

/// The delay in all slots, as a timeline of straight lines.
fn lines(slots: &[DrawnSlot], fixed: Duration) -> TimelineSpec {
    let mut timeline = Vec::new();
    for slot in slots {
        let [height, until] = slot.spike;
        let mut point = |at: f64, more: f64| {
            timeline.push([span(at), fixed + span(slot.delay(at) + more)]);
        };
        point(slot.start, height);
        if height > 0.0 {
            point(until, height);
            point(until, 0.0);
        }
        point(slot.end, 0.0);
    }
    TimelineSpec { timeline, between: BetweenWord::Linear }
}

/// The delay at each step of the jitter, up to `stop`.
fn sampled(
    slots: &[DrawnSlot],
    fixed: Duration,
    mut jitter: Jitter,
    stop: Duration,
) -> TimelineSpec {
    let mut timeline = Vec::new();
    let mut at = Duration::ZERO;
    let mut slots = slots.iter().peekable();
    while let Some(slot) = slots.peek().filter(|_| at < stop) {
        let now = nanos(at);
        if now >= slot.end {
            slots.next();
            continue;
        }
        let more = if now < slot.spike[1] { slot.spike[0] } else { 0.0 };
        let delay = (slot.delay(now) + more + jitter.next()).max(0.0);
        timeline.push([at, fixed + span(delay)]);
        at = at + jitter.step;
    }
    TimelineSpec { timeline, between: BetweenWord::Step }
}

/// An autoregressive process of first order with normally distributed values.
struct Jitter {
    step: Duration,
    /// The correlation of two successive values, from 0 to 1.
    keeps: f64,
    /// The standard deviation of a value, in nanoseconds.
    deviation: f64,
    /// The next value, in nanoseconds.
    value: f64,
    stream: Stream,
}

impl Jitter {
    fn new(table: &JitterTable, mut stream: Stream) -> Self {
        let correlation = |span: Duration| libm::exp(-nanos(span) / nanos(table.memory));
        // The difference of two values with the standard deviation s and the correlation c is
        // normal with the variance 2 (1 - c) s^2. The mean of its absolute value is
        // 2 s sqrt((1 - c) / pi).
        let apart = 1.0 - correlation(table.probes);
        let deviation = nanos(table.difference) / 2.0 * (core::f64::consts::PI / apart).sqrt();
        let value = deviation * normal(&mut stream);
        Self { step: table.step, keeps: correlation(table.step), deviation, value, stream }
    }

    fn next(&mut self) -> f64 {
        let now = self.value;
        let fresh = (1.0 - self.keeps * self.keeps).sqrt() * self.deviation;
        self.value = self.keeps * now + fresh * normal(&mut self.stream);
        now
    }
}

/// Draws from the standard normal distribution (Box and Muller 1958).
fn normal(stream: &mut Stream) -> f64 {
    let radius = (-2.0 * libm::log(1.0 - stream.uniform())).sqrt();
    radius * libm::cos(core::f64::consts::TAU * stream.uniform())
}

/// The link's rate in each slot.
fn shared(rate: &WordOr<BitRate, RateTable>, slots: &[DrawnSlot]) -> WordOr<BitRate, RateTable> {
    let WordOr::Word(rate) = rate else { unreachable!("`check` refuses other rates") };
    let full_rate = rate.bits_per_second().unwrap_or(u64::MAX);
    let points = slots.iter().map(|slot| {
        let bits = whole_bits(full_rate, slot.share);
        (span(slot.start), BitRate::new(bits).unwrap_or(*rate))
    });
    WordOr::Table(RateTable { timeline: Some(points.collect()), opportunities: None, octets: None })
}

#[expect(clippy::cast_precision_loss, reason = "rates stay below 2^53")]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the result is above 0"
)]
fn whole_bits(rate: u64, share: f64) -> u64 {
    ((rate as f64 * share).round() as u64).max(1)
}

/// The outages and the gaps in the order of time. Gaps that overlap an outage are left out.
fn dead_times(
    table: &SlotsTable,
    slots: &[DrawnSlot],
    place: &LinkPlace<'_>,
    stop: Duration,
) -> Vec<HandoverTable> {
    let dead_time = |at, dead, in_flight| HandoverTable {
        at,
        dead,
        queue: QueueFateWord::Keep,
        arrivals: ArrivalFateWord::Drop,
        in_flight,
        direction: DirectionWord::Both,
    };
    let mut all = Vec::new();
    if let Some(OutagesTable { every, dead }) = table.outages {
        let mut stream = place.shared("slots-outages");
        let mut wait = || span(-nanos(every) * libm::log(1.0 - stream.uniform()));
        let mut at = wait();
        while at < stop && !dead.is_zero() {
            all.push(dead_time(at, dead, FlightFateWord::Drop));
            at = at + dead + wait();
        }
    }
    let outages = all.clone();
    for slot in slots.iter().filter(|slot| !slot.gap.is_zero()) {
        let at = span(slot.start);
        let meets = |other: &HandoverTable| at < other.at + other.dead && other.at < at + slot.gap;
        if !outages.iter().any(meets) {
            all.push(dead_time(at, slot.gap, FlightFateWord::Pass));
        }
    }
    all.sort_by_key(|dead| dead.at);
    all
}

/// Refuses values that cannot be drawn, and values that would have no effect.
fn check(
    spec: &LinkSpec,
    table: &SlotsTable,
    place: &LinkPlace<'_>,
    stop: Duration,
) -> Result<(), Problem> {
    let problem = |keys: &[&str], message: &str| below(place, keys, message);
    if spec.delay.each().iter().any(|delay| matches!(delay, WordOr::Table(_))) {
        let message = "a link with slots needs a constant `delay`";
        return Err(
            problem(&["delay"], message).fix("write it as in `delay = \"5 ms\"`, or leave it out")
        );
    }
    if !spec.handovers.is_empty() {
        let message = "a link with slots cannot have `handovers` of its own";
        return Err(problem(&["handovers"], message).fix("write `gap` or `outages` under `slots`"));
    }
    let constant =
        |rate: &&WordOr<_, _>| matches!(rate, WordOr::Word(rate) if *rate != BitRate::UNLIMITED);
    if table.share.is_some() && !spec.rate.each().iter().all(constant) {
        let message = "slots with a `share` need a constant `rate`";
        return Err(problem(&["rate"], message).fix("write it as in `rate = \"370 Mbit/s\"`"));
    }
    check_ranges(table, place)?;
    let jitter = table.jitter.filter(|jitter| !jitter.difference.is_zero());
    let outages = table.outages.filter(|outages| !outages.dead.is_zero());
    let steps = [
        (&["slots", "period"][..], Some(table.period)),
        (&["slots", "jitter", "step"], jitter.map(|jitter| jitter.step)),
        (&["slots", "jitter", "probes"], jitter.map(|jitter| jitter.probes)),
        (&["slots", "jitter", "memory"], jitter.map(|jitter| jitter.memory)),
        (&["slots", "outages", "every"], outages.map(|outages| outages.every)),
    ];
    for (keys, step) in steps {
        let Some(step) = step else { continue };
        if step.is_zero() || stop.as_nanos() / step.as_nanos() > POINTS_MAX {
            let message =
                format!("this time fits more than {POINTS_MAX} times into a run of {stop}");
            return Err(problem(keys, &message).fix("write a longer time"));
        }
    }
    Ok(())
}

/// A problem with the value to which `keys` lead from the link's table.
fn below(place: &LinkPlace<'_>, keys: &[&str], message: &str) -> Problem {
    let mut problem = Problem::at([], message);
    problem.path =
        place.path.iter().cloned().chain(keys.iter().map(|key| (*key).to_owned())).collect();
    problem
}

/// Refuses ranges that end before they begin, gaps that are longer than a slot, and impossible
/// shares of a rate.
fn check_ranges(table: &SlotsTable, place: &LinkPlace<'_>) -> Result<(), Problem> {
    let problem = |keys: &[&str], message: &str| below(place, keys, message);
    let ranges = [
        ("base", Some(table.base)),
        ("height", table.spike.map(|spike| spike.height)),
        ("lasts", table.spike.map(|spike| spike.lasts)),
    ];
    for (key, range) in ranges {
        if range.is_some_and(|[min, max]| min > max) {
            let keys: &[&str] =
                if key == "base" { &["slots", key] } else { &["slots", "spike", key] };
            return Err(problem(keys, "the range ends before it begins")
                .fix("write the smaller value first"));
        }
    }
    if let Some(gap) = table.gap.filter(|gap| gap.dead > table.period) {
        let message = format!("a gap of {} is longer than a slot of {}", gap.dead, table.period);
        return Err(problem(&["slots", "gap", "dead"], &message)
            .fix(format!("write at most {}", table.period)));
    }
    if table.share.is_some_and(|[min, max]| !(0.0 < min && min <= max && max <= 1.0)) {
        let message = "both shares must be above 0 and at most 1, the smaller one first";
        return Err(
            problem(&["slots", "share"], message).fix("write it as in `share = [0.027, 1]`")
        );
    }
    Ok(())
}

/// Draws a time from a range, in nanoseconds.
fn within([min, max]: [Duration; 2], stream: &mut Stream) -> f64 {
    nanos(min) + (nanos(max) - nanos(min)) * stream.uniform()
}

#[expect(clippy::cast_precision_loss, reason = "a drawn time need not be exact")]
fn nanos(span: Duration) -> f64 {
    span.as_nanos() as f64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "no time is negative")]
fn span(nanos: f64) -> Duration {
    Duration::from_nanos(nanos.round() as u64)
}
