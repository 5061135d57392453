//! The expressions of `len` and `when` work on numbers that a peer sent, so nothing in them may
//! panic.

use syn::visit::{self, Visit};
use syn::{
    BinOp, Block, Expr, ExprBinary, ExprForLoop, ExprIndex, ExprLit, ExprLoop, ExprMethodCall,
    ExprPath, ExprUnary, ExprWhile, Ident, Lit, Macro, Stmt, UnOp,
};

use crate::diagnostics::{Errors, messages};
use crate::model::{Count, Field, Len, Payload, Presence, Variant};
use crate::names;
use crate::tokens::Matches;

/// Checks that expressions name no field without a value, and no payload that is not read yet.
pub(super) fn within_reach(variant: &Variant, errors: &mut Errors) {
    for payload in variant.payloads() {
        let behind = variant.payloads().skip_while(|other| other.ident != payload.ident);
        let words = variant.fields.iter().filter(|field| field.word.is_some());
        let unknown = words.chain(behind).map(|field| &field.ident).collect::<Vec<_>>();
        let Payload { count, presence, .. } = variant.resolve(payload);
        if let Count::Given(expr) = &count {
            Reach { unknown: &unknown, errors }.visit_expr(expr);
        }
        if let Presence::When(expr) = &presence {
            Reach { unknown: &unknown, errors }.visit_expr(expr);
        }
    }
}

/// Checks that nothing in an expression panics on numbers from outside.
pub(super) fn cannot_panic(variant: &Variant, errors: &mut Errors) {
    for expr in variant.payloads().flat_map(expressions) {
        Panics { errors }.visit_expr(expr);
    }
}

fn expressions(payload: &Field) -> impl Iterator<Item = &Expr> {
    let len = payload.inline.len.as_ref().and_then(|key| match &key.value {
        Len::Given(expr) => Some(expr),
        Len::Path(_) => None,
    });
    let when = payload.inline.when.as_ref().map(|key| &key.value);
    len.into_iter().chain(when)
}

struct Reach<'a> {
    unknown: &'a [&'a Ident],
    errors: &'a mut Errors,
}

impl<'ast> Visit<'ast> for Reach<'_> {
    fn visit_expr_path(&mut self, path: &'ast ExprPath) {
        if let Some(name) = path.path.get_ident().filter(|name| self.unknown.contains(name)) {
            self.errors.on(name, messages::out_of_reach(name));
        }
    }
}

/// Functions of the standard library that panic on some numbers, and those that do not.
const PANICKING: [(&str, &str); 25] = [
    ("unwrap", "unwrap_or"),
    ("unwrap_err", "err"),
    ("unwrap_unchecked", "unwrap_or"),
    ("expect", "unwrap_or"),
    ("expect_err", "err"),
    ("pow", "checked_pow"),
    ("abs", "unsigned_abs"),
    ("ilog", "checked_ilog"),
    ("ilog2", "checked_ilog2"),
    ("ilog10", "checked_ilog10"),
    ("isqrt", "checked_isqrt"),
    ("next_power_of_two", "checked_next_power_of_two"),
    ("next_multiple_of", "checked_next_multiple_of"),
    ("clamp", "min"),
    ("sum", "try_fold"),
    ("product", "try_fold"),
    ("step_by", "filter"),
    ("chunks", "get"),
    ("chunks_exact", "get"),
    ("rchunks", "get"),
    ("rchunks_exact", "get"),
    ("windows", "get"),
    ("split_at", "split_at_checked"),
    ("remove", "get"),
    ("get_unchecked", "get"),
];

/// Those that panic when they divide by 0 or by -1, or by another number that is not known here.
const DIVIDING: [(&str, &str); 15] = [
    ("div_ceil", "checked_div"),
    ("div_floor", "checked_div"),
    ("div_exact", "checked_div"),
    ("div_euclid", "checked_div_euclid"),
    ("rem_euclid", "checked_rem_euclid"),
    ("wrapping_div", "checked_div"),
    ("wrapping_rem", "checked_rem"),
    ("wrapping_div_euclid", "checked_div_euclid"),
    ("wrapping_rem_euclid", "checked_rem_euclid"),
    ("overflowing_div", "checked_div"),
    ("overflowing_rem", "checked_rem"),
    ("overflowing_div_euclid", "checked_div_euclid"),
    ("overflowing_rem_euclid", "checked_rem_euclid"),
    ("saturating_div", "checked_div"),
    ("saturating_div_euclid", "checked_div_euclid"),
];

/// The operators as methods of their traits.
const OPERATORS: [(&str, &str); 8] = [
    ("add", "checked_add"),
    ("sub", "checked_sub"),
    ("mul", "checked_mul"),
    ("div", "checked_div"),
    ("rem", "checked_rem"),
    ("neg", "checked_neg"),
    ("shl", "checked_shl"),
    ("shr", "checked_shr"),
];

/// What to write instead of a function of this name, when it can panic.
fn instead_of(name: &str) -> Option<String> {
    let in_list = |list: &[(&str, &str)]| {
        list.iter()
            .find(|(panicking, _)| *panicking == name)
            .map(|(_, instead)| (*instead).to_owned())
    };
    let checked =
        |prefix| name.strip_prefix(prefix).map(|operation| format!("checked_{operation}"));
    in_list(&PANICKING)
        .or_else(|| in_list(&DIVIDING))
        .or_else(|| checked("strict_"))
        .or_else(|| checked("unchecked_"))
}

/// The same for a path, if it is one to a function of the standard library: `u32::pow`,
/// `Ord::clamp`, `std::ops::Add::add`.
fn instead_of_path(path: &ExprPath) -> Option<String> {
    let names =
        path.path.segments.iter().map(|segment| segment.ident.to_string()).collect::<Vec<_>>();
    let [before @ .., last] = names.as_slice() else { return None };
    let first = before.first().map(String::as_str);
    let operator = OPERATORS.iter().find(|(operator, _)| operator == last);
    let operator = operator.map(|(_, instead)| (*instead).to_owned());
    if matches!(first, Some("core" | "std" | "alloc")) {
        let of_operators = before.get(1).is_some_and(|module| module == "ops");
        let index = of_operators.then(|| "get".to_owned());
        return instead_of(last).or(operator.filter(|_| of_operators)).or(index);
    }
    let of = before.last().map(String::as_str);
    let of_operator =
        of.is_some_and(|of| OPERATORS.iter().any(|(name, _)| of.to_lowercase() == *name));
    // A function of the author's own module may have any name.
    let of_type = path.qself.is_some() || of.is_some_and(is_type);
    instead_of(last).filter(|_| of_type).or(operator.filter(|_| of_operator))
}

/// Whether a segment of a path names a type or a trait, and no module.
fn is_type(name: &str) -> bool {
    const NUMBERS: [&str; 14] = [
        "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize",
        "f32", "f64",
    ];
    NUMBERS.contains(&name) || name.starts_with(char::is_uppercase)
}

struct Panics<'a> {
    errors: &'a mut Errors,
}

impl<'ast> Visit<'ast> for Panics<'_> {
    fn visit_expr_binary(&mut self, binary: &'ast ExprBinary) {
        let constant = is_literal(&binary.left) && is_literal(&binary.right);
        let by_constant = is_number(&binary.right);
        let found = match binary.op {
            BinOp::Add(_) | BinOp::AddAssign(_) => Some(("+", "checked_add")),
            BinOp::Sub(_) | BinOp::SubAssign(_) => Some(("-", "checked_sub")),
            BinOp::Mul(_) | BinOp::MulAssign(_) => Some(("*", "checked_mul")),
            BinOp::Shl(_) | BinOp::ShlAssign(_) => Some(("<<", "checked_shl")),
            // rustc itself refuses a number that these never work with. -1 is none: one dividend
            // overflows with it.
            BinOp::Div(_) | BinOp::DivAssign(_) if !by_constant => Some(("/", "checked_div")),
            BinOp::Rem(_) | BinOp::RemAssign(_) if !by_constant => Some(("%", "checked_rem")),
            BinOp::Shr(_) | BinOp::ShrAssign(_) if !by_constant => Some((">>", "checked_shr")),
            _ => None,
        };
        if let Some((operator, instead)) = found.filter(|_| !constant) {
            self.errors.on(binary.op, messages::can_panic(operator, instead));
        }
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_unary(&mut self, unary: &'ast ExprUnary) {
        if matches!(unary.op, UnOp::Neg(_)) && !is_literal(&unary.expr) {
            self.errors.on(unary.op, messages::can_panic("-", "checked_neg"));
        }
        visit::visit_expr_unary(self, unary);
    }

    fn visit_expr_index(&mut self, index: &'ast ExprIndex) {
        self.errors.on(&index.index, messages::can_panic("[]", "get"));
        visit::visit_expr_index(self, index);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        let Some(Matches { expr, pat, guard }) = Matches::of(call) else {
            let name = names::written(&call.path);
            self.errors.on(&call.path, messages::macro_in_expression(name));
            return;
        };
        let mut within = Panics { errors: &mut *self.errors };
        within.visit_expr(&expr);
        within.visit_pat(&pat);
        guard.iter().for_each(|guard| within.visit_expr(guard));
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        let method = call.method.to_string();
        let by_constant = call.args.first().is_some_and(is_divisor);
        let divides = DIVIDING.iter().any(|(name, _)| *name == method);
        // A method of the author's own has another number of arguments, or another name.
        let operands = usize::from(method != "neg");
        let operator =
            OPERATORS.iter().find(|(name, _)| *name == method && call.args.len() == operands);
        let found =
            instead_of(&method).or_else(|| operator.map(|(_, instead)| (*instead).to_owned()));
        if let Some(instead) = found.filter(|_| !(divides && by_constant)) {
            self.errors.on(&call.method, messages::can_panic(method, instead));
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_path(&mut self, path: &'ast ExprPath) {
        if let Some(instead) = instead_of_path(path) {
            self.errors.on(path, messages::can_panic(names::written(path), instead));
        }
        visit::visit_expr_path(self, path);
    }

    fn visit_block(&mut self, block: &'ast Block) {
        if let [Stmt::Expr(..)] = block.stmts.as_slice() {
            visit::visit_block(self, block);
        } else {
            self.errors.on(block, messages::statements_in_expression());
        }
    }

    fn visit_expr_for_loop(&mut self, found: &'ast ExprForLoop) {
        self.errors.on(found, messages::loop_in_expression());
    }

    fn visit_expr_while(&mut self, found: &'ast ExprWhile) {
        self.errors.on(found, messages::loop_in_expression());
    }

    fn visit_expr_loop(&mut self, found: &'ast ExprLoop) {
        self.errors.on(found, messages::loop_in_expression());
    }
}

/// Whether it is a literal that divides every number: neither 0 nor -1.
fn is_divisor(expr: &Expr) -> bool {
    match expr {
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => {
            number.base10_parse::<u128>().is_ok_and(|number| number != 0)
        }
        Expr::Paren(paren) => is_divisor(&paren.expr),
        Expr::Group(group) => is_divisor(&group.expr),
        _ => false,
    }
}

/// Whether it is a literal without a sign or a cast that could give it one.
fn is_number(expr: &Expr) -> bool {
    match expr {
        Expr::Lit(_) => true,
        Expr::Paren(paren) => is_number(&paren.expr),
        Expr::Group(group) => is_number(&group.expr),
        _ => false,
    }
}

fn is_literal(expr: &Expr) -> bool {
    match expr {
        Expr::Lit(_) => true,
        Expr::Paren(paren) => is_literal(&paren.expr),
        Expr::Group(group) => is_literal(&group.expr),
        Expr::Unary(unary) => is_literal(&unary.expr),
        Expr::Cast(cast) => is_literal(&cast.expr),
        Expr::Binary(binary) => is_literal(&binary.left) && is_literal(&binary.right),
        _ => false,
    }
}
