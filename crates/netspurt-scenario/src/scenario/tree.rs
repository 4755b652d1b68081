//! Converts places in a TOML text to paths, and paths to places. A path leads through tables and
//! lists.
//!
//! A step of a path is a key, or the index of a list's entry in brackets: `[0]` is the first entry.

use core::ops::Range;

use toml_edit::{Item, Key, Table, TableLike, Value};

/// The step that leads to the entry with this index in a list.
pub(super) fn entry(index: usize) -> String {
    format!("[{index}]")
}

/// Whether a step leads to an entry of a list.
pub(super) fn is_entry(step: &str) -> bool {
    step.starts_with('[')
}

/// A path in text form: `path.links[1].rate`.
pub(super) fn dotted(path: &[String]) -> String {
    let mut text = String::new();
    for step in path {
        if is_entry(step) {
            text += step;
        } else {
            let dot = if text.is_empty() { "" } else { "." };
            text += &format!("{dot}{}", Key::new(step));
        }
    }
    text
}

/// The keys of a dotted path. Empty if `path` is not such a path.
pub(super) fn keys(path: &str) -> Vec<String> {
    let parsed = toml_edit::Key::parse(path).unwrap_or_default();
    parsed.iter().map(|key| key.get().to_owned()).collect()
}

/// A table, an item or a value of a file. It may contain other values.
#[derive(Clone, Copy)]
pub(super) enum TreeNode<'a> {
    Table(&'a Table),
    Item(&'a Item),
    Value(&'a Value),
}

/// An entry of a table or of a list.
struct Child<'a> {
    step: String,
    /// The place of the entry's key or, in a list, of the entry itself.
    key: Option<Range<usize>>,
    span: Option<Range<usize>>,
    /// Whether the entry is a value, and not a table with a header of its own.
    value: bool,
    node: TreeNode<'a>,
}

impl<'a> TreeNode<'a> {
    fn children(self) -> Vec<Child<'a>> {
        match self {
            TreeNode::Table(table) | TreeNode::Item(Item::Table(table)) => keyed(table),
            TreeNode::Item(Item::ArrayOfTables(list)) => {
                list.iter().enumerate().map(|(n, table)| Child::table(n, table)).collect()
            }
            TreeNode::Value(Value::InlineTable(table))
            | TreeNode::Item(Item::Value(Value::InlineTable(table))) => keyed(table),
            TreeNode::Value(Value::Array(list))
            | TreeNode::Item(Item::Value(Value::Array(list))) => {
                list.iter().enumerate().map(|(n, value)| Child::value(n, value)).collect()
            }
            TreeNode::Item(_) | TreeNode::Value(_) => Vec::new(),
        }
    }
}

impl<'a> Child<'a> {
    fn table(place: usize, table: &'a Table) -> Self {
        let (step, span) = (entry(place), table.span());
        Self { step, key: span.clone(), span, value: false, node: TreeNode::Table(table) }
    }

    fn value(place: usize, value: &'a Value) -> Self {
        let (step, span) = (entry(place), value.span());
        Self { step, key: span.clone(), span, value: true, node: TreeNode::Value(value) }
    }
}

fn keyed<'a>(table: &'a dyn TableLike) -> Vec<Child<'a>> {
    let child = |(name, item): (&'a str, &'a Item)| Child {
        step: name.to_owned(),
        key: table.key(name).and_then(Key::span).or_else(|| item.span()),
        span: item.span(),
        value: item.is_value(),
        node: TreeNode::Item(item),
    };
    table.iter().map(child).collect()
}

/// The path to the innermost entry whose key or text contains `span`.
pub(super) fn path_to(node: TreeNode<'_>, span: &Range<usize>) -> Vec<String> {
    let holds = |outer: &Option<Range<usize>>| {
        outer.as_ref().is_some_and(|outer| outer.start <= span.start && span.end <= outer.end)
    };
    for child in node.children() {
        let inner = path_to(child.node, span);
        if holds(&child.key) || holds(&child.span) || !inner.is_empty() {
            return [vec![child.step], inner].concat();
        }
    }
    Vec::new()
}

/// Whether these are the children of a list.
fn are_entries(children: &[Child<'_>]) -> bool {
    children.iter().any(|child| is_entry(&child.step))
}

/// A place in the file.
pub(super) struct Found {
    /// The path to the entry that was found.
    pub(super) path: Vec<String>,
    /// The place of the entry's key or, in a list, of the entry itself.
    pub(super) key: Range<usize>,
    /// The place of the entry's value; `None` for a table with a header of its own.
    pub(super) value: Option<Range<usize>>,
    /// Whether the entry is the requested entry. Otherwise it is the last existing entry on the
    /// path.
    pub(super) is_exact: bool,
}

/// Finds the entry at `path`. If it does not exist, finds the last existing entry on the path. A
/// step to an entry of a list is skipped if the file has one value in place of the list. An example
/// is one rate for both directions of a link.
pub(super) fn find(node: TreeNode<'_>, path: &[String]) -> Option<Found> {
    let (first, rest) = path.split_first()?;
    let children = node.children();
    let is_list = are_entries(&children);
    let Some(child) = children.into_iter().find(|child| child.step == *first) else {
        return if is_entry(first) && !is_list { find(node, rest) } else { None };
    };
    if let Some(mut found) = find(child.node, rest) {
        found.path.insert(0, child.step);
        return Some(found);
    }
    let span = child.span.clone().filter(|_| child.value);
    let is_exact = rest.is_empty()
        || rest.iter().all(|step| is_entry(step)) && !are_entries(&child.node.children());
    Some(Found { path: vec![child.step], key: child.key?, value: span, is_exact })
}

#[cfg(test)]
mod tests {
    use super::*;
    use toml_edit::Document;

    #[test]
    fn one_value_stands_for_each_entry_of_a_list() {
        let text = "one = 1\nlist = [1, 2]\n[[table]]\na = 3\n";
        let file = Document::parse(text).unwrap();
        let find = |path: &[&str]| {
            let path: Vec<_> = path.iter().map(|&step| step.to_owned()).collect();
            find(TreeNode::Table(file.as_table()), &path).map(|found| (found.path, found.is_exact))
        };
        let steps = |steps: &[&str]| steps.iter().map(|&step| step.to_owned()).collect::<Vec<_>>();
        assert_eq!(find(&["one", "[1]"]), Some((steps(&["one"]), true)));
        assert_eq!(find(&["list", "[1]"]), Some((steps(&["list", "[1]"]), true)));
        assert_eq!(find(&["list", "[2]"]), Some((steps(&["list"]), false)));
        assert_eq!(find(&["table", "[0]", "a"]), Some((steps(&["table", "[0]", "a"]), true)));
        assert_eq!(find(&["table", "[1]", "a"]), Some((steps(&["table"]), false)));
        assert_eq!(find(&["table", "[1]"]), Some((steps(&["table"]), false)));
    }
}
