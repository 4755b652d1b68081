//! Plans the flow of programs. In this flow, programs of the user run at two nodes. The flow has
//! all connections of these programs, and all other packets of their hosts.

use std::sync::Arc;

use netspurt::plan::{PlannedFlow, Traffic};
use netspurt::units::Time;
use netspurt::wire::BARE_HEADER_BYTES;

use super::error::Problem;
use super::expand::node;
use super::flow_spec::{EndpointWord, Family};
use super::kernel::{KernelRole, kernel_tcp, shims};
use super::number::BoundedInteger;
use super::reach::Reach;
use super::spec::Spec;

/// Adds the flow of programs, if there is one, after the other flows and the echo probes. The
/// connections of this flow start during the run.
pub(super) fn plan_programs(
    spec: &Spec,
    net: &Reach<'_>,
    flows: &mut Vec<PlannedFlow>,
) -> Result<(), Problem> {
    let mut all = spec.flows.iter().filter(|(_, flow)| flow.is_of_programs());
    let Some((name, flow)) = all.next() else { return Ok(()) };
    let slip = |key: &str, message: &str| Problem::at(["flows", name, key], message);
    if let Some((second, _)) = all.next() {
        let problem = Problem::at(["flows", second, "app"], "another flow already runs programs");
        return Err(problem
            .also(["flows", name, "app"])
            .fix("keep one of them: only one pair of hosts can run programs"));
    }
    if flow.ends() != [EndpointWord::Kernel; 2] {
        return Err(slip("endpoint", "programs need the kernel's TCP at both ends")
            .also(["flows", name, "app"])
            .fix("write `endpoint = \"kernel\"`"));
    }
    if flow.count != BoundedInteger(1) {
        return Err(
            slip("count", "only one pair of hosts can run programs").fix("leave `count` out")
        );
    }
    let place = |key: &str, host: &str| node(net.nodes, host, &["flows", name, key]);
    let (from, to) = (place("from", &flow.from)?, place("to", &flow.to)?);
    if flow.family == Family::Ipv6 {
        let problem = slip("family", "the hosts of programs use IPv4 only");
        return Err(problem.also(["flows", name, "app"]).fix("leave `family` out"));
    }
    let tcp = kernel_tcp(name, flow.profile, &flow.tcp, Family::Ipv4, KernelRole::BothEnds)?;
    net.check(["flows", name], (from, to), [tcp.packet_bytes, BARE_HEADER_BYTES])?;
    let shims = shims(name, flow)?;
    let (start, traffic) = (Time::ZERO, Arc::new(Traffic::Programs { tcp, shims }));
    flows.push(PlannedFlow { name: name.clone(), from, to, ipv6: false, start, traffic });
    Ok(())
}
