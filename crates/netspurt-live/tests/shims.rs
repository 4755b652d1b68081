//! Tests of the shim: a retransmission timer between the kernel's TCP and the path. The shim
//! retransmits segments that the kernel's TCP has sent. The kernel's own timer is set so long that
//! it never fires.

mod worker;

use netspurt::record::{Data, Table};
use worker::{Folder, finish, real_time, start};

/// Makes a scenario with bulk and short transfers of a kernel that retransmits nothing within ten
/// seconds.
fn scenario(shim: &str) -> String {
    format!(
        r#"
stop = "9 s"
seed = 5
[links]
wire = {{ between = ["a", "b"], rate = "5 Mbit/s", delay = "10 ms", queue = "200 packets", loss = [{{ packets = [2, 9, 10], nth = [40, 41, 90] }}, {{ nth = [30, 31, 60] }}] }}
c0 = {{ between = ["c0", "d0"], rate = "5 Mbit/s", delay = "10 ms", loss = [{{ packets = [2, 8] }}, "none"] }}
c1 = {{ between = ["c1", "d1"], rate = "5 Mbit/s", delay = "10 ms", loss = [{{ packets = [8, 8] }}, "none"] }}
c2 = {{ between = ["c2", "d2"], rate = "5 Mbit/s", delay = "10 ms", loss = [{{ packets = [1, 7, 8] }}, "none"] }}
[flows.bulk]
from     = "a"
to       = "b"
endpoint = "kernel"
profile  = "reno-2005"
send     = "200 kB"
shim     = ["{shim}", "off"]
tcp      = {{ rto = {{ min = "10 s" }}, dup_thresh = 300, acks = "every segment" }}
[flows.short]
from     = "c{{i}}"
to       = "d{{i}}"
endpoint = "kernel"
profile  = "reno-2005"
send     = "12 kB"
start    = "1 s"
count    = 3
every    = "500 ms"
shim     = ["{shim}", "off"]
tcp      = {{ rto = {{ min = "10 s" }}, dup_thresh = 300, acks = "every segment" }}
[record]
spy = ["a", "c0", "c1", "c2"]
capture = false
"#
    )
}

/// A column of whole numbers.
fn numbers(table: &Table, name: &str) -> Vec<i64> {
    match table.column(name) {
        Some(Data::I64(values)) => values.clone(),
        Some(Data::U16(values)) => values.iter().map(|value| i64::from(*value)).collect(),
        Some(Data::U64(values)) => values.iter().map(|value| value.cast_signed()).collect(),
        _ => panic!("{name}"),
    }
}

/// A column of texts.
fn words(table: &Table, name: &str) -> Vec<String> {
    match table.column(name) {
        Some(Data::Tag { codes, texts }) => {
            codes.iter().map(|code| texts[*code as usize].to_owned()).collect()
        }
        Some(Data::Text { codes, texts }) => {
            codes.iter().map(|code| texts[*code as usize].clone()).collect()
        }
        _ => panic!("{name}"),
    }
}

/// A second implementation of RFC 6298. Its times are floats in microseconds. It computes when the
/// timer of one flow should have fired.
#[derive(Default)]
struct Model {
    floor: f64,
    srtt: Option<f64>,
    rttvar: f64,
    factor: f64,
    /// For each outstanding segment: the octet at which it ends, when it was first sent, and
    /// whether it was retransmitted.
    out: Vec<(i64, f64, bool)>,
    una: i64,
    deadline: Option<f64>,
}

impl Model {
    fn rto(&self) -> f64 {
        let plain = self.srtt.map_or(1e6, |srtt| srtt + (4.0 * self.rttvar).max(1e3));
        plain.max(self.floor) * self.factor
    }

    fn sent(&mut self, at: f64, end: i64, syn: bool) {
        let highest = self.out.last().map_or(self.una, |(end, ..)| *end);
        assert!(end > highest, "the kernel retransmits nothing");
        self.out.push((end, at, false));
        if self.deadline.is_none() && !syn {
            self.deadline = Some(at + self.rto());
        }
    }

    fn fired(&mut self, at: f64) {
        self.factor *= 2.0;
        self.out[0].2 = true;
        self.deadline = Some(at + self.rto());
    }

    fn acked(&mut self, at: f64, ack: i64) {
        if ack <= self.una {
            return;
        }
        self.una = ack;
        let covered: Vec<_> =
            self.out.iter().copied().take_while(|(end, ..)| *end <= ack).collect();
        self.out.drain(..covered.len());
        if covered.iter().all(|(_, _, again)| !again) && !covered.is_empty() {
            let rtt = at - covered[0].1;
            self.factor = 1.0;
            match self.srtt {
                None => (self.srtt, self.rttvar) = (Some(rtt), rtt / 2.0),
                Some(srtt) => {
                    self.rttvar = 0.75 * self.rttvar + 0.25 * (srtt - rtt).abs();
                    self.srtt = Some(0.875 * srtt + 0.125 * rtt);
                }
            }
        }
        self.deadline = (!self.out.is_empty()).then(|| at + self.rto());
    }
}

/// Returns the difference between each retransmission of a shim and the model's deadline, in
/// microseconds.
fn offsets(segments: &Table, flow: &str) -> Vec<f64> {
    let (flows, ways) = (words(segments, "flow"), words(segments, "way"));
    let (causes, kinds) = (words(segments, "cause"), words(segments, "kind"));
    let (at, seq) = (numbers(segments, "t_ns"), numbers(segments, "seq"));
    let (len, ack) = (numbers(segments, "len_bytes"), numbers(segments, "ack"));
    let flags = numbers(segments, "flags");
    let mut model = Model { floor: 30e3, factor: 1.0, ..Model::default() };
    let mut off = Vec::new();
    for row in (0..segments.rows()).filter(|row| flows[*row] == flow) {
        let now = at[row] as f64 / 1e3;
        let length = len[row] + (flags[row] & 1) + (flags[row] >> 1 & 1);
        if ways[row] == "in" {
            model.acked(now, ack[row]);
        } else if causes[row] == "shim" {
            off.push(now - model.deadline.expect("the timer of the model is armed"));
            model.fired(now);
        } else if length > 0 {
            assert_eq!(causes[row], "", "only the shim retransmits");
            model.sent(now, seq[row] + length, kinds[row] == "syn");
        }
    }
    assert!(model.out.is_empty(), "{flow}: all is acknowledged");
    off
}

#[test]
fn the_shim_retransmits_at_the_deadline_of_the_model() {
    real_time(|| {
        let folder = Folder::new();
        let text = scenario("rfc6298:min=30ms,spread_gains=false");
        let Some(()) = finish(start(&text, &folder.0, None)) else { return };
        let flows = folder.table("flows");
        assert_eq!(numbers(&flows, "delivered_bytes"), [200_000, 12_000, 12_000, 12_000]);
        assert_eq!(numbers(&flows, "acked_bytes"), [200_000, 12_000, 12_000, 12_000]);
        assert_eq!(numbers(&flows, "timeouts"), [0; 4]);
        assert_eq!(words(&folder.table("retransmissions"), "cause"), ["shim"; 4]);
        assert_eq!(folder.report()["replayed"]["same"], true, "shims act in the replay too");
        let segments = folder.table("segments");
        let off: Vec<f64> = ["bulk", "short.0", "short.1", "short.2"]
            .iter()
            .flat_map(|flow| offsets(&segments, flow))
            .collect();
        assert!(off.len() >= 12, "{off:?}");
        assert!(off.iter().all(|off| off.abs() < 1.0), "off by the path's clock: {off:?} us");
        // By the wall clock, a copy reaches the other host late if the machine is late.
        let shims = folder.table("shims");
        assert_eq!(shims.rows(), off.len());
        let copies = numbers(&shims, "id");
        let deliveries = folder.table("deliveries");
        let (due, actual) = (numbers(&deliveries, "t_ns"), numbers(&deliveries, "actual_ns"));
        let late = (numbers(&deliveries, "id").iter().enumerate())
            .filter(|(_, id)| copies.contains(id))
            .map(|(row, _)| actual[row] - due[row])
            .max()
            .unwrap();
        assert!(late < 1_000_000, "a copy was {} us late", late / 1000);
    });
}

/// The `cutout` is a number of octets. Super Fast Retransmit stops when this many octets of a
/// connection are acknowledged.
#[test]
fn super_fast_retransmit_is_named_as_the_cause_and_stops_at_its_cutout() {
    real_time(|| {
        let folder = Folder::new();
        let text = scenario("sfr:factor=3,cutout=80kB");
        let Some(()) = finish(start(&text, &folder.0, None)) else { return };
        let retransmissions = folder.table("retransmissions");
        assert!(
            words(&retransmissions, "cause").iter().all(|cause| cause == "sfr"),
            "{retransmissions:?}"
        );
        let shims = folder.table("shims");
        assert!(shims.rows() >= 4);
        assert!(numbers(&shims, "seq").iter().all(|seq| *seq <= 81_460));
    });
}
