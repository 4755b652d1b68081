//! Applications: what a connection carries, and when; and hosts that only echo and probe.

mod bulk;
mod echo;
mod program;
mod volleys;

pub use bulk::{Bulk, Endpoint, FlowResult};
pub use echo::Echo;
pub use program::Program;
pub use volleys::{Volley, VolleyPlan, Volleys};

/// The id of an endpoint's transmission, as connections number theirs.
fn transmission(endpoint: u32, count: u64) -> u64 {
    u64::from(endpoint) << 40 | count
}
