//! Tests of values at and beyond their bounds, and of lists with a wrong number of entries. `CHAIN`
//! is a small scenario that the tests change.

use super::*;

/// A wrong value in [`CHAIN`]: the text that is replaced, the wrong text in its place, and the key,
/// the message and the fix of the error.
type BoundCase = [&'static str; 5];

const WRONG: &[BoundCase] = &[
    [
        "\"3 packets\"",
        "\"3 packets\", loss = { probability = { timeline = [[\"0 s\", 0.1, 0.2]] } }",
        "links.modem.loss.probability.timeline[0]",
        "a list of length 3",
        "write two values",
    ],
    [
        "\"150 ms\"",
        "{ timeline = [[\"0 s\", \"1 ms\"], [\"1 s\", \"2 ms\", 3]] }",
        "links.modem.delay.timeline[1]",
        "a list of length 3",
        "write two values",
    ],
    [
        "\"9600 bit/s\"",
        "{ timeline = [[\"0 s\", \"1 kbit/s\", \"2 kbit/s\"]] }",
        "links.modem.rate.timeline[0]",
        "a list of length 3",
        "write two values",
    ],
    [
        "[\"b\", \"c\"]",
        "[\"b\", \"c\", \"d\"]",
        "links.modem.between",
        "a list of length 3",
        "write two values",
    ],
    [
        "\"3 packets\"",
        "[\"3 packets\", \"4 packets\", \"5 packets\"]",
        "links.modem.queue",
        "a list of length 3",
        "write one value, or two: [forward, reverse] for a link, [from, to] for a flow",
    ],
    [
        "\"3 packets\"",
        "\"3 packets\", loss = { nth = [4, 3, 4] }",
        "links.modem.loss.nth[2]",
        "`4` appears twice",
        "write each number once: only one packet has it",
    ],
    [
        "\"3 packets\"",
        "\"3 packets\", duplicate = [\"none\", { nth = [1, 1] }]",
        "links.modem.duplicate[1].nth[1]",
        "`1` appears twice",
        "write each number once: only one packet has it",
    ],
    [
        "\"3 packets\"",
        "{ red = { wq = 0 } }",
        "links.modem.queue.red.wq",
        "with `wq` = 0 the average would stay 0, so RED would drop nothing",
        "write a number above 0, at most 1",
    ],
    [
        "\"3 packets\"",
        "{ red = { max_p = 0.0 } }",
        "links.modem.queue.red.max_p",
        "with `max_p` = 0 RED would drop nothing below `max_th`",
        "write a number above 0, at most 1",
    ],
    [
        "\"3 packets\"",
        "\"3 packets\", slots = { gap = { probability = 1, dead = \"20 s\" } }",
        "links.modem.slots.gap.dead",
        "a gap of 20 s is longer than a slot of 15 s",
        "write at most 15 s",
    ],
    [
        "\"150 ms\"",
        "\"1 ms\", slots = { share = [0.5, 2] }",
        "links.modem.slots.share",
        "both shares must be above 0 and at most 1, the smaller one first",
        "write it as in `share = [0.027, 1]`",
    ],
    [
        "\"150 ms\"",
        "\"1 ms\", slots = { share = [nan, 1] }",
        "links.modem.slots.share",
        "both shares must be above 0 and at most 1, the smaller one first",
        "write it as in `share = [0.027, 1]`",
    ],
    [
        "\"20 segments\"",
        "\"100 kb\"",
        "flows.x.send",
        "`100 kb` is not an amount",
        "write `4 segments`, a size such as `1000 B`, or `unlimited`",
    ],
    [
        "\"20 segments\"",
        "\"1.5 B\"",
        "flows.x.send",
        "`1.5 B` is not a size in bytes",
        "write a whole number of bytes",
    ],
    [
        "\"20 segments\"",
        "\"1.5 segments\"",
        "flows.x.send",
        "`1.5 segments` is not a number of segments",
        "write a whole number of segments",
    ],
    [
        "\"3 packets\"",
        "\"Unlimited\"",
        "links.modem.queue",
        "`Unlimited` is not an amount",
        "write `3 packets`, a size such as `1000 B`, or `unlimited`",
    ],
    [
        "\"reno\"",
        "\"reno\", dup_thresh = 0",
        "flows.x.tcp.dup_thresh",
        "`0` is out of range",
        "write a value from 1 to 4294967295",
    ],
    [
        "stop = \"10 s\"",
        "stop = \"10 s\"\ntitle = 5",
        "title",
        "wrong type: integer `5`",
        "write it in quotes: \"5\"",
    ],
    [
        "stop = \"10 s\"",
        "stop = \"10 s\"\ntitle = [5]",
        "title",
        "wrong type: sequence",
        "write a text in quotes",
    ],
    [
        "stop = \"10 s\"",
        "stop = \"10 s\"\nroutes = [{ from = \"a\", to = \"a\", via = [\"b\"] }]",
        "routes[0].to",
        "the route meets `a` twice",
        "write each node of a route once, and no route to its start",
    ],
    [
        "stop = \"10 s\"",
        "stop = \"10 s\"\nroutes = [{ from = \"a\", to = \"c\", via = [\"b\", \"a\", \"b\"] }]",
        "routes[0].via[1]",
        "the route meets `a` twice",
        "write each node of a route once, and no route to its start",
    ],
];

#[test]
fn a_value_beyond_its_bound_is_reported_with_the_value_and_the_fix() {
    for [from, to, key, message, fix] in WRONG {
        let error = error_of(from, to);
        assert_eq!((error.key.as_str(), error.message.as_str()), (*key, *message), "{to}");
        assert_eq!(error.fix, *fix, "{to}");
        assert!(error.place.is_some(), "{to}: {error}");
    }
}

#[test]
fn if_a_number_is_too_large_for_toml_the_error_shows_its_place() {
    let shown = |value: &str| {
        let error = error_of("stop = \"10 s\"", &format!("stop = \"10 s\"\nseed = {value}"));
        error.to_string()
    };
    for value in ["9223372036854775808", "99999999999999999999"] {
        assert_eq!(
            shown(value),
            format!(
                "`{value}` is out of range\n   --> x.toml:3:8\n 3 | seed = {value}\n   |        {} \
                 write a whole number from 0 to 2^63 - 1",
                "^".repeat(value.len())
            )
        );
    }
    let digits = "9".repeat(50);
    assert!(shown(&digits).starts_with("this number is too large\n   --> x.toml:3:8\n"));
    assert!(shown(&digits).ends_with("^ write less than 2^63"));
    assert!(shown("1e400").starts_with("this number is too large\n   --> x.toml:3:8\n"));
}

/// Values in [`CHAIN`] at their bounds: the text that is replaced, and the text in its place.
const AT_THE_BOUND: &[[&str; 2]] = &[
    ["\"3 packets\"", "\"3 packets\", loss = { packets = [3, 3] }"],
    ["\"3 packets\"", "\"3 packets\", loss = { nth = [5, 3] }"],
    ["\"3 packets\"", "{ red = { wq = 1, max_p = 1 } }"],
    ["\"3 packets\"", "{ codel = { target = \"0 s\" } }"],
    ["\"3 packets\"", "{ pie = { target = \"0 s\" } }"],
    ["\"150 ms\"", "\"1 ms\", slots = { gap = { probability = 1, dead = \"15 s\" } }"],
    ["\"150 ms\"", "\"1 ms\", slots = { share = [1, 1] }"],
    ["stop = \"10 s\"", "stop = \"10 s\"\nseed = 9223372036854775807"],
    ["stop = \"10 s\"", "stop = \"10 s\"\nroutes = [{ from = \"a\", to = \"b\" }]"],
];

#[test]
fn a_value_at_its_bound_is_accepted_and_kept() {
    for [from, to] in AT_THE_BOUND {
        assert!(CHAIN.contains(from), "{from}");
        let scenario = Scenario::parse("x.toml", &CHAIN.replace(from, to)).expect(to);
        let resolved = scenario.resolved();
        assert_eq!(Scenario::parse("again", &resolved).expect(&resolved).resolved(), resolved);
    }
}

#[test]
fn the_burst_model_steps_at_regular_times_if_the_time_between_two_steps_is_set() {
    let with = |loss: &str| {
        let text = CHAIN.replace("\"3 packets\"", &format!("\"3 packets\", loss = {loss}"));
        run(&Scenario::parse("x.toml", &text).unwrap()).flows_digest()
    };
    let lossless = run(&chain()).flows_digest();
    // The state becomes bad at the first step. With the key `every`, this step comes after the
    // run's end.
    assert_eq!(with("{ bursts = { to_bad = 1, to_good = 0, every = \"20 s\" } }"), lossless);
    assert_ne!(with("{ bursts = { to_bad = 1, to_good = 0, every = \"1 s\" } }"), lossless);
    assert_ne!(with("{ bursts = { to_bad = 1, to_good = 0 } }"), lossless);
}

#[test]
fn if_one_of_several_settings_is_wrong_the_error_names_only_this_setting() {
    let link = "{ between = [\"b\", \"c\"], rate = \"1 bps\" }";
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
        let all = [("seed", "2"), ("links.modem", link), ("flows.x.send", "\"9 kB\"")];
        let error = chain().with(&order.map(|n| all[n])).unwrap_err();
        assert_eq!((error.key.as_str(), error.set), ("links.modem", true), "{error}");
        assert_eq!(error.message, "`1 bps` is not a bit rate");
        assert!(error.place.is_none(), "{error}");
    }
    // Here the file has the wrong value, so no setting is to blame.
    let text = CHAIN.replace("\"9600 bit/s\"", "\"1 bps\"");
    let error = Scenario::parse("x.toml", &text).unwrap_err();
    assert_eq!((error.key.as_str(), error.set), ("links.modem.rate", false), "{error}");
}

#[test]
fn a_flow_is_refused_if_its_replies_have_more_than_2_to_the_60_octets() {
    let with = |reply: &str| {
        let app = format!("app = {{ reply = \"{reply}\", requests = 100000 }}\nsend = \"1 B\"");
        Scenario::parse("x.toml", &CHAIN.replace("send = \"20 segments\"", &app))
    };
    assert!(with("11529215046068 B").is_ok());
    let error = with("11529215046069 B").unwrap_err();
    assert_eq!(error.message, "the requests or the replies have more than 2^60 octets");
    assert_eq!(error.key, "flows.x.app.reply");
}
