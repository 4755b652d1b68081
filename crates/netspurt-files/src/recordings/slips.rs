//! Corrects delays that lack a carry. Some versions of iputils' ping round the decimals up, but do
//! not carry to the whole milliseconds: they write 53.95 ms as 53.10 and not as 54.0.

use netspurt::units::Duration;

use super::tally::Tally;
use super::text::MILLISECOND;

/// The form of a delay that may lack a carry from its decimals to its whole milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CarryForm {
    /// `53.10`, for example, may mean 54.0.
    Tens,
    /// `9.100`, for example, may mean 10.0.
    Ones,
}

/// The delays of one log that may lack a carry.
#[derive(Clone, Debug, Default)]
pub(super) struct MissingCarries {
    /// The numbers of the probes whose delays may lack a carry, each with the form of its delay.
    numbers: Vec<(u64, CarryForm)>,
    /// True if a delay between 1 and 10 ms has two decimals, as iputils writes them.
    two_decimals: bool,
    /// True if a delay has a form that iputils does not write.
    foreign: bool,
}

impl MissingCarries {
    /// Reads the digits of a delay. Returns the form of the delay if the delay may lack a carry.
    /// iputils writes three decimals below 1 ms, two below 10 ms, one below 100 ms, and none from
    /// 100 ms on. A delay that lacks a carry has one decimal too many: `9.100` has three decimals
    /// instead of two, and `53.10` has two decimals instead of one.
    pub fn read(&mut self, digits: &str) -> Option<CarryForm> {
        let (whole_ms, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let lengths = (whole_ms.len(), fraction.len());
        self.two_decimals |= lengths == (1, 2);
        let form = match (whole_ms.len(), fraction) {
            (2, "10") => Some(CarryForm::Tens),
            (1, "100") => Some(CarryForm::Ones),
            _ => None,
        };
        self.foreign |= form.is_none() && matches!(lengths, (2, 2..) | (3.., 1..));
        self.foreign |= whole_ms == "0" && matches!(lengths.1, 1 | 2);
        form
    }

    /// If `form` is not `None`, records that the delay of the probe with this number may lack a
    /// carry.
    pub fn note(&mut self, number: u64, form: Option<CarryForm>) {
        self.numbers.extend(form.map(|form| (number, form)));
    }

    /// True if a tool other than iputils wrote the log.
    pub fn is_foreign(&self) -> bool {
        self.foreign
    }

    /// Adds the missing carries to the delays, and makes the times of sending earlier by the same
    /// amount. Delays of the form [`CarryForm::Ones`] change only if another delay shows that
    /// iputils wrote the log. Returns the number of changed delays.
    pub fn carry(&self, tally: &mut Tally) -> u64 {
        let mut count = 0;
        for (number, form) in &self.numbers {
            let slot = tally.sent(*number);
            let (Some(rtt), true) = (slot.rtt(), *form == CarryForm::Tens || self.two_decimals)
            else {
                continue;
            };
            let carried = Duration::from_millis(rtt.as_nanos() / MILLISECOND + 1);
            let increase = i64::try_from(carried.as_nanos() - rtt.as_nanos()).unwrap_or(0);
            slot.set_rtt(Some(carried));
            slot.set_sent(slot.sent_ns().map(|sent| sent.saturating_sub(increase)));
            count += 1;
        }
        count
    }
}
