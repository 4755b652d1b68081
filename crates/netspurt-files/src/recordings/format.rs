//! The formats of recorded delays, and their names for users.

/// A format of recorded delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text of ping: iputils, BusyBox, BSD, macOS, hping3.
    Ping,
    /// Text of ping on Windows, in any language.
    WindowsPing,
    /// Text of fping.
    Fping,
    /// Text of nping with ICMP echoes.
    Nping,
    /// Text of `mtr --raw`.
    Mtr,
    /// Text of programs that time the opening of connections: tcping, httping, paping, psping.
    Tcping,
    /// JSON of fping.
    FpingJson,
    /// JSON of irtt.
    Irtt,
    /// Text of irtt.
    IrttText,
    /// Results of RIPE Atlas.
    Atlas,
    /// Data files of `netspurt probe`.
    Probe,
    /// JSON of scamper.
    Scamper,
    /// Data files of Flent.
    Flent,
    /// JSON of iperf3.
    Iperf3,
    /// JSON with Linux's `tcp_info`: NDT7, tcp-info.
    TcpInfo,
    /// Logs of `ss -tin`.
    Ss,
    /// qlog of QUIC.
    Qlog,
    /// PingPlotter's CSV.
    PingPlotter,
    /// Tables: CSV with commas, semicolons or tabs, columns with blanks between them, and lists of
    /// delays.
    Table,
    /// Parquet with named columns.
    Parquet,
    /// pcap and pcapng.
    Pcap,
}

impl Format {
    /// All formats.
    pub const ALL: &[Format] = &[
        Format::Ping,
        Format::WindowsPing,
        Format::Fping,
        Format::Nping,
        Format::Mtr,
        Format::Tcping,
        Format::FpingJson,
        Format::Irtt,
        Format::IrttText,
        Format::Atlas,
        Format::Probe,
        Format::Scamper,
        Format::Flent,
        Format::Iperf3,
        Format::TcpInfo,
        Format::Ss,
        Format::Qlog,
        Format::PingPlotter,
        Format::Table,
        Format::Parquet,
        Format::Pcap,
    ];

    /// The name of the format, as users write it.
    pub const fn name(self) -> &'static str {
        match self {
            Format::Ping => "ping",
            Format::WindowsPing => "windows-ping",
            Format::Fping => "fping",
            Format::Nping => "nping",
            Format::Mtr => "mtr",
            Format::Tcping => "tcping",
            Format::FpingJson => "fping-json",
            Format::Irtt => "irtt",
            Format::IrttText => "irtt-text",
            Format::Atlas => "atlas",
            Format::Probe => "probe",
            Format::Scamper => "scamper",
            Format::Flent => "flent",
            Format::Iperf3 => "iperf3",
            Format::TcpInfo => "tcp-info",
            Format::Ss => "ss",
            Format::Qlog => "qlog",
            Format::PingPlotter => "pingplotter",
            Format::Table => "csv",
            Format::Parquet => "parquet",
            Format::Pcap => "pcap",
        }
    }

    /// Returns the advice for a file whose format is not recognised.
    pub fn hint() -> String {
        "`netspurt delays FILE --help` lists the formats; if the file has one of them, add `--format \
         NAME`; if it is a table, add `--column rtt=NAME`"
            .to_owned()
    }

    /// Returns the format with this name.
    ///
    /// ```
    /// use netspurt_files::recordings::Format;
    /// assert_eq!(Format::by_name("ping"), Some(Format::Ping));
    /// ```
    pub fn by_name(name: &str) -> Option<Format> {
        Self::ALL.iter().copied().find(|format| format.name() == name)
    }
}
