//! The names of the files in a run folder.

use indexmap::IndexMap;

/// The manifest: it identifies the run, lists its contents, and has the SHA-256 of each other file.
pub const MANIFEST: &str = "run.json";

/// The scenario of the run, with every default written out.
pub const SCENARIO: &str = "scenario.toml";

/// The report on a live run. It has the facts that are not in the run's tables.
pub const LIVE: &str = "live.json";

/// The version of the layout of run folders. The manifest has this number.
pub const FORMAT: u32 = 2;

/// Returns the name of the file that has the table `name`.
pub fn table_file(name: &str) -> String {
    format!("{name}.parquet")
}

/// Returns the name of the file of each node's capture, by the node's name. A file is named after
/// its node. In the file's name, each character except letters, digits, `-`, `_` and `.` becomes
/// `_`. Dots at the beginning are removed. If nothing is left, the name is `node`. If an earlier
/// file has the same name, a number is added.
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

/// Returns a name for a file, made from a node's name. The name has no separators. It does not
/// begin with a dot, because a dot at the beginning would hide the file.
fn plain(node: &str) -> String {
    let kept = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let plain: String = node.chars().map(kept).collect();
    let plain = plain.trim_start_matches('.');
    if plain.is_empty() { "node" } else { plain }.to_owned()
}
