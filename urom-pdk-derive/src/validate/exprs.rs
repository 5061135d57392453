//! The expressions of `len` and `when` work on numbers that a peer sent, so nothing in them may panic.

use proc_macro2::TokenStream;
use syn::parse::ParseStream;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, ExprBinary, ExprIndex, ExprMethodCall, ExprPath, ExprUnary, Ident, Macro, UnOp};

use crate::diagnostics::{Errors, messages};
use crate::model::{Count, Field, Given, Len, Variant};

/// Checks that expressions name no field without a value, and no payload that is not read yet.
pub(super) fn within_reach(variant: &Variant, errors: &mut Errors) {
    for payload in variant.payloads() {
        let behind = variant.payloads().skip_while(|other| other.ident != payload.ident);
        let words = variant.fields.iter().filter(|field| field.word.is_some());
        let unknown = words.chain(behind).map(|field| &field.ident).collect::<Vec<_>>();
        if let Count::Given(Given::Name(name)) = variant.count(payload, &payload.inline)
            && unknown.contains(&name)
        {
            errors.on(name, messages::out_of_reach(name));
        }
        for expr in expressions(payload) {
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

/// Methods of numbers and of `Option` that panic, and those that do not.
const PANICKING: [(&str, &str); 9] = [
    ("unwrap", "unwrap_or"),
    ("expect", "unwrap_or"),
    ("pow", "checked_pow"),
    ("abs", "unsigned_abs"),
    ("ilog2", "checked_ilog2"),
    ("div_euclid", "checked_div_euclid"),
    ("rem_euclid", "checked_rem_euclid"),
    ("next_power_of_two", "checked_next_power_of_two"),
    ("next_multiple_of", "checked_next_multiple_of"),
];

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
            // rustc itself refuses a number that these never work with. -1 is none: one dividend overflows with it.
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
        // Of its body no more is known than that most begin with an expression, as that of `matches!` does.
        let first = call.parse_body_with(|body: ParseStream<'_>| {
            let first = body.parse::<Expr>()?;
            body.parse::<TokenStream>()?;
            Ok(first)
        });
        if let Ok(first) = first {
            Panics { errors: &mut *self.errors }.visit_expr(&first);
        }
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        let found = PANICKING.iter().find(|(method, _)| call.method == method);
        if let Some((method, instead)) = found {
            self.errors.on(&call.method, messages::can_panic(method, instead));
        }
        visit::visit_expr_method_call(self, call);
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
