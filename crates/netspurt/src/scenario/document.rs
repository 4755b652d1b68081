//! The text a scenario comes from, with what was set over it, and the way from a mistake back
//! to the place that made it.

use core::ops::Range;

use toml_edit::{DocumentMut, Item, TableLike, Value};

use super::error::{Place, Problem, ScenarioError, did_you_mean};
use super::spec::Spec;
use super::stranger::stranger;

/// A scenario's text and the values set over it.
#[derive(Clone, Debug)]
pub(super) struct Document {
    name: String,
    text: String,
    /// Dotted path, and the value as TOML.
    overrides: Vec<(String, String)>,
}

impl Document {
    pub(super) fn new(name: &str, text: &str) -> Self {
        Self { name: name.to_owned(), text: text.to_owned(), overrides: Vec::new() }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The same with `path` set to `value`, which is TOML, or else taken as text.
    pub(super) fn with(mut self, path: &str, value: &str) -> Self {
        self.overrides.retain(|(set, _)| set != path);
        self.overrides.push((path.to_owned(), value.to_owned()));
        self
    }

    /// Reads the scenario.
    pub(super) fn read(&self) -> Result<Spec, ScenarioError> {
        if self.text.trim().is_empty() {
            let problem = Problem::at([], "the scenario is empty");
            return Err(self.blame(&problem.fix("`netspurt new` writes one to start from")));
        }
        let text = if self.overrides.is_empty() { self.text.clone() } else { self.merged()? };
        toml::from_str(&text).map_err(|error| self.explain(&text, &error))
    }

    /// The text with what was set over it.
    fn merged(&self) -> Result<String, ScenarioError> {
        let mut document: DocumentMut =
            self.text.parse().map_err(|error: toml_edit::TomlError| {
                self.syntax(&self.text, error.message(), error.span())
            })?;
        for (path, value) in &self.overrides {
            let value = value.parse::<Value>().unwrap_or_else(|_| Value::from(value.as_str()));
            let set = toml_edit::Key::parse(path)
                .map_err(|_| "not a path of keys joined by dots".to_owned())
                .and_then(|keys| {
                    let keys: Vec<&str> = keys.iter().map(toml_edit::Key::get).collect();
                    set(document.as_table_mut(), &keys, value)
                });
            set.map_err(|message| self.blame(&Problem::at([path], message)))?;
        }
        Ok(document.to_string())
    }

    fn syntax(&self, text: &str, message: &str, span: Option<Range<usize>>) -> ScenarioError {
        let bare = span.as_ref().and_then(|span| bare_text(text, span.start));
        let (message, fix) = match bare {
            Some(bare) => ("a text without quotes", format!("write `\"{bare}\"`")),
            None => (message, String::new()),
        };
        ScenarioError {
            message: format!("not TOML: {}", message.replace('\n', ", ")),
            fix,
            file: self.name.clone(),
            key: String::new(),
            value: String::new(),
            place: span.map(|span| Place::of(text, &span)),
        }
    }

    /// Turns the parser's complaint about `text` into ours.
    fn explain(&self, text: &str, error: &toml::de::Error) -> ScenarioError {
        let span = error.span().unwrap_or(0..0);
        let Ok(tree) = toml_edit::Document::parse(text) else {
            return self.syntax(text, error.message(), error.span());
        };
        let path = path_to(tree.as_table(), &span);
        let written = text.get(span.clone()).unwrap_or_default();
        let (message, fix) = reword(error.message(), written);
        let key = error.message().starts_with("unknown field");
        let incomplete = error.message().starts_with("missing field");
        self.blame(&Problem { path, also: Vec::new(), key, incomplete, message, fix })
    }

    /// The error that lays `problem` at its place.
    pub(super) fn blame(&self, problem: &Problem) -> ScenarioError {
        let tree = toml_edit::Document::parse(self.text.as_str()).ok();
        let table = tree.as_ref().map(|tree| tree.as_table());
        let stranger = table.and_then(|table| stranger(table, &self.overrides, problem));
        let problem = stranger.as_ref().unwrap_or(problem);
        let mut error = ScenarioError {
            message: problem.message.clone(),
            fix: problem.fix.clone(),
            file: self.name.clone(),
            key: problem.path.join("."),
            value: String::new(),
            place: None,
        };
        let known = |path: &[String]| table.and_then(|table| find(table, path));
        let mut paths = std::iter::once(&problem.path).chain(&problem.also);
        let set = paths.find_map(|path| {
            let missing = known(path).is_none_or(|found| !found.whole);
            self.overrides.iter().find(|(set, _)| made(&keys(set), path, missing))
        });
        if let Some((path, value)) = set {
            error.value.clone_from(value);
            error.file = format!("{} with {path} = {value}", self.name);
            error.key.clear();
        } else if let Some(found) = known(&problem.path) {
            let value = if problem.key { None } else { found.value };
            error.value = value.clone().and_then(|v| self.text.get(v)).unwrap_or_default().into();
            let span = value.filter(|_| found.whole).unwrap_or(found.key);
            error.place = Some(Place::of(&self.text, &span));
        }
        error
    }
}

/// The value around the octet `at` of a TOML text, if it is a text that lacks its quotes.
fn bare_text(text: &str, at: usize) -> Option<&str> {
    let rest = text.get(at..)?;
    let line = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let start = text[line..at].rfind('=').map_or(line, |equals| line + equals + 1);
    let end = rest.find(['\n', '#', ',', '}', ']']).map_or(text.len(), |length| at + length);
    let bare = text[start..end].trim();
    let quoted = |c: char| matches!(c, '"' | '\'' | '[' | '{' | '=');
    let told = bare.contains(char::is_alphabetic) && !bare.contains(quoted) && start > line;
    told.then_some(bare)
}

/// The keys of a dotted path.
pub(super) fn keys(path: &str) -> Vec<String> {
    let parsed = toml_edit::Key::parse(path).unwrap_or_default();
    parsed.iter().map(|key| key.get().to_owned()).collect()
}

/// Whether setting the value at `set` made what lies at `path`, which was `missing` before.
fn made(set: &[String], path: &[String], missing: bool) -> bool {
    !set.is_empty() && path.starts_with(set) || missing && !path.is_empty() && set.starts_with(path)
}

/// Sets `keys` below `table`, making tables on the way.
pub(super) fn set(table: &mut dyn TableLike, keys: &[&str], value: Value) -> Result<(), String> {
    let [first, rest @ ..] = keys else { unreachable!("a path has a key") };
    if rest.is_empty() {
        table.insert(first, Item::Value(value));
        return Ok(());
    }
    if !table.contains_key(first) {
        table.insert(first, toml_edit::table());
    }
    match table.get_mut(first).and_then(Item::as_table_like_mut) {
        Some(inner) => set(inner, rest, value),
        None => Err(format!("`{first}` is not a table")),
    }
}

/// The path to the innermost key whose key or value holds `span`.
pub(super) fn path_to(table: &dyn TableLike, span: &Range<usize>) -> Vec<String> {
    let holds = |outer: Option<Range<usize>>| {
        outer.is_some_and(|outer| outer.start <= span.start && span.end <= outer.end)
    };
    for (name, item) in table.iter() {
        let key = table.key(name).and_then(toml_edit::Key::span);
        let inner = item.as_table_like().map(|inner| path_to(inner, span)).unwrap_or_default();
        if holds(key) || holds(item.span()) || !inner.is_empty() {
            return [vec![name.to_owned()], inner].concat();
        }
    }
    Vec::new()
}

/// A key of the file.
struct Found {
    key: Range<usize>,
    /// Its value, where that is not a table of its own.
    value: Option<Range<usize>>,
    /// Whether it is the key that was looked for, and not just the last one on its path that
    /// is there.
    whole: bool,
}

/// The key at `path`, or the last one on the path that is there.
fn find(table: &dyn TableLike, path: &[String]) -> Option<Found> {
    let (first, rest) = path.split_first()?;
    let (key, item) = table.get_key_value(first)?;
    if let Some(found) = item.as_table_like().and_then(|inner| find(inner, rest)) {
        return Some(found);
    }
    let key = key.span().or_else(|| item.span())?;
    let value = item.as_value().and_then(Value::span);
    Some(Found { key, value, whole: rest.is_empty() })
}

/// The parser's words in ours: what is wrong, and the fix.
pub(super) fn reword(message: &str, written: &str) -> (String, String) {
    let mut quoted = message.split('`').skip(1).step_by(2);
    if message.starts_with("unknown field") {
        let key = quoted.next().unwrap_or(written);
        let known: Vec<&str> = quoted.collect();
        return (format!("unknown key `{key}`"), suggestion(key, &known));
    }
    if message.starts_with("unknown variant") {
        let word = quoted.next().unwrap_or(written);
        let known: Vec<&str> = quoted.collect();
        return (format!("`{word}` is not known here"), suggestion(word, &known));
    }
    if message.starts_with("missing field") {
        let key = quoted.next().unwrap_or_default();
        return (format!("the key `{key}` is missing"), format!("add `{key} = ...`"));
    }
    if let Some((what, expected)) = message.split_once(", expected ") {
        let plain = plain_type(expected);
        return (what.replace("invalid type", "wrong type"), format!("write {plain}"));
    }
    // Quantities say `what is wrong: write the right thing`.
    match message.split_once(": write ") {
        Some((what, fix)) => (what.to_owned(), format!("write {fix}")),
        None => (message.to_owned(), String::new()),
    }
}

/// A type's name for people.
fn plain_type(expected: &str) -> String {
    match expected {
        "u64" | "u32" => "a whole number, from 0 to 2^63 - 1 at most".into(),
        "f64" => "a number".into(),
        "a boolean" => "`true` or `false`".into(),
        "a sequence" => "a list".into(),
        "a map" => "a table".into(),
        _ if expected.starts_with("struct ") => "a table".into(),
        _ if expected.starts_with("a tuple") => "a list".into(),
        _ => expected.into(),
    }
}

fn suggestion(word: &str, known: &[&str]) -> String {
    did_you_mean(word, known.iter().copied())
        .unwrap_or_else(|| format!("known here: {}", known.join(", ")))
}
