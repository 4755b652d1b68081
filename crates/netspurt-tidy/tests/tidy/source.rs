//! Reads a Rust source for the tests in this folder: its paths (such as `std::fs`), its imports,
//! its definitions, and the lengths of its functions.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, OnceLock};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// The crates whose sources most rules check.
pub const CRATES: [&str; 6] = [
    "netspurt",
    "netspurt-drill",
    "netspurt-files",
    "netspurt-live",
    "netspurt-py",
    "netspurt-scenario",
];

/// The root folder of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The text of a file of the repository.
pub fn text_of(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

/// Every file below `folder`, sorted by path.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<_> =
        entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect();
    found.sort();
    found
}

/// Every Rust source below `folder`.
pub fn sources(folder: &Path) -> Vec<PathBuf> {
    if !folder.is_dir() {
        return Vec::new();
    }
    let rust = |path: &PathBuf| path.extension().is_some_and(|end| end == "rs");
    files(folder).into_iter().filter(rust).collect()
}

/// Runs the function `check` over every Rust source below `folder` and panics with all faults that
/// it finds.
pub fn all(folder: &Path, check: impl Fn(&Path, &str) -> Vec<String>) {
    let found: Vec<String> = sources(folder)
        .iter()
        .flat_map(|file| {
            let text = fs::read_to_string(file).unwrap();
            let place = file.display().to_string();
            check(file, &text).into_iter().map(move |wrong| format!("{place}: {wrong}"))
        })
        .collect();
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

/// For each file, a value that is computed once and that all rules use.
pub struct OnceForEach<T>(LazyLock<Mutex<HashMap<PathBuf, Arc<OnceLock<T>>>>>);

impl<T> OnceForEach<T> {
    pub const fn new() -> Self {
        Self(LazyLock::new(Mutex::default))
    }

    /// Calls the function `look` with the value of `file`. At the first call for a file, the
    /// function `make` computes the value from the file's text.
    pub fn with<R>(
        &self,
        file: &Path,
        make: impl FnOnce(&str) -> T,
        look: impl FnOnce(&T) -> R,
    ) -> R {
        let cell = self.0.lock().unwrap().entry(file.to_owned()).or_default().clone();
        look(cell.get_or_init(|| make(&fs::read_to_string(file).unwrap())))
    }
}

/// The module of a file, as a path from the root of the crate: `["link", "delay"]`.
pub fn module_of(file: &Path, src: &Path) -> Vec<String> {
    let relative = file.strip_prefix(src).unwrap().with_extension("");
    let parts = relative.iter().map(|part| part.to_str().unwrap().to_owned());
    parts.filter(|part| part != "mod" && part != "lib").collect()
}

/// A module's path from its parts.
pub fn module(parts: &[&str]) -> Vec<String> {
    parts.iter().map(|part| (*part).to_owned()).collect()
}

/// A path as a file writes it, in code, in a macro or in a `use`.
pub struct Written {
    /// Segments joined by `::`.
    pub path: String,
    /// The module that contains the path, from the crate's root.
    pub module: Vec<String>,
    /// The import that the path is part of, if there is one.
    pub import: Option<Import>,
}

/// How a `use` imports its path.
pub struct Import {
    /// The name that the import brings into scope; `*` for all names.
    pub name: String,
    /// Whether other modules may import the name from here.
    pub public: bool,
}

/// The facts of a file that the rules use.
#[derive(Default)]
pub struct Facts {
    /// Paths of two segments and more, macros, imports, and the attribute `#[path]`.
    pub paths: Vec<Written>,
    /// Single names, with the modules that contain them.
    pub words: Vec<(String, Vec<String>)>,
    /// Names of the types, functions, constants and macros defined here, with the modules that
    /// contain them.
    pub defined: Vec<(String, Vec<String>)>,
    /// The modules whose text is here.
    pub inline: Vec<Vec<String>>,
    /// The modules whose text is in files of their own.
    pub declared: Vec<Vec<String>>,
    /// Functions and closures, each with its name and its number of lines.
    pub functions: Vec<(String, usize)>,
}

/// The facts of the sources.
static FACTS: OnceForEach<Facts> = OnceForEach::new();

impl Facts {
    /// Calls the function `look` with the facts of a file. The path of the file below `src` gives
    /// its module. A file that is not below `src` counts as the root of a crate.
    pub fn with<R>(file: &Path, look: impl FnOnce(&Facts) -> R) -> R {
        let src = file.ancestors().find(|folder| folder.ends_with("src"));
        let module = src.map(|src| module_of(file, src)).unwrap_or_default();
        FACTS.with(file, |text| Facts::of(text, &module), look)
    }

    /// The facts of `text`, the text of the file of `module`. Closures are found in the syntax
    /// tree. All other facts are read from tokens, so that the contents of macros count as well.
    pub fn of(text: &str, module: &[String]) -> Facts {
        let mut facts = Facts::default();
        let tokens: TokenStream = text.parse().expect("tokens");
        let file = syn::parse2(tokens.clone()).expect("a source");
        Closures(&mut facts.functions).visit_file(&file);
        facts.read(tokens, module);
        facts
    }

    /// The facts of the text without the parts that are compiled only for tests.
    pub fn outside_tests(text: &str, module: &[String]) -> Facts {
        let mut facts = Facts::default();
        facts.read(without_tests(text.parse().expect("tokens")), module);
        facts
    }

    fn note(&mut self, path: String, module: &[String], import: Option<Import>) {
        self.paths.push(Written { path, module: module.to_vec(), import });
    }

    fn read(&mut self, tokens: TokenStream, module: &[String]) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            at = match &tokens[at] {
                TokenTree::Ident(word) if word == "use" => self.read_use(&tokens, at + 1, module),
                TokenTree::Ident(word) if word == "extern" => self.read_extern(&tokens, at, module),
                TokenTree::Ident(word) if word == "mod" => self.read_mod(&tokens, at, module),
                TokenTree::Ident(word) if DEFINES.iter().any(|keyword| word == keyword) => {
                    self.read_definition(&tokens, at, module)
                }
                TokenTree::Ident(_) => self.read_path(&tokens, at, module),
                TokenTree::Punct(mark) if mark.as_char() == '#' => {
                    if names(group(tokens.get(at + 1), Delimiter::Bracket), "path") {
                        self.note("#[path]".into(), module, None);
                    }
                    at + 1
                }
                TokenTree::Group(inner) => {
                    self.read(inner.stream(), module);
                    at + 1
                }
                _ => at + 1,
            };
        }
    }

    /// Reads a path or a macro's name. Returns the index of the next token.
    fn read_path(&mut self, tokens: &[TokenTree], at: usize, module: &[String]) -> usize {
        let (path, next) = path_at(tokens, at);
        if punct(tokens.get(next), '!') {
            self.note(format!("{path}!"), module, None);
        } else if path.contains("::") {
            self.note(path, module, None);
        } else {
            let field = at > 0 && punct(tokens.get(at - 1), '.');
            if !field && !KEYWORDS.contains(&path.as_str()) {
                self.words.push((path, module.to_vec()));
            }
        }
        next
    }

    /// Reads the name of a definition, and counts the lines of a function. Returns the index of the
    /// token after the name.
    fn read_definition(&mut self, tokens: &[TokenTree], at: usize, module: &[String]) -> usize {
        // In `const fn`, the word `const` defines no name. A macro's name follows a `!`.
        let place = if punct(tokens.get(at + 1), '!') { at + 2 } else { at + 1 };
        let Some(TokenTree::Ident(name)) = tokens.get(place) else { return at + 1 };
        if DEFINES.iter().any(|keyword| name == keyword) {
            return at + 1;
        }
        self.defined.push((name.to_string(), module.to_vec()));
        if matches!(&tokens[at], TokenTree::Ident(word) if word == "fn") {
            self.read_fn(tokens, at, &name.to_string());
        }
        place + 1
    }

    /// Reads a `mod`, whose contents are one module deeper.
    fn read_mod(&mut self, tokens: &[TokenTree], at: usize, module: &[String]) -> usize {
        let Some(TokenTree::Ident(name)) = tokens.get(at + 1) else { return at + 1 };
        let inner = [module, &[name.to_string()]].concat();
        if punct(tokens.get(at + 2), ';') {
            self.declared.push(inner);
        } else if let Some(body) = group(tokens.get(at + 2), Delimiter::Brace) {
            self.read(body, &inner);
            self.inline.push(inner);
        }
        at + 3
    }

    /// Reads an `extern crate`.
    fn read_extern(&mut self, tokens: &[TokenTree], at: usize, module: &[String]) -> usize {
        let krate = matches!(tokens.get(at + 1), Some(TokenTree::Ident(word)) if word == "crate");
        if let (true, Some(TokenTree::Ident(name))) = (krate, tokens.get(at + 2)) {
            let path = if name == "self" { "crate".into() } else { name.to_string() };
            self.note(path, module, Some(Import { name: name.to_string(), public: false }));
            return at + 3;
        }
        at + 1
    }

    /// Counts a function's lines, from `fn` to the end of its body.
    fn read_fn(&mut self, tokens: &[TokenTree], at: usize, name: &str) {
        let signature = tokens[at..].iter().take_while(|token| !punct(Some(token), ';'));
        let body = signature.skip(2).find(|token| group(Some(token), Delimiter::Brace).is_some());
        if let Some(body) = body {
            let lines = body.span().end().line - tokens[at].span().start().line + 1;
            self.functions.push((format!("fn {name}"), lines));
        }
    }

    /// Reads the imports of a `use`. Returns the index of the token to read next.
    fn read_use(&mut self, tokens: &[TokenTree], at: usize, module: &[String]) -> usize {
        let ends = tokens[at..].iter().position(|token| punct(Some(token), ';'));
        let end = ends.map_or(tokens.len(), |length| at + length);
        // The `use` in `impl Trait + use<'a>` imports nothing.
        if !punct(tokens.get(at), '<') {
            let public = is_public(&tokens[..at - 1]);
            self.use_tree("", &tokens[at..end], module, public);
            return end;
        }
        at
    }

    fn use_tree(&mut self, before: &str, tokens: &[TokenTree], module: &[String], public: bool) {
        let parts = tokens.split(|token| punct(Some(token), ','));
        for part in parts.filter(|part| !part.is_empty()) {
            let start = part.iter().position(|token| !punct(Some(token), ':')).unwrap_or(0);
            let (path, next) = path_at(part, start);
            let path = match (before, path.as_str()) {
                ("", _) => path,
                (_, "" | "self") => before.to_owned(),
                _ => format!("{before}::{path}"),
            };
            let groups = part[next..].iter().find_map(|t| group(Some(t), Delimiter::Brace));
            if let Some(inner) = groups {
                let inner: Vec<TokenTree> = inner.into_iter().collect();
                self.use_tree(&path, &inner, module, public);
                continue;
            }
            let (path, name) = match &part[next..] {
                [.., TokenTree::Punct(star)] if star.as_char() == '*' => {
                    (format!("{path}::*"), "*".to_owned())
                }
                [TokenTree::Ident(_), TokenTree::Ident(alias)] => (path, alias.to_string()),
                _ => (path.clone(), path.rsplit("::").next().unwrap_or_default().to_owned()),
            };
            self.note(path, module, Some(Import { name, public }));
        }
    }
}

/// Words that are only beginnings of paths.
const KEYWORDS: &[&str] = &["crate", "self", "super", "Self"];

/// Words that come before the name of a definition.
const DEFINES: &[&str] =
    &["fn", "struct", "enum", "union", "trait", "type", "const", "static", "macro_rules"];

/// Whether the tokens before a `use` make it public, in the crate or also outside of the crate.
fn is_public(before: &[TokenTree]) -> bool {
    let word = match before {
        [.., word, TokenTree::Group(scope)] if scope.delimiter() == Delimiter::Parenthesis => word,
        [.., word] => word,
        [] => return false,
    };
    matches!(word, TokenTree::Ident(word) if word == "pub")
}

/// The tokens without the items that `#[cfg(test)]` or `#[test]` keeps for tests.
pub fn without_tests(tokens: TokenStream) -> TokenStream {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let (mut kept, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        if is_test_attribute(&tokens, at) {
            at = behind_item(&tokens, at);
            continue;
        }
        kept.push(match &tokens[at] {
            TokenTree::Group(group) => {
                let inner = without_tests(group.stream());
                let mut copy = proc_macro2::Group::new(group.delimiter(), inner);
                copy.set_span(group.span());
                TokenTree::Group(copy)
            }
            other => other.clone(),
        });
        at += 1;
    }
    kept.into_iter().collect()
}

/// Whether the token with the index `at` begins an attribute that keeps the next item for tests.
fn is_test_attribute(tokens: &[TokenTree], at: usize) -> bool {
    if !punct(tokens.get(at), '#') {
        return false;
    }
    let inside = group(tokens.get(at + 1), Delimiter::Bracket).map(|inside| inside.to_string());
    let text: Option<String> = inside.map(|text| text.split_whitespace().collect());
    matches!(text.as_deref(), Some("cfg(test)" | "test"))
}

/// The index of the token after an item. The attributes of the item begin with token `at`.
fn behind_item(tokens: &[TokenTree], at: usize) -> usize {
    let ends = |token: &TokenTree| {
        punct(Some(token), ';') || group(Some(token), Delimiter::Brace).is_some()
    };
    tokens[at..].iter().position(ends).map_or(tokens.len(), |length| at + length + 1)
}

/// Finds all closures.
struct Closures<'a>(&'a mut Vec<(String, usize)>);

impl<'ast> Visit<'ast> for Closures<'_> {
    fn visit_expr_closure(&mut self, closure: &'ast syn::ExprClosure) {
        let span = closure.span();
        self.0.push(("a closure".into(), span.end().line - span.start().line + 1));
        visit::visit_expr_closure(self, closure);
    }
}

/// Whether the token is this mark.
pub fn punct(token: Option<&TokenTree>, mark: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == mark)
}

/// The contents of a token that is a group of this kind.
pub fn group(token: Option<&TokenTree>, kind: Delimiter) -> Option<TokenStream> {
    match token {
        Some(TokenTree::Group(group)) if group.delimiter() == kind => Some(group.stream()),
        _ => None,
    }
}

/// Whether the attribute `inside` contains the name `word`, directly or in a group, as in
/// `cfg_attr`.
fn names(inside: Option<TokenStream>, word: &str) -> bool {
    inside.into_iter().flatten().any(|token| match token {
        TokenTree::Ident(name) => name == word,
        TokenTree::Group(group) => names(Some(group.stream()), word),
        _ => false,
    })
}

/// The path that begins with token `at`, and the index of the token after the path.
fn path_at(tokens: &[TokenTree], at: usize) -> (String, usize) {
    let (mut path, mut at) = (String::new(), at);
    while let Some(TokenTree::Ident(segment)) = tokens.get(at) {
        path += segment.to_string().trim_start_matches("r#");
        at += 1;
        let goes_on = punct(tokens.get(at), ':') && punct(tokens.get(at + 1), ':');
        if !goes_on || !matches!(tokens.get(at + 2), Some(TokenTree::Ident(_))) {
            break;
        }
        path += "::";
        at += 2;
    }
    (path, at)
}
