//! Removes a key from the text of a scenario, so that the default of the key applies.

use toml_edit::{DocumentMut, Item, TableLike};

use netspurt::place::did_you_mean;

use super::error::Problem;
use super::tree::dotted;

/// Removes the key at the end of a path from a text, with everything below the key. Empty lines
/// replace the removed lines, so that the other lines keep their numbers. There is one exception:
/// if the file has parts of one table in several places, the lines between these parts get other
/// numbers.
///
/// A text that is not TOML is returned unchanged. The reader then reports the mistake.
pub(super) fn without_key(text: &str, path: &[String]) -> Result<String, Problem> {
    let Ok(mut document) = text.parse::<DocumentMut>() else { return Ok(text.to_owned()) };
    remove(document.as_table_mut(), path, 0)?;
    Ok(at_their_lines(text, &document.to_string()))
}

/// Removes the key at the end of `path` from the file. `table` should have the key `path[depth]`.
fn remove(table: &mut dyn TableLike, path: &[String], depth: usize) -> Result<(), Problem> {
    let key = path[depth].as_str();
    let Some(item) = table.get_mut(key) else { return Err(missing(table, path, depth)) };
    if depth + 1 == path.len() {
        table.remove(key);
        return Ok(());
    }
    match item.as_table_like_mut() {
        Some(inner) => remove(inner, path, depth + 1),
        None => {
            let above = dotted(&path[..=depth]);
            let message = format!("`{above}` is not a table in the file, so it has no keys");
            Err(at(path, depth, message).fix(format!("unset `{above}` as a whole")))
        }
    }
}

/// Returns the error that says that `table` does not have the key at index `depth` of a path.
fn missing(table: &dyn TableLike, path: &[String], depth: usize) -> Problem {
    let message = format!("the file has no `{}` to remove", dotted(&path[..=depth]));
    let exists = |(_, item): &(&str, &Item)| !item.is_none();
    let own: Vec<&str> = table.iter().filter(exists).map(|(name, _)| name).collect();
    at(path, depth, message).fix(match did_you_mean(&path[depth], own.iter().copied()) {
        Some(question) => question,
        None if own.is_empty() => "this table has no keys, so the defaults apply".to_owned(),
        None => {
            let own = own.join(", ");
            format!("the keys written there are {own}; all other keys have their defaults")
        }
    })
}

/// Returns a problem at the table that should have the key `path[depth]`.
fn at(path: &[String], depth: usize, message: String) -> Problem {
    let mut problem = Problem::at([], message);
    problem.path = path[..depth].to_vec();
    problem.key = true;
    problem
}

/// Inserts empty lines into the text `after`, at its first difference from the text `before`. The
/// result has at least as many lines as the text `before`.
fn at_their_lines(before: &str, after: &str) -> String {
    let same = before.lines().zip(after.lines()).take_while(|(one, other)| one == other).count();
    let gone = before.lines().count().saturating_sub(after.lines().count());
    let place: usize = after.split_inclusive('\n').take(same).map(str::len).sum();
    let (head, tail) = after.split_at(place);
    format!("{head}{}{tail}", "\n".repeat(gone))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text from which tests remove keys.
    const TEXT: &str = "a = 1\n\n# of b\n[b]\nc = { d = 1, e = 2 }\nf.g = 3\n\n[h]\ni = 4\n";

    fn without(path: &str) -> Result<String, Problem> {
        without_key(TEXT, &super::super::tree::keys(path))
    }

    #[test]
    fn a_key_is_removed_and_all_other_lines_keep_their_numbers() {
        for (path, removed) in
            [("a", 1..=1), ("b", 3..=6), ("b.c", 5..=5), ("b.f.g", 6..=6), ("h", 8..=9)]
        {
            let lines = (1..).zip(TEXT.lines());
            let expected: Vec<&str> =
                lines.map(|(n, line)| if removed.contains(&n) { "" } else { line }).collect();
            let text = without(path).expect(path);
            assert_eq!(text.lines().collect::<Vec<_>>(), expected, "{path}");
        }
        let inline = without("b.c.d").expect("the key exists");
        assert_eq!(inline, TEXT.replace("c = { d = 1, e = 2 }", "c = { e = 2 }"));
    }

    #[test]
    fn the_error_for_a_missing_key_lists_the_existing_keys() {
        let error = |path: &str| without(path).map_err(|one| (one.message, one.fix)).unwrap_err();
        assert_eq!(error("b.c.dd").0, "the file has no `b.c.dd` to remove");
        assert_eq!(error("b.c.dd").1, "did you mean `d`?");
        assert_eq!(error("bb.c").0, "the file has no `bb` to remove");
        assert!(error("b.zzzz").1.starts_with("the keys written there are c, f;"));
        assert_eq!(error("a.b").1, "unset `a` as a whole");
    }
}
