//! The switches of byte-sequenced connections: from a scenario's words to a configuration, and
//! back where defaults are spelt out.

use crate::clock::Clock;
use crate::congestion::{
    BbrConfig, CongestionConfig, CubicConfig, HyStartConfig, NO_ABC_LIMIT, RenoConfig,
    SlowStartExit, WestwoodConfig,
};
use crate::rto::{Bounds, EstimatorConfig};
use crate::tcp::{
    DelayedAck, Recovery, Restart, RfcConfig, Sampling, SfrConfig, SfrResponse, TcpConfig, Undo,
};
use crate::units::{ByteCount, Duration, SegmentCount};
use crate::wire::TIMESTAMPS_BYTES;

use super::error::Problem;
use super::flow_plan::{HEADER_BYTES, clock, packet_bytes, problem};
use super::flow_spec::{
    AckWord, ClockTable, ClockWord, CongestionWord, DelayedAckTable, EstimatorWord, OffWord,
    RecoveryWord, RestartWord, RtoTable, SamplingWord, SfrTable, SfrWord, SlowStartWord, TcpSpec,
    UndoWord,
};
use super::quantity::WordOr;

/// Every switch of `config` in words.
pub(super) fn spell_out(config: &RfcConfig) -> TcpSpec {
    let (congestion, abc_limit, slow_start_exit) = congestion_words(&config.congestion);
    TcpSpec {
        recovery: Some(recovery_word(config.recovery)),
        initial_window: Some(SegmentCount(config.initial_window(config.smss().into()))),
        packet_size: Some(ByteCount(u64::from(config.mss + HEADER_BYTES))),
        limited_transmit: Some(config.limited_transmit),
        dup_thresh: Some(config.dup_thresh),
        early_retransmit: Some(config.early_retransmit),
        prr: Some(config.prr),
        tlp: Some(config.tlp),
        frto: Some(config.frto),
        eifel: Some(config.eifel),
        undo: Some(match config.undo {
            Undo::Rfc4015 => UndoWord::Rfc4015,
            Undo::Prior => UndoWord::Prior,
        }),
        dsack: Some(config.dsack),
        dsack_undo: Some(config.dsack_undo),
        sfr: Some(
            config.sfr.map_or(WordOr::Word(OffWord::Off), |sfr| WordOr::Table(sfr_table(sfr))),
        ),
        karn: Some(config.karn),
        congestion: Some(congestion),
        abc_limit,
        slow_start_exit,
        fast_convergence: match config.congestion {
            CongestionConfig::Cubic(law) => Some(law.fast_convergence),
            _ => None,
        },
        pacing: Some(config.pacing),
        nagle: Some(config.nagle),
        quick_acks: Some(SegmentCount(config.quick_acks_segs.into())),
        timestamps: Some(config.timestamps),
        sack: Some(config.sack),
        window_scaling: Some(config.window_scaling),
        ecn: Some(config.ecn),
        receive_buffer: Some(ByteCount(config.receive_buffer_bytes)),
        acks: Some(acks_words(config.acks)),
        clock: Some(clock_words(config.clock)),
        timer_clock: Some(clock_words(config.timer_clock)),
        rto: Some(rto_table(config)),
        retries: Some(config.retries),
        syn_retries: Some(config.syn_retries),
        time_wait: Some(config.time_wait),
        tlp_wait: Some(f64::from(config.tlp_wait_percent) / 100.0),
        reorder_window: Some(f64::from(config.reorder_window_percent) / 100.0),
        max_ack_delay: Some(config.max_ack_delay),
        receive_window: None,
        bugfix: None,
    }
}

fn congestion_words(
    law: &CongestionConfig,
) -> (CongestionWord, Option<SegmentCount>, Option<SlowStartWord>) {
    let segs = |count: u32| Some(SegmentCount(count.into()));
    let exit = |exit: SlowStartExit| {
        Some(match exit {
            SlowStartExit::None => SlowStartWord::None,
            SlowStartExit::HyStart(_) => SlowStartWord::HyStart,
            SlowStartExit::HyStartPlusPlus(_) => SlowStartWord::HyStartPlusPlus,
        })
    };
    match law {
        CongestionConfig::Reno(c) => {
            (CongestionWord::Reno, segs(c.abc_limit_segs.unwrap_or(0)), exit(c.slow_start_exit))
        }
        CongestionConfig::Westwood(WestwoodConfig { reno: c }) => {
            (CongestionWord::Westwood, segs(c.abc_limit_segs.unwrap_or(0)), exit(c.slow_start_exit))
        }
        CongestionConfig::Cubic(c) => {
            (CongestionWord::Cubic, segs(c.abc_limit_segs), exit(c.slow_start_exit))
        }
        CongestionConfig::Bbr(_) => (CongestionWord::Bbr, None, None),
    }
}

fn recovery_word(recovery: Recovery) -> RecoveryWord {
    match recovery {
        Recovery::Tahoe => RecoveryWord::Tahoe,
        Recovery::Reno => RecoveryWord::Reno,
        Recovery::NewReno => RecoveryWord::Newreno,
        Recovery::Sack => RecoveryWord::Sack,
        Recovery::Fack => RecoveryWord::Fack,
        Recovery::Rack => RecoveryWord::Rack,
    }
}

fn recovery(word: RecoveryWord) -> Recovery {
    match word {
        RecoveryWord::Tahoe => Recovery::Tahoe,
        RecoveryWord::Reno => Recovery::Reno,
        RecoveryWord::Newreno => Recovery::NewReno,
        RecoveryWord::Sack => Recovery::Sack,
        RecoveryWord::Fack => Recovery::Fack,
        RecoveryWord::Rack => Recovery::Rack,
    }
}

fn acks_words(acks: DelayedAck) -> WordOr<AckWord, DelayedAckTable> {
    match acks {
        DelayedAck::Never => WordOr::Word(AckWord::EverySegment),
        DelayedAck::Fixed(delayed) => WordOr::Table(DelayedAckTable { delayed, at_most: None }),
        DelayedAck::Adaptive { min, max } => {
            WordOr::Table(DelayedAckTable { delayed: min, at_most: Some(max) })
        }
    }
}

fn clock_words(clock: Clock) -> WordOr<ClockWord, ClockTable> {
    match clock.ticks() {
        _ if clock == Clock::LINUX_HZ250 => WordOr::Word(ClockWord::LinuxHz250),
        None => WordOr::Word(ClockWord::Exact),
        Some((tick, phase)) => WordOr::Table(ClockTable { tick, phase: Some(phase) }),
    }
}

fn sfr_table(sfr: SfrConfig) -> SfrTable {
    SfrTable {
        factor: f64::from(sfr.factor_halves) / 2.0,
        cutout: sfr.cutout_bytes.map(ByteCount),
        response: match sfr.response {
            SfrResponse::None => SfrWord::None,
            SfrResponse::Halve => SfrWord::Halve,
            SfrResponse::Reset => SfrWord::Reset,
        },
    }
}

fn rto_table(config: &RfcConfig) -> RtoTable {
    let Bounds { initial, min, max } = config.rto.bounds();
    RtoTable {
        estimator: Some(estimator_word(&config.rto)),
        sampling: Some(match config.sampling {
            Sampling::OnePerRtt => SamplingWord::OnePerRtt,
            Sampling::EachAck => SamplingWord::EachAck,
            Sampling::EachAckOrEcho => SamplingWord::EachAckOrEcho,
            Sampling::EachSegment => SamplingWord::EachSegment,
            Sampling::Timestamps => SamplingWord::Timestamps,
        }),
        restart: Some(match config.restart {
            Restart::OnAck => RestartWord::OnAck,
            Restart::PerSegment => RestartWord::PerSegment,
            Restart::Rfc7765 => RestartWord::Rfc7765,
        }),
        initial,
        min,
        max,
    }
}

/// The words of a scenario, and the laws they name as they are published.
const ESTIMATORS: [(EstimatorWord, &str); 20] = [
    (EstimatorWord::Rfc793, "rfc793"),
    (EstimatorWord::Mills, "mills"),
    (EstimatorWord::Jacobson88, "jacobson88"),
    (EstimatorWord::Rfc6298, "rfc6298"),
    (EstimatorWord::Rfc2988, "rfc2988"),
    (EstimatorWord::Bsd44, "bsd44"),
    (EstimatorWord::Linux, "linux"),
    (EstimatorWord::Quic, "quic"),
    (EstimatorWord::Fixed, "fixed"),
    (EstimatorWord::Ns2, "ns2"),
    (EstimatorWord::Freebsd, "freebsd"),
    (EstimatorWord::Solaris, "solaris"),
    (EstimatorWord::Ns3, "ns3"),
    (EstimatorWord::Smoltcp, "smoltcp"),
    (EstimatorWord::Sctp, "sctp"),
    (EstimatorWord::Datacenter, "datacenter"),
    (EstimatorWord::Cocoa, "cocoa"),
    (EstimatorWord::Eifel, "eifel"),
    (EstimatorWord::PeakHopper, "peak-hopper"),
    (EstimatorWord::Experts, "experts"),
];

fn estimator_word(config: &EstimatorConfig) -> EstimatorWord {
    let name = match config {
        EstimatorConfig::Rfc6298(config) if !config.spread_gains => "rfc2988",
        _ => config.name(),
    };
    let word = ESTIMATORS.iter().find(|(_, law)| *law == name);
    word.expect("every law has a word").0
}

/// The law called `word`, as published, with the granularity of the host's timers.
fn law(word: EstimatorWord, timer_clock: Clock) -> EstimatorConfig {
    let (_, name) = ESTIMATORS.iter().find(|(known, _)| *known == word).expect("a word of ours");
    let mut law = EstimatorConfig::parse(name).expect("every word has a law");
    match &mut law {
        EstimatorConfig::Linux(linux) if timer_clock == Clock::LINUX_HZ250 => {
            linux.jiffy = Duration::from_millis(4);
        }
        EstimatorConfig::Ns2(ns2) => {
            ns2.tick = timer_clock.ticks().map_or(ns2.tick, |(tick, _)| tick);
        }
        _ => {}
    }
    law
}

/// The connection of flow `name`, whose switches lie over the profile's `base`.
pub(super) fn rfc_connection(
    name: &str,
    tcp: &TcpSpec,
    base: &RfcConfig,
) -> Result<TcpConfig, Problem> {
    for (key, given) in
        [("bugfix", tcp.bugfix.is_some()), ("receive_window", tcp.receive_window.is_some())]
    {
        if given {
            let message = format!("`{key}` is a switch of ns-2's senders");
            let fix = "with this profile the window is `receive_buffer`, and NewReno's `recover` \
                       is always on";
            return Err(problem(name, key, message).fix(fix));
        }
    }
    let mut config = *base;
    windows(name, tcp, &mut config)?;
    repairs(name, tcp, &mut config)?;
    congestion(name, tcp, &mut config)?;
    options(tcp, &mut config);
    timers(name, tcp, &mut config)?;
    leaves_a_payload(name, &config)?;
    Ok(config.into())
}

/// Switches of flow `name` that cannot do together what they say.
pub(super) fn contradiction(name: &str, config: &RfcConfig) -> Option<Problem> {
    if config.recovery.needs_sack() && !config.sack {
        let word = match config.recovery {
            Recovery::Rack => "rack",
            Recovery::Fack => "fack",
            _ => "sack",
        };
        let message = format!("`recovery = \"{word}\"` goes by SACK, which is off");
        let fix = "`recovery = \"newreno\"`, or leave `sack` on";
        return Some(problem(name, "sack", message).also(["flows", name, "tcp"]).fix(fix));
    }
    if config.sampling == Sampling::Timestamps && !config.timestamps {
        let message = "round trips are to be told by time stamps, which are off";
        let fix = "`timestamps = true`, or `sampling = \"each-ack\"`";
        return Some(problem(name, "rto", message).fix(fix));
    }
    match config.acks {
        DelayedAck::Adaptive { min, max } if max < min => {
            let message = "`at_most` is less than `delayed`, the least wait";
            Some(problem(name, "acks", message).fix(format!("from `{min}`")))
        }
        _ => None,
    }
}

/// A packet takes an octet of payload behind the time stamps.
fn leaves_a_payload(name: &str, config: &RfcConfig) -> Result<(), Problem> {
    if config.timestamps && config.mss <= TIMESTAMPS_BYTES {
        let (size, least) = (config.mss + HEADER_BYTES, HEADER_BYTES + TIMESTAMPS_BYTES + 1);
        let message = format!("a packet of {size} B has no room for time stamps and a payload");
        return Err(problem(name, "packet_size", message)
            .also(["flows", name, "tcp", "timestamps"])
            .fix(format!("{least} B at least, or `timestamps = false`")));
    }
    Ok(())
}

fn windows(name: &str, tcp: &TcpSpec, config: &mut RfcConfig) -> Result<(), Problem> {
    let small = |key: &str, count: SegmentCount, least: u64| {
        u32::try_from(count.0).ok().filter(|n| u64::from(*n) >= least && *n <= 1 << 20).ok_or_else(
            || {
                problem(name, key, format!("{count} is out of range"))
                    .fix(format!("from `{least} segments` to `1048576 segments`"))
            },
        )
    };
    if let Some(size) = tcp.packet_size {
        config.mss = packet_bytes(name, size)? - HEADER_BYTES;
    }
    if let Some(count) = tcp.initial_window {
        config.initial_window_segs = small("initial_window", count, 1)?;
        config.initial_window_bytes = None;
    }
    if let Some(count) = tcp.quick_acks {
        config.quick_acks_segs = small("quick_acks", count, 0)?;
    }
    if let Some(buffer) = tcp.receive_buffer {
        if buffer.0 == 0 || buffer.0 > 1 << 30 {
            return Err(problem(name, "receive_buffer", format!("no window is {buffer} long"))
                .fix("from `1 B` to `1 GiB`, what 14 bits of scaling can name"));
        }
        config.receive_buffer_bytes = buffer.0;
    }
    Ok(())
}

fn congestion(name: &str, tcp: &TcpSpec, config: &mut RfcConfig) -> Result<(), Problem> {
    if let Some(word) = tcp.congestion
        && word != congestion_words(&config.congestion).0
    {
        config.congestion = match word {
            CongestionWord::Reno => CongestionConfig::Reno(RenoConfig::default()),
            CongestionWord::Cubic => CongestionConfig::Cubic(CubicConfig::default()),
            CongestionWord::Bbr => CongestionConfig::Bbr(BbrConfig::default()),
            CongestionWord::Westwood => CongestionConfig::Westwood(WestwoodConfig::default()),
        };
        if config.linux_rules {
            as_in_linux(&mut config.congestion);
        }
    }
    if tcp.fast_convergence.is_some() && !matches!(config.congestion, CongestionConfig::Cubic(_)) {
        let message = "only CUBIC has a plateau to lower";
        return Err(problem(name, "fast_convergence", message).fix("leave `fast_convergence` out"));
    }
    let limit = tcp.abc_limit.map(|limit| u32::try_from(limit.0).unwrap_or(u32::MAX));
    let exit = tcp.slow_start_exit.map(|word| match word {
        SlowStartWord::None => SlowStartExit::None,
        SlowStartWord::HyStart => SlowStartExit::HyStart(HyStartConfig::default()),
        SlowStartWord::HyStartPlusPlus => SlowStartExit::default(),
    });
    match &mut config.congestion {
        CongestionConfig::Reno(law) | CongestionConfig::Westwood(WestwoodConfig { reno: law }) => {
            let counted = limit.map(|limit| (limit > 0).then_some(limit));
            law.abc_limit_segs = counted.unwrap_or(law.abc_limit_segs);
            law.slow_start_exit = exit.unwrap_or(law.slow_start_exit);
        }
        CongestionConfig::Cubic(law) => {
            if limit == Some(0) {
                let message = "CUBIC counts octets, not ACKs";
                return Err(problem(name, "abc_limit", message).fix("from `1 segment`"));
            }
            law.abc_limit_segs = limit.unwrap_or(law.abc_limit_segs);
            law.slow_start_exit = exit.unwrap_or(law.slow_start_exit);
            law.fast_convergence = tcp.fast_convergence.unwrap_or(law.fast_convergence);
        }
        CongestionConfig::Bbr(_) => {
            let given = [("abc_limit", limit.is_some()), ("slow_start_exit", exit.is_some())];
            if let Some((key, _)) = given.into_iter().find(|(_, given)| *given) {
                let message = format!("BBR has a start-up of its own and no `{key}`");
                return Err(problem(name, key, message).fix(format!("leave `{key}` out")));
            }
        }
    }
    Ok(())
}

/// Slow start of Linux's other laws: without a limit to an ACK's growth, and without HyStart.
fn as_in_linux(law: &mut CongestionConfig) {
    if let CongestionConfig::Reno(law) | CongestionConfig::Westwood(WestwoodConfig { reno: law }) =
        law
    {
        law.abc_limit_segs = Some(NO_ABC_LIMIT);
        law.slow_start_exit = SlowStartExit::None;
    }
}

fn repairs(name: &str, tcp: &TcpSpec, config: &mut RfcConfig) -> Result<(), Problem> {
    let set = |to: &mut bool, given: Option<bool>| *to = given.unwrap_or(*to);
    if let Some(word) = tcp.recovery {
        config.recovery = recovery(word);
    }
    if let Some(thresh) = tcp.dup_thresh {
        if thresh == 0 {
            return Err(problem(name, "dup_thresh", "no duplicate tells no loss").fix("from 1"));
        }
        config.dup_thresh = thresh;
    }
    if let Some(wait) = tcp.tlp_wait {
        config.tlp_wait_percent = percent(name, "tlp_wait", wait, 1)?;
    }
    if let Some(window) = tcp.reorder_window {
        config.reorder_window_percent = percent(name, "reorder_window", window, 0)?;
    }
    set(&mut config.limited_transmit, tcp.limited_transmit);
    set(&mut config.early_retransmit, tcp.early_retransmit);
    set(&mut config.prr, tcp.prr);
    set(&mut config.tlp, tcp.tlp);
    set(&mut config.frto, tcp.frto);
    set(&mut config.eifel, tcp.eifel);
    set(&mut config.dsack, tcp.dsack);
    set(&mut config.dsack_undo, tcp.dsack_undo);
    if let Some(undo) = tcp.undo {
        config.undo = match undo {
            UndoWord::Rfc4015 => Undo::Rfc4015,
            UndoWord::Prior => Undo::Prior,
        };
    }
    match &tcp.sfr {
        None => {}
        Some(WordOr::Word(OffWord::Off)) => config.sfr = None,
        Some(WordOr::Table(table)) => config.sfr = Some(sfr(name, table)?),
    }
    Ok(())
}

/// A share in hundredths, `least` of them at least.
fn percent(name: &str, key: &str, share: f64, least: u32) -> Result<u32, Problem> {
    let hundredths = share * 100.0;
    let whole = hundredths.round();
    let fits = (f64::from(least)..=10_000.0).contains(&whole);
    if !fits || (hundredths - whole).abs() > 1e-9 * whole.max(1.0) {
        let least = f64::from(least) / 100.0;
        return Err(problem(name, key, format!("{share} is out of range, or has too many digits"))
            .fix(format!("from {least} to 100 in steps of 0.01")));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within range")]
    let whole = whole as u32;
    Ok(whole)
}

fn sfr(name: &str, table: &SfrTable) -> Result<SfrConfig, Problem> {
    let halves = table.factor * 2.0;
    if !(1.0..=2000.0).contains(&halves) || halves.fract() != 0.0 {
        let message = format!("the factor {} is no multiple of a half", table.factor);
        return Err(problem(name, "sfr", message).fix("from 0.5 to 1000 in steps of 0.5"));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within range")]
    let factor_halves = halves as u32;
    Ok(SfrConfig {
        factor_halves,
        cutout_bytes: table.cutout.map(|bytes| bytes.0),
        response: match table.response {
            SfrWord::None => SfrResponse::None,
            SfrWord::Halve => SfrResponse::Halve,
            SfrWord::Reset => SfrResponse::Reset,
        },
    })
}

fn options(tcp: &TcpSpec, config: &mut RfcConfig) {
    let set = |to: &mut bool, given: Option<bool>| *to = given.unwrap_or(*to);
    config.retries = tcp.retries.unwrap_or(config.retries);
    config.syn_retries = tcp.syn_retries.unwrap_or(config.syn_retries);
    config.time_wait = tcp.time_wait.unwrap_or(config.time_wait);
    config.max_ack_delay = tcp.max_ack_delay.unwrap_or(config.max_ack_delay);
    set(&mut config.karn, tcp.karn);
    set(&mut config.pacing, tcp.pacing);
    set(&mut config.nagle, tcp.nagle);
    set(&mut config.timestamps, tcp.timestamps);
    set(&mut config.sack, tcp.sack);
    set(&mut config.window_scaling, tcp.window_scaling);
    set(&mut config.ecn, tcp.ecn);
    match &tcp.acks {
        None => {}
        Some(WordOr::Word(AckWord::EverySegment)) => config.acks = DelayedAck::Never,
        Some(WordOr::Table(DelayedAckTable { delayed, at_most: None })) => {
            config.acks = DelayedAck::Fixed(*delayed);
        }
        Some(WordOr::Table(DelayedAckTable { delayed, at_most: Some(max) })) => {
            config.acks = DelayedAck::Adaptive { min: *delayed, max: *max };
        }
    }
}

fn timers(name: &str, tcp: &TcpSpec, config: &mut RfcConfig) -> Result<(), Problem> {
    if let Some(words) = &tcp.clock {
        config.clock = clock(name, "clock", words)?;
    }
    if let Some(words) = &tcp.timer_clock {
        config.timer_clock = clock(name, "timer_clock", words)?;
    }
    let Some(table) = tcp.rto else { return Ok(()) };
    if let Some(word) = table.estimator.filter(|word| *word != estimator_word(&config.rto)) {
        config.rto = law(word, config.timer_clock);
    }
    let none = |key| {
        problem(name, "rto", format!("this law has no `{key}`")).fix(format!("leave `{key}` out"))
    };
    let RtoTable { initial, min, max, .. } = table;
    config.rto = config.rto.within(Bounds { initial, min, max }).map_err(none)?;
    if let Err(slip) = config.rto.check() {
        return Err(problem(name, "rto", slip.message).fix(slip.fix));
    }
    if let Some(word) = table.sampling {
        config.sampling = match word {
            SamplingWord::OnePerRtt => Sampling::OnePerRtt,
            SamplingWord::EachAck => Sampling::EachAck,
            SamplingWord::EachAckOrEcho => Sampling::EachAckOrEcho,
            SamplingWord::EachSegment => Sampling::EachSegment,
            SamplingWord::Timestamps => Sampling::Timestamps,
        };
    }
    if let Some(word) = table.restart {
        config.restart = match word {
            RestartWord::OnAck => Restart::OnAck,
            RestartWord::PerSegment => Restart::PerSegment,
            RestartWord::Rfc7765 => Restart::Rfc7765,
        };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_law_has_a_word_and_every_word_is_a_law_by_that_name() {
        for name in EstimatorConfig::NAMES.iter().chain(&["rfc2988"]) {
            let word: EstimatorWord = toml::Value::from(*name).try_into().expect("a word");
            let law = law(word, Clock::EXACT);
            assert_eq!(law, EstimatorConfig::parse(name).unwrap());
            assert_eq!(estimator_word(&law), word);
        }
    }

    #[test]
    fn a_clock_gives_the_laws_of_its_host_their_unit() {
        let tick = Duration::from_millis(100);
        let ticking = Clock::ticking(tick, Duration::ZERO).unwrap();
        let settings = |word, clock| law(word, clock).to_string();
        assert_eq!(settings(EstimatorWord::Ns2, ticking), "ns2:tick=100ms");
        assert_eq!(settings(EstimatorWord::Linux, Clock::LINUX_HZ250), "linux:jiffy=4ms");
        assert_eq!(settings(EstimatorWord::Linux, ticking), "linux");
    }
}
