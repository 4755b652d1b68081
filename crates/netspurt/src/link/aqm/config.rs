//! The configuration of a link's queue: its limit, the algorithm that manages it, and the constants
//! of this algorithm.

use crate::link::backlog::QueueLimit;
use crate::rng::Stream;
use crate::units::Duration;

/// A queue's limit and its algorithm.
///
/// ```
/// use netspurt::link::{CoDelConfig, Queue, QueueLimit};
/// let plain = Queue::DropTail(QueueLimit::Packets(3));
/// let managed = Queue::CoDel(CoDelConfig::default());
/// assert_ne!(format!("{plain:?}"), format!("{managed:?}"));
/// ```
#[derive(Clone, Debug)]
pub enum Queue {
    /// A frame is dropped if the queue has no room for it.
    DropTail(QueueLimit),
    /// Random early detection (Floyd and Jacobson 1993).
    Red(RedConfig),
    /// Controlled delay (RFC 8289).
    CoDel(CoDelConfig),
    /// Many queues, each with CoDel. A hash assigns each flow to a queue (RFC 8290).
    FqCoDel(FqCoDelConfig),
    /// Proportional integral controller enhanced (RFC 8033).
    Pie(PieConfig),
}

impl Queue {
    /// The limit of the queue.
    pub(in crate::link) fn limit(&self) -> QueueLimit {
        match self {
            Queue::DropTail(limit) => *limit,
            Queue::Red(config) => config.limit,
            Queue::CoDel(config) => config.limit,
            Queue::FqCoDel(config) => config.limit,
            Queue::Pie(config) => config.limit,
        }
    }
}

/// The unit in which RED measures its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedUnit {
    /// Frames of any size.
    Packets,
    /// Octets. Larger frames are then marked or dropped with a higher probability.
    Bytes,
}

/// The constants of RED (Floyd and Jacobson 1993, figure 2 and §4).
#[derive(Clone, Debug)]
pub struct RedConfig {
    /// The limit of the queue.
    pub limit: QueueLimit,
    /// The unit of the thresholds and the average.
    pub unit: RedUnit,
    /// While the average is below this threshold, RED marks and drops no frame.
    pub min_th: u64,
    /// Without `gentle`, every frame is dropped while the average is at least this threshold. With
    /// `gentle`, every frame is dropped while the average is at least twice this threshold.
    pub max_th: u64,
    /// The weight of the present queue in the average.
    pub wq: f64,
    /// The probability of a mark or a drop when the average rises to `max_th`.
    pub max_p: f64,
    /// Whether the probability rises from `max_p` to 1 while the average rises from `max_th` to
    /// twice `max_th`.
    pub gentle: bool,
    /// The size of a typical frame. RED counts idle time in transmission times of a typical frame.
    /// If the unit is octets, probabilities are for a frame of this size. The paper takes the size
    /// of the largest frame instead.
    pub packet_bytes: u32,
    /// Whether ECN-capable frames are marked instead of dropped.
    pub ecn: bool,
    /// The link's random stream.
    pub stream: Stream,
}

/// The constants of CoDel (RFC 8289 §4.3, §4.4).
///
/// ```
/// use netspurt::link::CoDelConfig;
/// use netspurt::units::Duration;
/// assert_eq!(CoDelConfig::default().target, Duration::from_millis(5));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoDelConfig {
    /// The delay that the queue may have for a long time.
    pub target: Duration,
    /// How long the delay must stay above the target before a drop. It should be as long as the
    /// longest expected round trip.
    pub interval: Duration,
    /// The limit of the queue.
    pub limit: QueueLimit,
    /// Whether ECN-capable frames are marked instead of dropped.
    pub ecn: bool,
}

impl Default for CoDelConfig {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            limit: QueueLimit::Packets(1000),
            ecn: false,
        }
    }
}

/// The constants of FQ-CoDel (RFC 8290 §5.2).
///
/// ```
/// use netspurt::link::FqCoDelConfig;
/// assert_eq!(FqCoDelConfig::default().quantum_bytes, 1514);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FqCoDelConfig {
    /// CoDel's target in each queue.
    pub target: Duration,
    /// CoDel's interval.
    pub interval: Duration,
    /// The limit for all queues together.
    pub limit: QueueLimit,
    /// The number of queues; at least one.
    pub flows: u32,
    /// The octets that a queue may send in one turn; at least one. The last frame of a turn may
    /// exceed this number.
    pub quantum_bytes: u32,
    /// Whether ECN-capable frames are marked instead of dropped.
    pub ecn: bool,
    /// An ECN-capable frame that waited for longer than this threshold is marked when it is sent.
    /// By default there is no such threshold.
    pub ce_threshold: Option<Duration>,
    /// The salt of the hash of flows (RFC 8290 §4.1.1).
    pub salt: u64,
}

impl Default for FqCoDelConfig {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            limit: QueueLimit::Packets(10_240),
            flows: 1024,
            quantum_bytes: 1514,
            ecn: true,
            ce_threshold: None,
            salt: 0,
        }
    }
}

/// The constants of PIE (RFC 8033 §4, §5.1).
#[derive(Clone, Debug)]
pub struct PieConfig {
    /// The target delay: QDELAY_REF.
    pub target: Duration,
    /// The interval between updates of the probability (T_UPDATE). It is above zero.
    pub t_update: Duration,
    /// For each second of delay beyond the target, an update raises the probability by this number.
    /// The step is then divided as RFC 8033 §4.2 says.
    pub alpha: f64,
    /// For each second by which the delay grew since the last update, an update raises the
    /// probability by this number. The step is then divided in the same way.
    pub beta: f64,
    /// The length of a burst in which PIE drops and marks no frame: MAX_BURST.
    pub max_burst: Duration,
    /// The size of a typical frame, MEAN_PKTSIZE (1024 in RFC 8034). If at most twice this many
    /// octets wait, PIE drops and marks no frame.
    pub packet_bytes: u32,
    /// The limit of the queue.
    pub limit: QueueLimit,
    /// Whether ECN-capable frames are marked instead of dropped.
    pub ecn: bool,
    /// From this probability on, frames are dropped and no longer marked.
    pub mark_ecnth: f64,
    /// The link's random stream.
    pub stream: Stream,
}
