//! Measures round trips, and passes them to the retransmission timer as samples.

use crate::packed::{packed, packed_value};
use crate::sample::{RttSample, SampleSource};
use crate::units::{Duration, Time};

use super::super::context::Context;
use super::super::timer::RetransmitTimer;
use super::config::{RfcConfig, Sampling};
use super::news::News;
use super::send_window::SendWindow;
use super::stamps::since_stamp;

/// The timed segment: the segment whose round trip is measured (RFC 6298 §3).
#[derive(Clone, Copy, Debug)]
struct TimedSegment {
    end: u64,
    at: Time,
}

packed_value!(TimedSegment { end, at });

/// The sending times of the segments that an ACK newly covers in order. Segments that were sent
/// more than once do not count.
#[derive(Debug, Default)]
struct Covered {
    oldest: Option<Time>,
    newest: Option<Time>,
    /// With [`Sampling::EachSegment`], all of these times. With any other sampling, the list is
    /// empty.
    each: Vec<Time>,
}

packed!(Covered { oldest, newest, each });

/// The round-trip meter of a connection.
#[derive(Debug, Default)]
pub(super) struct RttMeter {
    /// The minimum round trip.
    pub(super) min_rtt: Option<Duration>,
    /// The smoothed round trip to the nanosecond, for example for pacing and tail loss probes.
    pub(super) srtt: Option<Duration>,
    /// The round trip of the handshake, if the SYN was sent only once.
    pub(super) handshake_rtt: Option<Duration>,
    timed: Option<TimedSegment>,
    covered: Covered,
    /// The octet at which the current round ends.
    round_end: u64,
    /// The number of rounds so far.
    round: u64,
}

packed!(RttMeter { min_rtt, srtt, handshake_rtt, timed, covered, round_end, round });

impl RttMeter {
    /// Begins the first round when the connection is open. Octet 0 is the SYN, so the first round
    /// ends at octet 1, which is the first octet of data.
    pub(super) fn open(&mut self) {
        self.round_end = 1;
    }

    /// Notes that new octets up to the octet `end` were sent at the instant `at`. These octets are
    /// timed if no other octets are timed.
    #[inline]
    pub(super) fn on_sent(&mut self, end: u64, at: Time) {
        self.timed.get_or_insert(TimedSegment { end, at });
    }

    /// Notes that the segment that starts at octet `seq` was retransmitted. With Karn's rule
    /// (`karn`), timing ends if this segment lies below the end of the timed octets, because the
    /// ACK may answer either transmission (Karn and Partridge 1987). Without Karn's rule, timing
    /// continues.
    pub(super) fn on_retransmitted(&mut self, seq: u64, karn: bool) {
        if karn && self.timed.is_some_and(|timed| seq < timed.end) {
            self.stop_timing();
        }
    }

    /// Ends timing without a sample.
    pub(super) fn stop_timing(&mut self) {
        self.timed = None;
    }

    /// Begins to process an ACK. The segments that the ACK covers are not known yet.
    #[inline]
    pub(super) fn begin_ack(&mut self) {
        (self.covered.oldest, self.covered.newest) = (None, None);
        self.covered.each.clear();
    }

    /// Notes that the ACK covers in order a segment that was sent once, at the instant `sent`.
    #[inline]
    pub(super) fn cover(&mut self, sent: Time, config: &RfcConfig) {
        self.covered.oldest.get_or_insert(sent);
        self.covered.newest = Some(sent);
        if config.sampling == Sampling::EachSegment {
            self.covered.each.push(sent);
        }
    }

    /// Returns the round trip of the newest segment that the ACK covers in order, to the
    /// nanosecond. If this round trip is ambiguous or missing, returns the round trip of the oldest
    /// segment that the ACK newly reports by SACK. `None` if the ACK gives neither of these round
    /// trips. Segments that were sent more than once do not count.
    #[inline]
    pub(super) fn newest_rtt(
        &self,
        news: &News,
        config: &RfcConfig,
        now: Time,
    ) -> Option<Duration> {
        let newest = self.covered.newest.filter(|_| !is_doubtful(news, config));
        newest.or(news.sacked_oldest).map(|sent| now.saturating_since(sent))
    }

    /// Passes samples to the timer, as the configured [`Sampling`] requires.
    #[inline]
    pub(super) fn measure(
        &mut self,
        news: &News,
        window: &SendWindow,
        config: &RfcConfig,
        timer: &mut RetransmitTimer,
        cx: &mut Context<'_>,
    ) {
        if let Some(rtt) = self.newest_rtt(news, config, cx.now) {
            let oldest = self.sent_once(news, config);
            let oldest = oldest.filter(|_| config.sampling == Sampling::EachAckOrEcho);
            self.take_exact(rtt, oldest.map_or(rtt, |sent| cx.now.saturating_since(sent)));
        }
        if !config.timer_rules.rounds_end_beyond || self.gives_sample(news, config, cx.now) {
            self.count_round(window, config);
        }
        let timed = self.timed.take_if(|timed| timed.end <= window.una).map(|timed| timed.at);
        let labels = SampleLabels { acked: news.acked, round: self.round, window, config };
        let sent = match config.sampling {
            Sampling::OnePerRtt => timed,
            Sampling::EachAck => self.sent_once(news, config).or(news.retransmitted_oldest),
            Sampling::EachAckOrEcho => match self
                .sent_once(news, config)
                .or(news.retransmitted_oldest)
            {
                None if news.acked > 0 => return self.measure_doubtful(news, &labels, timer, cx),
                once => once,
            },
            Sampling::EachSegment if self.covered.oldest.is_some() => {
                let each = self.covered.each.iter();
                return each.for_each(|sent| timer.sample(labels.trip(*sent, 1), cx));
            }
            Sampling::EachSegment => news.retransmitted_oldest,
            Sampling::Timestamps if news.acked > 0 => {
                return self.measure_echo(news, &labels, timer, cx);
            }
            Sampling::Timestamps => None,
        };
        match sent {
            Some(sent) => timer.sample(labels.trip(sent, 1), cx),
            None if news.acked > 0 => timer.progress(timed.is_some()),
            None => {}
        }
    }

    /// Whether an ACK gives a sample. With any sampling except [`Sampling::EachAckOrEcho`], the
    /// result is true.
    fn gives_sample(&self, news: &News, config: &RfcConfig, now: Time) -> bool {
        let echo = || news.acked > 0 && doubtful_echo(news.echo, config, now).is_some();
        config.sampling != Sampling::EachAckOrEcho
            || self.sent_once(news, config).or(news.retransmitted_oldest).is_some()
            || echo()
    }

    /// Counts rounds of samples. A round ends when the data that was outstanding at its beginning
    /// is acknowledged. With the switch `rounds_end_beyond`, a round ends when one more octet is
    /// acknowledged, and only ACKs that give a sample count.
    #[inline]
    fn count_round(&mut self, window: &SendWindow, config: &RfcConfig) {
        let beyond = u64::from(config.timer_rules.rounds_end_beyond);
        if window.una >= self.round_end + beyond {
            self.round_end = window.nxt.max(window.una + 1);
            self.round += 1;
        }
    }

    /// Returns the sending time of the oldest segment that the ACK newly covers in order. If this
    /// time is ambiguous or missing, returns the sending time of the oldest segment that the ACK
    /// newly reports by SACK. Segments that were sent more than once do not count.
    fn sent_once(&self, news: &News, config: &RfcConfig) -> Option<Time> {
        self.covered.oldest.filter(|_| !is_doubtful(news, config)).or(news.sacked_oldest)
    }

    /// Takes a sample from the echo if no segment gives a round trip. The echo shows which
    /// transmission of a segment the ACK answers.
    fn measure_doubtful(
        &mut self,
        news: &News,
        labels: &SampleLabels<'_>,
        timer: &mut RetransmitTimer,
        cx: &mut Context<'_>,
    ) {
        let Some(rtt) = doubtful_echo(news.echo, labels.config, cx.now) else {
            return timer.progress(false);
        };
        self.take_exact(rtt, rtt);
        timer.sample(labels.echoed_trip(rtt, cx.now), cx);
    }

    /// Returns a sample from the echo of an ACK. The method is for ACKs from which
    /// [`measure`](Self::measure) made no sample, because all acknowledged octets were sent more
    /// than once. The sample is the round trip of the transmission that the ACK answers (RFC 4015
    /// §3.5).
    pub(super) fn doubtful_trip(
        &self,
        news: &News,
        window: &SendWindow,
        config: &RfcConfig,
        now: Time,
    ) -> Option<RttSample> {
        let by_echo = matches!(config.sampling, Sampling::Timestamps | Sampling::EachAckOrEcho);
        let measured =
            by_echo || self.sent_once(news, config).or(news.retransmitted_oldest).is_some();
        if news.acked == 0 || measured {
            return None;
        }
        let echo = news.echo.filter(|echo| *echo > 0)?;
        let labels = SampleLabels { acked: news.acked, round: self.round, window, config };
        Some(labels.echoed_trip(since_stamp(echo, now), now))
    }

    /// Takes a sample from the echo of a timestamp (RFC 7323 §4.1). The sample is unambiguous even
    /// for segments that were sent more than once. Without an echo, the sample is the round trip of
    /// the oldest covered segment that was sent once.
    fn measure_echo(
        &mut self,
        news: &News,
        labels: &SampleLabels<'_>,
        timer: &mut RetransmitTimer,
        cx: &mut Context<'_>,
    ) {
        let trip = match news.echo.filter(|echo| *echo > 0) {
            Some(echo) => labels.echoed_trip(since_stamp(echo, cx.now), cx.now),
            None => match self.covered.oldest {
                Some(sent) => labels.trip(sent, 1),
                None => return timer.progress(false),
            },
        };
        timer.sample(trip, cx);
    }

    /// Measures the handshake when our SYN is acknowledged. The acknowledgment echoes the timestamp
    /// `echo`. The SYN was sent `times` times, the last time at the instant `sent`.
    pub(super) fn measure_handshake(
        &mut self,
        (sent, times): (Time, u8),
        echo: Option<u32>,
        (window, config): (&SendWindow, &RfcConfig),
        timer: &mut RetransmitTimer,
        cx: &mut Context<'_>,
    ) {
        if times == 1 {
            let rtt = cx.now - sent;
            self.handshake_rtt = Some(rtt);
            self.take_exact(rtt, rtt);
        }
        let labels = SampleLabels { acked: 0, round: self.round, window, config };
        let trip = match doubtful_echo(echo, config, cx.now).filter(|_| times > 1) {
            Some(rtt) => labels.echoed_trip(rtt, cx.now),
            None => labels.trip(sent, times),
        };
        timer.sample(RttSample { handshake: true, ..trip }, cx);
    }

    /// Updates the minimum with `newest`, the round trip of the newest segment, and the smoothed
    /// round trip with the round trip `smoothed`. Linux smooths the round trip of the oldest
    /// segment.
    fn take_exact(&mut self, newest: Duration, smoothed: Duration) {
        self.min_rtt = Some(self.min_rtt.map_or(newest, |least| least.min(newest)));
        self.srtt = Some(self.srtt.map_or(smoothed, |srtt| srtt * 7 / 8 + smoothed / 8));
    }
}

/// Whether the acknowledged octets give no round trip, because the ACK may answer a retransmission
/// among them. Only Linux has this rule: RFC 6298 §3 forbids only samples of the retransmitted
/// segment itself.
#[inline]
fn is_doubtful(news: &News, config: &RfcConfig) -> bool {
    news.covers_copy && config.karn && config.sampling == Sampling::EachAckOrEcho
}

/// For a segment that was sent more than once, returns the round trip that the echo of a timestamp
/// shows. `None` if there is no echo, or if the sampling is not [`Sampling::EachAckOrEcho`].
fn doubtful_echo(echo: Option<u32>, config: &RfcConfig, now: Time) -> Option<Duration> {
    let uses_echo = config.sampling == Sampling::EachAckOrEcho;
    let echo = echo.filter(|echo| uses_echo && *echo > 0)?;
    Some(since_stamp(echo, now).max(Duration::from_millis(1)))
}

/// What the samples of one ACK contain in addition to the round trip.
struct SampleLabels<'a> {
    acked: u64,
    round: u64,
    window: &'a SendWindow,
    config: &'a RfcConfig,
}

impl SampleLabels<'_> {
    /// Returns the sample of a round trip from an echo. The sample is unambiguous, because an echo
    /// belongs to one transmission.
    fn echoed_trip(&self, rtt: Duration, now: Time) -> RttSample {
        let trip = self.trip(now.saturating_before(rtt), 1);
        RttSample { source: SampleSource::Echo, ..trip }
    }

    /// Returns the sample of a segment that was sent `times` times, the last time at the instant
    /// `sent`.
    fn trip(&self, sent: Time, times: u8) -> RttSample {
        let source = match self.config.sampling {
            Sampling::OnePerRtt => SampleSource::TimedSegment,
            _ => SampleSource::EachSegment,
        };
        RttSample {
            sent,
            ambiguous: times > 1 && self.config.karn,
            source,
            acked_bytes: self.acked,
            flight_bytes: self.window.flight(),
            smss_bytes: u32::try_from(self.window.smss).unwrap_or(u32::MAX),
            retransmissions: times.saturating_sub(1),
            round: self.round,
            ..RttSample::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::event::{Events, Wanted, What};
    use crate::ids::EndId;

    /// A meter, and what its methods need.
    struct Bench {
        meter: RttMeter,
        window: SendWindow,
        config: RfcConfig,
        timer: RetransmitTimer,
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    /// A meter of an open connection that has sent no data.
    fn bench(sampling: Sampling) -> Bench {
        let config = RfcConfig { sampling, ..RfcConfig::rfc_2026() };
        let timer = RetransmitTimer::new(config.rto.build(), config.clock);
        let mut window = SendWindow::new(&config);
        (window.una, window.nxt) = (1, 1);
        let mut meter = RttMeter::default();
        meter.open();
        Bench { meter, window, config, timer }
    }

    impl Bench {
        /// Sends 1000 new octets.
        fn send(&mut self, ms: u64) {
            self.window.nxt += 1000;
            self.meter.on_sent(self.window.nxt, at(ms));
        }

        /// Handles an ACK that covers segments that were sent once, at the instants `covered`, and
        /// perhaps other segments. Returns the samples that the ACK gives: the instant of sending
        /// and the round trip, in milliseconds.
        fn ack(&mut self, ms: u64, covered: &[u64], news: News) -> Vec<(u64, u64)> {
            let mut events = Events::new(Wanted { rtt: true, ..Wanted::default() });
            let mut outbox = VecDeque::new();
            let mut cx = Context {
                now: at(ms),
                end: EndId::at(0),
                events: &mut events,
                outbox: &mut outbox,
            };
            let Bench { meter, window, config, timer } = self;
            meter.begin_ack();
            covered.iter().for_each(|sent| meter.cover(at(*sent), config));
            window.una += news.acked;
            meter.measure(&news, window, config, timer, &mut cx);
            let samples = events.drain().map(|event| match event.what {
                What::Rtt { sent, rtt, .. } => (sent.as_nanos(), rtt.as_nanos()),
                other => panic!("{other:?}"),
            });
            samples.map(|(sent, rtt)| (sent / 1_000_000, rtt / 1_000_000)).collect()
        }
    }

    /// An ACK of `octets` new octets.
    fn acked(octets: u64) -> News {
        News { acked: octets, ..News::default() }
    }

    /// RFC 6298 §3: one measurement in a round trip.
    #[test]
    fn one_segment_at_a_time_is_timed() {
        let mut bench = bench(Sampling::OnePerRtt);
        [0, 10, 20].into_iter().for_each(|ms| bench.send(ms));
        assert_eq!(bench.ack(100, &[0], acked(1000)), [(0, 100)]);
        assert_eq!(bench.ack(110, &[10], acked(1000)), []);
        bench.send(115);
        assert_eq!(bench.ack(120, &[20], acked(1000)), []);
        assert_eq!(bench.ack(215, &[115], acked(1000)), [(115, 100)]);
    }

    /// With the rule of Karn and Partridge (1987), a segment that was retransmitted gives no
    /// sample. Without this rule, the first transmission is timed.
    #[test]
    fn only_karns_rule_ends_the_timing_of_a_segment_that_is_retransmitted() {
        for karn in [true, false] {
            let mut bench = bench(Sampling::OnePerRtt);
            bench.send(0);
            bench.meter.on_retransmitted(1001, karn);
            bench.meter.on_retransmitted(1, karn);
            let samples = bench.ack(100, &[], acked(1000));
            assert_eq!(samples, if karn { vec![] } else { vec![(0, 100)] });
        }
    }

    #[test]
    fn an_ack_of_two_segments_gives_a_sample_of_the_older_segment_or_of_both() {
        let samples = |sampling| {
            let mut bench = bench(sampling);
            bench.send(0);
            bench.send(30);
            let samples = bench.ack(100, &[0, 30], acked(2000));
            // The minimum round trip, which is exact to the nanosecond, comes from the newest
            // segment.
            assert_eq!(bench.meter.min_rtt, Some(Duration::from_millis(70)));
            samples
        };
        assert_eq!(samples(Sampling::EachAck), [(0, 100)]);
        assert_eq!(samples(Sampling::EachSegment), [(0, 100), (30, 70)]);
    }

    /// RFC 7323 §4.1: the echo gives the sample. In Linux, the echo gives the sample only if all
    /// covered segments were sent twice.
    #[test]
    fn the_echo_gives_the_sample_but_in_linux_only_if_no_segment_gives_a_sample() {
        let echo = |sampling, covered: &[u64]| {
            let mut bench = bench(sampling);
            bench.send(0);
            bench.ack(100, covered, News { echo: Some(41), ..acked(1000) })
        };
        assert_eq!(echo(Sampling::Timestamps, &[0]), [(40, 60)]);
        assert_eq!(echo(Sampling::EachAckOrEcho, &[0]), [(0, 100)]);
        assert_eq!(echo(Sampling::EachAckOrEcho, &[]), [(40, 60)]);
        assert_eq!(echo(Sampling::EachAck, &[]), []);
    }

    /// RFC 6298 §3, as Linux understands it: the receiver may have sent the ACK only after the
    /// retransmission arrived.
    #[test]
    fn in_linux_an_ack_of_a_retransmission_gives_a_sample_only_by_its_echo() {
        let trips = |sampling, echo| {
            let mut bench = bench(sampling);
            bench.send(0);
            bench.ack(100, &[30], News { echo, covers_copy: true, ..acked(1000) })
        };
        assert_eq!(trips(Sampling::EachAck, None), [(30, 70)]);
        assert_eq!(trips(Sampling::EachAckOrEcho, None), []);
        assert_eq!(trips(Sampling::EachAckOrEcho, Some(41)), [(40, 60)]);
        // A peer that has no timestamp to echo sends zero.
        assert_eq!(trips(Sampling::EachAckOrEcho, Some(0)), []);
    }

    /// RFC 4015 §3.5: with timestamps the ACK that proves a timeout spurious brings a sample.
    #[test]
    fn the_ack_that_proves_a_timeout_spurious_gives_a_sample_by_its_echo() {
        let trip = |sampling, covered: &[u64], echo| {
            let mut bench = bench(sampling);
            bench.send(0);
            let news = |octets| News { echo, ..acked(octets) };
            bench.ack(100, covered, news(1000));
            let Bench { meter, window, config, .. } = &bench;
            let trip = meter.doubtful_trip(&news(1000), window, config, at(100));
            trip.map(|trip| trip.sent)
        };
        assert_eq!(trip(Sampling::EachAck, &[], Some(41)), Some(at(40)));
        assert_eq!(trip(Sampling::EachAck, &[], None), None);
        assert_eq!(
            trip(Sampling::EachAck, &[10], Some(41)),
            None,
            "the ACK has already given a sample"
        );
        assert_eq!(trip(Sampling::Timestamps, &[], Some(41)), None);
        assert_eq!(trip(Sampling::EachAckOrEcho, &[], Some(41)), None);
    }

    #[test]
    fn a_segment_that_sack_reports_gives_a_sample_if_no_segment_is_acknowledged() {
        let mut bench = bench(Sampling::EachAck);
        bench.send(0);
        let news = News { sacked: 1000, sacked_oldest: Some(at(20)), ..News::default() };
        assert_eq!(bench.ack(100, &[], news), [(20, 80)]);
    }

    /// With Linux's `rtt_seq`, a round ends only with an ACK of an octet that was sent after the
    /// round began.
    #[test]
    fn a_round_ends_when_its_data_is_acknowledged_and_in_linux_one_octet_later() {
        let rounds = |rounds_end_beyond| {
            let mut bench = bench(Sampling::EachAck);
            bench.config.timer_rules.rounds_end_beyond = rounds_end_beyond;
            let mut rounds = Vec::new();
            (0..4).for_each(|ms| bench.send(ms));
            for ms in 100..104 {
                bench.ack(ms, &[ms - 100], acked(1000));
                bench.send(ms);
                rounds.push(bench.meter.round);
            }
            bench.ack(200, &[100], acked(1000));
            rounds.push(bench.meter.round);
            rounds
        };
        assert_eq!(rounds(false), [1, 1, 1, 2, 2]);
        assert_eq!(rounds(true), [1, 1, 1, 1, 2]);
    }

    /// Linux examines `rtt_seq` only when it takes a sample.
    #[test]
    fn in_linux_only_an_ack_that_gives_a_sample_ends_a_round() {
        for (sampling, rounds) in [(Sampling::EachAckOrEcho, 1), (Sampling::EachAck, 2)] {
            let mut bench = bench(sampling);
            bench.config.timer_rules.rounds_end_beyond = true;
            bench.send(0);
            bench.ack(100, &[0], acked(1000));
            bench.send(100);
            bench.ack(200, &[], News { covers_copy: true, ..acked(1000) });
            assert_eq!(bench.meter.round, rounds, "{sampling:?}");
        }
    }

    /// RFC 7323 §4.3: if a SYN was sent twice, only an echo could show which transmission was
    /// answered.
    #[test]
    fn the_handshake_has_a_round_trip_only_if_its_syn_was_sent_once() {
        let rtt = |times| {
            let Bench { mut meter, window, config, mut timer } = bench(Sampling::EachAck);
            let mut events = Events::new(Wanted::default());
            let mut outbox = VecDeque::new();
            let (end, outbox) = (EndId::at(0), &mut outbox);
            let mut cx = Context { now: at(80), end, events: &mut events, outbox };
            meter.measure_handshake((at(0), times), None, (&window, &config), &mut timer, &mut cx);
            (meter.handshake_rtt, meter.srtt)
        };
        let exact = Some(Duration::from_millis(80));
        assert_eq!((rtt(1), rtt(2)), ((exact, exact), (None, None)));
    }
}
