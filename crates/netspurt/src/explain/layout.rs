//! Layouts of the rows that describe connections.

use std::io;
use std::str::FromStr;

use super::csv::{RowRoom, write_heading, write_rows};
use super::tcptrace::{Owin, write_tcptrace_heading, write_tcptrace_row};
use super::{EndedConnection, Explainer};

/// A layout of the rows that describe connections, as text.
///
/// ```
/// use netspurt::explain::RowLayout;
/// let heading = RowLayout::Own.heading(false).unwrap();
/// assert!(heading.starts_with(b"connection,direction,source,"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowLayout {
    /// Netspurt's own layout: a row for each direction.
    Own,
    /// The layout of the program tcptrace: a row for each connection.
    Tcptrace(Owin),
}

impl FromStr for RowLayout {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "netspurt" => Ok(Self::Own),
            "tcptrace" => Ok(Self::Tcptrace(Owin::Without)),
            "tcptrace-W" => Ok(Self::Tcptrace(Owin::With)),
            _ => Err(format!("{name:?} is not a layout: write netspurt, tcptrace or tcptrace-W")),
        }
    }
}

impl RowLayout {
    /// Returns the heading. `file` says whether rows name their files. Only netspurt's own layout
    /// has these names.
    ///
    /// # Errors
    /// Never, because the method writes to memory only.
    pub fn heading(self, file: bool) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        match self {
            Self::Own => write_heading(file, &mut out),
            Self::Tcptrace(owin) => write_tcptrace_heading(owin, &mut out)?,
        }
        Ok(out)
    }

    fn write(
        self,
        connection: &EndedConnection,
        file: Option<&str>,
        room: &mut RowRoom,
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
        match self {
            Self::Own => write_rows(connection, file, room, out),
            Self::Tcptrace(owin) => write_tcptrace_row(connection, owin, out)?,
        }
        Ok(())
    }
}

impl Explainer {
    /// Returns rows of connections that have ended, and forgets these connections. `over` says that
    /// the capture has ended, so all connections have ended. An empty result means that no other
    /// connection has ended. If `file` is given, each row of netspurt's own layout has this name.
    ///
    /// # Errors
    /// Never, because the method writes to memory only.
    pub fn rows(
        &mut self,
        layout: RowLayout,
        over: bool,
        file: Option<&str>,
    ) -> io::Result<Vec<u8>> {
        /// The approximate maximum number of octets that one call returns.
        const ENOUGH: usize = 1 << 16;
        let (mut room, mut out) = (RowRoom::default(), Vec::new());
        while out.len() < ENOUGH {
            let Some(connection) = self.next_ended(over) else { break };
            if out.capacity() == 0 {
                out.reserve_exact(ENOUGH + RowRoom::OCTETS);
            }
            layout.write(&connection, file, &mut room, &mut out)?;
        }
        Ok(out)
    }
}
