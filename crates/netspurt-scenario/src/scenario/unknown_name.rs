//! Finds flows, links and other named tables that exist only because a setting misspells a name. A
//! setting is a value that overrides the file, for example one given with `--set`.

use toml_edit::{Item, TableLike};

use netspurt::place::did_you_mean;

use super::error::Problem;
use super::tree::keys;

/// A setting with an unknown name makes a new table, which then lacks a required key. The real
/// mistake is the unknown name. Returns a problem that says so, if three conditions hold: `problem`
/// says that a named table lacks a required key, the file has no table of this name, and one of the
/// settings `overrides` has this name. Otherwise returns `None`. If a short form, `[path]` or
/// `[dumbbell]`, makes the link of this name, the fix names the place in the short form.
pub(super) fn unknown_name(
    file: &dyn TableLike,
    overrides: &[(String, String)],
    problem: &Problem,
) -> Option<Problem> {
    let [section, name] = problem.path.as_slice() else { return None };
    let what = match section.as_str() {
        "flows" => "flow",
        "links" => "link",
        "populations" => "population",
        "echo_probes" => "echo probes",
        _ => return None,
    };
    let own = names(file, section);
    let set = overrides.iter().map(|(path, _)| keys(path)).find(|k| k.starts_with(&problem.path));
    if !problem.incomplete || own.contains(&name.as_str()) || set.is_none() {
        return None;
    }
    let path = [section.as_str(), name.as_str()];
    if let (Some((form, place)), Some(set)) =
        (short_form_of(file, name).filter(|_| what == "link"), set)
    {
        let rest: String = set[2..].iter().map(|key| format!(".{key}")).collect();
        let message = format!("`[{form}]` makes the link `{name}`");
        return Some(Problem::at(path, message).fix(match place {
            ShortFormPlace::Key(key) => format!("write `{form}.{key}{rest}`"),
            ShortFormPlace::Entry(nth) => {
                format!("set the whole list `{form}.links`, or change its entry {nth} in the file")
            }
        }));
    }
    let problem = Problem::at(path, format!("no {what} `{name}`"));
    Some(match did_you_mean(name, own.iter().copied()) {
        Some(question) => problem.fix(question),
        None if own.is_empty() => problem.fix(format!("the file has no `[{section}]`")),
        None => problem.fix(format!("the file has {}", own.join(", "))),
    })
}

/// The names of the tables in a section of the file.
fn names<'a>(file: &'a dyn TableLike, section: &str) -> Vec<&'a str> {
    let table = file.get(section).and_then(Item::as_table_like);
    table.map(|table| table.iter().map(|(name, _)| name).collect()).unwrap_or_default()
}

/// Where a short form has the properties of a link.
enum ShortFormPlace {
    Key(&'static str),
    /// The number of the link's entry in the list, from 1.
    Entry(usize),
}

/// The short form that makes the link `name`, and the place of its properties.
fn short_form_of(file: &dyn TableLike, name: &str) -> Option<(&'static str, ShortFormPlace)> {
    if let Some(dumbbell) = file.get("dumbbell").and_then(Item::as_table_like) {
        let pairs = dumbbell.get("pairs").and_then(Item::as_integer).unwrap_or(0);
        let is_host = |text: &str| {
            text.parse::<u32>().is_ok_and(|n| i64::from(n) < pairs && n.to_string() == text)
        };
        let number = name.strip_prefix("west").or_else(|| name.strip_prefix("east"));
        if name == "bottleneck" {
            return Some(("dumbbell", ShortFormPlace::Key("bottleneck")));
        } else if number.is_some_and(is_host) {
            return Some(("dumbbell", ShortFormPlace::Key("access")));
        }
    }
    let path = file.get("path")?.as_table_like()?;
    let nodes = path.get("nodes")?.as_array()?;
    let nodes: Vec<&str> = nodes.iter().map(|node| node.as_str().unwrap_or_default()).collect();
    let between = nodes.windows(2).position(|pair| pair.join("-") == name)?;
    Some(("path", ShortFormPlace::Entry(between + 1)))
}
