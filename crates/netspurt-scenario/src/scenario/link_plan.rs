//! Makes the configurations of simulated links from the links of a scenario.

use netspurt::link::{
    ArrivalFate, Chance, Delay, Effects, FlightFate, Framing, Handover, LinkConfig, Mtu, Order,
    Pick, Queue, QueueFate, Rate, TooBig,
};
use netspurt::timeline::{
    Interpolation, Opportunities, OpportunitiesError, Rates, Timeline, TimelineError,
};
use netspurt::units::{BitRate, ByteCount, Duration, Time};

use super::error::Problem;
use super::link_place::LinkPlace;
use super::link_spec::{
    ArrivalFateWord, BetweenWord, BurstTable, DirectionWord, DuplicateTable, FlightFateWord,
    FramingTable, FramingWord, LinkSpec, LongTable, LossPlace, LossTable, OrderWord,
    ProbabilityTable, QueueFateWord, RateTable, ReorderTable, TimelineSpec, TooBigWord,
};
use super::number::Ordinal;
use super::quantity::WordOr;
use super::queue_plan::queue;
use super::tree::entry;

/// The configurations of both directions of a link: first forward, then reverse.
pub(super) fn directed_configs(
    spec: &LinkSpec,
    name: &LinkPlace<'_>,
) -> Result<[LinkConfig; 2], Problem> {
    Ok([one_way(spec, name, 0)?, one_way(spec, name, 1)?])
}

fn one_way(spec: &LinkSpec, name: &LinkPlace<'_>, way: usize) -> Result<LinkConfig, Problem> {
    let name = &LinkPlace { way, ..*name };
    let order = match spec.order.each()[way] {
        OrderWord::Fifo => Order::Fifo,
        OrderWord::Overtaking => Order::Overtaking,
    };
    Ok(LinkConfig {
        rate: rate(spec.rate.each()[way], name)?,
        framing: framing(spec.framing.each()[way], name)?,
        delay: delay(spec.delay.each()[way], name)?,
        order,
        mtu: mtu(spec, name, way)?,
        queue: queue(spec.queue.each()[way], name, way)?,
        effects: effects(spec, order, name, way)?,
        handovers: handovers(spec, name, way)?,
    })
}

fn mtu(spec: &LinkSpec, name: &LinkPlace<'_>, way: usize) -> Result<Option<Mtu>, Problem> {
    let Some(sizes) = &spec.mtu else {
        return match spec.too_big {
            None => Ok(None),
            Some(_) => {
                let problem = name.problem("too_big", "`too_big` has no effect without an `mtu`");
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
        name.problem("mtu", format!("an MTU of {size} is not possible"))
            .fix("write 68 B to 65535 B")
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
                let message = format!("a framing cannot add {}", table.overhead);
                let mut problem = name.problem("framing", message);
                problem.path.push("overhead".to_owned());
                problem.fix("write at most 65535 B")
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
    let timeline = Timeline::new(points, interpolation(table.between));
    let like = "write it as in [[\"0 s\", \"20 ms\"], [\"15 s\", \"40 ms\"]]";
    timeline.map(Delay::following).map_err(|error| misplaced(error, &["delay"], like, name))
}

fn rate(spec: &WordOr<BitRate, RateTable>, name: &LinkPlace<'_>) -> Result<Rate, Problem> {
    let table = match spec {
        WordOr::Word(constant) => return Ok(Rate::Constant(*constant)),
        WordOr::Table(table) => table,
    };
    match (&table.timeline, &table.opportunities) {
        (Some(points), None) if table.octets.is_none() => {
            let points = points.iter().map(|(instant, rate)| (Time::ZERO + *instant, *rate));
            let like = "write it as in [[\"0 s\", \"20 Mbit/s\"], [\"15 s\", \"50 Mbit/s\"]]";
            let rates = Rates::new(points.collect());
            rates.map(Rate::Following).map_err(|error| misplaced(error, &["rate"], like, name))
        }
        (None, Some(instants)) => opportunities(instants, table.octets, name),
        (Some(_), None) => Err(name
            .problem("rate", "only a rate with `opportunities` has `octets`")
            .fix("leave `octets` out")),
        _ => Err(name
            .problem("rate", "a rate has either a `timeline` or `opportunities`")
            .fix("write one of them")),
    }
}

/// The number of octets that may leave at each instant of a list of opportunities, if the file does
/// not set this number. The link emulator Mahimahi uses the same number.
const OPPORTUNITY: u64 = 1500;

fn opportunities(
    instants: &[Duration],
    octets: Option<ByteCount>,
    name: &LinkPlace<'_>,
) -> Result<Rate, Problem> {
    let instants: Vec<Time> = instants.iter().map(|instant| Time::ZERO + *instant).collect();
    let octets = u32::try_from(octets.map_or(OPPORTUNITY, |octets| octets.0)).unwrap_or(u32::MAX);
    Opportunities::new(&instants, octets).map(Rate::AtInstants).map_err(|error| {
        let mut problem = name.problem("rate", error.to_string());
        if error == OpportunitiesError::Nothing {
            problem.path.push("octets".to_owned());
            return problem.fix("write a number of octets above zero, as in `1500 B`");
        }
        problem.path.push("opportunities".to_owned());
        if let OpportunitiesError::Unordered(nth) = error {
            problem.path.push(entry(nth - 1));
        }
        problem.fix("write it as in [\"1 ms\", \"2 ms\", \"8 ms\"]")
    })
}

/// The problem of a timeline; `keys` are the keys that lead to the table with the timeline.
fn misplaced(error: TimelineError, keys: &[&str], like: &str, name: &LinkPlace<'_>) -> Problem {
    let mut problem = name.problem(keys[0], error.to_string());
    problem.path.extend(keys[1..].iter().map(|key| (*key).to_owned()));
    problem.path.push("timeline".to_owned());
    match error {
        TimelineError::Empty => problem.fix(like),
        TimelineError::Unordered(nth) => {
            problem.path.push(entry(nth - 1));
            problem.fix("sort the points by time")
        }
    }
}

fn interpolation(word: BetweenWord) -> Interpolation {
    match word {
        BetweenWord::Step => Interpolation::Step,
        BetweenWord::Linear => Interpolation::Linear,
    }
}

/// The handovers of one direction of a link.
fn handovers(spec: &LinkSpec, name: &LinkPlace<'_>, way: usize) -> Result<Vec<Handover>, Problem> {
    let mut all: Vec<Handover> = Vec::new();
    for (number, table) in spec.handovers.iter().enumerate() {
        let problem = |key: &str, message: String| {
            let mut problem = Problem::at([], message);
            let place = ["handovers".to_owned(), entry(number), key.to_owned()];
            problem.path = [name.path, &place].concat();
            problem
        };
        if table.direction == DirectionWord::ALONE[1 - way] {
            continue;
        }
        let at = Time::ZERO + table.at;
        if let Some(before) = all.last().filter(|before| at < before.at + before.dead) {
            let until = before.at + before.dead - Time::ZERO;
            let message = format!("the previous handover ends only at {until}");
            return Err(problem("at", message)
                .fix("write the handovers in the order of time, without overlaps"));
        }
        let at_instants =
            matches!(spec.rate.each()[way], WordOr::Table(table) if table.opportunities.is_some());
        if at_instants && !(table.dead.is_zero() && table.queue == QueueFateWord::Keep) {
            let message =
                "a link with `opportunities` has no dead time and keeps its queue".to_owned();
            return Err(problem("at", message).fix("leave `dead` and `queue` out"));
        }
        let queue = match table.queue {
            QueueFateWord::Keep => QueueFate::Keep,
            QueueFateWord::Flush => QueueFate::Flush,
        };
        if queue == QueueFate::Flush
            && !matches!(self::queue(spec.queue.each()[way], name, way)?, Queue::DropTail(_))
        {
            let message = "a queue with an AQM cannot be flushed".to_owned();
            return Err(problem("queue", message)
                .fix("write `queue = \"keep\"`, or give the link a drop-tail queue"));
        }
        if table.in_flight == FlightFateWord::Copy && *spec.order.each()[way] == OrderWord::Fifo {
            let message = "a copied packet also takes the new path, so packets arrive out of order";
            let message = message.to_owned();
            return Err(problem("in_flight", message).fix("add `order = \"overtaking\"`"));
        }
        let arrivals = match table.arrivals {
            ArrivalFateWord::Queue => ArrivalFate::Queue,
            ArrivalFateWord::Drop => ArrivalFate::Drop,
        };
        let in_flight = match table.in_flight {
            FlightFateWord::Pass => FlightFate::Pass,
            FlightFateWord::Drop => FlightFate::Drop,
            FlightFateWord::Hold => FlightFate::Hold,
            FlightFateWord::Copy => FlightFate::Copy,
        };
        all.push(Handover { at, dead: table.dead, queue, arrivals, in_flight });
    }
    Ok(all)
}

fn effects(
    spec: &LinkSpec,
    order: Order,
    name: &LinkPlace<'_>,
    way: usize,
) -> Result<Option<Effects>, Problem> {
    let mut effects = Effects::default();
    let mut any = false;
    if let Some(table) = spec.loss.each()[way].table() {
        let pick = Some(loss(table, name, way)?);
        match table.at {
            LossPlace::Entry => effects.loss_at_entry = pick,
            LossPlace::Way => effects.loss = pick,
        }
        any = true;
    }
    if let Some(DuplicateTable { packets, nth, probability, after }) =
        spec.duplicate.each()[way].table()
    {
        let chance = match probability {
            None => None,
            Some(WordOr::Word(p)) => Some(Chance::Frame(p.0)),
            Some(WordOr::Table(table)) => {
                let keys = ["duplicate", "probability"];
                Some(Chance::FrameOverTime(probability_over_time(table, keys, name)?))
            }
        };
        let pick = pick("duplicate", packets, nth, chance, name, way)?;
        effects.duplicate = Some((pick, *after));
        any = true;
    }
    if let Some(ReorderTable { packets, nth, probability, by }) = spec.reorder.each()[way].table() {
        if order == Order::Fifo {
            let problem = name.problem("reorder", "a link that keeps the order cannot reorder");
            return Err(problem.fix("add `order = \"overtaking\"`"));
        }
        let chance = probability.map(|p| Chance::Frame(p.0));
        let pick = pick("reorder", packets, nth, chance, name, way)?;
        effects.reorder = Some((pick, *by));
        any = true;
    }
    if let Some(LongTable { above, by }) = spec.long.each()[way].table() {
        effects.long = Some((u32::try_from(above.0).unwrap_or(u32::MAX), *by));
        any = true;
    }
    Ok(any.then_some(effects))
}

fn loss(table: &LossTable, name: &LinkPlace<'_>, way: usize) -> Result<Pick, Problem> {
    let LossTable { packets, nth, probability, bit_error_rate, bursts, at: _ } = table;
    let chance =
        match (probability, bit_error_rate) {
            (Some(_), Some(_)) => {
                let problem =
                    name.problem("loss", "`probability` and `bit_error_rate` exclude each other");
                return Err(problem.fix("give one of them"));
            }
            (Some(WordOr::Word(p)), None) => Some(Chance::Frame(p.0)),
            (None, Some(WordOr::Word(p))) => Some(Chance::Bits(p.0)),
            (Some(WordOr::Table(table)), None) => Some(Chance::FrameOverTime(
                probability_over_time(table, ["loss", "probability"], name)?,
            )),
            (None, Some(WordOr::Table(table))) => Some(Chance::BitsOverTime(
                probability_over_time(table, ["loss", "bit_error_rate"], name)?,
            )),
            (None, None) => None,
        };
    // A table `loss` that has only `bursts` is allowed.
    if packets.is_empty() && nth.is_empty() && chance.is_none() && bursts.is_none() {
        let problem = nothing_picked("loss", name);
        let keys = "give `packets`, `nth`, `probability`, `bit_error_rate` or `bursts`";
        return Err(problem.fix(format!("{keys}, or write \"none\"")));
    }
    let mut all = numbered("loss", packets, nth, name)?;
    if let Some(chance) = chance {
        all = all.random(chance, name.stream(way, "loss"));
    }
    if let Some(bursts) = bursts {
        if bursts.every.is_some_and(Duration::is_zero) {
            let problem = name.problem("loss", "`every` of `bursts` is zero");
            return Err(problem.fix("leave `every` out, or write a time above zero"));
        }
        all = all.bursts(probabilities(bursts), name.stream(way, "loss-bursts"));
        all = all.by_time(bursts.every.unwrap_or_default());
    }
    Ok(all)
}

fn probability_over_time(
    table: &ProbabilityTable,
    keys: [&str; 2],
    name: &LinkPlace<'_>,
) -> Result<Timeline<f64>, Problem> {
    let points = table.timeline.iter().map(|(instant, p)| (Time::ZERO + *instant, p.0)).collect();
    let timeline = Timeline::new(points, interpolation(table.between));
    let like = "write it as in [[\"0 s\", 0.2], [\"60 s\", 0]]";
    timeline.map_err(|error| misplaced(error, &keys, like, name))
}

fn probabilities(table: &BurstTable) -> [f64; 4] {
    let BurstTable { to_bad, to_good, loss_in_good, loss_in_bad, every: _ } = table;
    [to_bad.0, to_good.0, loss_in_good.0, loss_in_bad.0]
}

fn nothing_picked(effect: &str, name: &LinkPlace<'_>) -> Problem {
    let problem = name.problem(effect, format!("`{effect}` selects no packets"));
    problem.fix("give `packets`, `nth` or `probability`, or write \"none\"")
}

/// Makes a rule that selects packets only by numbers. `packets` has numbers of packets in their
/// flows. A number may be given twice, because packets of several flows may have it. `nth` has
/// numbers in the order of arrival. Only one packet has each of these numbers.
fn numbered(
    effect: &str,
    packets: &[Ordinal],
    nth: &[Ordinal],
    name: &LinkPlace<'_>,
) -> Result<Pick, Problem> {
    if let Some(again) = (1..nth.len()).find(|&again| nth[..again].contains(&nth[again])) {
        let mut problem = name.problem(effect, format!("`{}` appears twice", nth[again].0));
        problem.path.extend(["nth".to_owned(), entry(again)]);
        return Err(problem.fix("write each number once: only one packet has it"));
    }
    let numbers = |places: &[Ordinal]| places.iter().map(|place| place.0).collect();
    Ok(Pick::default().packets(numbers(packets)).nth(numbers(nth)))
}

fn pick(
    effect: &str,
    packets: &[Ordinal],
    nth: &[Ordinal],
    chance: Option<Chance>,
    name: &LinkPlace<'_>,
    way: usize,
) -> Result<Pick, Problem> {
    if packets.is_empty() && nth.is_empty() && chance.is_none() {
        return Err(nothing_picked(effect, name));
    }
    let pick = numbered(effect, packets, nth, name)?;
    Ok(match chance {
        None => pick,
        Some(chance) => pick.random(chance, name.stream(way, effect)),
    })
}
