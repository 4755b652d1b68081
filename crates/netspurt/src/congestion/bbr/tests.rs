//! Tests of BBR, a congestion control algorithm: its rules in
//! draft-cardwell-iccrg-bbr-congestion-control-00, cited by section, and its behaviour on an ideal
//! path.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;
use crate::congestion::RateSample;

const SMSS: u64 = 1000;

/// A segment in flight. Times are in nanoseconds.
struct Flying {
    acked_at: u64,
    sent_at: u64,
    /// The field `delivered` of the [`Pipe`] when the segment was sent.
    delivered: u64,
    /// The field `delivered_at` of the [`Pipe`] when the segment was sent.
    delivered_at: u64,
    /// The field `first_sent` of the [`Pipe`] when the segment was sent.
    first_sent: u64,
}

/// The state of BBR, and of its sender on a [`Pipe`], after an ACK. The field `now` is in
/// nanoseconds, `cwnd` and `pipe` are in octets, and `bandwidth` and `pacing` are in bits per
/// second.
#[derive(Clone, Copy, Debug)]
struct Look {
    now: u64,
    cwnd: u64,
    pipe: u64,
    mode: Mode,
    phase: usize,
    bandwidth: u64,
    pacing: u64,
}

/// A simulated path: a bottleneck with a constant rate and an unlimited buffer, and a fixed round
/// trip after the bottleneck. Its sender always has data to send. Each segment is acknowledged.
/// Times are in nanoseconds.
struct Pipe {
    bits_per_second: u64,
    rtt_ns: u64,
    /// The instant at which the bottleneck has transmitted all segments.
    free_at: u64,
    flying: VecDeque<Flying>,
    next_send: u64,
    /// The octets delivered so far.
    delivered: u64,
    /// The time of the last delivery. But if a later segment was sent while nothing was in flight,
    /// this is the sending time of that segment.
    delivered_at: u64,
    /// The sending time of the last acknowledged segment. But if a later segment was sent while
    /// nothing was in flight, this is the sending time of that segment.
    first_sent: u64,
}

impl Pipe {
    fn new(bits_per_second: u64, rtt: Duration) -> Self {
        Self {
            bits_per_second,
            rtt_ns: rtt.as_nanos(),
            free_at: 0,
            flying: VecDeque::new(),
            next_send: 0,
            delivered: 0,
            delivered_at: 0,
            first_sent: 0,
        }
    }

    /// Sends one segment at the instant `now`. The next segment leaves as `pacing` allows.
    fn send(&mut self, now: u64, pacing: Option<BitRate>) {
        if self.flying.is_empty() {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        let nanos = |rate: u64| SMSS * 8_000_000_000 / rate;
        self.free_at = self.free_at.max(now) + nanos(self.bits_per_second);
        self.flying.push_back(Flying {
            acked_at: self.free_at + self.rtt_ns,
            sent_at: now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
        });
        self.next_send = now + pacing.and_then(BitRate::bits_per_second).map_or(0, nanos);
    }

    /// Returns what the ACK of `flying` tells the algorithm.
    fn ack(&mut self, flying: &Flying) -> AckInfo {
        let now = flying.acked_at;
        let pipe = self.flying.len() as u64 * SMSS;
        self.delivered += SMSS;
        self.delivered_at = now;
        self.first_sent = flying.sent_at;
        let sending = flying.sent_at - flying.first_sent;
        let rtt = Some(Duration::from_nanos(now - flying.sent_at));
        AckInfo {
            now: Time::from_nanos(now),
            smss: SMSS,
            acked_bytes: SMSS,
            delivered_bytes: SMSS,
            pipe_before: pipe + SMSS,
            pipe,
            rtt,
            srtt: rtt,
            rate: Some(RateSample {
                delivered_bytes: self.delivered - flying.delivered,
                interval: Duration::from_nanos(sending.max(now - flying.delivered_at)),
                prior_delivered_bytes: flying.delivered,
                total_delivered_bytes: self.delivered,
                app_limited: false,
            }),
            ..AckInfo::default()
        }
    }

    /// Runs `bbr` for `seconds`. Returns its state after each ACK.
    fn run(&mut self, bbr: &mut Bbr, seconds: u64) -> Vec<Look> {
        let mut window = Window { cwnd: 10 * SMSS, ssthresh: Window::NO_THRESHOLD };
        let (mut now, mut looks) = (0, Vec::new());
        while now < seconds * 1_000_000_000 {
            let send_at = now.max(self.next_send);
            let fits = (self.flying.len() as u64 + 1) * SMSS <= window.cwnd;
            match self.flying.front() {
                Some(first) if !fits || first.acked_at <= send_at => {
                    now = first.acked_at;
                    let first = self.flying.pop_front().unwrap();
                    let ack = self.ack(&first);
                    bbr.on_ack(&ack, &mut window);
                    looks.push(Look {
                        now,
                        cwnd: window.cwnd,
                        pipe: ack.pipe,
                        mode: bbr.mode,
                        phase: bbr.phase,
                        bandwidth: bbr.model.bandwidth(),
                        pacing: bbr.pacing_rate,
                    });
                }
                _ => {
                    now = send_at;
                    self.send(now, bbr.pacing_rate());
                }
            }
        }
        looks
    }
}

/// Runs BBR for `seconds` on a path of 10 Mbit/s and 50 ms. Returns BBR and its state after each
/// ACK. The bandwidth-delay product is 62.5 segments, and 63.5 with the segment in transmission.
fn ideal(seconds: u64) -> (Bbr, Vec<Look>) {
    let mut bbr = Bbr::new(BbrConfig::default());
    let looks = Pipe::new(10_000_000, Duration::from_millis(50)).run(&mut bbr, seconds);
    (bbr, looks)
}

/// Returns the spans in which the condition `wanted` held: for each span its first state, and the
/// first state after the span.
fn spans(looks: &[Look], wanted: impl Fn(&Look) -> bool) -> Vec<(Look, Look)> {
    let begun = |pair: &&[Look]| !wanted(&pair[0]) && wanted(&pair[1]);
    let ended = |pair: &&[Look]| wanted(&pair[0]) && !wanted(&pair[1]);
    let begun = looks.windows(2).filter(begun).map(|pair| pair[1]);
    begun.zip(looks.windows(2).filter(ended).map(|pair| pair[1])).collect()
}

/// The instant of a state, in milliseconds.
fn ms(look: &Look) -> u64 {
    look.now / 1_000_000
}

/// §4.3.2 and §4.3.3: STARTUP fills the path within a few round trips, and DRAIN empties the queue.
#[test]
fn bbr_finds_the_bandwidth_within_five_percent_in_startup_and_empties_the_queue_in_drain() {
    let (bbr, looks) = ideal(5);
    for look in looks.iter().filter(|look| ms(look) > 500) {
        assert!((9_500_000..=10_500_000).contains(&look.bandwidth), "{look:?}");
    }
    assert_eq!(bbr.model.min_rtt, Some(Duration::from_micros(50_800)));
    assert_eq!(looks[0].mode, Mode::Startup);
    let drain = spans(&looks, |look| look.mode == Mode::Drain);
    assert_eq!(drain.len(), 1);
    let (first, after) = drain[0];
    assert!(ms(&first) < 700 && first.pipe > 127 * SMSS, "a queue to drain: {first:?}");
    assert!(ms(&after) - ms(&first) < 200 && after.pipe <= 70 * SMSS, "{after:?}");
}

/// §4.2.3: cwnd is the sum of two bandwidth-delay products and three bursts (of 2 segments at 10
/// Mbit/s). As in Linux, two more segments are added in the phase of PROBE_BW with gain 5/4.
#[test]
fn on_an_ideal_path_cwnd_is_two_bandwidth_delay_products_and_three_bursts() {
    let (_, looks) = ideal(9);
    let steady = looks.iter().filter(|look| ms(look) > 1000);
    for look in steady {
        let extra = if look.phase == 0 { 8 } else { 6 };
        let products = (look.cwnd - extra * SMSS) as f64 / 63_500.0;
        assert!((1.98..=2.02).contains(&products), "{products} products: {look:?}");
        assert!(
            look.pipe <= 88 * SMSS,
            "pacing keeps not much more than 1.25 bandwidth-delay products in the pipe: {look:?}"
        );
    }
}

/// §4.3.4: there are eight phases, with gains 5/4, 3/4 and six times one. The phases with gain one
/// last for the minimum round trip. The phase with gain 5/4 may last longer, until the path is
/// full. The phase with gain 3/4 may be shorter, if the queue is empty. The pacing rate is the gain
/// times the bandwidth, less one percent. PROBE_BW begins in the phase of the configuration.
#[test]
fn probe_bw_begins_in_the_configured_phase_and_runs_through_its_eight_phases() {
    let (_, looks) = ideal(5);
    let probing: Vec<Look> =
        looks.iter().copied().filter(|look| look.mode == Mode::ProbeBw).collect();
    let phases: Vec<&[Look]> = probing.chunk_by(|a, b| a.phase == b.phase).collect();
    let order: Vec<usize> = phases.iter().map(|looks| looks[0].phase).take(10).collect();
    assert_eq!(order, [2, 3, 4, 5, 6, 7, 0, 1, 2, 3]);
    for pair in phases[..phases.len() - 1].windows(2) {
        let (look, next) = (pair[0][0], pair[1][0]);
        let (gain, most_ms) = [(125, 110), (75, 52)].get(look.phase).copied().unwrap_or((100, 52));
        let lasted = (next.now - look.now) / 1_000_000;
        let least_ms = if look.phase == 1 { 0 } else { 50 };
        assert!((least_ms..=most_ms).contains(&lasted), "it lasted {lasted} ms: {look:?}");
        assert!(look.pacing.abs_diff(look.bandwidth * gain / 100 * 99 / 100) <= 100, "{look:?}");
    }
    let config = BbrConfig { first_phase: 5, ..BbrConfig::default() };
    let mut bbr = Bbr::new(config);
    let looks = Pipe::new(10_000_000, Duration::from_millis(50)).run(&mut bbr, 2);
    let first = looks.iter().find(|look| look.mode == Mode::ProbeBw).unwrap();
    assert_eq!(first.phase, 5);
}

/// §4.3.5: BBR measures the minimum round trip again every ten seconds. For this measurement, it
/// keeps four segments in the network for 200 ms. Afterwards the bandwidth and cwnd are as before
/// PROBE_RTT.
#[test]
fn probe_rtt_comes_every_ten_seconds_and_lasts_two_hundred_milliseconds() {
    let (_, looks) = ideal(35);
    let visits = spans(&looks, |look| look.mode == Mode::ProbeRtt);
    assert_eq!(visits.len(), 3);
    let mut left = 0;
    for (first, after) in &visits {
        assert!((10_000..10_200).contains(&(ms(first) - left)), "{first:?}");
        let low = looks.iter().find(|look| look.now >= first.now && look.pipe <= 4 * SMSS);
        let lasted = ms(after) - ms(low.unwrap());
        assert!((200..255).contains(&lasted), "it lasted {lasted} ms after {first:?}");
        assert!(after.cwnd > 120 * SMSS, "{after:?}");
        left = ms(after);
    }
    for look in looks.iter().filter(|look| look.mode == Mode::ProbeRtt) {
        assert_eq!(look.cwnd, 4 * SMSS);
        assert!((9_500_000..=10_500_000).contains(&look.bandwidth), "{look:?}");
    }
}

/// On a path of 5 ms, PROBE_RTT lasts longer than the ten rounds over which BBR takes the maximum
/// of the rate. Octets that are delivered while PROBE_RTT holds cwnd down do not show the rate of
/// the path.
#[test]
fn the_bandwidth_stays_the_same_even_if_probe_rtt_lasts_many_rounds() {
    let mut bbr = Bbr::new(BbrConfig::default());
    let looks = Pipe::new(50_000_000, Duration::from_millis(5)).run(&mut bbr, 11);
    assert!(looks.iter().any(|look| look.mode == Mode::ProbeRtt));
    for look in looks.iter().filter(|look| ms(look) > 500) {
        assert!((47_500_000..=52_500_000).contains(&look.bandwidth), "{look:?}");
    }
}

#[test]
fn a_sample_is_limited_only_if_its_octets_were_sent_while_bbr_held_cwnd_down() {
    let (mut bbr, _) = after(&[8_000_000; 5]);
    bbr.model.hold();
    bbr.model.keep_holding(3 * SMSS);
    for (sent_at, limited) in [(4999, false), (5000, true), (8000, true), (8001, false)] {
        let mut ack = round(&bbr, 600, 8_000_000);
        ack.rate.as_mut().unwrap().prior_delivered_bytes = sent_at;
        bbr.model.update_bandwidth(&ack);
        assert_eq!(bbr.model.app_limited, limited, "sent at {sent_at}");
    }
}

/// An ACK in a round of its own, with a rate sample of `bits_per_second` and an RTT of 100 ms.
fn round(bbr: &Bbr, now_ms: u64, bits_per_second: u64) -> AckInfo {
    let total = bbr.model.delivered + SMSS;
    let rtt = Some(Duration::from_millis(100));
    AckInfo {
        now: Time::ZERO + Duration::from_millis(now_ms),
        smss: SMSS,
        delivered_bytes: SMSS,
        pipe_before: 50 * SMSS,
        pipe: 50 * SMSS,
        rtt,
        srtt: rtt,
        rate: Some(RateSample {
            delivered_bytes: bits_per_second / 80,
            interval: Duration::from_millis(100),
            prior_delivered_bytes: bbr.model.delivered,
            total_delivered_bytes: total,
            app_limited: false,
        }),
        ..AckInfo::default()
    }
}

/// A cwnd of `segs` segments, and no slow-start threshold.
fn window(segs: u64) -> Window {
    Window { cwnd: segs * SMSS, ssthresh: Window::NO_THRESHOLD }
}

/// Returns BBR and its `Window` after one round for each of `rates`.
fn after(rates: &[u64]) -> (Bbr, Window) {
    let (mut bbr, mut window) = (Bbr::new(BbrConfig::default()), window(10));
    for (at, rate) in (0..).zip(rates) {
        let ack = round(&bbr, at * 100, *rate);
        bbr.on_ack(&ack, &mut window);
    }
    (bbr, window)
}

/// §4.3.2.2: a growth of the bandwidth by 25 % or more counts. The path is full if, for three
/// rounds in a row, the bandwidth is less than 25 % above its value after the last such growth.
#[test]
fn three_rounds_that_grow_by_less_than_a_quarter_show_a_full_path() {
    for (rates, filled) in [
        (&[8_000_000, 8_000_000, 8_000_000][..], false),
        (&[8_000_000, 9_999_920, 9_999_920, 9_999_920], true),
        (&[8_000_000, 9_999_920, 9_999_920, 10_000_000], false),
        (&[8_000_000, 8_000_000, 10_000_000, 10_000_000, 10_000_000, 10_000_000], true),
    ] {
        assert_eq!(after(rates).0.filled_pipe, filled, "{rates:?}");
    }
}

/// §4.1.1.3: the bandwidth is the maximum of ten rounds. §4.1.1.4: an application-limited sample
/// counts only if it is not below this maximum.
#[test]
fn the_bandwidth_is_the_greatest_of_ten_rounds() {
    let (mut bbr, mut window) = after(&[8_000_000]);
    for n in 1..=9 {
        let ack = round(&bbr, n * 100, 4_000_000);
        bbr.on_ack(&ack, &mut window);
        assert_eq!(bbr.model.bandwidth(), 8_000_000);
    }
    for (rate, bandwidth) in [(2_000_000, 8_000_000), (16_000_000, 16_000_000)] {
        let mut ack = round(&bbr, 1000, rate);
        ack.rate.as_mut().unwrap().app_limited = true;
        bbr.on_ack(&ack, &mut window);
        assert_eq!(bbr.model.bandwidth(), bandwidth);
    }
    for _ in 0..10 {
        let ack = round(&bbr, 1000, 4_000_000);
        bbr.on_ack(&ack, &mut window);
    }
    assert_eq!(bbr.model.bandwidth(), 4_000_000);
}

/// §4.2.1: STARTUP paces at 2.885 times the bandwidth (less one percent), and never slows down.
#[test]
fn startup_paces_at_the_high_gain_and_only_speeds_up() {
    let (bbr, _) = after(&[8_000_000]);
    assert_eq!(bbr.pacing_rate, 8_000_000 * 2885 / 1000 * 99 / 100);
    assert_eq!(bbr.pacing_rate().unwrap().bits_per_second(), Some(22_849_200));
    let (mut bbr, mut window) = after(&[8_000_000, 8_000_000]);
    bbr.model = Model::new(&bbr.config);
    let ack = round(&bbr, 300, 1_000_000);
    bbr.on_ack(&ack, &mut window);
    assert_eq!(bbr.pacing_rate, 22_849_200);
    assert_eq!(bbr.cwnd_gain(), (2885, 1000));
}

/// §4.2.2: a burst is one segment below 1.2 Mbit/s and two segments below 24 Mbit/s. At 24 Mbit/s
/// and above, a burst has the octets of one millisecond, but at most 64 kB.
#[test]
fn a_burst_grows_with_the_pacing_rate_from_one_segment_to_64_kb() {
    let mut bbr = Bbr::new(BbrConfig::default());
    let rates = [1_199_999, 1_200_000, 23_999_999, 24_000_000, 400_000_000, 600_000_000];
    let bursts = rates.map(|rate| {
        bbr.pacing_rate = rate;
        bbr.send_quantum(SMSS)
    });
    assert_eq!(bursts, [1000, 2000, 2000, 3000, 50_000, 64_000]);
}

/// §4.2.3.4: when recovery begins, cwnd becomes the octets in the network plus the octets just
/// delivered. For one round, the sender then sends as many octets as have left the network. At the
/// end of recovery the cwnd from before the recovery is restored.
#[test]
fn recovery_conserves_packets_for_a_round_and_restores_cwnd() {
    let (mut bbr, mut window) = after(&[8_000_000; 8]);
    let good = window.cwnd;
    assert!(good > 15 * SMSS && bbr.filled_pipe);
    bbr.on_congestion(Time::ZERO, Congestion::Loss, good, SMSS, &window);
    assert_eq!(window.ssthresh, Window::NO_THRESHOLD);
    let losing = AckInfo {
        pipe: 7 * SMSS,
        lost_bytes: 3 * SMSS,
        in_recovery: true,
        ..round(&bbr, 900, 8_000_000)
    };
    bbr.on_ack(&losing, &mut window);
    assert_eq!(window.cwnd, 8 * SMSS);
    let mut same_round =
        AckInfo { pipe: 6 * SMSS, in_recovery: true, ..round(&bbr, 910, 8_000_000) };
    same_round.rate.as_mut().unwrap().prior_delivered_bytes = bbr.model.delivered - 1;
    bbr.on_ack(&same_round, &mut window);
    assert_eq!(window.cwnd, 8 * SMSS, "the sender sends as many octets as have left the network");
    let next_round = AckInfo { pipe: 6 * SMSS, in_recovery: true, ..round(&bbr, 1000, 8_000_000) };
    bbr.on_ack(&next_round, &mut window);
    assert_eq!(window.cwnd, 9 * SMSS, "after a round cwnd grows again");
    let mut window_at_end = window;
    bbr.on_ack(&round(&bbr, 1010, 8_000_000), &mut window);
    assert!(window.cwnd >= good, "{window:?}");
    bbr.repair = Repairing::Losses;
    bbr.on_recovery_end(Time::ZERO, &mut window_at_end);
    assert_eq!(window_at_end.cwnd, good);
}

/// §4.2.3.4: after a timeout the sender sets cwnd to one segment. At the end of the repair, the old
/// cwnd is restored.
#[test]
fn cwnd_is_restored_when_the_repair_after_a_timeout_ends() {
    let (mut bbr, mut window) = after(&[8_000_000; 8]);
    let good = window.cwnd;
    bbr.on_congestion(Time::ZERO, Congestion::Timeout, good, SMSS, &window);
    window.cwnd = SMSS;
    bbr.on_congestion(Time::ZERO, Congestion::Timeout, SMSS, SMSS, &window);
    let repair = AckInfo { after_timeout: true, ..round(&bbr, 2000, 8_000_000) };
    bbr.on_ack(&repair, &mut window);
    assert_eq!(window.cwnd, 4 * SMSS);
    bbr.on_ack(&round(&bbr, 2100, 8_000_000), &mut window);
    assert!(window.cwnd >= good);
}

/// §4.3.4.4: after an idle time PROBE_BW paces at the bandwidth (less one percent), in every phase.
#[test]
fn after_an_idle_time_bbr_paces_at_the_bandwidth_and_skips_probe_rtt() {
    let (mut bbr, _) = after(&[8_000_000; 8]);
    bbr.enter_phase(0, Time::ZERO);
    bbr.on_idle_restart(Time::ZERO, Duration::from_secs(1));
    assert_eq!(bbr.pacing_rate, 7_920_000);
    // The minimum has expired, but a sender that was idle needs no PROBE_RTT.
    let mut window = window(20);
    bbr.on_ack(&round(&bbr, 60_000, 8_000_000), &mut window);
    assert_ne!(bbr.mode, Mode::ProbeRtt);
}

#[test]
fn an_undo_clears_the_count_of_rounds_without_growth() {
    let (mut bbr, mut window) = after(&[8_000_000, 8_000_000, 8_000_000]);
    bbr.on_undo(Time::ZERO, &mut window);
    bbr.on_ack(&round(&bbr, 300, 8_000_000), &mut window);
    assert!(!bbr.filled_pipe);
}

/// An event that the algorithm gets.
#[derive(Clone, Copy, Debug)]
enum Step {
    Ack(AckInfo),
    Congestion(Congestion),
    RecoveryEnd,
    Idle,
}

/// Any events. Some of them have values at the limits of their types.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let span = prop_oneof![Just(0), Just(u64::MAX), 0..200_000_000u64, 0..1u64 << 45];
    let octets = || prop_oneof![Just(0), 0..100 * SMSS, 0..1u64 << 40];
    let flags = any::<[bool; 4]>();
    let ack = (span.clone(), octets(), octets(), octets(), octets(), span, flags);
    let ack = ack.prop_map(|(rtt, delivered, lost, pipe, prior, interval, flags)| AckInfo {
        smss: SMSS,
        delivered_bytes: delivered,
        lost_bytes: lost,
        pipe_before: pipe,
        pipe,
        rtt: flags[0].then(|| Duration::from_nanos(rtt)),
        srtt: flags[0].then(|| Duration::from_nanos(rtt)),
        in_recovery: flags[1],
        after_timeout: flags[2] && lost % 3 == 0,
        rate: flags[3].then(|| RateSample {
            delivered_bytes: delivered.saturating_mul(3),
            interval: Duration::from_nanos(interval),
            prior_delivered_bytes: prior,
            total_delivered_bytes: prior + delivered,
            app_limited: lost % 2 == 1,
        }),
        ..AckInfo::default()
    });
    let kind =
        prop_oneof![Just(Congestion::Loss), Just(Congestion::Mark), Just(Congestion::Timeout)];
    let step = prop_oneof![
        20 => ack.prop_map(Step::Ack),
        1 => kind.prop_map(Step::Congestion),
        1 => Just(Step::RecoveryEnd),
        1 => Just(Step::Idle),
    ];
    prop::collection::vec(step, 1..200)
}

proptest! {
    /// Outside recovery and the repair after a timeout, an ACK that delivers octets leaves cwnd at
    /// four segments or more. Otherwise cwnd is at least one segment. No round trip and no rate
    /// causes an overflow.
    #[test]
    fn cwnd_is_at_least_four_segments_and_in_recovery_at_least_one(
        steps in steps(),
        tick_ns in prop_oneof![Just(0), 0..2_000_000_000u64],
    ) {
        let (mut bbr, mut window) = (Bbr::new(BbrConfig::default()), window(10));
        let mut now = Time::ZERO;
        for step in steps {
            now += Duration::from_nanos(tick_ns);
            match step {
                Step::Ack(ack) => {
                    bbr.on_ack(&AckInfo { now, ..ack }, &mut window);
                    let repairing = ack.in_recovery || ack.after_timeout || ack.delivered_bytes == 0;
                    let least = if repairing { SMSS } else { 4 * SMSS };
                    prop_assert!(window.cwnd >= least);
                }
                Step::Congestion(kind) => {
                    bbr.on_congestion(now, kind, window.cwnd, SMSS, &window);
                    if kind == Congestion::Timeout {
                        window.cwnd = SMSS;
                    }
                }
                Step::RecoveryEnd => bbr.on_recovery_end(now, &mut window),
                Step::Idle => bbr.on_idle_restart(now, Duration::from_secs(1)),
            }
            prop_assert!(window.cwnd >= SMSS && window.cwnd <= Window::NO_THRESHOLD);
        }
    }
}

/// If neither the SYN nor the first segment gave a sample, no round trip is known. A rate of one
/// octet in three seconds is not used for pacing.
#[test]
fn nothing_is_paced_before_the_first_round_trip() {
    let mut bbr = Bbr::new(BbrConfig::default());
    let mut window = Window { cwnd: 4 * SMSS, ssthresh: Window::NO_THRESHOLD };
    bbr.on_open(None, &window);
    let rate = RateSample {
        delivered_bytes: 1,
        interval: Duration::from_secs(3),
        prior_delivered_bytes: 0,
        total_delivered_bytes: 1,
        app_limited: true,
    };
    let lone = AckInfo {
        now: Time::from_nanos(4_000_000_000),
        smss: SMSS,
        acked_bytes: 1,
        delivered_bytes: 1,
        rate: Some(rate),
        ..AckInfo::default()
    };
    bbr.on_ack(&lone, &mut window);
    assert_eq!(bbr.pacing_rate(), None);
    let srtt = Some(Duration::from_secs(2));
    bbr.on_ack(&AckInfo { rtt: srtt, srtt, ..lone }, &mut window);
    let bits = bbr.pacing_rate().and_then(BitRate::bits_per_second);
    // §4.2.1: the sender paces at 2 / ln 2 = 2.885 times cwnd in a round trip. Less the margin of a
    // hundredth, this is 2.856 times cwnd.
    let window_over_trip = window.cwnd * 8 / 2;
    let hundredths = bits.map(|bits| bits * 100 / window_over_trip);
    assert_eq!(hundredths, Some(285));
}
