//! Opens the files that a script has made, and sends data from them. A script is a test in
//! packetdrill's notation.

use netspurt::units::Time;

use super::call::{Call, Fd};
use super::host::SocketHost;
use super::host_calls::{failed, returned};
use super::message_flags::MessageFlags;
use super::subject::CallResult;
use super::zero_files::OpenFile;

impl SocketHost {
    pub(super) fn open_file(&mut self, path: &str, number: Option<Fd>) -> CallResult {
        let Some(bytes) = self.files.made.get(path).copied() else { return failed("ENOENT") };
        let fd = self.new_fd(number);
        self.files.open.insert(fd, OpenFile { bytes, at: 0 });
        returned(fd.into())
    }

    /// Sends octets of an open file as `write` does, but not more than the file has.
    pub(super) fn send_file(&mut self, now: Time, call: &Call) -> CallResult {
        let &Call::SendFile { fd, file, offset, bytes } = call else { return failed("EINVAL") };
        let Some(socket) = self.sockets.get(&fd).copied() else { return failed("EBADF") };
        let Some(open) = self.files.open.get(&file).copied() else { return failed("EBADF") };
        let remaining = open.bytes.saturating_sub(offset.unwrap_or(open.at));
        let bytes = u32::try_from(remaining).unwrap_or(u32::MAX).min(bytes);
        if bytes == 0 {
            return returned(0);
        }
        let result = self.write(now, fd, socket, (&[bytes], MessageFlags::default()));
        if let (CallResult::Returned(outcome), None) = (&result, offset) {
            let sent = u64::try_from(outcome.value).unwrap_or(0);
            self.files.open.insert(file, OpenFile { at: open.at + sent, ..open });
        }
        result
    }
}
