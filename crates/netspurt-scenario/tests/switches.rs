//! Tests that the tables of profiles and switches (named settings of TCP) in the documentation
//! equal the tables that are generated from the definitions.

use std::fs;
use std::path::Path;

use netspurt_scenario::scenario::{profiles_table, switches_table};

/// The text of the page between the marks of the table called `name`.
fn shown<'a>(page: &'a str, name: &str) -> &'a str {
    let (_, rest) =
        page.split_once(&format!("<!-- {name}: made from their definitions -->\n\n")).unwrap();
    rest.split_once(&format!("\n<!-- {name} end -->\n")).unwrap().0
}

#[test]
fn the_tables_in_the_documentation_equal_the_tables_made_from_the_definitions() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scenarios.md");
    let page = fs::read_to_string(page).unwrap();
    for (name, table) in [("profiles", profiles_table()), ("switches", switches_table())] {
        assert!(
            shown(&page, name) == table,
            "docs/scenarios.md must have this table of {name}:\n\n{table}"
        );
    }
}
