//! The expressions of `len` and `when` work on numbers that a peer sent, so nothing in them may panic.

use syn::visit::{self, Visit};
use syn::{BinOp, Expr, ExprBinary, ExprIndex, ExprMethodCall, ExprUnary, UnOp};

use crate::diagnostics::{Errors, messages};
use crate::model::{Len, Role, Variant};

/// Checks all expressions of a variant.
pub(super) fn cannot_panic(variant: &Variant, errors: &mut Errors) {
    for field in &variant.fields {
        let Role::Payload(keys) = field.role() else { continue };
        if let Some(Len::Given(len)) = keys.len.as_ref().map(|key| &key.value) {
            Panics { errors }.visit_expr(len);
        }
        if let Some(when) = &keys.when {
            Panics { errors }.visit_expr(&when.value);
        }
    }
}

struct Panics<'a> {
    errors: &'a mut Errors,
}

impl<'ast> Visit<'ast> for Panics<'_> {
    fn visit_expr_binary(&mut self, binary: &'ast ExprBinary) {
        let constant = is_literal(&binary.left) && is_literal(&binary.right);
        let by_constant = is_literal(&binary.right);
        let found = match binary.op {
            BinOp::Add(_) | BinOp::AddAssign(_) => Some(("+", "checked_add")),
            BinOp::Sub(_) | BinOp::SubAssign(_) => Some(("-", "checked_sub")),
            BinOp::Mul(_) | BinOp::MulAssign(_) => Some(("*", "checked_mul")),
            BinOp::Shl(_) | BinOp::ShlAssign(_) => Some(("<<", "checked_shl")),
            // rustc itself refuses a literal that these cannot work with.
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

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        if call.method == "unwrap" || call.method == "expect" {
            self.errors.on(&call.method, messages::can_panic(&call.method, "unwrap_or"));
        }
        visit::visit_expr_method_call(self, call);
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
