//! Conditions for the presence of a payload, and its length, in a form that programs can evaluate.

/// Condition for the presence of a payload.
///
/// ```
/// use urom_abi::describe::Presence;
///
/// fn show(presence: Presence) -> String {
///     match presence {
///         Presence::Always => "always".to_owned(),
///         Presence::ByAddress => "unless its address word is 0".to_owned(),
///         Presence::Registered => "unless it lies in registered memory".to_owned(),
///         Presence::When(condition) => format!("if `{}`", condition.text),
///     }
/// }
/// assert_eq!(show(Presence::Always), "always");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Always present, possibly empty.
    Always,
    /// Present when its address word is not 0.
    ByAddress,
    /// The data may be in registered memory instead: in a command when the
    /// [selector](super::FieldKind::Selector) is not 0, in a notification when the address word is
    /// 0. The length word is valid in both cases.
    Registered,
    /// Present when this condition holds.
    When(Condition),
}

/// A condition over the other fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The condition as written in the definition.
    pub text: &'static str,
    /// The condition as one comparison of two [`Term`]s, if possible.
    pub compares: Option<Comparison>,
}

/// A length computed from other fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Given {
    /// The expression as written in the definition.
    pub text: &'static str,
    /// The expression as a [`Term`], if possible.
    pub term: Option<Term>,
}

/// A comparison of two integers. A single `bool` is compared with 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// The left operand.
    pub left: Term,
    /// The operator.
    pub sign: Sign,
    /// The right operand.
    pub right: Term,
}

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    More,
    /// `>=`
    AtLeast,
}

impl Sign {
    /// Returns whether the comparison holds.
    #[must_use]
    pub const fn holds(self, left: i128, right: i128) -> bool {
        match self {
            Sign::Equal => left == right,
            Sign::NotEqual => left != right,
            Sign::Less => left < right,
            Sign::AtMost => left <= right,
            Sign::More => left > right,
            Sign::AtLeast => left >= right,
        }
    }
}

/// An operand of a condition or a length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Term {
    /// This number.
    Number(i128),
    /// The integer or the `bool` at a path like `params.len`.
    Field(&'static str),
    /// The number of elements of this payload.
    Length(&'static str),
    /// The constant of this name: see [`Payload::constants`](super::Payload::constants).
    Constant(&'static str),
}
