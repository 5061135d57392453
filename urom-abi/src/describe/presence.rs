//! What says whether a payload is there, and how long it is, as far as other programs can compute
//! it.

/// What says whether a payload is there.
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
    /// It always is, though perhaps empty.
    Always,
    /// It is when its address word is not 0.
    ByAddress,
    /// Its data can lie in registered memory instead: in a command when the
    /// [selector](super::FieldKind::Selector) is not 0, in a notification when the address word is
    /// 0. The length word counts in both cases.
    Registered,
    /// It is when this holds.
    When(Condition),
}

/// A condition over the other fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The condition as the definition has it.
    pub text: &'static str,
    /// The same when it is one comparison of what a [`Term`] can be.
    pub compares: Option<Comparison>,
}

/// A length that other fields give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Given {
    /// The expression as the definition has it.
    pub text: &'static str,
    /// The same when it is what a [`Term`] can be.
    pub term: Option<Term>,
}

/// A comparison of two integers. A `bool` alone is compared with 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// What stands on its left.
    pub left: Term,
    /// How the two compare.
    pub sign: Sign,
    /// What stands on its right.
    pub right: Term,
}

/// How two integers compare.
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
    /// Whether `left` and `right` compare like that.
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

/// An integer that a condition or a length names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Term {
    /// This one.
    Number(i128),
    /// The integer or the `bool` at a path like `params.len`.
    Field(&'static str),
    /// The number of elements of this payload.
    Length(&'static str),
    /// The constant of this name: see [`Payload::constants`](super::Payload::constants).
    Constant(&'static str),
}
