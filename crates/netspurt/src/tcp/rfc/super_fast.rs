//! Super Fast Retransmit (Tarr and Ghita 2005, §5): what it has sent, and how long it waits.

use crate::packed::packed;
use crate::rto::SfrConfig;
use crate::units::Duration;

use super::config::{RfcConfig, SfrResponse};

/// Super Fast Retransmit, where a connection has it.
#[derive(Debug)]
pub(super) struct SuperFast {
    timer: Option<SfrConfig>,
    response: SfrResponse,
    /// It has sent the head, and waits for new octets to be sent.
    rests: bool,
}

packed!(SuperFast { rests } keeps { timer, response });

impl SuperFast {
    pub(super) fn new(config: &RfcConfig) -> Self {
        Self { timer: config.sfr, response: config.sfr_response, rests: true }
    }

    /// Whether the connection has it.
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.timer.is_some()
    }

    /// New octets left.
    #[inline]
    pub(super) fn on_new_data(&mut self) {
        self.rests = false;
    }

    /// How long it waits after a handshake of `rtt`, with so many octets `acknowledged`; `None`
    /// while it rests (steps 1 to 3).
    pub(super) fn wait(&self, acknowledged: u64, rtt: Option<Duration>) -> Option<Duration> {
        let timer = self.timer.filter(|timer| !self.rests && !timer.is_over(acknowledged))?;
        Some(timer.wait(rtt?))
    }

    /// The first segment not acknowledged leaves again, and the timer rests until a new one is
    /// sent (step 4); what that does to the window.
    pub(super) fn fire(&mut self) -> SfrResponse {
        self.rests = true;
        self.response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tarr and Ghita 2005, §5, steps 1 to 4, with the paper's factor 3 and limit of 80 000 octets.
    #[test]
    fn it_waits_three_handshakes_and_rests_after_it_has_sent() {
        let config = RfcConfig { sfr: Some(SfrConfig::default()), ..RfcConfig::rfc_2026() };
        let mut sfr = SuperFast::new(&config);
        let rtt = Some(Duration::from_millis(20));
        assert_eq!(sfr.wait(0, rtt), None, "nothing was sent");
        sfr.on_new_data();
        assert_eq!(sfr.wait(79_999, rtt), Some(Duration::from_millis(60)));
        assert_eq!((sfr.wait(80_000, rtt), sfr.wait(0, None)), (None, None));
        assert_eq!((sfr.fire(), sfr.wait(0, rtt)), (SfrResponse::None, None));
        assert!(!SuperFast::new(&RfcConfig::rfc_2026()).is_on());
    }
}
