//! Lists the foreign algorithms that a scenario uses: timers and congestion control that are not
//! part of netspurt.

use std::collections::BTreeSet;

use netspurt::congestion::CongestionConfig;
use netspurt::foreign::Origin;
use netspurt::rto::EstimatorConfig;
use netspurt::shim::{ShimConfig, ShimTimer};

use super::flow_spec::FlowSpec;
use super::population_spec::PopulationSpec;
use super::spec::Spec;
use super::switch::SwitchValue;

/// The origins (files with the code) of the foreign algorithms in `spec`, each once.
pub(super) fn origins(spec: &Spec) -> Vec<Origin> {
    let shadows = spec.record.shadows.iter().filter_map(|text| of_timer(text));
    let flows = spec.flows.values().flat_map(of_flow);
    let populations = spec.populations.values().map(PopulationSpec::as_flow);
    let populations = populations.flat_map(|flow| of_flow(&flow).collect::<Vec<_>>());
    let all: BTreeSet<Origin> = shadows.chain(flows).chain(populations).cloned().collect();
    all.into_iter().collect()
}

fn of_flow(flow: &FlowSpec) -> impl Iterator<Item = &'static Origin> + use<> {
    let text = |key: &str| flow.tcp.get(key).and_then(SwitchValue::text);
    let timer = text("rto.estimator").and_then(of_timer);
    let congestion = text("congestion").and_then(|text| match CongestionConfig::foreign(text)? {
        Ok(CongestionConfig::Foreign(own)) => Some(own.origin()),
        _ => None,
    });
    let shims: Vec<&Origin> = (flow.shim.iter().flat_map(|texts| texts.each()))
        .filter_map(|text| match ShimConfig::parse(text).ok()?.timer {
            ShimTimer::Estimator(EstimatorConfig::Foreign(own)) => Some(own.origin()),
            _ => None,
        })
        .collect();
    timer.into_iter().chain(congestion).chain(shims)
}

fn of_timer(text: &str) -> Option<&'static Origin> {
    match EstimatorConfig::parse(text) {
        Ok(EstimatorConfig::Foreign(own)) => Some(own.origin()),
        _ => None,
    }
}
