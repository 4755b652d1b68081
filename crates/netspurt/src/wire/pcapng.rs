//! Writes pcapng files (draft-ietf-opsawg-pcapng). A file has one section, one interface, and
//! packets with timestamps in nanoseconds. Packets may have comments.

use std::io::{self, Write};

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
/// LINKTYPE_RAW: packets begin with their IP header.
const RAW_IP: u16 = 101;

const OPTION_COMMENT: u16 = 1;
const OPTION_USER_APPLICATION: u16 = 4;
const OPTION_INTERFACE_NAME: u16 = 2;
const OPTION_TIMESTAMP_RESOLUTION: u16 = 9;
/// The resolution of the timestamps: units of 10⁻⁹ s.
const NANOSECONDS: u8 = 9;

/// Writes one pcapng file, packet by packet.
///
/// ```
/// use netspurt::wire::PcapngWriter;
/// let mut file = PcapngWriter::new(Vec::new(), "source", "netspurt").unwrap();
/// file.packet(1_000_000_000, &[0x45, 0, 0, 20], Some("a comment")).unwrap();
/// assert_eq!(file.finish().unwrap()[..4], [0x0a, 0x0d, 0x0d, 0x0a]);
/// ```
#[derive(Debug)]
pub struct PcapngWriter<W> {
    out: W,
    /// The body of the block being built.
    block: Vec<u8>,
    /// The maximum number of octets that are kept of a packet. `None` means that there is no limit.
    snap_bytes: Option<u32>,
}

impl<W: Write> PcapngWriter<W> {
    /// Starts a file of raw IP packets seen at `interface`, written by `application`.
    ///
    /// # Errors
    /// When the output fails.
    ///
    /// # Panics
    /// When `interface` or `application` has 65536 octets or more.
    pub fn new(out: W, interface: &str, application: &str) -> io::Result<Self> {
        Self::cutting(out, interface, application, None)
    }

    /// Starts a file as [`new`](Self::new) does. The file keeps the first `snap_bytes` octets of
    /// each packet. `None` keeps whole packets.
    ///
    /// # Errors
    /// When the output fails.
    ///
    /// # Panics
    /// When `interface` or `application` has 65536 octets or more.
    pub fn cutting(
        out: W,
        interface: &str,
        application: &str,
        snap_bytes: Option<u32>,
    ) -> io::Result<Self> {
        let mut this = Self { out, block: Vec::new(), snap_bytes };
        this.block.extend_from_slice(&BYTE_ORDER.to_le_bytes());
        this.block.extend_from_slice(&1_u16.to_le_bytes());
        this.block.extend_from_slice(&0_u16.to_le_bytes());
        // The section's length is unknown.
        this.block.extend_from_slice(&u64::MAX.to_le_bytes());
        this.option(OPTION_USER_APPLICATION, application.as_bytes());
        this.end_options();
        this.write_block(SECTION_HEADER)?;
        this.block.extend_from_slice(&RAW_IP.to_le_bytes());
        this.block.extend_from_slice(&0_u16.to_le_bytes());
        // A snap length of zero means that there is no limit.
        this.block.extend_from_slice(&snap_bytes.unwrap_or(0).to_le_bytes());
        this.option(OPTION_INTERFACE_NAME, interface.as_bytes());
        this.option(OPTION_TIMESTAMP_RESOLUTION, &[NANOSECONDS]);
        this.end_options();
        this.write_block(INTERFACE)?;
        Ok(this)
    }

    /// Adds a packet that was seen `unix_ns` nanoseconds after the start of 1970. `bytes` is the
    /// whole packet, and the writer cuts it if there is a limit.
    ///
    /// # Errors
    /// When the output fails, or when the packet has 2^32 octets or more.
    ///
    /// # Panics
    /// When the comment has 65536 octets or more.
    pub fn packet(&mut self, unix_ns: u64, bytes: &[u8], comment: Option<&str>) -> io::Result<()> {
        let [low, high] = [unix_ns & 0xffff_ffff, unix_ns >> 32];
        let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
        let kept = length.min(self.snap_bytes.unwrap_or(length));
        self.block.extend_from_slice(&0_u32.to_le_bytes());
        for half in [high, low] {
            self.block.extend_from_slice(&u32::try_from(half).unwrap_or(0).to_le_bytes());
        }
        self.block.extend_from_slice(&kept.to_le_bytes());
        self.block.extend_from_slice(&length.to_le_bytes());
        self.block.extend_from_slice(&bytes[..kept as usize]);
        self.pad();
        if let Some(comment) = comment {
            self.option(OPTION_COMMENT, comment.as_bytes());
            self.end_options();
        }
        self.write_block(ENHANCED_PACKET)
    }

    /// Completes the file and returns the output.
    ///
    /// # Errors
    /// When the output fails.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        let length = u16::try_from(value.len()).expect("options are short");
        self.block.extend_from_slice(&code.to_le_bytes());
        self.block.extend_from_slice(&length.to_le_bytes());
        self.block.extend_from_slice(value);
        self.pad();
    }

    fn end_options(&mut self) {
        self.block.extend_from_slice(&0_u32.to_le_bytes());
    }

    fn pad(&mut self) {
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    fn write_block(&mut self, kind: u32) -> io::Result<()> {
        let length = u32::try_from(self.block.len() + 12).map_err(io::Error::other)?.to_le_bytes();
        self.out.write_all(&kind.to_le_bytes())?;
        self.out.write_all(&length)?;
        self.out.write_all(&self.block)?;
        self.out.write_all(&length)?;
        self.block.clear();
        Ok(())
    }
}
