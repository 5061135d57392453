//! Checks that the expressions of `len` and `when` cannot panic: they use numbers from a peer.

use syn::visit::{self, Visit};
use syn::{
    BinOp, Block, Expr, ExprBinary, ExprIndex, ExprLit, ExprMethodCall, ExprPath, ExprUnary, Ident,
    Lit, Macro, Stmt, UnOp,
};

use crate::diagnostics::{Errors, messages};
use crate::model::{Role, Variant};
use crate::names;
use crate::tokens::{bare, matched};

pub(super) fn expressions(variant: &Variant, errors: &mut Errors) {
    for (field, payload) in variant.payloads() {
        let behind =
            variant.payloads().map(|(other, _)| other).filter(|other| other.at >= field.at);
        let words = variant.fields.iter().filter(|field| matches!(field.role, Role::Word));
        let unknown = words.chain(behind).map(|field| &field.ident).collect::<Vec<_>>();
        for expr in payload.len().into_iter().chain(payload.when()) {
            ReachCheck { unknown: &unknown, errors }.visit_expr(expr);
            PanicCheck { errors }.visit_expr(expr);
        }
    }
}

struct ReachCheck<'a> {
    unknown: &'a [&'a Ident],
    errors: &'a mut Errors,
}

impl<'ast> Visit<'ast> for ReachCheck<'_> {
    fn visit_expr_path(&mut self, path: &'ast ExprPath) {
        if let Some(name) = path.path.get_ident().filter(|name| self.unknown.contains(name)) {
            self.errors.on(name, messages::out_of_reach(name));
        }
    }
}

/// Returns whether a function divides, and so panics or overflows on 0 or -1.
fn divides(name: &str) -> bool {
    let operation = ["wrapping_", "overflowing_", "saturating_"]
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix));
    match operation {
        Some(operation) => matches!(operation, "div" | "rem" | "div_euclid" | "rem_euclid"),
        None => {
            matches!(name, "div_ceil" | "div_floor" | "div_exact" | "div_euclid" | "rem_euclid")
        }
    }
}

fn is_operator(name: &str) -> bool {
    matches!(name, "add" | "sub" | "mul" | "div" | "rem" | "neg" | "shl" | "shr")
}

fn instead_of(name: &str) -> Option<String> {
    let instead = match name {
        "unwrap" | "unwrap_unchecked" | "expect" => "unwrap_or",
        "unwrap_err" | "expect_err" => "err",
        "abs" => "unsigned_abs",
        "clamp" => "min",
        "sum" | "product" => "try_fold",
        "step_by" => "filter",
        "chunks" | "chunks_exact" | "rchunks" | "rchunks_exact" | "windows" | "remove"
        | "get_unchecked" | "index" => "get",
        "split_at" => "split_at_checked",
        "div_ceil" | "div_floor" | "div_exact" => "checked_div",
        "pow" | "ilog" | "ilog2" | "ilog10" | "isqrt" | "next_power_of_two"
        | "next_multiple_of" | "div_euclid" | "rem_euclid" => {
            return Some(format!("checked_{name}"));
        }
        _ => {
            let prefixes = ["strict_", "unchecked_", "wrapping_", "overflowing_", "saturating_"];
            let (at, operation) = prefixes
                .iter()
                .enumerate()
                .find_map(|(at, prefix)| Some((at, name.strip_prefix(prefix)?)))?;
            return (at < 2 || divides(name)).then(|| format!("checked_{operation}"));
        }
    };
    Some(instead.to_owned())
}

fn instead_of_path(path: &ExprPath) -> Option<String> {
    let names =
        path.path.segments.iter().map(|segment| segment.ident.to_string()).collect::<Vec<_>>();
    let [.., of, last] = names.as_slice() else { return None };
    if is_operator(last) && of.to_lowercase() == *last {
        return Some(format!("checked_{last}"));
    }
    // A function of the author's own module may have any name.
    let is_number = matches!(of.as_bytes(), [b'u' | b'i' | b'f', b'0'..=b'9' | b's', ..]);
    let of_library = ["core", "std", "alloc"].contains(&names[0].as_str());
    let of_type = is_number || path.qself.is_some() || of.starts_with(char::is_uppercase);
    instead_of(last).filter(|_| of_type || of_library)
}

struct PanicCheck<'a> {
    errors: &'a mut Errors,
}

impl<'ast> Visit<'ast> for PanicCheck<'_> {
    fn visit_expr_binary(&mut self, binary: &'ast ExprBinary) {
        let constant = is_literal(&binary.left) && is_literal(&binary.right);
        // A sign or a cast could change the number.
        let by_constant = matches!(bare(&binary.right), Expr::Lit(_));
        let found = match binary.op {
            BinOp::Add(_) | BinOp::AddAssign(_) => Some(("+", "checked_add")),
            BinOp::Sub(_) | BinOp::SubAssign(_) => Some(("-", "checked_sub")),
            BinOp::Mul(_) | BinOp::MulAssign(_) => Some(("*", "checked_mul")),
            BinOp::Shl(_) | BinOp::ShlAssign(_) => Some(("<<", "checked_shl")),
            // rustc refuses constants that always fail. -1 is unsafe: it overflows with one
            // dividend.
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
        match matched(call) {
            Some(expr) => self.visit_expr(&expr),
            None => {
                let name = names::written(&call.path);
                self.errors.on(&call.path, messages::macro_in_expression(name));
            }
        }
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        let method = call.method.to_string();
        let by_constant = call.args.first().is_some_and(is_divisor);
        // The author's own method has another number of arguments, or another name.
        let operands = usize::from(method != "neg");
        let operator = is_operator(&method) && call.args.len() == operands;
        let found = instead_of(&method).or(operator.then(|| format!("checked_{method}")));
        if let Some(instead) = found.filter(|_| !(divides(&method) && by_constant)) {
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

    fn visit_expr(&mut self, expr: &'ast Expr) {
        match expr {
            Expr::ForLoop(_) | Expr::While(_) | Expr::Loop(_) => {
                self.errors.on(expr, messages::loop_in_expression());
            }
            _ => visit::visit_expr(self, expr),
        }
    }
}

fn is_divisor(expr: &Expr) -> bool {
    match bare(expr) {
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => {
            number.base10_parse::<u128>().is_ok_and(|number| number != 0)
        }
        _ => false,
    }
}

fn is_literal(expr: &Expr) -> bool {
    match bare(expr) {
        Expr::Lit(_) => true,
        Expr::Unary(unary) => is_literal(&unary.expr),
        Expr::Cast(cast) => is_literal(&cast.expr),
        Expr::Binary(binary) => is_literal(&binary.left) && is_literal(&binary.right),
        _ => false,
    }
}
