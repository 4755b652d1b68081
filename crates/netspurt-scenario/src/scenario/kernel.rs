//! The configurations and the shims of flows that use the running kernel's TCP. A shim is a
//! retransmission timer between the kernel's TCP and the path.

use netspurt::congestion::CongestionConfig;
use netspurt::ids::Side;
use netspurt::plan::KernelTcp;
use netspurt::shim::ShimConfig;
use netspurt::units::ByteCount;

use super::error::Problem;
use super::flow_spec::{EndpointWord, Family, FlowSpec};
use super::profile::Profile;
use super::quantity::WordOr;
use super::switch::{self, SwitchValue, TcpSpec};

/// The role of the kernel's TCP in a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KernelRole {
    /// The kernel's TCP is at both ends.
    BothEnds,
    /// The simulator's TCP (the model) sends, and the kernel's TCP receives.
    Receiver,
    /// The kernel's TCP sends, and the simulator's TCP (the model) receives.
    Sender,
    /// The kernel's TCP is at one end. Both ends send: requests in one direction, replies in the
    /// other.
    Peer,
}

impl KernelRole {
    /// The role of the kernel's TCP at the flow's end on this `side`.
    pub(super) fn of(flow: &FlowSpec, side: Side) -> Self {
        match (flow.ends(), &flow.app, side) {
            ([EndpointWord::Kernel, EndpointWord::Kernel], ..) => Self::BothEnds,
            (_, WordOr::Table(_), _) => Self::Peer,
            (.., Side::From) => Self::Sender,
            (.., Side::To) => Self::Receiver,
        }
    }
}

/// The configuration of the kernel's TCP in the flow `name`, where it has the role `part`.
pub(super) fn kernel_tcp(
    name: &str,
    profile: Profile,
    tcp: &TcpSpec,
    family: Family,
    part: KernelRole,
) -> Result<KernelTcp, Problem> {
    let Some(base) = profile.kernel() else {
        let problem =
            Problem::at(["flows", name, "profile"], "the kernel does not have this profile");
        return Err(problem
            .also(["flows", name, "endpoint"])
            .fix("write `reno-1998`, `reno-2005`, `linux-6` or `linux-default`"));
    };
    let base = KernelTcp { header_bytes: base.header_bytes + family.more_bytes(), ..base };
    let text = tcp.get("congestion").and_then(SwitchValue::text);
    let of_the_model = match part {
        KernelRole::BothEnds | KernelRole::Sender => false,
        KernelRole::Receiver => true,
        KernelRole::Peer => text.is_some_and(|text| CongestionConfig::named(text).is_none()),
    };
    let tcp = if of_the_model { &tcp.without(&["congestion"]) } else { tcp };
    let tcp = switch::kernel(name, &base, tcp, part == KernelRole::BothEnds)?;
    least_packet(name, family, tcp.packet_bytes)?;
    Ok(tcp)
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
            return Err(at("a shim works only at an end that uses the kernel's TCP".into())
                .also(["flows", name, "endpoint"])
                .fix("write `\"off\"` for this end; set a model's timer by `tcp.rto.estimator`"));
        }
        ShimConfig::parse(text).map(Some).map_err(|error| at(error.message).fix(error.fix))
    };
    let [from, to] = texts.each();
    let words = flow.ends();
    Ok([read(from, words[0])?, read(to, words[1])?])
}

/// Checks the size of the packets at an end that uses the kernel's TCP. The MSS of a Linux sender
/// is at least 48 octets (`tcp_min_snd_mss`). A packet of 128 octets has room for this MSS, for the
/// headers, and for 40 octets of options. IPv6 needs an MTU of at least 1280 octets (RFC 8200 §5).
fn least_packet(name: &str, family: Family, bytes: u16) -> Result<(), Problem> {
    let least = if family == Family::Ipv6 { 1280 } else { 128 };
    if bytes < least {
        let message = format!("the kernel cannot use packets of {}", ByteCount(bytes.into()));
        let problem = Problem::at(["flows", name, "tcp", "packet_size"], message);
        return Err(problem.fix(format!("write {least} B to 65535 B")));
    }
    Ok(())
}
