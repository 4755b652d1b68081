//! Reads the files that links and populations (many connections of one kind) follow. The values in
//! a file replace the key that names the file.

use std::collections::BTreeMap;

use toml_edit::{DocumentMut, Item, TableLike, Value};

use netspurt::distribution::{Distribution, DistributionUnit};
use netspurt::place::line_of;

use super::error::Problem;
use super::tree::entry;

/// The texts of the files that links and populations may follow, and of the files with algorithms,
/// by name.
pub(super) type Files = BTreeMap<String, String>;

/// The key that names a file.
pub(super) const KEY: &str = "follows";

/// The keys of a link that a file may set.
const KEYS: [&str; 6] = ["delay", "rate", "loss", "duplicate", "order", "handovers"];

/// Divides a path into the path of its link and the rest. Returns `None` if the path leads to no
/// link, or if it ends at the link.
pub(super) fn split(path: &[String]) -> Option<(&[String], &[String])> {
    let steps = match path.first()?.as_str() {
        "links" | "dumbbell" => 2,
        "path" => 3,
        _ => return None,
    };
    path.split_at_checked(steps).filter(|(_, rest)| !rest.is_empty())
}

/// The files, and the paths of the values that override the scenario, for example with `--set`.
#[derive(Clone, Copy)]
pub(super) struct Followable<'a> {
    pub files: &'a Files,
    pub set: &'a [Vec<String>],
}

impl Followable<'_> {
    /// Whether the value of `key` in the link at `path`, or a part of this value, is overridden.
    fn sets(self, path: &[String], key: &str) -> bool {
        let whole = [path, &[key.to_owned()]].concat();
        self.set.iter().any(|set| set.starts_with(&whole))
    }
}

/// Puts the values of each file in place of its name, in all links and populations of the scenario.
pub(super) fn fill_in(
    document: &mut DocumentMut,
    followable: Followable<'_>,
) -> Result<(), Problem> {
    let links = document.get_mut("links").and_then(Item::as_table_like_mut);
    for (name, link) in links.into_iter().flat_map(|links| links.iter_mut()) {
        let path = ["links".to_owned(), name.to_string()];
        follow(link.as_table_like_mut(), &path, followable)?;
    }
    let populations = document.get_mut("populations").and_then(Item::as_table_like_mut);
    for (name, population) in populations.into_iter().flat_map(|all| all.iter_mut()) {
        if let Some(population) = population.as_table_like_mut() {
            follow_values(population, &name, followable.files)?;
        }
    }
    let dumbbell = document.get_mut("dumbbell").and_then(Item::as_table_like_mut);
    for (name, link) in dumbbell.into_iter().flat_map(|links| links.iter_mut()) {
        let path = ["dumbbell".to_owned(), name.to_string()];
        follow(link.as_table_like_mut(), &path, followable)?;
    }
    let path = document.get_mut("path").and_then(Item::as_table_like_mut);
    let below = |number: usize| ["path".to_owned(), "links".to_owned(), entry(number)];
    match path.and_then(|path| path.get_mut("links")) {
        Some(Item::Value(Value::Array(links))) => {
            for (number, link) in links.iter_mut().enumerate() {
                let link = link.as_inline_table_mut().map(|link| link as &mut dyn TableLike);
                follow(link, &below(number), followable)?;
            }
        }
        Some(Item::ArrayOfTables(links)) => {
            for (number, link) in links.iter_mut().enumerate() {
                follow(Some(link), &below(number), followable)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// If keys of a population follow files, puts the values of each file in place of its name. A file
/// has one value in each line.
fn follow_values(population: &mut dyn TableLike, name: &str, files: &Files) -> Result<(), Problem> {
    for (key, item) in population.iter_mut() {
        let table = item.as_table_like().filter(|_| FOLLOWING_KEYS.contains(&&*key));
        let Some(file) = table.and_then(|table| table.get(KEY)?.as_str()) else { continue };
        let path = ["populations", name, &*key, KEY];
        let Some(text) = files.get(file) else {
            let message = format!("there is no file `{file}`");
            return Err(Problem::at(path, message).fix(BESIDE));
        };
        let values = values_of(file, text, &key)
            .map_err(|(message, fix)| Problem::at(path, message).fix(fix))?;
        *item = Item::Value(format!("empirical:values={}", values.join("|")).into());
    }
    Ok(())
}

/// Keys of populations that may follow a file.
const FOLLOWING_KEYS: [&str; 5] = ["send", "reply", "serve", "requests", "think"];

/// The values in a file that a population's `key` follows. A line has one value; empty lines and
/// comments after a `#` are ignored. A size without a unit is in octets.
///
/// # Errors
/// When a line is not a valid value, or when the file has no values. The error has two texts: what
/// is wrong with the file, and how to correct the file.
fn values_of(file: &str, text: &str, key: &str) -> Result<Vec<String>, (String, String)> {
    let (unit, example) = match key {
        "send" | "reply" => (DistributionUnit::Octets, "8 kB"),
        "requests" => (DistributionUnit::Count, "3"),
        _ => (DistributionUnit::Span, "20 ms"),
    };
    let mut values = Vec::new();
    for (line, full_line) in (1..).zip(text.lines()) {
        let value = full_line.split_once('#').map_or(full_line, |(value, _)| value).trim();
        if value.is_empty() {
            continue;
        }
        let of_octets =
            unit == DistributionUnit::Octets && value.bytes().all(|b| b.is_ascii_digit());
        let value = if of_octets { format!("{value} B") } else { value.to_owned() };
        let begins = |c: char| c.is_ascii_digit() || "+-.".contains(c);
        if !value.starts_with(begins) {
            let message = format!("line {line} of `{file}` is not a value: `{value}`");
            return Err((message, format!("write one value in each line, as in `{example}`")));
        }
        if let Err(slip) = Distribution::parse(&value, unit) {
            return Err((format!("line {line} of `{file}`: {}", slip.message), slip.fix));
        }
        values.push(value);
    }
    if values.is_empty() {
        return Err((format!("`{file}` has no values"), "write one value in each line".to_owned()));
    }
    Ok(values)
}

/// The fix for a missing file: where the file must be.
const BESIDE: &str = "put it into the folder of the scenario, or into the working directory if \
                      --set names it";

/// The fix for a file with wrong contents: how to make a file that links can follow.
const MADE: &str = "make it from a table or a trace with `netspurt timeline FILE --out OUT`, or \
                    from a recording with `netspurt delays LOG --timeline OUT`";

/// If the link at `path` follows a file, replaces the link's key [`KEY`] by the values in the file.
/// Does nothing if the link is not a table or follows no file.
fn follow(
    link: Option<&mut dyn TableLike>,
    path: &[String],
    followable: Followable<'_>,
) -> Result<(), Problem> {
    let Some(link) = link else { return Ok(()) };
    let Some(file) = link.get(KEY).and_then(Item::as_str).map(str::to_owned) else {
        return Ok(());
    };
    let problem = |message: String| {
        let mut problem = Problem::at([], message);
        problem.path = [path, &[KEY.to_owned()]].concat();
        problem
    };
    let Some(text) = followable.files.get(&file) else {
        return Err(problem(format!("there is no file `{file}`")).fix(format!(
            "{BESIDE}; `netspurt delays LOG --timeline {file}` makes it from a recording"
        )));
    };
    let values: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
        let line = error.span().map_or(1, |span| line_of(text, span.start));
        problem(format!("line {line} of `{file}` is not TOML: {}", error.message())).fix(MADE)
    })?;
    if values.is_empty() {
        return Err(problem(format!("`{file}` is empty")).fix(MADE));
    }
    for (key, item) in values.into_table() {
        if !KEYS.contains(&&*key) {
            let mut problem =
                problem(format!("`{file}` has a key `{key}`, which links cannot follow"))
                    .of_the_key();
            problem.path = [path, &[key.to_string()]].concat();
            return Err(problem.fix(
                "links follow only `delay`, `rate`, `loss`, `duplicate`, `order` and `handovers`",
            ));
        }
        if followable.sets(path, &key) {
            continue;
        }
        if link.contains_key(&key) && !followable.sets(path, KEY) {
            return Err(problem(format!(
                "both the link and `{file}` have a `{key}`"
            ))
            .fix(format!(
                "leave one of them out; with `--set {}.{KEY}={file}` the value in the file replaces \
                 the value in the scenario",
                path.join(".")
            )));
        }
        let Ok(value) = item.into_value() else {
            return Err(problem(format!("`{key}` of `{file}` is not a value")));
        };
        link.insert(&key, Item::Value(value));
    }
    link.remove(KEY);
    Ok(())
}
