//! From the links of a scenario to the links of a world.

use crate::link::{
    Delay, Effects, Framing, Interpolation, LinkConfig, Mtu, Order, Pick, Timeline, TimelineError,
    TooBig,
};
use crate::units::{Duration, Time};

use super::error::Problem;
use super::link_place::LinkPlace;
use super::link_spec::{
    BetweenWord, BurstTable, DuplicateTable, FramingTable, FramingWord, LinkSpec, LossPlace,
    LossTable, NoneWord, OrderWord, ReorderTable, TimelineSpec, TooBigWord,
};
use super::number::{Ordinal, Probability};
use super::quantity::WordOr;
use super::queue_plan::queue;
use super::tree::entry;

/// The forward link and the reverse link.
pub(super) fn both_ways(spec: &LinkSpec, name: &LinkPlace<'_>) -> Result<[LinkConfig; 2], Problem> {
    Ok([one_way(spec, name, 0)?, one_way(spec, name, 1)?])
}

fn one_way(spec: &LinkSpec, name: &LinkPlace<'_>, way: usize) -> Result<LinkConfig, Problem> {
    let name = &LinkPlace { way, ..*name };
    let order = match spec.order.each()[way] {
        OrderWord::Fifo => Order::Fifo,
        OrderWord::Overtaking => Order::Overtaking,
    };
    Ok(LinkConfig {
        rate: *spec.rate.each()[way],
        framing: framing(spec.framing.each()[way], name)?,
        delay: delay(spec.delay.each()[way], name)?,
        order,
        mtu: mtu(spec, name, way)?,
        queue: queue(spec.queue.each()[way], name, way)?,
        effects: effects(spec, order, name, way)?,
    })
}

fn mtu(spec: &LinkSpec, name: &LinkPlace<'_>, way: usize) -> Result<Option<Mtu>, Problem> {
    let Some(sizes) = &spec.mtu else {
        return match spec.too_big {
            None => Ok(None),
            Some(_) => {
                let problem = name.problem("too_big", "nothing is too big for this link");
                Err(problem.fix("add `mtu`, as in `mtu = \"576 B\"`"))
            }
        };
    };
    let word = spec.too_big.as_ref().map_or(TooBigWord::default(), |words| *words.each()[way]);
    let too_big = match word {
        TooBigWord::Fragment => TooBig::Fragment,
        TooBigWord::Drop => TooBig::Drop,
    };
    let size = sizes.each()[way];
    let bytes = u32::try_from(size.0).ok().filter(|bytes| *bytes <= u32::from(u16::MAX));
    let mtu = bytes.and_then(|bytes| Mtu::new(bytes, too_big)).ok_or_else(|| {
        name.problem("mtu", format!("no link of the internet takes {size} at most"))
            .fix("68 B to 65535 B")
    })?;
    Ok(Some(mtu))
}

fn framing(
    spec: &WordOr<FramingWord, FramingTable>,
    name: &LinkPlace<'_>,
) -> Result<Framing, Problem> {
    Ok(match spec {
        WordOr::Word(FramingWord::None) => Framing::NONE,
        WordOr::Word(FramingWord::Serial8n1) => Framing::SERIAL_8N1,
        WordOr::Word(FramingWord::Ppp) => Framing::PPP,
        WordOr::Word(FramingWord::Ppp8n1) => Framing::PPP_8N1,
        WordOr::Table(table) => {
            let overhead = u32::try_from(table.overhead.0).ok().filter(|bytes| *bytes <= 65_535);
            let overhead_bytes = overhead.ok_or_else(|| {
                let message = format!("no line frames packets with {}", table.overhead);
                let mut problem = name.problem("framing", message);
                problem.path.push("overhead".to_owned());
                problem.fix("65535 B at most")
            })?;
            Framing { overhead_bytes, bits_per_octet: table.bits_per_octet.small() }
        }
    })
}

fn delay(spec: &WordOr<Duration, TimelineSpec>, name: &LinkPlace<'_>) -> Result<Delay, Problem> {
    let table = match spec {
        WordOr::Word(constant) => return Ok(Delay::constant(*constant)),
        WordOr::Table(table) => table,
    };
    let points =
        table.timeline.iter().map(|[instant, delay]| (Time::ZERO + *instant, *delay)).collect();
    let between = match table.between {
        BetweenWord::Step => Interpolation::Step,
        BetweenWord::Linear => Interpolation::Linear,
    };
    let timeline = Timeline::new(points, between);
    timeline.map(Delay::following).map_err(|error| {
        let mut problem = name.problem("delay", error.to_string());
        problem.path.push("timeline".to_owned());
        match error {
            TimelineError::Empty => {
                problem.fix("as in [[\"0 s\", \"20 ms\"], [\"15 s\", \"40 ms\"]]")
            }
            TimelineError::Unordered(nth) => {
                problem.path.push(entry(nth - 1));
                problem.fix("points in order of time")
            }
        }
    })
}

fn effects(
    spec: &LinkSpec,
    order: Order,
    name: &LinkPlace<'_>,
    way: usize,
) -> Result<Option<Effects>, Problem> {
    let mut effects = Effects::default();
    let mut any = false;
    if let Some(table) = some(spec.loss.each()[way]) {
        let pick = Some(loss(table, name, way)?);
        match table.at {
            LossPlace::Entry => effects.loss_at_entry = pick,
            LossPlace::Way => effects.loss = pick,
        }
        any = true;
    }
    if let Some(DuplicateTable { packets, nth, probability, after }) =
        some(spec.duplicate.each()[way])
    {
        let pick = pick("duplicate", packets, nth, *probability, name, way)?;
        effects.duplicate = Some((pick, *after));
        any = true;
    }
    if let Some(ReorderTable { packets, nth, probability, by }) = some(spec.reorder.each()[way]) {
        if order == Order::Fifo {
            let problem = name.problem("reorder", "a link in order reorders nothing");
            return Err(problem.fix("add `order = \"overtaking\"`"));
        }
        let pick = pick("reorder", packets, nth, *probability, name, way)?;
        effects.reorder = Some((pick, *by));
        any = true;
    }
    Ok(any.then_some(effects))
}

fn some<T>(spec: &WordOr<NoneWord, T>) -> Option<&T> {
    match spec {
        WordOr::Word(NoneWord::None) => None,
        WordOr::Table(table) => Some(table),
    }
}

fn loss(table: &LossTable, name: &LinkPlace<'_>, way: usize) -> Result<Pick, Problem> {
    let LossTable { packets, nth, probability, bursts, at: _ } = table;
    let bursts = match bursts {
        None if packets.is_empty() && nth.is_empty() && probability.is_none() => {
            return Err(nothing_picked("loss", name));
        }
        None => None,
        Some(bursts) => Some(probabilities(bursts)),
    };
    let all = match (bursts, probability) {
        // Bursts alone are a rule as well.
        (Some(_), None) if packets.is_empty() && nth.is_empty() => Pick::default(),
        _ => pick("loss", packets, nth, *probability, name, way)?,
    };
    Ok(match bursts {
        Some(bursts) => all.bursts(bursts, name.stream(way, "loss-bursts")),
        None => all,
    })
}

fn probabilities(table: &BurstTable) -> [f64; 4] {
    let BurstTable { to_bad, to_good, loss_in_good, loss_in_bad } = table;
    [to_bad.0, to_good.0, loss_in_good.0, loss_in_bad.0]
}

fn nothing_picked(effect: &str, name: &LinkPlace<'_>) -> Problem {
    let problem = name.problem(effect, format!("`{effect}` names no packets"));
    problem.fix("give `packets`, `nth` or `probability`, or write \"none\"")
}

fn pick(
    effect: &str,
    packets: &[Ordinal],
    nth: &[Ordinal],
    probability: Option<Probability>,
    name: &LinkPlace<'_>,
    way: usize,
) -> Result<Pick, Problem> {
    if packets.is_empty() && nth.is_empty() && probability.is_none() {
        return Err(nothing_picked(effect, name));
    }
    let numbers = |places: &[Ordinal]| places.iter().map(|place| place.0).collect();
    let pick = Pick::default().packets(numbers(packets)).nth(numbers(nth));
    Ok(match probability {
        None => pick,
        Some(Probability(p)) => pick.random(p, name.stream(way, effect)),
    })
}
