//! Flows of the running kernel's TCP: what is asked of it.

use crate::shim::ShimConfig;
use crate::units::{ByteCount, Duration, SegmentCount};

use super::error::Problem;
use super::flow_plan::{HEADER_BYTES, packet_bytes, problem};
use super::flow_spec::{
    AckWord, CongestionWord, EndpointWord, Family, FlowSpec, Profile, RecoveryWord, RtoTable,
    TcpSpec,
};
use super::quantity::WordOr;

/// Which of its sets of values a kernel is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelProfile {
    /// As near as it comes to Reno without options.
    Reno1998,
    /// The same with the initial window of RFC 3390.
    Reno2005,
    /// Its defaults, each set all the same.
    LinuxDefault,
}

impl KernelProfile {
    /// The name that scenarios use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reno1998 => "reno-1998",
            Self::Reno2005 => "reno-2005",
            Self::LinuxDefault => "linux-default",
        }
    }
}

/// What is asked of the kernel's TCP at one end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelTcp {
    /// The set of values to start from.
    pub profile: KernelProfile,
    /// Segments sent at the start of the connection.
    pub initial_window_segs: u32,
    /// Octets of the largest packet.
    pub packet_bytes: u16,
    /// Octets of IP and TCP headers without options.
    pub header_bytes: u16,
    /// The law of the congestion window, as the kernel calls it.
    pub congestion: &'static str,
    /// SACK blocks (RFC 2018).
    pub sack: bool,
    /// Time stamps (RFC 7323 §3).
    pub timestamps: bool,
    /// Window scaling (RFC 7323 §2).
    pub window_scaling: bool,
    /// Whether the sender asks for congestion marks (RFC 3168).
    pub ecn: bool,
    /// Losses found by time (RFC 8985).
    pub rack: bool,
    /// Tail loss probes (RFC 8985 §7).
    pub tlp: bool,
    /// Detection of needless timeouts (RFC 5682).
    pub frto: bool,
    /// Whether the receiver acknowledges every segment at once.
    pub quick_acks: bool,
    /// Holds short segments back while any octet is outstanding (RFC 896).
    pub nagle: bool,
    /// Octets that the receiver's window may have from the start; `None` leaves the kernel's own
    /// small beginning, which grows.
    pub receive_buffer_bytes: Option<u32>,
    /// The least that its timer adds to the smoothed round trip.
    pub rto_min: Duration,
    /// Duplicates that tell a loss.
    pub dup_thresh: u32,
}

impl KernelTcp {
    /// Octets of payload in a full segment.
    pub fn smss(&self) -> u16 {
        let options = if self.timestamps { 12 } else { 0 };
        self.packet_bytes - self.header_bytes - options
    }
}

/// Linux's own.
const RTO_MIN: Duration = Duration::from_millis(200);

/// The switches that a kernel has.
const KNOWN: [&str; 15] = [
    "initial_window",
    "packet_size",
    "congestion",
    "sack",
    "timestamps",
    "window_scaling",
    "ecn",
    "recovery",
    "tlp",
    "frto",
    "acks",
    "nagle",
    "receive_buffer",
    "rto",
    "dup_thresh",
];

impl Profile {
    /// The kernel's side of the profile, if it has one.
    fn of_the_kernel(self) -> Option<KernelProfile> {
        match self {
            Self::Reno1998 => Some(KernelProfile::Reno1998),
            Self::Reno2005 => Some(KernelProfile::Reno2005),
            Self::Linux6 | Self::LinuxDefault => Some(KernelProfile::LinuxDefault),
            Self::Ns2 | Self::Rfc2026 => None,
        }
    }

    /// The profile's switches as the kernel has them.
    pub(super) fn kernel_switches(self) -> TcpSpec {
        let modern = self.of_the_kernel() == Some(KernelProfile::LinuxDefault);
        let window = match self {
            Self::Reno1998 => 1,
            Self::Reno2005 => 3,
            _ => 10,
        };
        TcpSpec {
            initial_window: Some(SegmentCount(window)),
            packet_size: Some(ByteCount(1500)),
            congestion: Some(if modern { CongestionWord::Cubic } else { CongestionWord::Reno }),
            recovery: Some(if modern { RecoveryWord::Rack } else { RecoveryWord::Newreno }),
            sack: Some(modern),
            timestamps: Some(modern),
            window_scaling: Some(modern),
            ecn: Some(false),
            tlp: Some(modern),
            frto: Some(modern),
            nagle: Some(true),
            dup_thresh: Some(3),
            rto: Some(RtoTable { min: Some(RTO_MIN), ..RtoTable::default() }),
            ..TcpSpec::default()
        }
    }
}

/// What flow `name`, whose switches are filled in, asks of the kernel. With `alone` both of its
/// ends are the kernel's, so that a switch it does not have is of no use to anyone.
pub(super) fn kernel_tcp(
    name: &str,
    profile: Profile,
    tcp: &TcpSpec,
    family: Family,
    alone: bool,
) -> Result<KernelTcp, Problem> {
    let Some(kernel) = profile.of_the_kernel() else {
        let problem =
            Problem::at(["flows", name, "profile"], "a profile that the kernel does not have");
        return Err(problem
            .also(["flows", name, "endpoint"])
            .fix("`reno-1998`, `reno-2005` or `linux-default`"));
    };
    let given = toml::Table::try_from(tcp.clone()).expect("plain data");
    let foreign = given.keys().find(|key| !KNOWN.contains(&key.as_str()));
    if let Some(key) = foreign.filter(|_| alone) {
        let message = format!("the kernel has no switch `{key}`");
        return Err(problem(name, key, message).fix("leave it out, or give a `model` end to it"));
    }
    let tcp = tcp.clone().over(profile.kernel_switches());
    let has = |switch: Option<bool>| switch == Some(true);
    let window = tcp.initial_window.unwrap_or(SegmentCount(1)).0;
    let initial_window_segs = u32::try_from(window).ok().filter(|w| (1..=1000).contains(w));
    Ok(KernelTcp {
        profile: kernel,
        initial_window_segs: initial_window_segs.ok_or_else(|| {
            let message = format!("an initial window of {window} segments");
            problem(name, "initial_window", message).fix("1 to 1000 segments")
        })?,
        packet_bytes: least_packet(name, family, tcp.packet_size.unwrap_or(ByteCount(1500)))?,
        header_bytes: HEADER_BYTES + family.more_bytes(),
        congestion: congestion(tcp.congestion),
        sack: has(tcp.sack),
        timestamps: has(tcp.timestamps),
        window_scaling: has(tcp.window_scaling),
        ecn: has(tcp.ecn),
        rack: tcp.recovery == Some(RecoveryWord::Rack),
        tlp: has(tcp.tlp),
        frto: has(tcp.frto),
        quick_acks: matches!(tcp.acks, Some(WordOr::Word(AckWord::EverySegment))),
        nagle: has(tcp.nagle),
        receive_buffer_bytes: receive_buffer(name, tcp.receive_buffer)?,
        // Where the other end is the model's, the timer is that one's.
        dup_thresh: dup_thresh(name, tcp.dup_thresh.filter(|_| alone).unwrap_or(3))?,
        rto_min: if alone { rto_min(name, tcp.rto.unwrap_or_default())? } else { RTO_MIN },
    })
}

/// The window that is asked for. Of a kernel's buffer about half is window.
fn receive_buffer(name: &str, asked: Option<ByteCount>) -> Result<Option<u32>, Problem> {
    const MOST: u64 = 1 << 29;
    let Some(ByteCount(bytes)) = asked else { return Ok(None) };
    let small =
        u32::try_from(bytes).ok().filter(|bytes| (4096..=MOST).contains(&u64::from(*bytes)));
    small.map(Some).ok_or_else(|| {
        let message = format!("a kernel's window of {}", ByteCount(bytes));
        problem(name, "receive_buffer", message).fix("from `4096 B` to `512 MiB`")
    })
}

/// Linux takes so many at most (`tcp_max_reordering`).
fn dup_thresh(name: &str, count: u32) -> Result<u32, Problem> {
    const MOST: u32 = 300;
    if (1..=MOST).contains(&count) {
        return Ok(count);
    }
    let message = format!("the kernel takes no threshold of {count}");
    Err(problem(name, "dup_thresh", message).fix("1 to 300"))
}

/// The one value of the kernel's timer that can be set, in whole microseconds up to its ceiling.
fn rto_min(name: &str, table: RtoTable) -> Result<Duration, Problem> {
    const MOST: Duration = Duration::from_secs(120);
    let RtoTable { min, .. } = table;
    if table != (RtoTable { min, ..RtoTable::default() }) {
        return Err(problem(name, "rto", "of its timer the kernel lets only `min` be set")
            .fix("`rto = { min = \"50 ms\" }`; any other timer as a `shim`"));
    }
    let min = min.unwrap_or(RTO_MIN);
    if min < Duration::from_micros(1) || min > MOST {
        let problem = Problem::at(
            ["flows", name, "tcp", "rto", "min"],
            format!("the kernel takes no least timer of {min}"),
        );
        return Err(problem.fix("1 us to 120 s"));
    }
    Ok(min)
}

/// The shims at the two ends of flow `name`.
pub(super) fn shims(name: &str, flow: &FlowSpec) -> Result<[Option<ShimConfig>; 2], Problem> {
    let Some(texts) = &flow.shim else { return Ok([None; 2]) };
    let read = |text: &String, word: EndpointWord| {
        let at = |message: String| Problem::at(["flows", name, "shim"], message);
        if text == "off" {
            return Ok(None);
        }
        if word != EndpointWord::Kernel {
            return Err(at("a shim at an end of the model's".into())
                .also(["flows", name, "endpoint"])
                .fix("`\"off\"` there: the model takes any timer as `tcp.rto.estimator`"));
        }
        ShimConfig::parse(text).map(Some).map_err(|error| at(error.message).fix(error.fix))
    };
    let [from, to] = texts.each();
    let words = flow.ends();
    Ok([read(from, words[0])?, read(to, words[1])?])
}

/// The size of a full packet. Linux sends no segment of less than 48 octets (`tcp_min_snd_mss`).
/// IPv6 is switched off on devices with an MTU below 1280 (RFC 8200 §5).
fn least_packet(name: &str, family: Family, size: ByteCount) -> Result<u16, Problem> {
    let least = if family == Family::Ipv6 { 1280 } else { 128 };
    let bytes = packet_bytes(name, size)?;
    if bytes < least {
        let message = format!("the kernel fills no packet of {size}");
        return Err(problem(name, "packet_size", message).fix(format!("{least} B to 65535 B")));
    }
    Ok(bytes)
}

fn congestion(word: Option<CongestionWord>) -> &'static str {
    match word {
        None | Some(CongestionWord::Reno) => "reno",
        Some(CongestionWord::Cubic) => "cubic",
        Some(CongestionWord::Bbr) => "bbr",
        Some(CongestionWord::Westwood) => "westwood",
    }
}
