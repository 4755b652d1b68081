//! The switches (named settings of TCP) for loss recovery: detection, repair, and undo. Names such
//! as `tcp_ack` are functions of Linux that have the same rule.

use netspurt::plan::KernelTcp;
use netspurt::rto::SfrConfig;
use netspurt::tcp::{NsConfig, NsVariant, Recovery, RfcConfig, SfrResponse, Undo};

use super::definition::{Field, Refusal, Rule, Switch};
use super::kind::{SwitchKind, SwitchPart, SwitchUnit, Word};
use super::value::SwitchValue;
use super::words::{Words, words};

/// The switches.
pub const SWITCHES: &[Switch] = &[
    Switch::word::<Recovery>("recovery", "How losses are found and repaired")
        .ns_rule(Rule { read: |c: &NsConfig| Some(ns_word(c.variant)), write: set_variant })
        .rfc(|c| Field::Word(&mut c.recovery))
        .kernel_rule(Rule {
            read: |c: &KernelTcp| {
                let recovery = if c.rack { Recovery::Rack } else { Recovery::NewReno };
                Some(SwitchValue::Word(recovery.word()))
            },
            write: |c, value| {
                c.rack = value.text() == Some(Recovery::Rack.word());
                Ok(())
            },
        }),
    Switch::new(
        "dup_thresh",
        "The number of duplicate ACKs, or of segments in SACK blocks, that indicates a loss (RFC \
         5681 §3.2)",
        SwitchKind::whole(1, u32::MAX),
    )
    .rfc(|c| Field::Small(&mut c.dup_thresh))
    .kernel(|c| Field::Small(&mut c.dup_thresh))
    // The maximum is the default of Linux's `tcp_max_reordering`.
    .kernel_bounds(1, 300),
    Switch::flag(
        "limited_transmit",
        "Sends a new segment on each of the first two duplicate ACKs (RFC 3042; ns-2's \
         `singledup_`)",
    )
    .ns(|c| Field::Flag(&mut c.limited_transmit))
    .rfc(|c| Field::Flag(&mut c.limited_transmit)),
    Switch::flag(
        "bugfix",
        "The losses of one window of data cause at most one fast retransmit (ns-2's `bugFix_`)",
    )
    .ns(|c| Field::Flag(&mut c.bugfix)),
    Switch::flag(
        "bugfix_ss",
        "With `bugfix`: a fast retransmit of the second packet is always allowed. Without \
         `initial_window_by_size`: if a timeout comes before the first ACK, the connection starts \
         again with an initial window of one segment (ns-2's `bugfix_ss_`)",
    )
    .ns(|c| Field::Flag(&mut c.bugfix_ss)),
    Switch::flag(
        "precise_cut",
        "When cwnd is halved, the result is not rounded to whole segments (ns-2's \
         `precisionReduce_`)",
    )
    .ns(|c| Field::Flag(&mut c.precise_cut)),
    Switch::flag(
        "newreno.impatient",
        "Only the first partial ACK of a recovery restarts the timer (RFC 2582 §4; ns-2's \
         `newreno_changes1_`). Without the switch, each partial ACK restarts it",
    )
    .ns(|c| Field::Flag(&mut c.newreno.impatient)),
    Switch::flag(
        "newreno.deflates",
        "A partial ACK reduces the inflated cwnd by the segments that it covers, less one segment \
         (ns-2's `partial_window_deflation_`). Without the switch, it removes the whole inflation",
    )
    .ns(|c| Field::Flag(&mut c.newreno.deflates)),
    Switch::flag(
        "newreno.exit_fix",
        "At the end of a recovery, cwnd becomes the smaller of two values: ssthresh, and the \
         outstanding data plus one segment (ns-2's `exit_recovery_fix_`)",
    )
    .ns(|c| Field::Flag(&mut c.newreno.exit_fix)),
    Switch::flag(
        "newreno.less_careful",
        "With `bugfix`: a fast retransmit is allowed as soon as ACKs cover all data sent before \
         the last loss was found (RFC 2582 §5; ns-2's `lessCareful_`). Without the switch, ACKs \
         must also cover newer data",
    )
    .ns(|c| Field::Flag(&mut c.newreno.less_careful)),
    Switch::flag(
        "newreno.bugfix_ack",
        "With `bugfix`: a fast retransmit is also allowed if cwnd is above one segment and the \
         last new ACK covered at most three segments (RFC 3782 §6.1; ns-2's `bugFix_ack_`)",
    )
    .ns(|c| Field::Flag(&mut c.newreno.bugfix_ack)),
    Switch::flag(
        "newreno.bugfix_ts",
        "With `bugfix` and timestamps: a fast retransmit is also allowed if the last new ACK was \
         caused by the last transmission of the last segment that it acknowledges. The echoed \
         timestamp shows this (RFC 3782 §6.2; ns-2's `bugFix_ts_`)",
    )
    .ns(|c| Field::Flag(&mut c.newreno.bugfix_ts)),
    Switch::flag(
        "partial_ack_sends",
        "With `recovery = \"sack\"`: on a partial ACK, the sender sends the next two segments that \
         SACK has not reported, and only the first partial ACK of a recovery restarts the timer \
         (ns-2's `partial_ack_`)",
    )
    .ns(|c| Field::Flag(&mut c.partial_ack_sends)),
    Switch::flag(
        "early_retransmit",
        "If fewer than four segments are outstanding and no new data can be sent, fewer duplicate \
         ACKs than usual indicate a loss (RFC 5827)",
    )
    .rfc(|c| Field::Flag(&mut c.early_retransmit)),
    Switch::flag("prr", "Proportional rate reduction (RFC 9937)").rfc(|c| Field::Flag(&mut c.prr)),
    Switch::flag("tlp", "Tail loss probes (RFC 8985 §7); only with a `recovery` that uses SACK")
        .rfc(|c| Field::Flag(&mut c.tlp))
        .kernel(|c| Field::Flag(&mut c.tlp))
        .live(),
    Switch::new(
        "tlp_wait",
        "How many round trips a sender waits before a tail loss probe (RFC 8985 §7.2)",
        SwitchKind::Number { unit: SwitchUnit::Hundredths, min: 1, max: 10_000 },
    )
    .rfc(|c| Field::Small(&mut c.tlp_wait_percent)),
    Switch::new(
        "max_ack_delay",
        "If a single segment is outstanding, a tail loss probe waits this much longer for the \
         peer's delayed ACK (RFC 8985 §7.2)",
        SwitchKind::TIME,
    )
    .rfc(|c| Field::Time(&mut c.max_ack_delay)),
    Switch::new(
        "timer_slack",
        "RACK's timer fires this much later. If several segments are outstanding, a tail loss \
         probe also leaves this much later, as in Linux",
        SwitchKind::TIME,
    )
    .rfc(|c| Field::Time(&mut c.timer_slack)),
    Switch::new(
        "reorder_window",
        "RACK's initial reordering window, as a share of the minimum round trip (RFC 8985 §6.2)",
        SwitchKind::Number { unit: SwitchUnit::Hundredths, min: 0, max: 10_000 },
    )
    .rfc(|c| Field::Small(&mut c.reorder_window_percent)),
    Switch::flag(
        "rack_checks_echo",
        "RACK ignores the round trip of a retransmission if the ACK echoes a timestamp from before \
         the retransmission (RFC 8985 §6.2)",
    )
    .rfc(|c| Field::Flag(&mut c.rack_checks_echo)),
    Switch::flag(
        "rack_timer_delivers",
        "When RACK's timer begins a recovery, `prr` counts one segment as delivered. Later firings \
         of this timer do not change cwnd, and the timer sends no new data, as in Linux. Without \
         the switch, each firing counts as an ACK that delivers nothing, and may send new data",
    )
    .rfc(|c| Field::Flag(&mut c.rack_timer_delivers)),
    Switch::flag(
        "rack.reports_first",
        "An ACK may acknowledge some segments and report others by SACK. RACK handles the reported \
         segments first (`tcp_ack`). Without the switch, it handles the acknowledged segments \
         first. The segment that is handled last gives RACK its round trip",
    )
    .rfc(|c| Field::Flag(&mut c.rack_rules.reports_first)),
    Switch::flag(
        "rack.spares_unsent",
        "When a cut is undone, some segments that RACK called lost may not be retransmitted yet. \
         RACK ignores these segments until they are sent again (`tcp_rack_detect_loss`). Without \
         the switch, it may call them lost again",
    )
    .rfc(|c| Field::Flag(&mut c.rack_rules.spares_unsent)),
    Switch::flag(
        "rack.needs_news",
        "RACK looks for losses only on an ACK that gives RACK a round trip or undoes a cut of cwnd \
         (`tcp_rack_mark_lost`). Any other ACK of new octets only stops RACK's timer. Without the \
         switch, RACK looks after each ACK that may show a loss",
    )
    .rfc(|c| Field::Flag(&mut c.rack_rules.needs_news)),
    Switch::flag(
        "rack.reports_need_reordering",
        "A reported duplicate widens RACK's reordering window only if reordering was seen before \
         and the duplicate is not a tail loss probe (`tcp_dsack_seen`). The window grows with the \
         next ACK that newly covers a segment, unless this segment was sent before the window last \
         grew (`tcp_rack_update_reo_wnd`). Without the switch, each report may widen it, once in a \
         round trip (RFC 8985 §6.2)",
    )
    .rfc(|c| Field::Flag(&mut c.rack_rules.reports_need_reordering)),
    Switch::flag(
        "rack.clock_read_again",
        "While simulated time stands still, the sender reads its clock again between \
         retransmissions and the new data after them, and between the buffers that a write fills \
         (`tcp_mstamp_refresh`). Each reading is a little later than the last. A segment that was \
         sent after such a reading becomes late a little after the segments before it. RACK then \
         waits for its timer. Without the switch, all segments that left at one instant become \
         late together",
    )
    .rfc(|c| Field::Flag(&mut c.rack_rules.clock_read_again)),
    Switch::flag("frto", "Detects spurious timeouts from the next ACKs (RFC 5682)")
        .ns(|c| Field::Flag(&mut c.frto))
        .rfc(|c| Field::Flag(&mut c.frto))
        .kernel(|c| Field::Flag(&mut c.frto))
        .live(),
    Switch::flag(
        "frto_at_once",
        "With `frto` and SACK: the first ACK after a timeout may already prove the timeout \
         spurious, as in Linux. Without the switch, only later ACKs may prove it (RFC 5682 §3.1). \
         The switch also lets F-RTO examine repeated timeouts",
    )
    .rfc(|c| Field::Flag(&mut c.frto_at_once)),
    Switch::flag("eifel", "Detects spurious retransmissions from timestamps (RFC 3522)")
        .rfc(|c| Field::Flag(&mut c.eifel)),
    Switch::flag("dsack", "The receiver reports duplicates to the sender (RFC 2883)")
        .rfc(|c| Field::Flag(&mut c.dsack))
        .live(),
    Switch::flag(
        "dsack_undo",
        "Undoes a cut of cwnd if all retransmissions of the repair were reported as duplicates \
         (RFC 3708)",
    )
    .rfc(|c| Field::Flag(&mut c.dsack_undo)),
    Switch::flag(
        "spurious.old_acks_report",
        "An ACK is old if a later ACK has overtaken it. If an old ACK reports duplicates, these \
         reports count even if nothing is outstanding (`tcp_ack`). They may undo a cut of cwnd. In \
         all other respects, an old ACK does not change cwnd. An ACK that comes while nothing is \
         outstanding does not change it either. Without the switch, these reports count only while \
         data is outstanding",
    )
    .rfc(|c| Field::Flag(&mut c.spurious_rules.old_acks_report)),
    Switch::flag(
        "spurious.waits_for_copies",
        "With `eifel`: the timestamp of a partial ACK may prove that a retransmission was \
         spurious. If retransmissions are outstanding at that time, this ACK undoes nothing, and \
         the sender retransmits nothing on it (`tcp_try_undo_partial`). Each ACK of the repair is \
         examined (`tcp_packet_delayed`). Without the switch, outstanding retransmissions make no \
         difference, and only the first ACK after a retransmission of the oldest segment counts",
    )
    .rfc(|c| Field::Flag(&mut c.spurious_rules.waits_for_copies)),
    Switch::flag(
        "spurious.teaches_reordering",
        "If a retransmission proves spurious while data below it is outstanding, RACK learns that \
         the path reorders. Two things may prove it: with `eifel`, the timestamp of a partial ACK \
         (`tcp_try_undo_partial`); and the report of a duplicate above the acknowledged octets \
         (`tcp_sacktag_one`)",
    )
    .rfc(|c| Field::Flag(&mut c.spurious_rules.teaches_reordering)),
    Switch::flag(
        "spurious.sets_dup_thresh",
        "For connections without SACK: reordering changes the number of duplicate ACKs that \
         indicates a loss. With `spurious.teaches_reordering`, a retransmission that proves \
         spurious can make this number larger. If more duplicate ACKs come than segments are \
         outstanding, this number becomes the number of outstanding segments, and may then be less \
         than `dup_thresh` (`tcp_check_reno_reordering`). Without the switch, the number is always \
         `dup_thresh`",
    )
    .rfc(|c| Field::Flag(&mut c.spurious_rules.sets_dup_thresh)),
    Switch::flag(
        "spurious.doubts_copies",
        "A sender that suspects a loss, but has not begun a repair, is in the state Disorder. In \
         this state, it sends no tail loss probe. It stays in this state while a retransmission is \
         outstanding. It also stays there if the oldest segment was retransmitted, even if this \
         retransmission does not count as outstanding (`tcp_try_keep_open`)",
    )
    .rfc(|c| Field::Flag(&mut c.spurious_rules.doubts_copies)),
    Switch::flag(
        "spurious.marks_keep_cuts",
        "With `undo = \"prior\"`: an ACK that echoes a congestion mark makes the last cut of cwnd \
         permanent. The cut is not undone, even if it proves spurious (`tcp_fastretrans_alert`)",
    )
    .rfc(|c| Field::Flag(&mut c.spurious_rules.marks_keep_cuts)),
    Switch::flag(
        "spurious.reports_need_copies",
        "The receiver may report more duplicates than there were retransmissions. The sender \
         ignores the reports beyond the number of retransmissions (`tcp_dsack_seen`). Without \
         the switch, if a report has shown that the path makes duplicates, no later report undoes \
         a cut; and a cut is undone only after it has led to a retransmission",
    )
    .rfc(|c| Field::Flag(&mut c.spurious_rules.reports_need_copies)),
    Switch::word::<Undo>("undo", "What is restored when a retransmission proves spurious")
        .rfc(|c| Field::Word(&mut c.undo)),
    Switch::new(
        "sfr",
        "Super Fast Retransmit (Tarr and Ghita 2005, §5)",
        SwitchKind::WordOr(off, SFR_PARTS),
    )
    .rfc_rule(Rule { read: read_sfr, write: write_sfr }),
];

const SFR_PARTS: &[SwitchPart] = &[
    SwitchPart {
        key: "factor",
        doc: "How long the timer runs, in round trips of the handshake; 3 by default",
        kind: SwitchKind::Number {
            unit: SwitchUnit::Halves,
            min: SfrConfig::FACTORS_HALVES[0] as u64,
            max: SfrConfig::FACTORS_HALVES[1] as u64,
        },
        needed: false,
    },
    SwitchPart {
        key: "cutout",
        doc: "The timer stops permanently when this amount of data is acknowledged; by default it \
              does not stop",
        kind: SwitchKind::bytes(0, u64::MAX),
        needed: false,
    },
    SwitchPart {
        key: "response",
        doc: "The effect of this timer's retransmission on cwnd and ssthresh; `none` by default",
        kind: SwitchKind::Word(words::<SfrResponse>),
        needed: false,
    },
    SwitchPart {
        key: "next",
        doc: "An ACK may acknowledge only a part of the data that was outstanding when the timer \
              fired. The next segment is then retransmitted after this many round trips of the \
              handshake; by default the timer rests until a new segment is sent",
        kind: SwitchKind::Number {
            unit: SwitchUnit::Halves,
            min: SfrConfig::FACTORS_HALVES[0] as u64,
            max: SfrConfig::FACTORS_HALVES[1] as u64,
        },
        needed: false,
    },
    SwitchPart {
        key: "yields",
        doc: "With `true` the timer stops when another repair retransmits the first unacknowledged \
              segment; by default it continues, and may retransmit this segment again",
        kind: SwitchKind::Flag,
        needed: false,
    },
];

fn off() -> Vec<Word> {
    vec![Word { word: "off", doc: "switched off" }]
}

fn read_sfr(config: &RfcConfig) -> Option<SwitchValue> {
    let Some(SfrConfig { factor_halves, cutout_bytes }) = config.sfr else {
        return Some(SwitchValue::Word("off"));
    };
    let factor = ("factor", SwitchValue::Number(factor_halves.into()));
    let cutout = cutout_bytes.map(|bytes| ("cutout", SwitchValue::Number(bytes)));
    let response = ("response", SwitchValue::Word(config.sfr_response.word()));
    let next = config.sfr_next_halves.map(|halves| ("next", SwitchValue::Number(halves.into())));
    let yields = config.sfr_yields.then_some(("yields", SwitchValue::Flag(true)));
    let parts = [Some(factor), cutout, Some(response), next, yields];
    Some(SwitchValue::Table(parts.into_iter().flatten().collect()))
}

fn write_sfr(config: &mut RfcConfig, value: &SwitchValue) -> Result<(), Refusal> {
    config.sfr = matches!(value, SwitchValue::Table(_)).then(|| SfrConfig {
        factor_halves: value
            .part("factor")
            .map_or(SfrConfig::default().factor_halves, SwitchValue::small),
        cutout_bytes: value.part("cutout").map(SwitchValue::number),
    });
    let response = value.part("response").and_then(SwitchValue::text);
    config.sfr_response = response.and_then(SfrResponse::of_word).unwrap_or(SfrResponse::None);
    config.sfr_next_halves = value.part("next").map(SwitchValue::small);
    config.sfr_yields = value.part("yields").is_some_and(SwitchValue::flag);
    Ok(())
}

/// ns-2's senders. Beside each sender is the value of the switch `recovery` that selects this
/// sender in a scenario.
const VARIANTS: [(NsVariant, Recovery); 5] = [
    (NsVariant::Tahoe, Recovery::Tahoe),
    (NsVariant::Reno, Recovery::Reno),
    (NsVariant::NewReno, Recovery::NewReno),
    (NsVariant::Sack, Recovery::Sack),
    (NsVariant::Fack, Recovery::Fack),
];

fn ns_word(variant: NsVariant) -> SwitchValue {
    let found = VARIANTS.iter().find(|(known, _)| *known == variant);
    SwitchValue::Word(found.expect("every sender is listed").1.word())
}

fn set_variant(config: &mut NsConfig, value: &SwitchValue) -> Result<(), Refusal> {
    let word = value.text().unwrap_or_default();
    let found = VARIANTS.iter().find(|(_, recovery)| recovery.word() == word);
    let Some((variant, _)) = found else {
        let message = format!("ns-2's senders have no `{word}`");
        return Err(Refusal::new(message, "give the flow another `profile`"));
    };
    config.variant = *variant;
    Ok(())
}
