//! Runs a scenario file with the Rust crates alone: `simulate FILE [PATH=VALUE ...]`.
//!
//! Prints the number of packet-hops (a packet-hop is one packet over one link), the digest (a
//! checksum) of all tables, and the digest of the flows' results.

use netspurt::record::Data;
use netspurt_scenario::scenario::Scenario;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let file = words.next().ok_or("usage: simulate FILE [PATH=VALUE ...]")?;
    let mut scenario = Scenario::parse(&file, &std::fs::read_to_string(&file)?)?;
    for word in words {
        let (path, value) = word.split_once('=').ok_or("write each setting as PATH=VALUE")?;
        scenario = scenario.with(&[(path, value)])?;
    }
    let mut run = scenario.simulate();
    run.advance_to(run.stop());
    let results = run.finish();
    let carried = match results.table("links").and_then(|links| links.column("carried")) {
        Some(Data::I64(carried)) => carried.iter().sum::<i64>(),
        _ => 0,
    };
    println!("hops {carried} digest {} flows {}", results.digest(), results.flows_digest());
    Ok(())
}
