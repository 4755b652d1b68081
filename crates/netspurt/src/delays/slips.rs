//! Delays that ping of iputils rounds without a carry: some versions write 53.95 ms as 53.10.

use crate::units::Duration;

use super::tally::Tally;
use super::text::MILLISECOND;

/// The form of a delay that may lack a carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slip {
    /// As in `53.10`, which may mean 54.0.
    Tens,
    /// As in `9.100`, which may mean 10.0.
    Ones,
}

/// The delays of one log that may lack a carry.
#[derive(Clone, Debug, Default)]
pub(super) struct Slips {
    /// The numbers of the probes whose delays may lack a carry, with the delay's form.
    numbers: Vec<(u64, Slip)>,
    /// Whether some delay from 1 to 10 ms has two decimals, as iputils writes them.
    two_decimals: bool,
    /// Whether a delay has a form that iputils does not write.
    alien: bool,
}

impl Slips {
    /// Reads the digits of a delay; returns its form if it may lack a carry. iputils writes three
    /// decimals below 1 ms, two below 10 ms, one below 100 ms and none above. Where the carry is
    /// missing, the decimals are `100` instead of two, and `10` instead of one.
    pub fn read(&mut self, digits: &str) -> Option<Slip> {
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let form = (whole.len(), fraction.len());
        self.two_decimals |= form == (1, 2);
        let slip = match (whole.len(), fraction) {
            (2, "10") => Some(Slip::Tens),
            (1, "100") => Some(Slip::Ones),
            _ => None,
        };
        self.alien |= slip.is_none() && matches!(form, (2, 2..) | (3.., 1..));
        self.alien |= whole == "0" && matches!(form.1, 1 | 2);
        slip
    }

    /// Notes that the delay of the probe `number` may lack a carry, unless `slip` is `None`.
    pub fn note(&mut self, number: u64, slip: Option<Slip>) {
        self.numbers.extend(slip.map(|slip| (number, slip)));
    }

    /// Whether a tool other than iputils wrote the log.
    pub fn is_alien(&self) -> bool {
        self.alien
    }

    /// Adds the missing carries to the delays. Returns the number of delays that this changes.
    pub fn carry(&self, tally: &mut Tally) -> u64 {
        let mut count = 0;
        for (number, slip) in &self.numbers {
            let slot = tally.sent(*number);
            let (Some(rtt), true) = (slot.rtt(), *slip == Slip::Tens || self.two_decimals) else {
                continue;
            };
            let carried = Duration::from_millis(rtt.as_nanos() / MILLISECOND + 1);
            let later = i64::try_from(carried.as_nanos() - rtt.as_nanos()).unwrap_or(0);
            slot.set_rtt(Some(carried));
            slot.set_sent(slot.sent_ns().map(|sent| sent.saturating_sub(later)));
            count += 1;
        }
        count
    }
}
