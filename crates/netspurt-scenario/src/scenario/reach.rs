//! Checks that the packets of a flow can reach both ends of the flow. Computes the minimum time
//! that the packets take.

use indexmap::IndexSet;

use netspurt::plan::PlannedLink;
use netspurt::sim::{Graph, RouteError, Routes};
use netspurt::units::Duration;

use super::error::Problem;
use super::expand::PlacedLink;
use super::tree::entry;

/// The network on which the paths of flows are checked.
pub(super) struct Reach<'a> {
    pub(super) nodes: &'a IndexSet<String>,
    pub(super) graph: &'a Graph,
    pub(super) routes: &'a Routes,
    pub(super) links: &'a [PlacedLink],
}

impl Reach<'_> {
    /// Checks a flow between two nodes with packets of the given sizes, `[forward, reverse]`. The
    /// check fails if the nodes are equal or the packets have no route. It also fails if a queue
    /// has no room for a packet, or if a round trip takes no time.
    pub(super) fn check(
        &self,
        [section, name]: [&str; 2],
        (from, to): (u32, u32),
        [forward, reverse]: [u16; 2],
    ) -> Result<(), Problem> {
        if from == to {
            let message = "the flow starts and ends at the same node";
            let problem = Problem::at([section, name, "to"], message);
            return Err(problem.fix("write another node than in `from`"));
        }
        let path = |a: u32, b: u32, key| {
            let path = self.routes.path(self.graph, a, b);
            path.map_err(|error| self.no_route([section, name, key], (a, b), error))
        };
        let forward = self.least_time(&path(from, to, "to")?, forward.into())?;
        let reverse = self.least_time(&path(to, from, "from")?, reverse.into())?;
        if (forward + reverse).is_zero() {
            let message = "both directions take no time, so the run would never end";
            return Err(Problem::at([section, name], message).fix("give a link a rate or a delay"));
        }
        Ok(())
    }

    /// Checks that no link fragments packets of `size` octets in either direction. IPv6 packets
    /// must not be fragmented on the path.
    pub(super) fn check_uncut(
        &self,
        name: &str,
        (a, b): (u32, u32),
        size: u16,
    ) -> Result<(), Problem> {
        for (from, to) in [(a, b), (b, a)] {
            let links = self.routes.path(self.graph, from, to).unwrap_or_default();
            for link in links {
                let PlannedLink { config, name: cuts, .. } = &self.links[link as usize].link;
                if config.fragments_frame(size.into()) {
                    let message =
                        format!("link `{cuts}` fragments packets, which IPv6 does not allow");
                    let place = Problem::at(["flows", name, "family"], message);
                    let fix = "write `too_big = \"drop\"` for the link, or a smaller packet";
                    return Err(place.fix(fix));
                }
            }
        }
        Ok(())
    }

    /// The minimum time that packets of `size` octets take over `links`. If links fragment the
    /// packets, this is the time of the largest fragment. Fails if a queue has no room for the
    /// packet or for this fragment.
    fn least_time(&self, links: &[u32], mut size: u32) -> Result<Duration, Problem> {
        let mut time = Duration::ZERO;
        for link in links {
            let PlacedLink { place, link } = &self.links[*link as usize];
            let PlannedLink { config, direction, .. } = link;
            size = config.largest_part(size);
            if !config.has_room_for(size) {
                let message = format!("the queue has no room for a packet of {size} B");
                let mut problem = Problem::at([], message);
                let way = entry(direction.index());
                problem.path = [&place[..], &["queue".to_owned(), way]].concat();
                return Err(problem.fix(format!("write at least `{size} B`")));
            }
            time = time + config.least_time(size);
        }
        Ok(time)
    }

    fn no_route(&self, place: [&str; 3], (a, b): (u32, u32), error: RouteError) -> Problem {
        let (RouteError::DeadEnd { at } | RouteError::Circle { at }) = error;
        let called = |node: u32| &self.nodes[node as usize];
        let message = format!("no route from `{}` to `{}`", called(a), called(b));
        Problem::at(place, message).fix(match error {
            _ if !self.graph.joins(a, b) => "no chain of links joins them: add a link".to_owned(),
            RouteError::DeadEnd { .. } => {
                format!("the routes end at `{}`: correct `routes`", called(at))
            }
            RouteError::Circle { .. } => {
                format!("the routes form a circle through `{}`: correct `routes`", called(at))
            }
        })
    }
}
