//! Splits structures in the arguments of socket calls: `{name=value, …}` and `[value, …]`.

use super::cursor::Excerpt;
use super::error::Mistake;

/// Returns the parts of a list `[a, b]` or a structure `{a, b}`, without its brackets.
pub(super) fn parts<'a>(
    list: Excerpt<'a>,
    brackets: (char, char),
) -> Result<Vec<Excerpt<'a>>, Mistake> {
    let content = list.text.strip_prefix(brackets.0).and_then(|t| t.strip_suffix(brackets.1));
    let content = content.ok_or_else(|| {
        let form = format!("`{}…{}`", brackets.0, brackets.1);
        list.wrong(&form, "write the list between these brackets")
    })?;
    let base = list.at + brackets.0.len_utf8();
    let (mut pieces, mut start, mut depth) = (Vec::new(), 0, 0_u32);
    for (at, c) in content.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                pieces.push(Excerpt::trimmed(&content[start..at], base + start));
                start = at + 1;
            }
            _ => {}
        }
    }
    let last = Excerpt::trimmed(&content[start..], base + start);
    if !(pieces.is_empty() && last.text.is_empty()) {
        pieces.push(last);
    }
    Ok(pieces)
}

/// The fields of a structure: names and values.
pub(super) fn fields<'a>(
    structure: Excerpt<'a>,
) -> Result<Vec<(Excerpt<'a>, Excerpt<'a>)>, Mistake> {
    let field = |part: Excerpt<'a>| {
        part.split('=').ok_or_else(|| part.wrong("a field", "write `name=value`"))
    };
    parts(structure, ('{', '}'))?.into_iter().map(field).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_within_nested_brackets_do_not_separate_fields() {
        let text = "{name(...)=..., iov(2)=[{..., 1}, {..., 2}], flags=0}";
        let structure = fields(Excerpt::trimmed(text, 5)).unwrap();
        let texts: Vec<(&str, &str)> = structure.iter().map(|(n, v)| (n.text, v.text)).collect();
        let expected = [("name(...)", "..."), ("iov(2)", "[{..., 1}, {..., 2}]"), ("flags", "0")];
        assert_eq!(texts, expected);
        assert_eq!(structure[1].0.at, 5 + text.find("iov").unwrap());
        assert!(parts(Excerpt::trimmed("[]", 0), ('[', ']')).unwrap().is_empty());
        assert!(fields(Excerpt::trimmed("{a}", 0)).is_err());
        assert!(fields(Excerpt::trimmed("a=1", 0)).is_err());
    }
}
