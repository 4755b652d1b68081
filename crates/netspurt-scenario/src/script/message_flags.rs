//! The flags of `send` and `recv`.

use core::fmt;

/// Flags of `send` and `recv`. `MSG_NOSIGNAL` has no effect, because there are no signals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageFlags {
    /// `MSG_DONTWAIT`: the call does not block.
    pub dont_wait: bool,
    /// `MSG_MORE`: more data follows, so a short segment may wait.
    pub more: bool,
    /// `MSG_EOR`: no segment has bytes of both this call and the next call.
    pub end_of_record: bool,
    /// `MSG_PEEK`: the bytes that are read stay in the buffer.
    pub peek: bool,
    /// `MSG_WAITALL`: a call that may block waits for all the bytes that it asks for.
    pub wait_all: bool,
    /// `MSG_TRUNC`: the bytes that are read are not copied. The flag has no other effect.
    pub discards: bool,
    /// `MSG_ERRQUEUE`: the call reads a notice from the error queue, and no data.
    pub error_queue: bool,
    /// `MSG_ZEROCOPY`: the host sends directly from the caller's buffer. A notice in the error
    /// queue tells when the caller may use the buffer again.
    pub zero_copy: bool,
}

impl MessageFlags {
    /// Every name that a script may write.
    pub(super) const NAMES: [&'static str; 9] = [
        "MSG_DONTWAIT",
        "MSG_MORE",
        "MSG_EOR",
        "MSG_PEEK",
        "MSG_WAITALL",
        "MSG_TRUNC",
        "MSG_ERRQUEUE",
        "MSG_ZEROCOPY",
        "MSG_NOSIGNAL",
    ];

    /// Sets the flag called `name`. Returns whether there is such a flag.
    pub(super) fn set(&mut self, name: &str) -> bool {
        match name {
            "MSG_DONTWAIT" => self.dont_wait = true,
            "MSG_MORE" => self.more = true,
            "MSG_EOR" => self.end_of_record = true,
            "MSG_PEEK" => self.peek = true,
            "MSG_WAITALL" => self.wait_all = true,
            "MSG_TRUNC" => self.discards = true,
            "MSG_ERRQUEUE" => self.error_queue = true,
            "MSG_ZEROCOPY" => self.zero_copy = true,
            "MSG_NOSIGNAL" => {}
            _ => return false,
        }
        true
    }

    /// Returns the names of the flags that are set.
    fn names(self) -> Vec<&'static str> {
        let all = [
            self.dont_wait,
            self.more,
            self.end_of_record,
            self.peek,
            self.wait_all,
            self.discards,
            self.error_queue,
            self.zero_copy,
        ];
        let set = Self::NAMES.iter().zip(all).filter(|(_, set)| *set);
        set.map(|(name, _)| *name).collect()
    }
}

impl fmt::Display for MessageFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.names();
        if names.is_empty() { write!(f, "0") } else { write!(f, "{}", names.join("|")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_flag_is_read_and_displayed_by_its_name() {
        for name in MessageFlags::NAMES.iter().filter(|name| **name != "MSG_NOSIGNAL") {
            let mut flags = MessageFlags::default();
            assert!(flags.set(name));
            assert_eq!(flags.to_string(), *name);
        }
        assert!(!MessageFlags::default().set("MSG_OOB"));
    }
}
