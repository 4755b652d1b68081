//! Static routes: by which link a node forwards frames to each other node. The nodes and the
//! one-way links between them are a graph.

use std::collections::VecDeque;

/// Nodes and the one-way links between them, numbered from 0.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    nodes: u32,
    /// The nodes at which each link begins and ends.
    links: Vec<(u32, u32)>,
}

impl Graph {
    /// Makes a graph of `nodes` nodes without links.
    pub fn new(nodes: u32) -> Self {
        Self { nodes, links: Vec::new() }
    }

    /// Adds the link from node `from` to node `to`, and returns its number.
    ///
    /// # Panics
    /// When a node does not exist.
    pub fn add_link(&mut self, from: u32, to: u32) -> u32 {
        assert!(from < self.nodes && to < self.nodes, "a link between unknown nodes");
        self.links.push((from, to));
        u32::try_from(self.links.len() - 1).expect("fewer than 2^32 links")
    }

    /// Whether a chain of links leads from node `from` to node `to`.
    pub fn joins(&self, from: u32, to: u32) -> bool {
        let mut reached = vec![false; self.nodes as usize];
        let mut frontier = vec![from];
        while let Some(node) = frontier.pop() {
            if !std::mem::replace(&mut reached[node as usize], true) {
                let onwards = self.links.iter().filter(|link| link.0 == node);
                frontier.extend(onwards.map(|link| link.1));
            }
        }
        reached[to as usize]
    }

    /// The nodes at which a link begins and ends.
    pub fn ends(&self, link: u32) -> (u32, u32) {
        self.links[link as usize]
    }

    /// The node at which a link ends.
    pub fn end(&self, link: u32) -> u32 {
        self.links[link as usize].1
    }
}

/// Why a destination cannot be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// A node has no link towards the destination.
    #[error("node {at} has no link towards the destination")]
    DeadEnd {
        /// The node.
        at: u32,
    },
    /// The routes form a loop.
    #[error("the routes form a loop through node {at}")]
    Circle {
        /// A node of the loop.
        at: u32,
    },
}

/// For every node and destination, the link by which frames leave the node. A route has the fewest
/// links possible. If several routes have the fewest links, the route over the links that were
/// declared first is used. The caller may change single entries.
///
/// ```
/// use netspurt::sim::{Graph, Routes};
/// let mut chain = Graph::new(3);
/// let (first, second) = (chain.add_link(0, 1), chain.add_link(1, 2));
/// let routes = Routes::shortest(&chain);
/// assert_eq!(routes.path(&chain, 0, 2), Ok(vec![first, second]));
/// ```
#[derive(Clone, Debug)]
pub struct Routes {
    /// How each node forwards frames, in the order of the nodes.
    from: Vec<Onwards>,
    /// The tables of all nodes, one after the other. Each table is indexed by destination.
    tables: Vec<u32>,
}

/// How a node forwards frames.
#[derive(Clone, Copy, Debug)]
pub(super) struct Onwards {
    /// The only link of a node without a table. The value is `NO_LINK` if the node has no link.
    only: u32,
    /// Where the node's table begins. The value is `NO_TABLE` if the node has no table.
    table: u32,
}

const NO_LINK: u32 = u32::MAX;
const NO_TABLE: u32 = u32::MAX;

impl Routes {
    /// Finds the shortest routes over `graph`.
    pub fn shortest(graph: &Graph) -> Self {
        let mut leaving: Vec<Vec<u32>> = vec![Vec::new(); graph.nodes as usize];
        for (link, &(from, _)) in (0..).zip(&graph.links) {
            leaving[from as usize].push(link);
        }
        let mut routes = Self { from: Vec::new(), tables: Vec::new() };
        for node in 0..graph.nodes {
            let onwards = match leaving[node as usize][..] {
                [] => Onwards { only: NO_LINK, table: NO_TABLE },
                [only] => Onwards { only, table: NO_TABLE },
                _ => routes.add_table(first_links(graph, &leaving, node)),
            };
            routes.from.push(onwards);
        }
        routes
    }

    fn add_table(&mut self, links: Vec<u32>) -> Onwards {
        let table = u32::try_from(self.tables.len()).ok().filter(|table| *table < NO_TABLE);
        self.tables.extend(links);
        Onwards { only: NO_LINK, table: table.expect("fewer than 2^32 routes") }
    }

    /// Makes frames for node `to` leave node `at` by `link`.
    pub fn set(&mut self, at: u32, to: u32, link: u32) {
        let Onwards { only, table } = self.from[at as usize];
        if table == NO_TABLE {
            self.from[at as usize] = self.add_table(vec![only; self.from.len()]);
        }
        let table = self.from[at as usize].table;
        self.tables[(table + to) as usize] = link;
    }

    /// The link by which frames for node `to` leave node `at`.
    #[inline]
    pub fn next(&self, at: u32, to: u32) -> Option<u32> {
        self.choose(self.from[at as usize], to)
    }

    /// How the node `at` forwards frames. A node that does not exist has no link.
    pub(super) fn onwards(&self, at: u32) -> Onwards {
        let none = Onwards { only: NO_LINK, table: NO_TABLE };
        self.from.get(at as usize).copied().unwrap_or(none)
    }

    /// The link by which frames for node `to` leave a node that forwards as `onwards` says.
    #[inline]
    pub(super) fn choose(&self, onwards: Onwards, to: u32) -> Option<u32> {
        let Onwards { only, table } = onwards;
        let link = if table == NO_TABLE { only } else { self.tables[(table + to) as usize] };
        (link != NO_LINK).then_some(link)
    }

    /// The links from node `from` to node `to`.
    ///
    /// # Errors
    /// When the routes end before they reach the node `to`, or form a loop.
    pub fn path(&self, graph: &Graph, from: u32, to: u32) -> Result<Vec<u32>, RouteError> {
        let mut links = Vec::new();
        let mut at = from;
        while at != to {
            let link = self.next(at, to).ok_or(RouteError::DeadEnd { at })?;
            links.push(link);
            at = graph.end(link);
            if links.len() > self.from.len() {
                return Err(RouteError::Circle { at });
            }
        }
        Ok(links)
    }
}

/// The first link of the shortest route from the node `start` to each node, by breadth-first
/// search.
fn first_links(graph: &Graph, leaving: &[Vec<u32>], start: u32) -> Vec<u32> {
    let mut first = vec![NO_LINK; graph.nodes as usize];
    let mut frontier = VecDeque::from([start]);
    while let Some(node) = frontier.pop_front() {
        for &link in &leaving[node as usize] {
            let next = graph.end(link) as usize;
            if first[next] == NO_LINK && graph.end(link) != start {
                first[next] = if node == start { link } else { first[node as usize] };
                frontier.push_back(graph.end(link));
            }
        }
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A graph with the chain 0 - 1 - 2 - 3, a one-way shortcut from 0 to 3, and the lone node 4.
    fn net() -> Graph {
        let mut graph = Graph::new(5);
        for (a, b) in [(0, 1), (1, 2), (2, 3)] {
            graph.add_link(a, b);
            graph.add_link(b, a);
        }
        graph.add_link(0, 3);
        graph
    }

    #[test]
    fn the_shortest_route_is_found_for_each_direction() {
        let graph = net();
        let routes = Routes::shortest(&graph);
        assert_eq!(routes.path(&graph, 0, 3), Ok(vec![6]));
        assert_eq!(routes.path(&graph, 3, 0), Ok(vec![5, 3, 1]));
    }

    #[test]
    fn an_explicit_route_replaces_the_shortest_one() {
        let graph = net();
        let mut routes = Routes::shortest(&graph);
        routes.set(0, 3, 0);
        routes.set(1, 3, 2);
        assert_eq!(routes.path(&graph, 0, 3), Ok(vec![0, 2, 4]));
    }

    #[test]
    fn dead_ends_and_loops_are_found() {
        let graph = net();
        let mut routes = Routes::shortest(&graph);
        assert_eq!(routes.path(&graph, 0, 4), Err(RouteError::DeadEnd { at: 0 }));
        routes.set(0, 2, 0);
        routes.set(1, 2, 1);
        assert!(matches!(routes.path(&graph, 0, 2), Err(RouteError::Circle { .. })));
    }
}
