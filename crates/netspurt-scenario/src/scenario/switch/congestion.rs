//! The switches (named settings of TCP) for congestion control: the algorithm, its slow start, and
//! the rules for cwnd. Names such as `tcp_enter_loss` are functions of Linux that have the same
//! rule.

use netspurt::congestion::{
    CongestionConfig, CubicConfig, HyStartConfig, NO_ABC_LIMIT, RenoConfig, SlowStartExit,
    WestwoodConfig,
};
use netspurt::foreign::unpinned;
use netspurt::plan::KernelTcp;
use netspurt::tcp::RfcConfig;
use netspurt::units::Duration;

use super::definition::{Field, Refusal, Rule, Switch};
use super::kind::{SwitchKind, Word};
use super::value::SwitchValue;

/// The switches. The algorithm comes first, because it determines the default slow start.
pub const SWITCHES: &[Switch] = &[
    Switch::new(
        "congestion",
        "The congestion control algorithm",
        SwitchKind::Algorithm(|| ALGORITHMS.to_vec()),
    )
    .rfc_rule(Rule {
        read: |c: &RfcConfig| Some(SwitchValue::Word(c.congestion.name())),
        write: choose,
    })
    .kernel_rule(Rule {
        read: |c: &KernelTcp| Some(SwitchValue::Word(c.congestion)),
        write: |c, value| {
            let word = value.text().unwrap_or_default();
            let known = ALGORITHMS.iter().find(|known| known.word == word);
            c.congestion = known.map(|known| known.word).ok_or_else(|| of_no_kernel(word))?;
            Ok(())
        },
    }),
    Switch::new(
        "abc_limit",
        "The maximum number of segments by which an ACK increases cwnd in slow start (RFC 3465). \
         With `\"0 segments\"`, the sender counts ACKs, not octets; `\"1000000 segments\"` means \
         no limit",
        SwitchKind::segments(0),
    )
    .rfc_rule(Rule { read: read_limit, write: write_limit }),
    Switch::new(
        "slow_start_exit",
        "What ends slow start before a loss",
        SwitchKind::Word(|| EXITS.to_vec()),
    )
    .rfc_rule(Rule { read: read_exit, write: write_exit }),
    Switch::new(
        "hystart_train_allowance",
        "HyStart ends slow start if a train of ACKs lasts longer than a limit. The limit is half \
         of the sum of the minimum round trip and this time. If the sender paces, the limit is the \
         whole sum. In Linux, this time is 1 ms, for segmentation offload",
        SwitchKind::TIME,
    )
    .rfc_rule(Rule {
        read: |c: &RfcConfig| match exit_of(&c.congestion)? {
            SlowStartExit::HyStart(hystart) => {
                Some(SwitchValue::Number(hystart.train_allowance.as_nanos()))
            }
            _ => None,
        },
        write: |c, value| match exit_mut(&mut c.congestion) {
            Some(SlowStartExit::HyStart(hystart)) => {
                hystart.train_allowance = Duration::from_nanos(value.number());
                Ok(())
            }
            _ => {
                let message = "`hystart_train_allowance` is a constant of HyStart";
                let fix = "write `slow_start_exit = \"hystart\"`, or leave this constant out";
                Err(Refusal::new(message, fix))
            }
        },
    }),
    Switch::flag(
        "fast_convergence",
        "CUBIC lowers its plateau if the next loss comes before cwnd has reached the plateau again \
         (RFC 9438 §4.7)",
    )
    .rfc_rule(Rule {
        read: |c: &RfcConfig| cubic_of(c).map(|cubic| SwitchValue::Flag(cubic.fast_convergence)),
        write: |c, value| {
            cubic(c, "fast_convergence")?.fast_convergence = value.flag();
            Ok(())
        },
    }),
    Switch::new(
        "cubic_first_climb",
        "Before the first loss, and after a timeout, CUBIC increases cwnd by at least one segment \
         for this number of acknowledged segments, as in Linux. `\"0 segments\"` sets no such \
         minimum",
        SwitchKind::segments(0),
    )
    .rfc_rule(Rule {
        read: |c: &RfcConfig| {
            let cubic = cubic_of(c)?;
            Some(SwitchValue::Number(cubic.initial_segs_per_increase_max.unwrap_or(0).into()))
        },
        write: |c, value| {
            let segs = value.small();
            cubic(c, "cubic_first_climb")?.initial_segs_per_increase_max =
                (segs > 0).then_some(segs);
            Ok(())
        },
    }),
    Switch::flag(
        "cubic_whole_segments",
        "CUBIC computes in whole segments and jiffies of 4 ms, as Linux does. Without the switch, \
         it computes in octets and nanoseconds",
    )
    .rfc_rule(Rule {
        read: |c: &RfcConfig| cubic_of(c).map(|cubic| SwitchValue::Flag(cubic.whole_segments)),
        write: |c, value| {
            cubic(c, "cubic_whole_segments")?.whole_segments = value.flag();
            Ok(())
        },
    }),
    Switch::flag(
        "cubic_idle_from_sending",
        "After a pause, CUBIC leaves the idle time out of its computation. With the switch, the \
         idle time begins with the last transmission, as in Linux. Without the switch, it begins \
         with the last ACK (RFC 9438 §5.8)",
    )
    .rfc_rule(Rule {
        read: |c: &RfcConfig| cubic_of(c).map(|cubic| SwitchValue::Flag(cubic.idle_from_sending)),
        write: |c, value| {
            cubic(c, "cubic_idle_from_sending")?.idle_from_sending = value.flag();
            Ok(())
        },
    }),
    Switch::flag(
        "cwnd.whole_segments",
        "cwnd counts segments, not octets: a short segment fills as much of cwnd as a full segment \
         (`tcp_packets_in_flight`)",
    )
    .rfc(|c| Field::Flag(&mut c.cwnd_rules.whole_segments)),
    Switch::flag(
        "cwnd.cut_from_cwnd",
        "A cut sets ssthresh to a share of cwnd (`tcp_init_cwnd_reduction`). Without the switch, \
         it is a share of FlightSize (RFC 5681 §3.1)",
    )
    .rfc(|c| Field::Flag(&mut c.cwnd_rules.cut_from_cwnd)),
    Switch::flag(
        "cwnd.timeout_keeps_cut",
        "A timeout during a recovery, or during a cut for a mark, does not reduce ssthresh again \
         (`tcp_enter_loss`)",
    )
    .rfc(|c| Field::Flag(&mut c.cwnd_rules.timeout_keeps_cut)),
    Switch::flag(
        "cwnd.timeout_adds_to_pipe",
        "After a timeout, cwnd is the data that may still be in flight, plus one segment \
         (`tcp_enter_loss`). Without the switch, it is one segment (RFC 5681 §3.1)",
    )
    .rfc(|c| Field::Flag(&mut c.cwnd_rules.timeout_adds_to_pipe)),
    Switch::flag(
        "cwnd.last_repair_ack_grows",
        "The ACK that ends a recovery may increase cwnd (`tcp_ack`). Without the switch, only \
         later ACKs may increase it",
    )
    .rfc(|c| Field::Flag(&mut c.cwnd_rules.last_repair_ack_grows)),
    Switch::flag(
        "cwnd.growth_by_delivery",
        "cwnd grows by the octets that an ACK acknowledges or reports by SACK for the first time \
         (`tcp_cong_avoid`). Without the switch, it grows by the octets that the ACK acknowledges, \
         even if SACK had reported them before",
    )
    .rfc(|c| Field::Flag(&mut c.cwnd_rules.growth_by_delivery)),
    Switch::flag(
        "cwnd.duplicates_deliver",
        "The report of a duplicate counts as the delivery of a segment: for `prr`, and for the \
         growth of cwnd (`tcp_dsack_seen`). Without the switch, only octets that arrive for the \
         first time count",
    )
    .rfc(|c| Field::Flag(&mut c.cwnd_rules.duplicates_deliver)),
    Switch::flag(
        "cwnd.lost_copies_cut",
        "With SACK: if RACK finds after a timeout that a retransmission is lost, a recovery with \
         another cut of cwnd begins (`tcp_fastretrans_alert`). Without the switch, the repair \
         after the timeout continues",
    )
    .rfc(|c| Field::Flag(&mut c.cwnd_rules.lost_copies_cut)),
    Switch::flag(
        "cwnd.validation",
        "cwnd grows only if the sender used it: all of it or, in slow start, more than half. With \
         `cwnd.idle_restart`, cwnd loses half of its unused part if three things are true: for one \
         RTO, the sender did not use cwnd in this way, it got no ACK of new data in this time, and \
         the application has no more data (RFC 2861). Without the switch, cwnd loses nothing, and \
         an ACK increases cwnd only if it acknowledges data that was sent while cwnd was full",
    )
    .rfc(|c| Field::Flag(&mut c.cwnd_rules.validation)),
    Switch::flag(
        "cwnd.mark_cut_ends_beyond",
        "A cut for a congestion mark ends with an ACK of data that was sent after the cut began \
         (`tcp_fastretrans_alert`). Without the switch, it ends when all data that was sent before \
         the cut is acknowledged",
    )
    .rfc(|c| Field::Flag(&mut c.cwnd_rules.mark_cut_ends_beyond)),
    Switch::flag(
        "cwnd.repair_ends_beyond",
        "For connections without SACK: a repair ends with an ACK of data that was sent after the \
         repair began (`tcp_is_non_sack_preventing_reopen`). Without the switch, it ends when all \
         data that was sent before the repair is acknowledged (RFC 6582 §3.2)",
    )
    .rfc(|c| Field::Flag(&mut c.cwnd_rules.repair_ends_beyond)),
    Switch::flag(
        "cwnd.mark_cut_goes_on",
        "If a loss is found during a cut for a congestion mark, this cut continues, and the loss \
         is repaired within it. If a segment was sent since the cut began, the first \
         retransmission waits for room in cwnd (`tcp_enter_recovery`). Without the switch, a new \
         recovery begins, and its first retransmission leaves immediately",
    )
    .rfc(|c| Field::Flag(&mut c.cwnd_rules.mark_cut_goes_on)),
    Switch::flag(
        "cwnd.last_repair_ack_cuts",
        "If the last ACK of a repair echoes a congestion mark, cwnd is cut again \
         (`tcp_try_to_open`)",
    )
    .rfc(|c| Field::Flag(&mut c.cwnd_rules.last_repair_ack_cuts)),
    Switch::flag(
        "cwnd.idle_decay",
        "After an idle time, cwnd is halved for each RTO that passed, but not below the initial \
         window (RFC 2861). Without the switch, it is cut to the initial window at once (RFC 5681 \
         §4.1)",
    )
    .rfc(|c| Field::Flag(&mut c.cwnd_rules.idle_decay)),
    Switch::flag(
        "cwnd.reordered_reports_grow",
        "If a segment was once overtaken by more than `dup_thresh` others, an ACK that only \
         reports segments by SACK may also increase cwnd (`tcp_may_raise_cwnd`). Without the \
         switch, only an ACK of new octets increases cwnd",
    )
    .rfc(|c| Field::Flag(&mut c.cwnd_rules.reordered_reports_grow)),
    Switch::flag(
        "cwnd.idle_restart",
        "cwnd shrinks after an idle time of more than an RTO (RFC 5681 §4.1). It also shrinks \
         under the conditions that `cwnd.validation` states, if that switch is on (Linux's \
         `tcp_slow_start_after_idle`)",
    )
    .rfc(|c| Field::Flag(&mut c.cwnd_rules.idle_restart))
    .live(),
];

const ALGORITHMS: [Word; 4] = [
    Word { word: "reno", doc: "Reno (RFC 5681)" },
    Word { word: "cubic", doc: "CUBIC (RFC 9438)" },
    Word { word: "bbr", doc: "BBR, version 1" },
    Word { word: "westwood", doc: "Westwood+, for losses that are not caused by congestion" },
];

const EXITS: [Word; 3] = [
    Word { word: "none", doc: "nothing" },
    Word { word: "hystart", doc: "HyStart as in Linux" },
    Word { word: "hystart++", doc: "HyStart++ (RFC 9406)" },
];

fn choose(config: &mut RfcConfig, value: &SwitchValue) -> Result<(), Refusal> {
    let word = value.text().unwrap_or_default();
    if word == config.congestion.name() {
        return Ok(());
    }
    let named = CongestionConfig::named(word).map(Ok).or_else(|| CongestionConfig::foreign(word));
    let named = named.expect("the reader has checked the word");
    let named = named.map_err(|slip| Refusal::new(slip.message, slip.fix))?;
    config.congestion = in_place_of(&config.congestion, named);
    Ok(())
}

/// Returns the algorithm of `config` if it is called `word`. Otherwise returns netspurt's algorithm
/// called `word`, with the constants that it gets when it replaces the algorithm of `config`.
/// `None` if netspurt has no such algorithm.
///
/// ```
/// use netspurt_scenario::scenario::congestion_called;
/// use netspurt::tcp::RfcConfig;
/// let config = RfcConfig::linux_6();
/// assert_eq!(congestion_called("cubic", &config), Some(config.congestion));
/// assert_eq!(congestion_called("vegas", &config), None);
/// ```
pub fn congestion_called(word: &str, config: &RfcConfig) -> Option<CongestionConfig> {
    if word == config.congestion.name() {
        return Some(config.congestion);
    }
    CongestionConfig::named(word).map(|named| in_place_of(&config.congestion, named))
}

/// Adapts the algorithm `named` so that it can replace the algorithm `before`. Linux's CUBIC has no
/// limit on the growth by one ACK. If Reno or Westwood replaces this CUBIC, the result also has no
/// limit, and does not end slow start early.
fn in_place_of(before: &CongestionConfig, mut named: CongestionConfig) -> CongestionConfig {
    if let Some(reno) = reno_mut(&mut named).filter(|_| grows_freely(before)) {
        reno.abc_limit_segs = Some(NO_ABC_LIMIT);
        reno.slow_start_exit = SlowStartExit::None;
    }
    named
}

/// Whether the algorithm is CUBIC without a limit on the growth by one ACK in slow start, as in
/// Linux.
fn grows_freely(algorithm: &CongestionConfig) -> bool {
    matches!(algorithm, CongestionConfig::Cubic(cubic) if cubic.abc_limit_segs == NO_ABC_LIMIT)
}

/// Returns Reno's constants, if the algorithm increases cwnd as Reno does.
fn reno_mut(algorithm: &mut CongestionConfig) -> Option<&mut RenoConfig> {
    match algorithm {
        CongestionConfig::Reno(reno) | CongestionConfig::Westwood(WestwoodConfig { reno }) => {
            Some(reno)
        }
        _ => None,
    }
}

fn cubic_of(config: &RfcConfig) -> Option<&CubicConfig> {
    match &config.congestion {
        CongestionConfig::Cubic(cubic) => Some(cubic),
        _ => None,
    }
}

fn cubic<'a>(config: &'a mut RfcConfig, key: &str) -> Result<&'a mut CubicConfig, Refusal> {
    match &mut config.congestion {
        CongestionConfig::Cubic(cubic) => Ok(cubic),
        _ => {
            let message = format!("`{key}` is a switch of CUBIC");
            Err(Refusal::new(
                message,
                format!("write `congestion = \"cubic\"`, or leave `{key}` out"),
            ))
        }
    }
}

/// Makes the refusal of an algorithm that is not part of the kernel.
fn of_no_kernel(text: &str) -> Refusal {
    let message = format!("the kernel cannot run `{}`, which is not part of it", unpinned(text));
    Refusal::new(
        message,
        "name an algorithm that the kernel has, or make the sending end a `model`",
    )
}

/// Makes the refusal of a switch of slow start for BBR, which has its own start-up phase.
fn not_of_bbr(key: &str) -> Refusal {
    let message = format!("BBR has its own start-up phase and ignores `{key}`");
    Refusal::new(message, format!("leave `{key}` out"))
}

/// Makes the refusal of a switch of slow start for an algorithm in another language.
fn not_of_foreign(text: &str, key: &str) -> Refusal {
    let text = unpinned(text);
    let message = format!("`{text}` increases cwnd by its own rules and has no `{key}`");
    Refusal::new(message, format!("leave `{key}` out, or make it a constant of your class"))
}

fn read_limit(config: &RfcConfig) -> Option<SwitchValue> {
    let segs = match config.congestion {
        CongestionConfig::Reno(reno) | CongestionConfig::Westwood(WestwoodConfig { reno }) => {
            reno.abc_limit_segs.unwrap_or(0)
        }
        CongestionConfig::Cubic(cubic) => cubic.abc_limit_segs,
        CongestionConfig::Bbr(_) | CongestionConfig::Foreign(_) => return None,
    };
    Some(SwitchValue::Number(segs.into()))
}

fn write_limit(config: &mut RfcConfig, value: &SwitchValue) -> Result<(), Refusal> {
    let segs = value.small();
    match &mut config.congestion {
        CongestionConfig::Reno(reno) | CongestionConfig::Westwood(WestwoodConfig { reno }) => {
            reno.abc_limit_segs = (segs > 0).then_some(segs);
        }
        CongestionConfig::Cubic(_) if segs == 0 => {
            return Err(Refusal::new(
                "CUBIC counts octets, not ACKs",
                "write at least `1 segment`",
            ));
        }
        CongestionConfig::Cubic(cubic) => cubic.abc_limit_segs = segs,
        CongestionConfig::Bbr(_) => return Err(not_of_bbr("abc_limit")),
        CongestionConfig::Foreign(own) => return Err(not_of_foreign(own.text(), "abc_limit")),
    }
    Ok(())
}

/// Returns the setting for the early end of slow start; `None` if the algorithm has no such
/// setting.
fn exit_of(congestion: &CongestionConfig) -> Option<SlowStartExit> {
    match congestion {
        CongestionConfig::Reno(reno) | CongestionConfig::Westwood(WestwoodConfig { reno }) => {
            Some(reno.slow_start_exit)
        }
        CongestionConfig::Cubic(cubic) => Some(cubic.slow_start_exit),
        CongestionConfig::Bbr(_) | CongestionConfig::Foreign(_) => None,
    }
}

fn exit_mut(congestion: &mut CongestionConfig) -> Option<&mut SlowStartExit> {
    match congestion {
        CongestionConfig::Reno(reno) | CongestionConfig::Westwood(WestwoodConfig { reno }) => {
            Some(&mut reno.slow_start_exit)
        }
        CongestionConfig::Cubic(cubic) => Some(&mut cubic.slow_start_exit),
        CongestionConfig::Bbr(_) | CongestionConfig::Foreign(_) => None,
    }
}

fn read_exit(config: &RfcConfig) -> Option<SwitchValue> {
    Some(SwitchValue::Word(match exit_of(&config.congestion)? {
        SlowStartExit::None => "none",
        SlowStartExit::HyStart(_) => "hystart",
        SlowStartExit::HyStartPlusPlus(_) => "hystart++",
    }))
}

fn write_exit(config: &mut RfcConfig, value: &SwitchValue) -> Result<(), Refusal> {
    let exit = match value.text().unwrap_or_default() {
        "none" => SlowStartExit::None,
        "hystart" => SlowStartExit::HyStart(HyStartConfig::default()),
        _ => SlowStartExit::default(),
    };
    match &mut config.congestion {
        CongestionConfig::Reno(reno) | CongestionConfig::Westwood(WestwoodConfig { reno }) => {
            reno.slow_start_exit = exit;
        }
        CongestionConfig::Cubic(cubic) => cubic.slow_start_exit = exit,
        CongestionConfig::Bbr(_) => return Err(not_of_bbr("slow_start_exit")),
        CongestionConfig::Foreign(own) => {
            return Err(not_of_foreign(own.text(), "slow_start_exit"));
        }
    }
    Ok(())
}
