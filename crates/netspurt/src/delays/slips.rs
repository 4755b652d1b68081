//! Delays that iputils rounds without a carry: from 53.95 ms some versions write 53.10.

use crate::units::Duration;

use super::tally::Tally;
use super::text::MILLISECOND;

/// The digits of a delay that may lack a carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slip {
    /// `53.10`
    Tens,
    /// `9.100`
    Ones,
}

/// What a log shows of such delays.
#[derive(Clone, Debug, Default)]
pub(super) struct Slips {
    /// The probes whose delays may be such ones.
    numbers: Vec<(u64, Slip)>,
    /// Whether delays from 1 to 10 ms have two decimals, to which iputils truncates them.
    two_decimals: bool,
    /// Whether a delay has a form that iputils does not write.
    alien: bool,
}

impl Slips {
    /// The form of a delay: iputils writes three decimals below 1 ms, two below 10 ms, one below
    /// 100 ms and none above; without the carry it writes `10` for the decimal of the third and
    /// `100` for those of the second.
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

    /// The probe `number` has such a delay.
    pub fn note(&mut self, number: u64, slip: Option<Slip>) {
        self.numbers.extend(slip.map(|slip| (number, slip)));
    }

    /// Whether another tool than iputils wrote the log.
    pub fn is_alien(&self) -> bool {
        self.alien
    }

    /// Adds the missing carries to the delays; returns how many there are.
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
