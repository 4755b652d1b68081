//! Adds fingerprints of code to the texts of a scenario. A text may name an algorithm in a file.
//! Such a text gets the fingerprint of the file's code, so that the scenario and its results say
//! which code was run.

use toml_edit::{DocumentMut, Item, Value};

use netspurt::foreign::{code_file, learn, pinned};

use super::error::Problem;
use super::followed::Files;
use super::tree::entry;

/// Whether it is possible that a text names a file with an algorithm.
pub(super) fn may_name_code(text: &str) -> bool {
    text.contains(".py")
}

/// Adds the fingerprint of the code to each text that names one of `files`, and registers the code.
pub(super) fn fill_in(document: &mut DocumentMut, files: &Files) -> Result<(), Problem> {
    for (key, item) in document.iter_mut().filter(|(key, _)| key != "title") {
        pin(item, &[key.to_string()], files)?;
    }
    Ok(())
}

fn pin(item: &mut Item, path: &[String], files: &Files) -> Result<(), Problem> {
    let below = |key: &str| [path, &[key.to_owned()]].concat();
    match item {
        Item::None => Ok(()),
        Item::Value(value) => pin_value(value, path, files),
        Item::Table(table) => {
            table.iter_mut().try_for_each(|(key, item)| pin(item, &below(&key), files))
        }
        Item::ArrayOfTables(tables) => tables.iter_mut().enumerate().try_for_each(|(n, table)| {
            let path = below(&entry(n));
            let step = |key: &str| [&*path, &[key.to_owned()]].concat();
            table.iter_mut().try_for_each(|(key, item)| pin(item, &step(&key), files))
        }),
    }
}

fn pin_value(value: &mut Value, path: &[String], files: &Files) -> Result<(), Problem> {
    let below = |key: &str| [path, &[key.to_owned()]].concat();
    match value {
        Value::String(text) => {
            let Some((text, file)) = pinned(text.value(), files) else {
                return missing(text.value(), path, files);
            };
            let (name, _) = file.rsplit_once('@').expect("a pinned name has an `@`");
            learn(&file, &files[name]);
            let decor = value.decor().clone();
            *value = Value::from(text);
            *value.decor_mut() = decor;
            Ok(())
        }
        Value::Array(values) => (values.iter_mut().enumerate())
            .try_for_each(|(n, value)| pin_value(value, &below(&entry(n)), files)),
        Value::InlineTable(table) => {
            table.iter_mut().try_for_each(|(key, value)| pin_value(value, &below(&key), files))
        }
        _ => Ok(()),
    }
}

/// Returns an error if a text names a file with an algorithm, and this file does not exist.
fn missing(text: &str, path: &[String], files: &Files) -> Result<(), Problem> {
    let Some(file) = code_file(text).filter(|file| !files.contains_key(*file)) else {
        return Ok(());
    };
    let mut problem = Problem::at([], format!("there is no file `{file}`"));
    problem.path = path.to_vec();
    Err(problem.fix(
        "put it into the folder of the scenario, or into the working directory if --set names it",
    ))
}
