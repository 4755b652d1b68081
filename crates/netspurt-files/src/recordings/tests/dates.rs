//! Tests of dates and times of day in tables, in the forms of spreadsheets.

use super::{counts, one};
use crate::recordings::{Columns, Hints, Reading, RecordingError, read, read_as};

/// The time that `date -u -d '2024-10-22 10:11:12' +%s` prints, in nanoseconds.
const NS: i64 = 1_729_591_872_000_000_000;

#[test]
fn dates_and_times_of_day_may_have_separate_columns() {
    for text in [
        "22.10.2024 10:11:12,12\n22.10.2024 10:11:13,13\n",
        "22.10.2024 10:11:12;12,0\n22.10.2024 10:11:13;13,0\n",
        "10/22/2024 10:11:12 AM,12\n10/22/2024 10:11:13 AM,13\n",
        "22/10/2024,10:11:12,12\n22/10/2024,10:11:13,13\n",
        "22/10/2024,10:11:12,1,12\n22/10/2024,10:11:13,2,13\n",
        "date,time,rtt\n2024-10-22,10:11:12,12\n2024-10-22,10:11:13,13\n",
        "Date;Time;RTT (ms)\n22.10.2024;10:11:12;12\n22.10.2024;10:11:13;13\n",
        "Datum;Uhrzeit;Ping\n22.10.2024;10:11:12;12\n22.10.2024;10:11:13;13\n",
        "date time rtt\n10/22/2024 10:11:12 AM 12\n10/22/2024 10:11:13 AM 13\n",
        "timestamp,rtt_ms\n\"10/22/2024, 10:11:12 AM\",12\n\"10/22/2024, 10:11:13 AM\",13\n",
        "date,time,rtt\n2024-10-22 10:11:12,0.5,12\n2024-10-22 10:11:13,0.6,13\n",
    ] {
        let delays = one(text);
        assert_eq!(counts(&delays)[..3], [2, 2, 0], "{text}");
        assert_eq!(delays.probes[0].rtt.unwrap().as_nanos(), 12_000_000, "{text}");
        assert_eq!(delays.probes[1].sent.as_nanos(), 1_000_000_000, "{text}");
        let began = delays.began.unwrap_or_else(|| panic!("no beginning\n{text}"));
        assert_eq!((began.unix_ns, began.local), (NS, true), "{text}");
    }
}

#[test]
fn times_of_day_without_a_date_give_no_start_time() {
    let delays = one("time_of_day,rtt\n10:11:12,12\n");
    assert_eq!(counts(&delays)[..3], [1, 1, 0]);
    let delays = one("23:59:59,12\n00:00:01,13\n");
    assert_eq!((delays.probes[1].sent.as_nanos(), delays.began), (2_000_000_000, None));
}

#[test]
fn a_time_with_a_zone_gives_a_start_time_in_utc() {
    let began = one("timestamp,rtt\n2024-10-22T12:11:12+02:00,12\n").began.unwrap();
    assert_eq!((began.unix_ns, began.local), (NS, false));
    let began = one("22.10.2024 10:11:12Z,12\n").began.unwrap();
    assert_eq!((began.unix_ns, began.local), (NS, false));
}

/// Reads a table with the hint that its dates have the order `dates`: `dmy` or `mdy`.
fn ordered(text: &str, dates: &str) -> Result<Reading, RecordingError> {
    let columns = Columns { dates: Some(dates.to_owned()), ..Columns::default() };
    read_as("x", text.as_bytes(), &Hints { columns, ..Hints::default() })
}

#[test]
fn the_order_of_day_and_month_comes_from_a_clear_date_or_from_the_user() {
    let recording = one("time,rtt\n12/10/2024 10:11:12,12\n13/10/2024 10:11:12,12\n");
    assert_eq!(recording.probes[1].sent.as_nanos(), 86_400_000_000_000);
    let text = "timestamp,rtt\n10/10/2024 10:11:12,12\n10/11/2024 10:11:12,12\n";
    let error = read("x", text.as_bytes()).unwrap_err().to_string();
    assert_eq!(
        error,
        "x:3: in the date `10/11/2024 10:11:12` either the day or the month may come first, and no \
         other date decides which: write `--column dates=dmy` (22/10/2024) or \
         `--column dates=mdy` (10/22/2024)"
    );
    let sent = |dates| ordered(text, dates).unwrap().recordings[0].probes[1].sent.as_nanos();
    const DAY: u64 = 86_400_000_000_000;
    assert_eq!((sent("dmy"), sent("mdy")), (31 * DAY, DAY));
    let error = ordered(text, "ymd").unwrap_err().to_string();
    assert!(error.starts_with("x: `ymd` is not an order of day and month: write `dmy`"), "{error}");
}

#[test]
fn dates_in_two_orders_are_an_error() {
    let text = "timestamp,rtt\n22/10/2024 10:11:12,12\n10/23/2024 10:11:12,12\n";
    let error = read("x", text.as_bytes()).unwrap_err();
    assert_eq!((error.line, error.message.contains("another order")), (Some(3), true));
}

#[test]
fn a_date_that_does_not_exist_cannot_be_read() {
    for wrong in ["2023-02-29", "29/02/2023", "2024-04-31"] {
        let text = format!("time,rtt_ms\n2024-02-28 10:11:12,20\n{wrong} 10:11:13,21\n");
        let reading = read("x", text.as_bytes()).unwrap();
        assert_eq!(reading.recordings[0].sent(), 1, "{wrong}");
        assert_eq!(reading.malformed[0].why, "a time that cannot be read", "{wrong}");
    }
}
