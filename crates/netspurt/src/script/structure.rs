//! Structures in the arguments of calls: `{name=value, …}` and `[value, …]`.

use super::cursor::Excerpt;
use super::error::Mistake;

/// The parts of a list `[a, b]` or a structure `{a, b}`, without its brackets.
pub(super) fn parts<'a>(
    whole: Excerpt<'a>,
    brackets: (char, char),
) -> Result<Vec<Excerpt<'a>>, Mistake> {
    let inner = whole.text.strip_prefix(brackets.0).and_then(|t| t.strip_suffix(brackets.1));
    let inner = inner.ok_or_else(|| {
        let form = format!("`{}…{}`", brackets.0, brackets.1);
        whole.wrong(&form, "write it between these brackets")
    })?;
    let base = whole.at + brackets.0.len_utf8();
    let (mut found, mut start, mut depth) = (Vec::new(), 0, 0_u32);
    for (at, c) in inner.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                found.push(Excerpt::trimmed(&inner[start..at], base + start));
                start = at + 1;
            }
            _ => {}
        }
    }
    let last = Excerpt::trimmed(&inner[start..], base + start);
    if !(found.is_empty() && last.text.is_empty()) {
        found.push(last);
    }
    Ok(found)
}

/// The fields of a structure: names and values.
pub(super) fn fields<'a>(whole: Excerpt<'a>) -> Result<Vec<(Excerpt<'a>, Excerpt<'a>)>, Mistake> {
    let field = |part: Excerpt<'a>| {
        part.split('=').ok_or_else(|| part.wrong("a field", "write `name=value`"))
    };
    parts(whole, ('{', '}'))?.into_iter().map(field).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_lists_and_structures_stay_whole() {
        let text = "{name(...)=..., iov(2)=[{..., 1}, {..., 2}], flags=0}";
        let read = fields(Excerpt::trimmed(text, 5)).unwrap();
        let shown: Vec<(&str, &str)> = read.iter().map(|(n, v)| (n.text, v.text)).collect();
        let expected = [("name(...)", "..."), ("iov(2)", "[{..., 1}, {..., 2}]"), ("flags", "0")];
        assert_eq!(shown, expected);
        assert_eq!(read[1].0.at, 5 + text.find("iov").unwrap());
        assert!(parts(Excerpt::trimmed("[]", 0), ('[', ']')).unwrap().is_empty());
        assert!(fields(Excerpt::trimmed("{a}", 0)).is_err());
        assert!(fields(Excerpt::trimmed("a=1", 0)).is_err());
    }
}
