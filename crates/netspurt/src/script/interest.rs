//! What the sockets of an epoll are watched for.

use std::collections::BTreeMap;

use super::call::Fd;
use super::readiness::Readiness;

/// The sockets of an epoll.
pub(super) type Epoll = BTreeMap<Fd, Interest>;

/// What is asked of a socket, and whether there are news of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interest {
    pub(super) events: Readiness,
    pub(super) has_news: bool,
}
