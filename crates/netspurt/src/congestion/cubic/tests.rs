//! Tests of CUBIC, the congestion control algorithm of RFC 9438. They compare the RFC's formulas,
//! cited by section, with values that were computed by hand. They also check properties that hold
//! for any ACKs.

use proptest::prelude::*;

use super::curve::cube_root;
use super::*;
use crate::congestion::{Reno, RenoConfig};

const SMSS: u64 = 1000;

fn ms(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

/// An ACK of one full segment at `now_ms`, with a smoothed round trip of 100 ms.
fn ack(now_ms: u64) -> AckInfo {
    AckInfo {
        now: ms(now_ms),
        smss: SMSS,
        acked_bytes: SMSS,
        srtt: Some(Duration::from_millis(100)),
        window_limited: true,
        ..AckInfo::default()
    }
}

fn cubic() -> Cubic {
    Cubic::new(CubicConfig::default())
}

/// Returns CUBIC after a loss in a window of `segs` segments, and the window after the loss.
fn cut(segs: u64) -> (Cubic, Window) {
    let mut cubic = cubic();
    let window = lose(&mut cubic, Window { cwnd: segs * SMSS, ssthresh: Window::NO_THRESHOLD });
    (cubic, window)
}

/// Reports a loss to `cubic`. Returns cwnd and ssthresh after the loss.
fn lose(cubic: &mut Cubic, window: Window) -> Window {
    let ssthresh = cubic.on_congestion(ms(0), Congestion::Loss, window.cwnd, SMSS, &window);
    Window { cwnd: ssthresh, ssthresh }
}

/// The curve with the default steepness C = 0.4.
fn curve() -> Curve {
    Curve { c: (2, 5), smss: SMSS }
}

/// Begins a stage of congestion avoidance at time zero, from the state of `cubic` and with the
/// window `cwnd`.
fn stage(cubic: &mut Cubic, cwnd: u64) -> AvoidanceStage {
    cubic.begin(ms(0), curve(), cwnd)
}

/// §4.2, figure 2: K = cbrt((W_max - cwnd_epoch) / C). With W_max 90 and cwnd_epoch 63, K is
/// cbrt(67.5) = 4.0716 s. With W_max 360 and cwnd_epoch 252, K is cbrt(270) = 6.4633 s.
#[test]
fn k_is_the_cube_root_of_the_gap_divided_by_c() {
    for (segs, k_us) in [(90, 4_071_626), (360, 6_463_304)] {
        let (mut cubic, window) = cut(segs);
        let k = stage(&mut cubic, window.cwnd).k.as_nanos() / 1000;
        assert_eq!(k, k_us, "W_max of {segs} segments");
    }
}

/// §4.2, figure 1: W_cubic(t) = C (t - K)^3 + W_max. With W_max 90 and K 4.0716 s, W(0) is
/// cwnd_epoch. W(2.0716 s) is 8 C = 3.2 segments below the plateau (W_max). W(K) is the plateau.
/// W(K + 5 s) is 125 C = 50 segments above the plateau.
#[test]
fn the_distance_to_the_plateau_is_c_times_the_cube_of_the_time_to_k() {
    let (mut cubic, window) = cut(90);
    let stage = stage(&mut cubic, window.cwnd);
    let at = |ns| stage.window_at(curve(), Duration::from_nanos(ns));
    let k = stage.k.as_nanos();
    assert!(at(0).abs_diff(63_000) <= 1);
    assert_eq!((at(k - 2_000_000_000), at(k)), (86_800, 90_000));
    assert_eq!(at(k + 5_000_000_000), 140_000);
}

/// §4.4: each new ACK adds (target - cwnd) / cwnd segments, where target is W_cubic(t + RTT). Here
/// W_max is 1000, cwnd is 700, K is cbrt(750) = 9.0856 s and the RTT is 100 ms. In the beginning
/// the target is 1000 - 0.4 · 8.9856^3 = 709.797, and one acknowledged segment adds 9.797 / 700 =
/// 0.013996. After 100 ms the target is 719.379, and one acknowledged segment adds 19.366 / 700.013
/// = 0.027665.
#[test]
fn an_ack_adds_the_distance_to_the_target_divided_by_the_window() {
    let (mut cubic, mut window) = cut(1000);
    cubic.on_ack(&ack(0), &mut window);
    assert_eq!(window.cwnd, 700_013);
    cubic.on_ack(&ack(100), &mut window);
    // The window has grown by the whole part of 13.996 + 27.665 = 41.661 octets, because the
    // remainder of each division is carried forward.
    assert_eq!(window.cwnd, 700_041);
}

/// §4.2: the target is at most 1.5 cwnd, and at least cwnd.
#[test]
fn the_window_grows_by_at_most_half_in_a_round_trip_and_never_shrinks() {
    let (mut cubic, window) = cut(1000);
    let mut stage = stage(&mut cubic, window.cwnd);
    for (target, grown) in [(10_000_000, 350_000), (900_000, 200_000), (1000, 0)] {
        let mut window = window;
        let all = AckInfo { acked_bytes: 700_000, ..ack(0) };
        stage.grow(&all, target, &mut window);
        assert_eq!(window.cwnd - 700_000, grown, "target {target}");
    }
}

/// §4.3: alpha_cubic = 3 (1 - 0.7) / (1 + 0.7) = 9/17 until W_est reaches cwnd_prior, then 1.
#[test]
fn alpha_is_nine_seventeenths_until_w_est_reaches_cwnd_prior_and_is_one_afterwards() {
    let (cubic, _) = cut(10);
    assert_eq!(cubic.config.alpha(cubic.state.cwnd_prior, 9_999), (9, 17));
    assert_eq!(cubic.config.alpha(cubic.state.cwnd_prior, 10_000), (17, 17));
}

/// §4.3: on a short path W_est is above the curve, and the window follows W_est. At first, the
/// window grows by 9/17 of a segment for each acknowledged window. When the window has reached its
/// size from before the cut, it grows by one whole segment, as in Reno.
#[test]
fn in_the_reno_friendly_region_the_window_grows_as_with_reno() {
    let (mut cubic, mut window) = cut(20);
    let short = AckInfo { srtt: Some(Duration::from_micros(100)), ..ack(0) };
    let mut round = |window: &mut Window| {
        let before = window.cwnd;
        cubic.on_ack(&AckInfo { acked_bytes: before, ..short }, window);
        window.cwnd - before
    };
    for _ in 0..11 {
        assert!([529, 530].contains(&round(&mut window)));
    }
    while window.cwnd < 20_000 {
        round(&mut window);
    }
    let mut reno = Reno::new(RenoConfig::default());
    for _ in 0..50 {
        let mut renos = window;
        reno.on_ack(&AckInfo { acked_bytes: window.cwnd, ..short }, &mut renos);
        let grown = round(&mut window);
        assert_eq!(grown, renos.cwnd - (window.cwnd - grown));
    }
}

/// The average window in segments. Of each `every` segments, one is lost, and ACKs come at even
/// distances in each round trip. The run has 16 cycles, and the first half of them is left out. The
/// run begins with a loss at a window of `peak` segments. From another window, the plateau would
/// take many cycles to become stable.
fn average_window(rtt: Duration, every: u64, peak: u64) -> f64 {
    let mut cubic = Cubic::new(CubicConfig { fast_convergence: false, ..Default::default() });
    let mut window = lose(&mut cubic, Window { cwnd: peak * SMSS, ssthresh: Window::NO_THRESHOLD });
    let (mut now, mut half) = (Time::ZERO, Time::ZERO);
    for segment in 1..=every * 16 {
        if segment % every == 0 {
            window = lose(&mut cubic, window);
        }
        now += Duration::from_nanos(rtt.as_nanos() * SMSS / window.cwnd);
        cubic.on_ack(&AckInfo { now, srtt: Some(rtt), ..ack(0) }, &mut window);
        if segment == every * 8 {
            half = now;
        }
    }
    (every * 8) as f64 * rtt.as_nanos() as f64 / (now - half).as_nanos() as f64
}

/// §5.1, tables 1 and 2, the columns for C = 0.4. The tables have the average windows that the
/// response function gives for deterministic losses: 1.054 (RTT/p)^0.75 by the curve, or Reno's
/// window if that is larger. The formulas hold for a continuous window, so an error of 6 % is
/// allowed.
#[test]
fn the_average_windows_agree_with_the_tables_of_the_rfc() {
    for (rtt_ms, every, segments) in [
        (100, 100, 12.0),
        (100, 1_000, 38.0),
        (100, 10_000, 187.0),
        (100, 100_000, 1054.0),
        (10, 100, 12.0),
        (10, 1_000, 38.0),
        (10, 10_000, 120.0),
        (10, 100_000, 379.0),
    ] {
        // In a cycle, the window climbs from 0.7 of its peak to the peak. The average of this curve
        // is 0.925 of the peak.
        let peak = (segments / 0.925) as u64;
        let found = average_window(Duration::from_millis(rtt_ms), every, peak);
        let off = found / segments - 1.0;
        assert!(off.abs() < 0.06, "RTT {rtt_ms} ms, 1 loss in {every}: {found}, not {segments}");
    }
}

/// §4.6: ssthresh is 0.7 of the flight, and at least two segments. §4.7: W_max is the window. With
/// fast convergence, W_max is 0.85 of the window if the window is below the last W_max.
#[test]
fn a_cut_sets_ssthresh_and_w_max_but_fast_convergence_lowers_w_max() {
    for (fast, plateau) in [(true, 850_000), (false, 1_000_000)] {
        let mut cubic = Cubic::new(CubicConfig { fast_convergence: fast, ..Default::default() });
        let window = Window { cwnd: 2_000_000, ssthresh: Window::NO_THRESHOLD };
        lose(&mut cubic, window);
        assert_eq!(cubic.state.w_max, Some(2_000_000));
        lose(&mut cubic, Window { cwnd: 1_000_000, ..window });
        assert_eq!((cubic.state.w_max, cubic.state.cwnd_prior), (Some(plateau), Some(1_000_000)));
        lose(&mut cubic, Window { cwnd: 1_500_000, ..window });
        assert_eq!(cubic.state.w_max, Some(1_500_000));
    }
    let window = Window { cwnd: 50_000, ssthresh: 50_000 };
    let cut = |flight| cubic().on_congestion(ms(0), Congestion::Mark, flight, SMSS, &window);
    assert_eq!((cut(40_000), cut(2000)), (28_000, 2000));
}

/// §4.8: after a timeout K is 0, and W_max is the window at which congestion avoidance begins.
/// After 5 s the curve is therefore 125 C = 50 segments above W_max.
#[test]
fn after_a_timeout_the_curve_starts_on_its_plateau() {
    let mut cubic = cubic();
    let window = Window { cwnd: 1_000_000, ssthresh: Window::NO_THRESHOLD };
    let ssthresh = cubic.on_congestion(ms(0), Congestion::Timeout, 1_000_000, SMSS, &window);
    assert_eq!(ssthresh, 700_000);
    let mut window = Window { cwnd: 700_000, ssthresh };
    cubic.on_ack(&ack(0), &mut window);
    let stage = cubic.state.stage.unwrap();
    assert_eq!((stage.k, stage.plateau), (Duration::ZERO, 700_000));
    assert_eq!(stage.window_at(curve(), Duration::from_secs(5)), 750_000);
    assert_eq!(cubic.state.cwnd_prior, Some(1_000_000));
}

/// §4.10: HyStart++ may end the first slow start without a loss. In that case K is 0, and both
/// W_max and cwnd_prior are the window.
#[test]
fn congestion_avoidance_begins_on_the_plateau_if_there_was_no_earlier_loss() {
    let mut cubic = cubic();
    let mut window = Window { cwnd: 80_000, ssthresh: 80_000 };
    cubic.on_ack(&ack(0), &mut window);
    let stage = cubic.state.stage.unwrap();
    assert_eq!((stage.k, stage.plateau), (Duration::ZERO, 80_000));
    assert_eq!(cubic.state.cwnd_prior, Some(80_000));
}

/// §5.8: the time t of the curve leaves out idle time and the time in which the window was not
/// filled.
#[test]
fn time_with_an_unfilled_window_does_not_count() {
    let (mut cubic, mut window) = cut(1000);
    let elapsed = |cubic: &Cubic| cubic.state.stage.unwrap().elapsed;
    cubic.on_ack(&ack(1000), &mut window);
    cubic.on_ack(&ack(1200), &mut window);
    assert_eq!(elapsed(&cubic), Duration::from_millis(200));
    cubic.on_ack(&AckInfo { window_limited: false, ..ack(4000) }, &mut window);
    cubic.on_ack(&ack(4100), &mut window);
    assert_eq!(elapsed(&cubic), Duration::from_millis(300));
    cubic.on_idle_restart(ms(60_000), Duration::from_secs(56));
    cubic.on_ack(&ack(60_050), &mut window);
    assert_eq!(elapsed(&cubic), Duration::from_millis(350));
    // The last transmission was at 60,020 ms. In Linux the idle time begins there, so the 30 ms
    // from then until the ACK at 60,050 ms do not count.
    cubic.config.idle_from_sending = true;
    cubic.on_idle_restart(ms(61_000), Duration::from_millis(980));
    assert_eq!(elapsed(&cubic), Duration::from_millis(320));
}

/// §4.9: an undo restores the state from before the spurious congestion. A second undo restores
/// nothing. If the window has already grown beyond its size before the cut, nothing is restored.
#[test]
fn an_undo_restores_everything_that_the_cut_changed() {
    let (mut cubic, mut window) = cut(1000);
    for t in 0..100 {
        cubic.on_ack(&ack(t * 10), &mut window);
    }
    let (state, before) = (cubic.state, window);
    for kind in [Congestion::Loss, Congestion::Timeout] {
        cubic.on_congestion(ms(1000), kind, window.cwnd, SMSS, &window);
        assert_ne!(cubic.state, state);
        let mut restored = before;
        cubic.on_undo(ms(1100), &mut restored);
        assert_eq!((cubic.state, restored), (state, before));
    }
    cubic.on_congestion(ms(1000), Congestion::Loss, window.cwnd, SMSS, &window);
    let newer = cubic.state;
    cubic.on_undo(ms(9000), &mut Window { cwnd: before.cwnd + 1, ..before });
    cubic.on_undo(ms(9000), &mut window);
    assert_eq!(cubic.state, newer);
}

#[test]
fn in_slow_start_an_ack_opens_cwnd_by_at_most_the_configured_limit() {
    for (abc_limit_segs, exit, grown) in
        [(2, SlowStartExit::None, 2000), (3, SlowStartExit::None, 3000), (2, <_>::default(), 8000)]
    {
        let config = CubicConfig { abc_limit_segs, slow_start_exit: exit, ..Default::default() };
        let mut window = Window { cwnd: 10_000, ssthresh: Window::NO_THRESHOLD };
        let nine = AckInfo { acked_bytes: 9 * SMSS, ..ack(0) };
        Cubic::new(config).on_ack(&nine, &mut window);
        assert_eq!(window.cwnd, 10_000 + grown);
    }
}

#[test]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the roots are small")]
#[expect(clippy::cast_precision_loss, reason = "the test allows for rounding")]
fn the_cube_root_agrees_with_floating_point() {
    for x in (0..2000).chain((0..2000).map(|n| n * n * n * 1_000_003)) {
        let root = cube_root(x);
        let float = (x as f64).cbrt();
        assert!((root as f64 - float.floor()).abs() <= 1.0, "cube root of {x}: {root}, {float}");
        assert_eq!(root, (float + 1e-6).floor() as u64, "cube root of {x}");
    }
}

/// An event that the algorithm gets.
#[derive(Clone, Copy, Debug)]
enum Step {
    Ack { after_ns: u64, acked: u64, rtt_ns: u64, limited: bool },
    Congestion(Congestion),
    Undo,
    Idle(u64),
}

/// Any events. Some of them have values at the limits of their types.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let span = prop_oneof![Just(0), Just(u64::MAX / 4), 0..200_000_000u64, 0..1u64 << 45];
    let ack = (span.clone(), 0..1u64 << 20, span.clone(), prop::bool::weighted(0.9));
    let kind =
        prop_oneof![Just(Congestion::Loss), Just(Congestion::Mark), Just(Congestion::Timeout)];
    let step = prop_oneof![
        20 => ack.prop_map(|(after_ns, acked, rtt_ns, limited)| {
            Step::Ack { after_ns, acked, rtt_ns, limited }
        }),
        1 => kind.prop_map(Step::Congestion),
        1 => Just(Step::Undo),
        1 => span.prop_map(Step::Idle),
    ];
    prop::collection::vec(step, 1..200)
}

proptest! {
    #[test]
    fn the_cube_root_is_rounded_down(x in 0..1u128 << 126) {
        let root = u128::from(cube_root(x));
        prop_assert!(root * root * root <= x);
        prop_assert!((root + 1) * (root + 1) * (root + 1) > x);
    }

    /// The curve climbs `gap` octets in the time that the function `climb` returns. The gaps in
    /// this test are less than 2^34 segments, so that the time is below the limit of 73 minutes.
    #[test]
    fn climb_and_offset_are_inverse_to_each_other(gap in 0..1u64 << 36, smss in 4..10_000u64) {
        let curve = Curve { c: (2, 5), smss };
        let back = curve.offset(curve.climb(gap));
        prop_assert!(back <= gap && gap - back <= 1 + gap / 100_000, "gap {}: {}", gap, back);
    }

    /// Between congestions, the window does not shrink. An ACK increases it by at most the
    /// acknowledged octets, or by at most one segment if less than a segment is acknowledged. The
    /// window is never below a segment, and nothing overflows.
    #[test]
    fn between_congestions_the_window_only_grows(
        steps in steps(),
        exit in prop_oneof![
            Just(SlowStartExit::None),
            Just(SlowStartExit::HyStart(Default::default())),
            Just(SlowStartExit::default()),
        ],
    ) {
        let mut cubic = Cubic::new(CubicConfig { slow_start_exit: exit, ..Default::default() });
        let mut window = Window { cwnd: 10 * SMSS, ssthresh: Window::NO_THRESHOLD };
        let (mut now, mut una, mut before) = (Time::ZERO, 0, window);
        for step in steps {
            match step {
                Step::Ack { after_ns, acked, rtt_ns, limited } => {
                    now += Duration::from_nanos(after_ns);
                    una += acked;
                    let rtt = Some(Duration::from_nanos(rtt_ns));
                    let ack = AckInfo {
                        now, acked_bytes: acked, rtt, srtt: rtt, una, nxt: una + window.cwnd,
                        window_limited: limited, ..ack(0)
                    };
                    let old = window.cwnd;
                    cubic.on_ack(&ack, &mut window);
                    prop_assert!(window.cwnd >= old && window.cwnd - old <= acked.max(SMSS));
                }
                Step::Congestion(kind) => {
                    before = window;
                    let ssthresh = cubic.on_congestion(now, kind, window.cwnd, SMSS, &window);
                    prop_assert!(ssthresh >= 2 * SMSS);
                    let cwnd = if kind == Congestion::Timeout { SMSS } else { ssthresh };
                    window = Window { cwnd, ssthresh };
                }
                Step::Undo => {
                    window.cwnd = window.cwnd.max(before.cwnd);
                    window.ssthresh = before.ssthresh;
                    cubic.on_undo(now, &mut window);
                }
                Step::Idle(ns) => {
                    now += Duration::from_nanos(ns);
                    cubic.on_idle_restart(now, Duration::from_nanos(ns));
                }
            }
            prop_assert!(window.cwnd >= SMSS && window.cwnd < 1 << 40);
        }
    }
}

/// Linux's `bictcp_update`: the window opens by one segment for twenty acknowledged segments until
/// a loss shows where the plateau is.
#[test]
fn before_any_congestion_twenty_acknowledged_segments_open_cwnd_by_one_segment() {
    let grown = |initial_segs_per_increase_max, congested: bool| {
        let mut cubic =
            Cubic::new(CubicConfig { initial_segs_per_increase_max, ..CubicConfig::default() });
        let mut window = Window { cwnd: 48_000, ssthresh: 48_000 };
        if congested {
            cubic.on_congestion(Time::ZERO, Congestion::Loss, 48_000, 1000, &window);
        }
        for _ in 0..20 {
            let ack = AckInfo {
                smss: 1000,
                acked_bytes: 1000,
                window_limited: true,
                ..AckInfo::default()
            };
            cubic.on_ack(&ack, &mut window);
        }
        window.cwnd - 48_000
    };
    assert!((990..=1000).contains(&grown(Some(20), false)), "{}", grown(Some(20), false));
    assert!(grown(None, false) < 500);
    assert_eq!(grown(Some(20), true), grown(None, true));
}
