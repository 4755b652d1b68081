//! Holds the text of a scenario and its settings, and finds the place that caused a mistake. A
//! setting is a value that overrides the text, for example one given with `--set`. A link or a
//! population (many connections of one kind) *follows* a file if its key `follows` names the file.
//! It then has the values in this file.

use core::ops::Range;

use toml_edit::{DocumentMut, Item, Table, TableLike, Value};

use netspurt::place::Place;

use super::error::{Problem, ScenarioError};
use super::followed::{self, Files, Followable};
use super::form::{ReadError, read};
use super::pins;
use super::removal::without_key;
use super::reword::reword;
use super::spec::Spec;
use super::tree::{TreeNode, dotted, find, is_entry, keys, path_to};
use super::unknown_name::unknown_name;

/// The text of a scenario, and the values that override values in the text.
#[derive(Clone, Debug)]
pub(super) struct Document {
    name: String,
    text: String,
    /// Each dotted path that is set, with its value as it was written.
    overrides: Vec<(String, String)>,
    /// The paths of the keys that were removed from the text.
    removed: Vec<String>,
    /// The files that links and populations may follow, and the files with algorithms, by name.
    files: Files,
    /// Whether the table `[sweep]` is used.
    sweeps: bool,
}

impl Document {
    pub(super) fn new(name: &str, text: &str) -> Self {
        Self {
            name: name.to_owned(),
            text: text.to_owned(),
            overrides: Vec::new(),
            removed: Vec::new(),
            files: Files::new(),
            sweeps: true,
        }
    }

    /// Adds files that links and populations may follow, and files with algorithms, by name.
    pub(super) fn with_files(mut self, files: impl IntoIterator<Item = (String, String)>) -> Self {
        self.files.extend(files);
        self
    }

    /// The files that links and populations may follow, and the files with algorithms, by name.
    pub(super) fn files(&self) -> &Files {
        &self.files
    }

    /// The text, the values that override values in it, and the files.
    pub(super) fn source(&self) -> (&str, &[(String, String)], &Files) {
        (&self.text, &self.overrides, &self.files)
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Overrides the value at `path` with `value`; the text stays unchanged. A value that is
    /// neither TOML nor a whole number is taken as text.
    pub(super) fn with(mut self, path: &str, value: &str) -> Self {
        self.overrides.retain(|(set, _)| set != path);
        self.overrides.push((path.to_owned(), value.to_owned()));
        self
    }

    /// Removes the key at `path` from the text, and all values that were set at the path or below.
    ///
    /// # Errors
    /// When `path` is not a path of keys. Also when there is nothing to remove: the text has no
    /// such key, and no value was set at the path or below it.
    pub(super) fn without(mut self, path: &str) -> Result<Self, ScenarioError> {
        let keys = keys(path);
        if keys.is_empty() {
            return Err(self.blame(&no_path(path)));
        }
        let overrides = self.overrides.len();
        self.overrides.retain(|(set, _)| !self::keys(set).starts_with(&keys));
        match without_key(&self.text, &keys) {
            Ok(text) => {
                self.text = text;
                self.removed.push(path.to_owned());
            }
            Err(problem) if self.overrides.len() == overrides => return Err(self.blame(&problem)),
            Err(_) => {}
        }
        Ok(self)
    }

    /// Reads the scenario.
    pub(super) fn read(&self) -> Result<Spec, ScenarioError> {
        if self.text.trim().is_empty() {
            let problem = Problem::at([], "the scenario is empty");
            return Err(self.blame(&problem.fix("`netspurt new` writes one to start from")));
        }
        let text = self.full_text()?;
        read(&text).map_err(|error| self.explain(&text, &error))
    }

    /// Returns the document without its sweep: the scenario of a single run.
    pub(super) fn without_sweep(self) -> Self {
        Self { sweeps: false, ..self }
    }

    /// Reads the scenario as a table.
    pub(super) fn table(&self) -> Result<toml::Table, ScenarioError> {
        let text = self.full_text()?;
        read(&text).map_err(|error| self.explain(&text, &error))
    }

    /// Reads the scenario. A mistake is returned with a flag. The flag is `false` if a value is
    /// wrong. The flag is `true` if the path of a setting is wrong or a required key is missing. It
    /// is also `true` if a file that the scenario names is wrong or missing.
    pub(super) fn read_or_blame(&self) -> Result<Spec, (bool, ScenarioError)> {
        let text = self.full_text().map_err(|slip| (true, slip))?;
        read(&text).map_err(|error| {
            let of_the_path = ["unknown field", "missing field"];
            let path = of_the_path.iter().any(|start| error.message.starts_with(start));
            (path, self.explain(&text, &error))
        })
    }

    /// The text with all settings. It also has the values of the files that links and populations
    /// follow, and the fingerprints of the algorithms in files.
    pub(super) fn full_text(&self) -> Result<String, ScenarioError> {
        let follows = self.text.contains(followed::KEY);
        let set = self.overrides.iter().map(|(_, value)| value.as_str());
        let code = set.chain([self.text.as_str()]).any(pins::may_name_code);
        if self.overrides.is_empty() && self.sweeps && !follows && !code {
            return Ok(self.text.clone());
        }
        self.merged()
    }

    fn merged(&self) -> Result<String, ScenarioError> {
        let mut document: DocumentMut =
            self.text.parse().map_err(|error: toml_edit::TomlError| {
                self.syntax(&self.text, error.message(), error.span())
            })?;
        if !self.sweeps {
            document.remove("sweep");
        }
        for (path, value) in &self.overrides {
            set_over(document.as_table_mut(), path, value)
                .map_err(|problem| self.blame(&problem))?;
        }
        let set: Vec<Vec<String>> = self.overrides.iter().map(|(path, _)| keys(path)).collect();
        let followable = Followable { files: &self.files, set: &set };
        followed::fill_in(&mut document, followable).map_err(|problem| self.blame(&problem))?;
        pins::fill_in(&mut document, &self.files).map_err(|problem| self.blame(&problem))?;
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
            set: false,
            unset: Vec::new(),
            place: span.map(|span| Place::of(text, &span)),
        }
    }

    /// Makes a `ScenarioError` from the reader's error about `text`.
    fn explain(&self, text: &str, error: &ReadError) -> ScenarioError {
        let span = error.span.clone().unwrap_or(0..0);
        let written = text.get(span.clone()).unwrap_or_default();
        let Ok(tree) = toml_edit::Document::parse(text) else {
            let mut slip = self.syntax(text, &error.message, error.span.clone());
            if error.in_value {
                // `toml_edit` refuses numbers that do not fit into 64 bits.
                (slip.message, slip.fix) = reword(&error.message, written);
            }
            return slip;
        };
        let incomplete = error.message.starts_with("missing field");
        // An error about the whole file has no place.
        let at_top = incomplete && error.span.is_none();
        let path =
            if at_top { Vec::new() } else { path_to(TreeNode::Table(tree.as_table()), &span) };
        let (message, fix) = if error.message.starts_with("wanted string") {
            (format!("wrong type: `{written}` is not a word"), words(text, &span))
        } else {
            reword(&error.message, written)
        };
        let key = error.message.starts_with("unknown field");
        let fix = if at_top { format!("{fix} before the first table") } else { fix };
        self.blame(&Problem { path, also: Vec::new(), key, incomplete, message, fix })
    }

    /// Makes the error for `problem`, with its place in the text, in a followed file, or in a
    /// setting.
    pub(super) fn blame(&self, problem: &Problem) -> ScenarioError {
        let tree = toml_edit::Document::parse(self.text.as_str()).ok();
        let table = tree.as_ref().map(|tree| tree.as_table());
        let unknown_name = table.and_then(|table| unknown_name(table, &self.overrides, problem));
        let problem = unknown_name.as_ref().unwrap_or(problem);
        let found = table.and_then(|table| find(TreeNode::Table(table), &problem.path));
        let culprit = self.culprit(table, problem);
        let mut error = ScenarioError {
            message: problem.message.clone(),
            fix: problem.fix.clone(),
            file: self.name.clone(),
            key: dotted(&problem.path),
            value: String::new(),
            place: None,
            set: false,
            unset: Vec::new(),
        };
        if let Some(followed) = self.followed(table, &problem.path)
            && let Some(place) = followed.place(problem.key)
        {
            error.file = followed.shown;
            error.place = Some(place);
        } else if let Some((path, value)) = culprit.or_else(|| self.only_setting(problem)) {
            error.key.clone_from(path);
            error.value.clone_from(value);
            error.set = true;
            if culprit.is_none() {
                // Perhaps a removed key is the cause, and not this setting.
                error.unset.clone_from(&self.removed);
            }
        } else if !self.removed.is_empty() {
            // The removal of keys may have changed the numbers of lines. So the error shows no
            // place in the file.
            error.unset.clone_from(&self.removed);
        } else if let Some(found) = found
            && !(problem.incomplete && problem.path.is_empty())
        {
            let value = if problem.key { None } else { found.value };
            error.value = value.clone().and_then(|v| self.text.get(v)).unwrap_or_default().into();
            if found.is_exact {
                error.key = dotted(&found.path);
            }
            let span = value.filter(|_| found.is_exact).unwrap_or(found.key);
            error.place = Some(Place::of(&self.text, &span));
        }
        error
    }

    /// The name of the file that the link at `path` follows, as error messages show it; `None` if
    /// the link follows no file.
    pub(super) fn file_of(&self, path: &[String]) -> Option<String> {
        let tree = toml_edit::Document::parse(self.text.as_str()).ok()?;
        let below = [path, &[followed::KEY.to_owned()]].concat();
        self.followed(Some(tree.as_table()), &below).map(|followed| followed.shown)
    }

    /// The place of `path` in a file that a link follows; `None` if `path` leads to no link, or to
    /// a link that follows no known file.
    fn followed(&self, table: Option<&Table>, path: &[String]) -> Option<Followed<'_>> {
        let (link, rest) = followed::split(path)?;
        let key = [link, &[followed::KEY.to_owned()]].concat();
        let set = self.overrides.iter().rev().find(|(set, _)| keys(set) == key);
        let (name, folder) = match set {
            Some((_, value)) => (value.trim_matches(['"', '\'']), None),
            None => {
                let found = find(TreeNode::Table(table?), &key).filter(|found| found.is_exact)?;
                let value = self.text.get(found.value?)?.trim_matches(['"', '\'']);
                (value, self.name.rsplit_once('/').map(|(folder, _)| folder))
            }
        };
        let shown = folder.map_or(name.to_owned(), |folder| format!("{folder}/{name}"));
        Some(Followed { shown, text: self.files.get(name)?, path: rest.to_vec() })
    }

    /// Returns the setting that caused `problem`. The first of these rules that finds a setting
    /// decides:
    ///
    /// 1. A setting at a path of the problem, or at a path above it. If the file lacks the path of
    ///    the problem, a setting below this path also counts.
    /// 2. A setting below a path of the problem.
    ///
    /// If no rule finds a setting, the cause is not known, and the result is `None`.
    fn culprit(&self, file: Option<&Table>, problem: &Problem) -> Option<&(String, String)> {
        let paths = paths_of(problem);
        let missing = |path: &[String]| {
            let found = file.and_then(|file| find(TreeNode::Table(file), path));
            found.is_none_or(|found| !found.is_exact)
        };
        let set = |made: &dyn Fn(&[String], &[String]) -> bool| {
            let by = |path: &Vec<String>| {
                self.overrides.iter().rev().find(|(set, _)| made(&keys(set), path))
            };
            paths.iter().filter(|path| !path.is_empty()).find_map(by)
        };
        let around = |set: &[String], path: &[String]| !set.is_empty() && path.starts_with(set);
        let below = |set: &[String], path: &[String]| set.starts_with(path);
        set(&|s, path| around(s, path) || missing(path) && below(s, path)).or_else(|| set(&below))
    }

    /// The only setting, if there is exactly one. It probably caused `problem`, because a file
    /// without settings is usually consistent. `None` if a removed key belongs to a path of the
    /// problem.
    fn only_setting(&self, problem: &Problem) -> Option<&(String, String)> {
        let belongs = |removed: &String| {
            let (removed, paths) = (keys(removed), paths_of(problem));
            paths.iter().any(|path| removed.starts_with(path) || path.starts_with(&removed))
        };
        let [only] = self.overrides.as_slice() else { return None };
        (!self.removed.iter().any(belongs)).then_some(only)
    }
}

/// The paths of a problem, without the entries of lists.
fn paths_of(problem: &Problem) -> Vec<Vec<String>> {
    std::iter::once(&problem.path)
        .chain(&problem.also)
        .map(|path| path.iter().filter(|step| !is_entry(step)).cloned().collect())
        .collect()
}

/// A path to a value in a file that a link follows.
struct Followed<'a> {
    /// The name of the file, as error messages show it.
    shown: String,
    text: &'a str,
    path: Vec<String>,
}

impl Followed<'_> {
    /// The place of the value at the path, or of the value's key if `of_the_key` is true. `None` if
    /// the file has no such key.
    fn place(&self, of_the_key: bool) -> Option<Place> {
        let tree = toml_edit::Document::parse(self.text).ok()?;
        tree.as_table().get(self.path.first()?)?;
        let found = find(TreeNode::Table(tree.as_table()), &self.path)?;
        let value = found.value.filter(|_| found.is_exact && !of_the_key);
        Some(Place::of(self.text, &value.unwrap_or(found.key)))
    }
}

/// Returns a fix with the words that are allowed at `span`. To find these words, the function
/// parses the text with an invalid word at `span` and reads the parser's error.
fn words(text: &str, span: &Range<usize>) -> String {
    let probe_text = format!("{}\"?\"{}", &text[..span.start], &text[span.end..]);
    let answer = read::<Spec>(&probe_text).map_err(|error| error.message);
    let known = answer.err().filter(|message| message.starts_with("unknown variant"));
    match known.as_deref().and_then(|message| message.split_once(", expected ")) {
        Some((_, words)) => format!("write {}, in quotes", words.replace('`', "\"")),
        None => "write a text in quotes".to_owned(),
    }
}

/// The value around the octet with the index `at` in a TOML text, if the value looks like a text
/// without its quotes.
fn bare_text(text: &str, at: usize) -> Option<&str> {
    let rest = text.get(at..)?;
    let line = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let start = text[line..at].rfind('=').map_or(line, |equals| line + equals + 1);
    let end = rest.find(['\n', '#', ',', '}', ']']).map_or(text.len(), |length| at + length);
    let bare = text[start..end].trim();
    let quoted = |c: char| matches!(c, '"' | '\'' | '[' | '{' | '=');
    let is_word = bare.contains(char::is_alphabetic) && !bare.contains(quoted) && start > line;
    is_word.then_some(bare)
}

/// The problem of a text that is not a path of keys.
fn no_path(text: &str) -> Problem {
    let mut problem = Problem::at([], format!("`{text}` is not a path of keys joined by dots"));
    problem.path = vec![text.to_owned()];
    problem.fix(
        "write a path as in `links.modem.rate`; put quotes around a key that contains signs other \
         than letters, digits, `-` and `_`, as in `links.\"a b\".rate`",
    )
}

/// Sets `value` at a dotted path. A value that is not TOML is taken as text. But a whole number
/// that is not TOML, for example because it is too large, is an error.
fn set_over(table: &mut Table, path: &str, value: &str) -> Result<(), Problem> {
    let keys = keys(path);
    let problem = |message: String| {
        let mut problem = Problem::at([], message);
        problem.path.clone_from(&keys);
        problem
    };
    if keys.is_empty() {
        return Err(no_path(path));
    }
    let digits = value.trim_start_matches(['+', '-']);
    let value = match value.parse::<Value>() {
        Ok(value) => value,
        Err(_) if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => {
            let digits = digits.trim_start_matches('0');
            return Err(if digits.is_empty() || digits.parse::<i64>().is_ok() {
                problem(format!("`{value}` is not a TOML number"))
                    .fix("write the number without leading zeros, and with at most one sign")
            } else {
                problem(format!("the number `{value}` is too large"))
                    .fix("write a whole number from 0 to 2^63 - 1")
            });
        }
        Err(_) => Value::from(value),
    };
    set(table, &keys, value).map_err(|depth| {
        let above = dotted(&keys[..=depth]);
        let fix = format!("set `{above}` as a whole");
        problem(format!("`{above}` is not a table, so it has no keys")).fix(fix)
    })
}

/// Sets the value at the path `keys` below `table`, and makes the missing tables of the path. If a
/// key of the path leads to a value that is not a table, the error is the number of keys before
/// this key.
pub(super) fn set(table: &mut dyn TableLike, keys: &[String], value: Value) -> Result<(), usize> {
    let [first, rest @ ..] = keys else { unreachable!("a path has a key") };
    if rest.is_empty() {
        table.insert(first, Item::Value(value));
        return Ok(());
    }
    if !table.contains_key(first) {
        table.insert(first, toml_edit::table());
    }
    match table.get_mut(first).and_then(Item::as_table_like_mut) {
        Some(inner) => set(inner, rest, value).map_err(|depth| depth + 1),
        None => Err(0),
    }
}
