//! The switches of a TCP connection. Each switch is defined once, in the table of its theme. The
//! definition has the key, the kind and bounds, and a line of documentation. It also says where the
//! switch is stored in each configuration that has this switch. There are three kinds of
//! configurations: for ns-2's senders, for the connection of the RFCs, and for the kernel. The JSON
//! Schema and the tables in the documentation are made from these definitions. The parser, `--set`,
//! scripts, error messages and sweeps look up switches in them. A profile is stored as a
//! configuration, and the values of its switches are read back from this configuration.

mod apply;
mod congestion;
mod definition;
mod kind;
mod options;
mod recovery;
mod spec;
mod table;
mod timers;
mod value;
mod windows;
mod words;

pub use congestion::congestion_called;

pub(super) use apply::{all_switches, kernel, ns, rfc};
pub(super) use definition::Switch;
pub(super) use kind::{SwitchKind, SwitchPart, SwitchUnit, Written};
pub(super) use spec::TcpSpec;
pub(super) use table::THEMES;
pub(super) use value::SwitchValue;
#[cfg(test)]
pub(super) use windows::initial_segs;
pub(super) use words::{Words, words};
