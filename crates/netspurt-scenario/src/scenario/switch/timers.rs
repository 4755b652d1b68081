//! The switches (named settings of TCP) for time: the clock, the firing of timers, and the
//! retransmission timer. Names such as `tcp_rearm_rto` are functions of Linux that have the same
//! rule.

use netspurt::clock::Clock;
use netspurt::foreign::unpinned;
use netspurt::plan::KernelTcp;
use netspurt::rto::{Bounds, EstimatorConfig};
use netspurt::tcp::{NsConfig, Restart, RfcConfig, Sampling};
use netspurt::units::Duration;

use super::definition::{Field, Refusal, Rule, Switch};
use super::kind::{SwitchKind, SwitchPart};
use super::value::SwitchValue;
use super::words::clock_words;

/// The switches. The clocks come first, because the timer counts in their ticks. The estimator
/// comes before its bounds.
pub const SWITCHES: &[Switch] = &[
    Switch::new(
        "clock",
        "The clock with which the sender measures round trips. In `ns-2`, the RTO is also computed \
         in ticks of this clock",
        SwitchKind::WordOr(clock_words, CLOCK_PARTS),
    )
    .ns_rule(Rule {
        read: |c: &NsConfig| Some(clock_value(c.clock)),
        write: |c, value| {
            c.clock = clock(value)?;
            c.rto.tick = c.clock.tick().unwrap_or(Duration::from_nanos(1));
            Ok(())
        },
    })
    .rfc_rule(Rule {
        read: |c: &RfcConfig| Some(clock_value(c.clock)),
        write: |c, value| {
            c.clock = clock(value)?;
            Ok(())
        },
    }),
    Switch::new(
        "timer_clock",
        "The clock that decides when timers fire",
        SwitchKind::WordOr(clock_words, CLOCK_PARTS),
    )
    .rfc_rule(Rule {
        read: |c: &RfcConfig| Some(clock_value(c.timer_clock)),
        write: |c, value| {
            c.timer_clock = clock(value)?;
            c.rto = c.rto.on(c.timer_clock);
            Ok(())
        },
    }),
    Switch::new(
        "rto.estimator",
        "The retransmission timer: an algorithm, and the constants that differ from the published \
         ones",
        SwitchKind::Timer,
    )
    .rfc_rule(Rule {
        read: |c: &RfcConfig| Some(SwitchValue::Text(c.rto.unbounded_text_on(c.timer_clock))),
        write: |c, value| {
            let text = value.text().unwrap_or_default();
            let timer = EstimatorConfig::parse_on(text, c.timer_clock);
            c.rto = timer.map_err(|slip| Refusal::new(slip.message, slip.fix))?;
            Ok(())
        },
    }),
    Switch::new(
        "rto.initial",
        "The RTO before the first sample; in `quic` and `ns3`, the round trip from which this RTO \
         is computed",
        SwitchKind::TIME,
    )
    .ns(|c| Field::Time(&mut c.rto.initial))
    .rfc_rule(Rule {
        read: |c: &RfcConfig| c.rto.bounds().initial.map(nanos),
        write: |c, value| bound(c, Bounds { initial: Some(time(value)), ..NONE }),
    }),
    Switch::new(
        "rto.min",
        "The minimum RTO. In Linux's timer, it is the minimum of what the timer adds to srtt",
        SwitchKind::TIME,
    )
    .ns(|c| Field::Time(&mut c.rto.min))
    .rfc_rule(Rule {
        read: |c: &RfcConfig| c.rto.bounds().min.map(nanos),
        write: |c, value| bound(c, Bounds { min: Some(time(value)), ..NONE }),
    })
    .kernel(|c: &mut KernelTcp| Field::Time(&mut c.rto_min))
    .kernel_bounds(1_000, 120_000_000_000),
    Switch::new("rto.max", "The maximum RTO", SwitchKind::TIME)
        .ns(|c| Field::Time(&mut c.rto.max))
        .rfc_rule(Rule {
            read: |c: &RfcConfig| c.rto.bounds().max.map(nanos),
            write: |c, value| bound(c, Bounds { max: Some(time(value)), ..NONE }),
        }),
    Switch::word::<Sampling>("rto.sampling", "Which round trips the timer gets as samples")
        .rfc(|c| Field::Word(&mut c.sampling)),
    Switch::word::<Restart>("rto.restart", "The effect of an ACK of new octets on a running timer")
        .rfc(|c| Field::Word(&mut c.restart)),
    Switch::flag(
        "rto.old_reports_restart",
        "An ACK without new octets may report by SACK a segment that was sent only once, before \
         the last transmission of the first outstanding segment. Such an ACK restarts the timer \
         (`tcp_clean_rtx_queue`). Without the switch, it does not",
    )
    .rfc(|c| Field::Flag(&mut c.timer_rules.old_reports_restart)),
    Switch::flag(
        "rto.head_copy_restarts",
        "A retransmission of the first outstanding segment restarts a running timer, unless RACK's \
         timer runs (`tcp_xmit_retransmit_queue`)",
    )
    .rfc(|c| Field::Flag(&mut c.timer_rules.head_copy_restarts)),
    Switch::flag(
        "rto.counts_from_head",
        "If RACK's timer was armed since the last restart of the retransmission timer, the next \
         restart counts from the last transmission of the first outstanding segment \
         (`tcp_rearm_rto`). The timer of tail loss probes also runs while the sender does not know \
         whether the last probe repaired a loss. If it fires in this time, no probe leaves, and \
         the retransmission timer counts in the same way. Without the switch, the retransmission \
         timer counts from the instant that `rto.restart` sets, and the timer of tail loss probes \
         does not run until the result of the last probe is known",
    )
    .rfc(|c| Field::Flag(&mut c.timer_rules.counts_from_head)),
    Switch::flag(
        "rto.reneging_hurries",
        "An ACK may cover all octets before a segment that SACK had reported, but not this \
         segment: the receiver seems to have discarded it. The sender retransmits nothing on this \
         ACK, and sets the timer to half a round trip, at least 10 ms. If the timer fires, all \
         segments count as lost (`tcp_check_sack_reneging`). Without the switch, the ACK is \
         handled as any other",
    )
    .rfc(|c| Field::Flag(&mut c.timer_rules.reneging_hurries)),
    Switch::flag(
        "rto.head_bounds_probes",
        "With `tlp`: after new data was sent, the tail loss probe leaves at the latest one RTO \
         after the last transmission of the first outstanding segment (`tcp_rto_delta_us`), \
         unless this instant has passed. With and without the switch, it leaves at the latest \
         when the retransmission timer would fire",
    )
    .rfc(|c| Field::Flag(&mut c.timer_rules.head_bounds_probes)),
    Switch::flag(
        "rto.rounds_end_beyond",
        "The samples of a timer are divided into rounds: `linux`, for example, lowers rttvar only \
         at the end of a round. A round ends with an ACK of the first octet that was sent after \
         the round began, if this ACK gives a sample (`rtt_seq`). Without the switch, a round ends \
         when all octets that were sent before it began are acknowledged",
    )
    .rfc(|c| Field::Flag(&mut c.timer_rules.rounds_end_beyond)),
    Switch::flag(
        "rto.yields_to_rack",
        "The retransmission timer does not run while RACK's reordering timer runs (`icsk_pending`, \
         RFC 8985 §8). The retransmission timer is set again in three cases: RACK's timer has \
         fired, an ACK of new octets comes, or the timer of a tail loss probe replaces RACK's timer",
    )
    .rfc(|c| Field::Flag(&mut c.timer_rules.yields_to_rack)),
    Switch::flag(
        "karn",
        "The transmission time of a retransmitted segment gives no sample, because the ACK may \
         answer an earlier transmission (Karn and Partridge 1987). The sample of a retransmitted \
         SYN is labelled as ambiguous",
    )
    .rfc(|c| Field::Flag(&mut c.karn)),
];

const TICK: &str = "tick";
const PHASE: &str = "phase";

const CLOCK_PARTS: &[SwitchPart] = &[
    SwitchPart {
        key: TICK,
        doc: "The clock's granularity",
        kind: SwitchKind::TIME_ABOVE_ZERO,
        needed: true,
    },
    SwitchPart {
        key: PHASE,
        doc: "The time from the clock's last tick before the run to the start of the run; by \
              default 0.555880716 ticks, which ns-2 draws for its first sender with seed 1",
        kind: SwitchKind::TIME,
        needed: false,
    },
];

const NONE: Bounds = Bounds { initial: None, min: None, max: None };

fn nanos(time: Duration) -> SwitchValue {
    SwitchValue::Number(time.as_nanos())
}

fn time(value: &SwitchValue) -> Duration {
    Duration::from_nanos(value.number())
}

/// Sets a bound of the timer.
fn bound(config: &mut RfcConfig, bounds: Bounds) -> Result<(), Refusal> {
    config.rto = config.rto.within(bounds).map_err(|key| {
        let message = format!("`{}` has no `{key}`", unpinned(config.rto.name()));
        Refusal::new(message, format!("leave `{key}` out"))
    })?;
    Ok(())
}

/// Returns `clock` as a switch's value: the name of the clock, or a table of tick and phase.
fn clock_value(clock: Clock) -> SwitchValue {
    let named = Clock::NAMED.iter().find(|(_, known, _)| *known == clock);
    match (named, clock.ticks()) {
        (Some((name, ..)), _) => SwitchValue::Word(name),
        (None, Some((tick, phase))) => {
            SwitchValue::Table(vec![(TICK, nanos(tick)), (PHASE, nanos(phase))])
        }
        (None, None) => unreachable!("scenarios have no other clock"),
    }
}

/// Returns the clock that a switch's value describes.
fn clock(value: &SwitchValue) -> Result<Clock, Refusal> {
    if let Some(word) = value.text() {
        return word.parse().map_err(|_| Refusal::new(format!("`{word}` is not a clock"), ""));
    }
    let tick = value.part(TICK).map_or(Duration::ZERO, time);
    let phase = value.part(PHASE).map_or_else(|| Clock::ns2_phase(tick), time);
    Clock::ticking(tick, phase).ok_or_else(|| {
        let fix = format!("write a phase below the tick of {tick}");
        Refusal::new("the phase is not within the tick", fix).of_part(PHASE)
    })
}
