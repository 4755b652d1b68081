//! The names of the files in a run folder.

use indexmap::IndexMap;

/// The manifest: it identifies the run, lists its contents, and has the SHA-256 of each other file.
pub const MANIFEST: &str = "run.json";

/// The resolved scenario.
pub const SCENARIO: &str = "scenario.toml";

/// The report on a live run, which has the facts that are not in its tables.
pub const LIVE: &str = "live.json";

/// The version of the layout of run folders. The manifest has this number.
pub const FORMAT: u32 = 2;

/// The file of the table called `name`.
pub fn table_file(name: &str) -> String {
    format!("{name}.parquet")
}

/// The file of each node's capture, by the node's name. The file has the node's name. In the name,
/// each character except letters, digits, `-`, `_` and `.` becomes `_`. Dots at the beginning are
/// removed. If nothing is left, the name is `node`. Equal file names are then numbered.
///
/// ```
/// use netspurt::results::capture_files;
/// let files = capture_files(["a", "x/y", "x y"]);
/// assert_eq!(files.values().collect::<Vec<_>>(), ["a.pcapng", "x_y.pcapng", "x_y-2.pcapng"]);
/// ```
pub fn capture_files<'a>(nodes: impl IntoIterator<Item = &'a str>) -> IndexMap<String, String> {
    let mut files: IndexMap<String, String> = IndexMap::new();
    for node in nodes {
        let plain = plain(node);
        let numbered = (files.len()..).map(|number| format!("{plain}-{number}.pcapng"));
        let mut names = [format!("{plain}.pcapng")].into_iter().chain(numbered);
        let free = names.find(|name| files.values().all(|taken| taken != name));
        files.insert(node.to_owned(), free.expect("names do not run out"));
    }
    files
}

/// Returns a name for a file, made from a node's name. It has no separators, and no dots at the
/// beginning, which would hide the file.
fn plain(node: &str) -> String {
    let kept = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let plain: String = node.chars().map(kept).collect();
    let plain = plain.trim_start_matches('.');
    if plain.is_empty() { "node" } else { plain }.to_owned()
}
