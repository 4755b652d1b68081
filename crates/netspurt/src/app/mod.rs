//! Applications: what a connection carries, and when.

mod bulk;

pub use bulk::{Bulk, Endpoint, FlowResult};
