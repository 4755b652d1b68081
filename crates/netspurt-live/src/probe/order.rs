//! The process that probes. Another process starts it and sends its order, a line of JSON, to its
//! standard input. It ends when that input ends, and with the process that started it.

use std::io::{self, BufRead, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::path::PathBuf;

use netspurt::units::Duration;
use serde_json::{Value, json};

use super::book::{Book, Rotation};
use super::capture::capture;
use super::clock::{raw_ns, read};
use super::echo::{Service, serve};
use super::echo_probes::{Pace, ProbingPlan, run};
use super::hops::{HopPlan, survey};
use super::lengths::ProbeLengths;
use super::noise::measure;
use super::packet::ProbeKind;
use super::route::way;
use super::socket::{ProbeSocket, SeenReply};
use super::{ProbeError, tried};
use crate::kernel::timespec;
use crate::sandbox::end_with;

/// Does what the standard input says. Lines of the data file go to the standard output, too.
///
/// # Errors
/// What went wrong, in a line for people.
pub fn work() -> Result<(), String> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).map_err(|error| error.to_string())?;
    let order: Value = serde_json::from_str(&line).map_err(|error| format!("no order: {error}"))?;
    obey(&ProbingOrder(order)).map_err(|error| error.to_string())
}

/// An order, and how its fields are read.
struct ProbingOrder(Value);

impl ProbingOrder {
    fn wrong(key: &str) -> ProbeError {
        ProbeError::Order(format!("the order's `{key}` is missing or none"))
    }

    fn number(&self, key: &str) -> Result<u64, ProbeError> {
        self.0[key].as_u64().ok_or_else(|| Self::wrong(key))
    }

    fn small<T: TryFrom<u64>>(&self, key: &str) -> Result<T, ProbeError> {
        T::try_from(self.number(key)?).map_err(|_| Self::wrong(key))
    }

    fn text(&self, key: &str) -> Result<&str, ProbeError> {
        self.0[key].as_str().ok_or_else(|| Self::wrong(key))
    }

    fn span(&self, key: &str) -> Option<Duration> {
        self.0[key].as_u64().map(Duration::from_nanos)
    }

    fn kind(&self) -> Result<ProbeKind, ProbeError> {
        ProbeKind::by_name(self.text("kind")?).ok_or_else(|| Self::wrong("kind"))
    }

    fn target(&self) -> Result<SocketAddr, ProbeError> {
        let address: IpAddr = self.text("address")?.parse().map_err(|_| Self::wrong("address"))?;
        Ok(SocketAddr::new(address, self.small("port")?))
    }

    fn path(&self) -> Option<PathBuf> {
        self.0["out"].as_str().map(PathBuf::from)
    }

    fn lengths(&self) -> Result<ProbeLengths, ProbeError> {
        let rule = ProbingOrder(self.0["lengths"].clone());
        Ok(match rule.text("rule")? {
            "rfc889" => ProbeLengths::Rfc889,
            "uniform" => ProbeLengths::Uniform(rule.small("low")?, rule.small("high")?),
            "fixed" => ProbeLengths::Fixed(rule.small("octets")?),
            "bursts" => ProbeLengths::Bursts { each: rule.small("each")? },
            _ => return Err(Self::wrong("lengths")),
        })
    }

    fn pace(&self) -> Result<Pace, ProbeError> {
        let gap = || self.span("gap_ns").ok_or_else(|| Self::wrong("gap_ns"));
        Ok(match self.text("pace")? {
            "immediate" => Pace::Immediate,
            "every" => Pace::Every(gap()?),
            "poisson" => Pace::Poisson(gap()?),
            _ => return Err(Self::wrong("pace")),
        })
    }
}

fn obey(order: &ProbingOrder) -> Result<(), ProbeError> {
    end_with(order.small("parent")?).map_err(|error| ProbeError::Order(error.to_string()))?;
    match order.text("task")? {
        "echo_probes" => echo_probes(order),
        "hops" => hops(order),
        "serve" => serve_there(order),
        "capture" => capture_there(order),
        _ => Err(ProbingOrder::wrong("task")),
    }
}

fn echo_probes(order: &ProbingOrder) -> Result<(), ProbeError> {
    let plan = ProbingPlan {
        count: order.0["count"].as_u64(),
        span: order.span("span_ns"),
        timeout: order.span("timeout_ns").ok_or_else(|| ProbingOrder::wrong("timeout_ns"))?,
        lengths: order.lengths()?,
        pace: order.pace()?,
        seed: order.number("seed")?,
    };
    let rotation = Rotation {
        echo_probes: order.0["rotate_echo_probes"].as_u64(),
        span: order.span("rotate_ns"),
    };
    let (mut socket, mut book) = begin(order, rotation)?;
    let halt = io::stdin();
    let (until, tally) = run(&plan, &mut socket, &mut book, Some(halt.as_fd()))?;
    let end = json!({
        "end": until.word(),
        "echo_probes": tally.echo_probes,
        "answered": tally.answered,
        "late": tally.late,
        "duplicates": tally.duplicates,
        "clock_steps": tally.steps,
        "raw_ns": raw_ns(),
    });
    book.say(&end).map(|_| ()).map_err(tried("the data file"))
}

fn hops(order: &ProbingOrder) -> Result<(), ProbeError> {
    let plan = HopPlan {
        most: order.small("most")?,
        echo_probes: order.small("count")?,
        timeout: order.span("timeout_ns").ok_or_else(|| ProbingOrder::wrong("timeout_ns"))?,
        octets: order.small("octets")?,
    };
    let (mut socket, mut book) = begin(order, Rotation::default())?;
    let halt = io::stdin();
    let target = order.target()?.ip();
    let until = survey(&plan, &mut socket, target, &mut book, Some(halt.as_fd()))?;
    book.say(&json!({ "end": until.word() })).map(|_| ()).map_err(tried("the data file"))
}

/// The socket, and a book whose header tells all that is known before the first echo probe.
fn begin(order: &ProbingOrder, rotation: Rotation) -> Result<(ProbeSocket, Book), ProbeError> {
    let (kind, target) = (order.kind()?, order.target()?);
    let noise = match order.number("calibrate")? {
        0 => json!(null),
        count => match measure(kind, target.is_ipv6(), count) {
            Ok(noise) => noise.told(),
            Err(refused @ ProbeError::Forbidden { .. }) => return Err(refused),
            Err(error) => json!({ "failed": error.to_string() }),
        },
    };
    let cookie = (read().unix_ns ^ order.number("seed")?.rotate_left(17)) as u32;
    let mut socket = ProbeSocket::open(kind, target, cookie)?;
    let warmed = warm(&mut socket)?;
    let way = way(target.ip()).unwrap_or_default();
    let began = read();
    let mut header = order.0["header"].clone();
    header["socket"] = socket.describe().into();
    header["least_octets"] = socket.least_octets().into();
    header["noise"] = noise;
    header["path"] = json!({
        "source": socket.source().to_string(),
        "device": way.device,
        "gateway": way.gateway.map(|gateway| gateway.to_string()),
        "mtu": socket.mtu(),
        "warmed": warmed,
    });
    header["began"] = json!({ "unix_ns": began.unix_ns, "raw_ns": began.raw_ns });
    let path = order.path();
    let book = Book::begin(path.as_deref(), header, rotation, Box::new(io::stdout()));
    Ok((socket, book.map_err(tried("the data file"))?))
}

/// Sends a probe that lives for one hop, so that the first neighbour's address is known before the
/// first echo probe; what came back within a second.
fn warm(socket: &mut ProbeSocket) -> Result<Value, ProbeError> {
    const ANSWER_WAIT: Duration = Duration::from_secs(1);
    let failed = || tried("a first probe");
    socket.set_hops(Some(1)).map_err(failed())?;
    let (key, left) = (socket.key(0, raw_ns()), raw_ns());
    socket.prepare(key, 0, socket.least_octets());
    let sent = socket.send();
    let told = match sent {
        Err(error) => json!({ "failed": error.to_string() }),
        Ok(()) => loop {
            let spent = raw_ns() - left;
            match socket.take().map_err(failed())? {
                Some(SeenReply::Sent { .. }) => {}
                Some(SeenReply::Reply { .. }) => {
                    break json!({ "answer": "reply", "after_ns": spent });
                }
                Some(SeenReply::Returned { told, .. }) => {
                    break json!({ "answer": format!("ICMP {} {}", told.0, told.1), "after_ns": spent });
                }
                None if spent >= ANSWER_WAIT.as_nanos() => break json!({ "answer": null }),
                None => {
                    let left = Duration::from_nanos(ANSWER_WAIT.as_nanos() - spent);
                    let mut fds =
                        [rustix::event::PollFd::new(&*socket, rustix::event::PollFlags::IN)];
                    // Interrupted or not: what there is to do is looked at again.
                    let _ = rustix::event::poll(&mut fds, Some(&timespec(left)));
                }
            }
        },
    };
    socket.set_hops(None).map_err(failed())?;
    Ok(told)
}

fn serve_there(order: &ProbingOrder) -> Result<(), ProbeError> {
    let service = match order.text("service")? {
        "echo" => Service::Echo,
        "sink" => Service::Sink,
        _ => return Err(ProbingOrder::wrong("service")),
    };
    serve(service, order.target()?, |address| say(&json!({ "serving": address.to_string() })))
        .map_err(tried(format!("serving at {}", order.target()?)))
}

fn capture_there(order: &ProbingOrder) -> Result<(), ProbeError> {
    let path = order.path().ok_or_else(|| ProbingOrder::wrong("out"))?;
    let halt = io::stdin();
    let count = capture(order.target()?, &path, halt.as_fd(), || say(&json!({ "ready": true })))?;
    say(&json!({ "packets": count })).map_err(tried("the standard output"))
}

fn say(what: &Value) -> io::Result<()> {
    writeln!(io::stdout(), "{what}")?;
    io::stdout().flush()
}
