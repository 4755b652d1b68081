//! Tests that types are small, and that each type name is defined once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use proc_macro2::TokenTree;
use syn::visit::{self, Visit};

use crate::source::{CRATES, OnceForEach, root, sources, without_tests};

const MAX_FIELDS: usize = 25;
const MAX_METHODS: usize = 60;

/// A type whose name ends in one of these words is plain configuration. Such a type may have any
/// number of fields if none of its methods takes `self`.
const CONFIGURATION: &[&str] = &["Config", "Spec", "Plan", "Options"];

/// The macros that give a type two methods: one method packs a value, and the other method unpacks
/// it.
const PACKING: &[&str] = &["packed", "packed_value", "packed_variants"];

/// The size of a type, from its definition and all its `impl` blocks.
#[derive(Default)]
struct Size {
    fields: usize,
    methods: usize,
    /// The number of methods that take `self`.
    verbs: usize,
}

/// Reads the types that a text defines, and their methods.
#[derive(Default)]
struct Types {
    /// The names of the defined types.
    defined: Vec<String>,
    sizes: BTreeMap<String, Size>,
}

impl Types {
    /// Reads the types of a text. Types that are compiled only for tests do not count.
    fn read(&mut self, text: &str) {
        let tokens = without_tests(text.parse().expect("tokens"));
        self.visit_file(&syn::parse2(tokens).expect("a source"));
    }

    fn of(text: &str) -> Self {
        let mut types = Self::default();
        types.read(text);
        types
    }

    /// Adds the types of another file of the same crate.
    fn add(&mut self, other: &Self) {
        self.defined.extend(other.defined.iter().cloned());
        for (name, Size { fields, methods, verbs }) in &other.sizes {
            let size = self.sizes.entry(name.clone()).or_default();
            size.fields += fields;
            size.methods += methods;
            size.verbs += verbs;
        }
    }

    fn define(&mut self, name: &syn::Ident, fields: usize) {
        self.defined.push(name.to_string());
        self.sizes.entry(name.to_string()).or_default().fields += fields;
    }

    fn add_method(&mut self, name: &str, signature: &syn::Signature) {
        let size = self.sizes.entry(name.to_owned()).or_default();
        size.methods += 1;
        size.verbs += usize::from(signature.receiver().is_some());
    }
}

impl<'ast> Visit<'ast> for Types {
    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.define(&item.ident, item.fields.len());
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        let most = item.variants.iter().map(|variant| variant.fields.len()).max();
        self.define(&item.ident, most.unwrap_or(0));
    }

    fn visit_item_union(&mut self, item: &'ast syn::ItemUnion) {
        self.define(&item.ident, item.fields.named.len());
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.define(&item.ident, 0);
        for item_of in &item.items {
            if let syn::TraitItem::Fn(method) = item_of {
                self.add_method(&item.ident.to_string(), &method.sig);
            }
        }
        visit::visit_item_trait(self, item);
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.define(&item.ident, 0);
    }

    /// Counts two methods if the macro is in the list [`PACKING`]. These macros come from the
    /// core's module `packed`.
    fn visit_item_macro(&mut self, item: &'ast syn::ItemMacro) {
        let packs = item
            .mac
            .path
            .segments
            .last()
            .is_some_and(|name| PACKING.contains(&name.ident.to_string().as_str()));
        if let (true, Some(TokenTree::Ident(name))) =
            (packs, item.mac.tokens.clone().into_iter().next())
        {
            let size = self.sizes.entry(name.to_string()).or_default();
            (size.methods, size.verbs) = (size.methods + 2, size.verbs + 2);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let mut of = &*item.self_ty;
        while let syn::Type::Reference(reference) = of {
            of = &reference.elem;
        }
        if let syn::Type::Path(path) = of
            && let Some(name) = path.path.segments.last()
        {
            for item_of in &item.items {
                if let syn::ImplItem::Fn(method) = item_of {
                    self.add_method(&name.ident.to_string(), &method.sig);
                }
            }
        }
        visit::visit_item_impl(self, item);
    }
}

/// Types of plain data whose names do not end in a word of [`CONFIGURATION`], each with the reason
/// why the type is large.
const PLAIN: &[(&str, &str)] = &[
    ("PacketdrillTable", "it has a field for each function in packetdrill's table"),
    (
        "TcpInfo",
        "it has a field for each number that netspurt shows of the kernel's `struct tcp_info`",
    ),
];

/// The types that are too large.
fn large(types: &Types) -> Vec<String> {
    let plain = |name: &str, size: &Size| {
        let named = CONFIGURATION.iter().any(|end| name.ends_with(end));
        size.verbs == 0 && (named || PLAIN.iter().any(|(plain, _)| *plain == name))
    };
    let large = types.sizes.iter().filter(|(name, size)| {
        size.methods > MAX_METHODS || size.fields > MAX_FIELDS && !plain(name, size)
    });
    large
        .map(|(name, Size { fields, methods, .. })| {
            format!("{name} has {fields} fields and {methods} methods")
        })
        .collect()
}

/// The sources of a crate.
fn sources_of(name: &str) -> Vec<PathBuf> {
    sources(&root().join("crates").join(name).join("src"))
}

/// The types of the sources.
static TYPES: OnceForEach<Types> = OnceForEach::new();

/// Whether a file is compiled only for tests.
fn is_test(file: &Path) -> bool {
    let inside = file.strip_prefix(root().join("crates")).unwrap();
    inside.iter().any(|part| part == "tests" || part == "tests.rs" || part == "contract.rs")
}

#[test]
fn no_type_has_too_many_fields_or_methods() {
    let mut found = Vec::new();
    for name in CRATES {
        let mut types = Types::default();
        for file in sources_of(name).iter().filter(|file| !is_test(file)) {
            TYPES.with(file, Types::of, |read| types.add(read));
        }
        found.extend(large(&types));
    }
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

/// The names that are defined more than once, in one file or in several. The list `defined` has the
/// name and the place of each definition.
fn twice(defined: &[(String, String)]) -> Vec<String> {
    let mut places: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, place) in defined {
        places.entry(name).or_default().push(place);
    }
    let twice = places.into_iter().filter(|(_, places)| places.len() > 1);
    twice.map(|(name, places)| format!("{name}: {}", places.join(", "))).collect()
}

#[test]
fn each_type_name_is_defined_once_in_all_crates() {
    let mut defined = Vec::new();
    for file in CRATES.iter().flat_map(|name| sources_of(name)).filter(|file| !is_test(file)) {
        let place = file.strip_prefix(root().join("crates")).unwrap().display().to_string();
        let names = TYPES.with(&file, Types::of, |types| types.defined.clone());
        defined.extend(names.into_iter().map(|name| (name, place.clone())));
    }
    let twice = twice(&defined);
    assert!(twice.is_empty(), "\n{}", twice.join("\n"));
}

/// The types of a text that are too large.
fn large_in(text: &str) -> Vec<String> {
    large(&Types::of(text))
}

#[test]
fn each_large_type_is_found() {
    let fields = |n: usize| (0..n).map(|i| format!("a{i}: u8,")).collect::<String>();
    let verbs = |n: usize| (0..n).map(|i| format!("fn f{i}(&self) {{}}")).collect::<String>();
    for bad in [
        format!("struct A {{ {} }}", fields(26)),
        format!("mod m {{ struct A {{ {} }} }}", fields(26)),
        format!("enum A {{ B {{ {} }}, C }}", fields(26)),
        format!("struct A; impl A {{ {} }}", verbs(61)),
        format!("struct A; packed!(A {{ a }}); impl A {{ {} }}", verbs(59)),
        format!("struct A<T>(T); impl<T> A<T> {{ {} }} impl A<u8> {{ {} }}", verbs(30), verbs(31)),
        format!("struct A; impl A {{ {} }} impl T for A {{ {} }}", verbs(30), verbs(31)),
        format!("trait A {{ {} }}", verbs(61)),
        format!("trait T {{ fn f() {{ struct A {{ {} }} }} }}", fields(26)),
        format!("struct A; impl A {{ {} }} impl T for &A {{ {} }}", verbs(30), verbs(31)),
        format!("struct AConfig {{ {} }} impl AConfig {{ {} }}", fields(26), verbs(1)),
    ] {
        assert_eq!(large_in(&bad).len(), 1, "{bad}");
    }
    for good in [
        format!("struct A {{ {} }} impl A {{ {} }}", fields(25), verbs(60)),
        format!("struct AConfig {{ {} }} impl AConfig {{ fn new() -> Self {{}} }}", fields(40)),
        format!("#[cfg(test)] mod tests {{ struct A {{ {} }} }}", fields(26)),
    ] {
        assert_eq!(large_in(&good), [""; 0], "{good}");
    }
}

#[test]
fn a_name_that_is_defined_twice_is_found() {
    let defined = |text: &str, place: &str| {
        let names = Types::of(text).defined.into_iter().map(|name| (name, place.to_owned()));
        names.collect::<Vec<_>>()
    };
    let one =
        defined("struct A; trait T {} type C = u8; #[cfg(test)] mod tests { enum B {} }", "a");
    let other = defined("pub(crate) enum A {} enum B {} mod m { union C {} } struct T2;", "b");
    assert_eq!(twice(&[one, other].concat()), ["A: a, b", "C: a, b"]);
}
