//! Explains captures and prints the result as rows: `explain FILE... > ROWS`. The program runs
//! without Python, so it measures the speed of the core alone.

use std::fs::File;
use std::io::{Write as _, stdout};

use netspurt::explain::{Explainer, JoinedCaptures, RowLayout};
use netspurt::wire::{CaptureReader, CaptureSource};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = stdout().lock();
    out.write_all(&RowLayout::Own.heading(true)?)?;
    for path in std::env::args().skip(1) {
        let source: CaptureSource = Box::new(File::open(&path)?);
        let reader = CaptureReader::unpacking(source).map_err(|e| e.to_string())?;
        let mut captures = JoinedCaptures::new(vec![reader]);
        let mut explainer = Explainer::default();
        let mut more = true;
        while more {
            more = captures.explain(&mut explainer);
            loop {
                let rows = explainer.rows(RowLayout::Own, !more, Some(&path))?;
                if rows.is_empty() {
                    break;
                }
                out.write_all(&rows)?;
            }
        }
    }
    Ok(())
}
