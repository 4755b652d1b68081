//! Tests that only `ids.rs` computes with the bits of ids. An id is the number of a flow, of an end
//! of a flow, or of a node. The last bit of an end's number says on which side of the flow the end
//! is. No file except `ids.rs` may use arithmetic to distinguish the two ends of a flow, or to take
//! parts of the number of an id.
//!
//! An expression is about ids if the last word of its name is in [`NAMES`], or if an id is made
//! from it. Three kinds of expressions look similar, but are accepted. The first is a property of a
//! thing with an id, as in `flow.octets / 2`. The second is half of the sum of two variables, as in
//! `(start + end) / 2`. The third is `&`, `|` or `^` between a variable with an id and a literal
//! other than 1, as in an address: `0x0a00_0000 | node`.

use std::path::Path;

use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, Lit, Member, Token};

use crate::source::{all, root};

/// The last words of the names of ids, and of lists with an entry for each end, flow or node.
const NAMES: &[&str] = &["dest", "end", "endpoint", "flow", "id", "node", "side"];

/// Methods of an id, or of a list with an entry for each id. They return an id, the number of an
/// id, or the length of the list.
const NUMBERS: &[&str] =
    &["bits", "clone", "expect", "index", "into", "len", "place", "try_into", "unwrap"];

/// Methods that divide a number by another one, or cut a list into parts of equal length.
const DIVIDING: &[&str] = &[
    "checked_div",
    "checked_rem",
    "chunks",
    "chunks_exact",
    "div_euclid",
    "is_multiple_of",
    "rem_euclid",
    "step_by",
    "wrapping_rem",
];

/// Methods that take or move the bits of a number.
const BITWISE: &[&str] = &[
    "checked_shl",
    "checked_shr",
    "count_ones",
    "leading_zeros",
    "trailing_zeros",
    "unbounded_shr",
    "wrapping_shl",
    "wrapping_shr",
];

/// Functions that make an id from a number.
const MAKERS: &[&str] = &["EndId::at", "FlowId", "TransmissionId::from_bits"];

/// Whether the last word of a name stands for an id or for several ids.
fn names_id(name: &str) -> bool {
    let word = name.rsplit('_').next().unwrap_or_default().to_lowercase();
    NAMES.iter().any(|known| word == *known || word.strip_suffix('s') == Some(known))
}

/// The last two names of a path, as `a::b`.
fn path_end(path: &syn::Path) -> String {
    let names: Vec<String> = path.segments.iter().map(|part| part.ident.to_string()).collect();
    names[names.len().saturating_sub(2)..].join("::")
}

/// Whether a function makes an id.
fn is_maker(function: &Expr) -> bool {
    let Expr::Path(path) = function else { return false };
    let end = path_end(&path.path);
    MAKERS.iter().any(|maker| end == *maker || end.ends_with(&format!("::{maker}")))
}

/// Whether a function only converts its argument.
fn is_conversion(function: &Expr) -> bool {
    let Expr::Path(path) = function else { return false };
    let end = path_end(&path.path);
    end.ends_with("::from") || end.ends_with("::try_from")
}

/// Returns the value of an integer literal. A sign or a complement before the literal is ignored.
fn literal(expr: &Expr) -> Option<u128> {
    match expr {
        Expr::Lit(lit) => match &lit.lit {
            Lit::Int(int) => int.base10_parse().ok(),
            _ => None,
        },
        Expr::Paren(inner) => literal(&inner.expr),
        Expr::Unary(inner) => literal(&inner.expr),
        _ => None,
    }
}

/// Whether an expression is about ids, by its names.
fn is_id(expr: &Expr) -> bool {
    match expr {
        Expr::Path(path) => {
            path.path.segments.last().is_some_and(|last| names_id(&last.ident.to_string()))
        }
        Expr::Field(field) => match &field.member {
            Member::Named(name) => names_id(&name.to_string()),
            Member::Unnamed(_) => is_id(&field.base),
        },
        Expr::MethodCall(call) => {
            NUMBERS.iter().any(|method| call.method == method) && is_id(&call.receiver)
        }
        Expr::Call(call) => {
            is_maker(&call.func) || is_conversion(&call.func) && call.args.iter().any(is_id)
        }
        Expr::Index(index) => is_id(&index.expr),
        Expr::Paren(inner) => is_id(&inner.expr),
        Expr::Cast(inner) => is_id(&inner.expr),
        Expr::Reference(inner) => is_id(&inner.expr),
        Expr::Unary(inner) => is_id(&inner.expr),
        Expr::Try(inner) => is_id(&inner.expr),
        Expr::Binary(sum) => {
            let written_out = literal(&sum.left).is_some() || literal(&sum.right).is_some();
            written_out && (is_id(&sum.left) || is_id(&sum.right))
        }
        _ => false,
    }
}

/// Whether an expression is the bare number of an id: its bits, or its only field.
fn is_raw(id: &Expr) -> bool {
    match id {
        Expr::MethodCall(call) => call.method == "bits",
        Expr::Field(field) => matches!(field.member, Member::Unnamed(_)),
        Expr::Paren(inner) => is_raw(&inner.expr),
        Expr::Cast(inner) => is_raw(&inner.expr),
        _ => false,
    }
}

/// Finds the expressions that take parts of ids.
#[derive(Default)]
struct Parity {
    /// Whether the visited expression is inside a call that makes an id. In such a call, every
    /// expression except a literal is about ids.
    makes_id: bool,
    found: Vec<String>,
}

impl Parity {
    /// The violations in a text.
    fn of(text: &str) -> Vec<String> {
        let mut parity = Parity::default();
        parity.visit_file(&syn::parse_file(text).expect("a source"));
        parity.found
    }

    fn note(&mut self, expr: &Expr, sign: &str) {
        let line = expr.span().start().line;
        self.found.push(format!("line {line} computes with the bits of an id (`{sign}`)"));
    }

    fn is_id(&self, expr: &Expr) -> bool {
        self.makes_id && literal(expr).is_none() || is_id(expr)
    }

    /// The operator, if this operation makes an id or takes a part of an id.
    fn sign(&self, left: &Expr, op: BinOp, right: &Expr) -> Option<&'static str> {
        use BinOp::{
            BitAnd, BitAndAssign, BitOr, BitOrAssign, BitXor, BitXorAssign, Div, DivAssign, Mul,
            MulAssign, Rem, RemAssign, Shl, ShlAssign, Shr, ShrAssign, Sub,
        };
        let by_two = self.is_id(left) && literal(right) == Some(2);
        let doubled = by_two || literal(left) == Some(2) && self.is_id(right);
        let masks = |id: &Expr, mask: &Expr| {
            let one = literal(mask) == Some(1);
            self.is_id(id) && (one || is_raw(id))
        };
        let masked = masks(left, right) || masks(right, left);
        let mirrored = literal(left) == Some(1) && self.is_id(right);
        let (wrong, sign) = match op {
            Sub(_) => (mirrored, "1 -"),
            Rem(_) | RemAssign(_) => (by_two, "%"),
            Div(_) | DivAssign(_) => (by_two, "/"),
            Mul(_) | MulAssign(_) => (doubled, "*"),
            BitAnd(_) | BitAndAssign(_) => (masked, "&"),
            BitOr(_) | BitOrAssign(_) => (masked, "|"),
            BitXor(_) | BitXorAssign(_) => (masked, "^"),
            Shl(_) | ShlAssign(_) => (self.is_id(left), "<<"),
            Shr(_) | ShrAssign(_) => (self.is_id(left), ">>"),
            _ => (false, ""),
        };
        wrong.then_some(sign)
    }
}

impl<'ast> Visit<'ast> for Parity {
    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        if let Some(sign) = self.sign(&binary.left, binary.op, &binary.right) {
            self.note(&binary.left, sign);
        }
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let method = call.method.to_string();
        let one_of = |methods: &[&str]| methods.contains(&method.as_str());
        let halves = call.args.first().is_some_and(|by| literal(by) == Some(2));
        if (one_of(BITWISE) || one_of(DIVIDING) && halves) && self.is_id(&call.receiver) {
            self.note(&call.receiver, &method);
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        let outside = self.makes_id;
        self.makes_id |= is_maker(&call.func);
        visit::visit_expr_call(self, call);
        self.makes_id = outside;
    }

    /// If an id is made from `x[i]`, arithmetic in the index `i` is not arithmetic on the id.
    fn visit_expr_index(&mut self, index: &'ast syn::ExprIndex) {
        let outside = core::mem::take(&mut self.makes_id);
        visit::visit_expr_index(self, index);
        self.makes_id = outside;
    }

    /// Visits the arguments of a macro if all of them are expressions.
    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        let arguments = Punctuated::<Expr, Token![,]>::parse_terminated;
        for argument in arguments.parse2(called.tokens.clone()).into_iter().flatten() {
            self.visit_expr(&argument);
        }
    }
}

/// Whether this is the file that may compute with the bits of ids.
fn is_ids(file: &Path) -> bool {
    file.ends_with("crates/netspurt/src/ids.rs")
}

#[test]
fn only_the_file_of_ids_computes_with_the_bits_of_ids() {
    let check = |file: &Path, text: &str| if is_ids(file) { Vec::new() } else { Parity::of(text) };
    all(&root().join("crates"), check);
}

#[test]
fn the_check_finds_the_arithmetic_in_the_file_of_ids() {
    // The check recognises an id by its name. The file of ids writes `self.0`, so the test writes
    // `id.0` instead.
    let text = crate::source::text_of("crates/netspurt/src/ids.rs").replace("self.0", "id.0");
    let found = Parity::of(&text);
    assert!(found.len() > 5, "{found:?}");
}

/// The violations in an expression.
fn wrong(expr: &str) -> Vec<String> {
    Parity::of(&format!("fn f() {{ {expr}; }}"))
}

#[test]
fn each_kind_of_access_to_the_bits_of_an_id_is_found() {
    for bad in [
        "end % 2",
        "end / 2",
        "self.ends.len() / 2",
        "flow * 2 + 1",
        "2 * flow.index()",
        "usize::from(flow) * 2",
        "u64::try_from(flow).unwrap() << 1",
        "side ^ 1",
        "side ^= 1",
        "own_side ^ 1",
        "1 - side",
        "segment.dest & 1",
        "dest[row] & 1",
        "dest as usize & !1",
        "(end as u64) << 40",
        "id.bits() >> 40",
        "id.bits() >> COUNT_BITS",
        "id.0 >> 1",
        "id.0 & 0xff",
        "(id.bits() as u32) & 0xff",
        "(node + 1) / 2",
        "end.is_multiple_of(2)",
        "end.rem_euclid(2)",
        "ends.chunks_exact(2)",
        "id.bits().trailing_zeros()",
        "id.bits() & MASK",
        "EndId::at(n % 2)",
        "EndId::at((n % 2) as u32)",
        "ids::FlowId(n >> 1)",
        "assert_eq!(sent, end ^ 1)",
        "|end| end ^ 1",
        "ends[end ^ 1]",
    ] {
        assert_eq!(wrong(bad).len(), 1, "{bad}");
    }
}

#[test]
fn other_arithmetic_is_accepted() {
    for good in [
        "flow.bytes() / 2",
        "flow.octets / 2",
        "side.length >> 1",
        "node_count * 2",
        "(start + end) / 2",
        "end - start",
        "end - 1",
        "end % period",
        "end / 3",
        "1 << node",
        "(node + 1) & 0x00ff_ffff",
        "0x0a00_0000 | node",
        "weekend / 2",
        "octets / 2",
        "n % 2",
        "Side::BOTH[n % 2].index()",
        "flow.end(Side::BOTH[n % 2])",
        "FlowId(n + 1)",
        "FlowId(numbers[n / 2])",
        "println!(\"{end} % 2\")",
    ] {
        assert_eq!(wrong(good), [""; 0], "{good}");
    }
}
