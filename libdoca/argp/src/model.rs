//! What a flag is: made by the program piece by piece, checked when it is registered; and what a
//! parse gives.

use std::ffi::{CString, c_int, c_uint, c_void};
use std::fmt;

use urom_abi::DocaError;
use urom_abi::log::{DISABLE, Level};

/// `doca_argp_param_cb_t`: gets the value and the pointer that `doca_argp_init` got.
pub(crate) type Callback =
    unsafe extern "C" fn(value: *mut c_void, config: *mut c_void) -> DocaError;

/// `enum doca_argp_type`: a number, as a C program may pass any.
pub(crate) type ParamType = c_uint;
pub(crate) const UNKNOWN: ParamType = 0;
pub(crate) const STRING: ParamType = 1;
pub(crate) const INT: ParamType = 2;
pub(crate) const BOOLEAN: ParamType = 3;
pub(crate) const JSON_OBJ: ParamType = 4;

/// Why something is refused: the code for the program, a sentence for its user.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: DocaError,
    pub(crate) text: String,
}

/// A [`Refusal`]: the name of a code, or `code = expression`, and a formatted sentence.
macro_rules! refusal {
    (code = $code:expr, $($text:tt)+) => {
        $crate::model::Refusal { code: $code, text: format!($($text)+) }
    };
    ($code:ident, $($text:tt)+) => {
        $crate::model::Refusal { code: ::urom_abi::DocaError::$code, text: format!($($text)+) }
    };
}
pub(crate) use refusal;

/// What a flag's value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Int,
    /// A number of `enum doca_log_level`.
    Level,
    /// On the command line it has no value.
    Bool,
}

fn levels() -> impl Iterator<Item = c_int> {
    std::iter::once(DISABLE).chain(Level::ALL.map(Level::number)).map(u32::cast_signed)
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    Help,
    Version,
    /// Of the program.
    LogLevel,
    /// Of this library and what it uses.
    SdkLogLevel,
    /// Reads further flags from a file.
    Json,
    Call(Callback),
}

#[derive(Clone, Debug)]
pub(crate) struct Flag {
    /// Without its dash. It may have several letters.
    pub(crate) short: Option<String>,
    /// Without its dashes.
    pub(crate) long: Option<String>,
    pub(crate) arguments: Option<String>,
    pub(crate) description: String,
    pub(crate) kind: Kind,
    pub(crate) is_mandatory: bool,
    pub(crate) action: Action,
}

impl Flag {
    pub(crate) fn is_named(&self, other: &Flag) -> bool {
        let same = |a: &Option<String>, b: &Option<String>| a.is_some() && a == b;
        same(&self.short, &other.short) || same(&self.long, &other.long)
    }

    pub(crate) fn int(&self, number: c_int) -> Result<Value, Refusal> {
        if self.kind == Kind::Level && !levels().any(|level| level == number) {
            return Err(refusal!(
                INVALID_VALUE,
                "flag {self} needs a level ({LEVELS}), and was given {number}"
            ));
        }
        Ok(Value::Int(number))
    }

    pub(crate) fn is_programs(&self) -> bool {
        matches!(self.action, Action::Call(_))
    }
}

impl fmt::Display for Flag {
    /// `-d/--device`, `--device` or `-d`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.short, &self.long) {
            (Some(short), Some(long)) => write!(f, "-{short}/--{long}"),
            (None, Some(long)) => write!(f, "--{long}"),
            (short, None) => write!(f, "-{}", short.as_deref().unwrap_or_default()),
        }
    }
}

pub(crate) const LEVELS: &str =
    "10=DISABLE, 20=CRITICAL, 30=ERROR, 40=WARNING, 50=INFO, 60=DEBUG, 70=TRACE";

pub(crate) fn built_in() -> Vec<Flag> {
    let flag = |short: &str, long: &str, arguments: &str, description: &str, kind, action| Flag {
        short: Some(short.to_owned()).filter(|name| !name.is_empty()),
        long: Some(long.to_owned()),
        arguments: Some(arguments.to_owned()).filter(|text| !text.is_empty()),
        description: description.to_owned(),
        kind,
        is_mandatory: false,
        action,
    };
    vec![
        flag("h", "help", "", "Print this text and exit", Kind::Bool, Action::Help),
        flag("v", "version", "", "Print the DOCA version and exit", Kind::Bool, Action::Version),
        flag(
            "l",
            "log-level",
            "<level>",
            &format!("What the program logs: {LEVELS}"),
            Kind::Level,
            Action::LogLevel,
        ),
        flag(
            "",
            "sdk-log-level",
            "<level>",
            &format!("What the DOCA libraries log: {LEVELS}"),
            Kind::Level,
            Action::SdkLogLevel,
        ),
        flag("j", "json", "<path>", "Read flags from a JSON file, too", Kind::Text, Action::Json),
    ]
}

/// A flag in the making: `struct doca_argp_param`.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub(crate) short: Option<String>,
    pub(crate) long: Option<String>,
    pub(crate) arguments: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) callback: Option<Callback>,
    pub(crate) kind: ParamType,
    pub(crate) is_mandatory: bool,
}

impl Draft {
    /// Checks that all there must be is there, and that it makes sense.
    pub(crate) fn finish(self) -> Result<Flag, Refusal> {
        let shown =
            self.long.as_deref().or(self.short.as_deref()).unwrap_or("without a name").to_owned();
        let missing = |what: &str, call: &str| {
            refusal!(
                INITIALIZATION,
                "flag {shown} has no {what}: call {call} before doca_argp_register_param"
            )
        };
        if self.short.is_none() && self.long.is_none() {
            return Err(missing(
                "name",
                "doca_argp_param_set_short_name or doca_argp_param_set_long_name",
            ));
        }
        for name in [&self.short, &self.long].into_iter().flatten() {
            check_name(name)?;
        }
        let description = self
            .description
            .ok_or_else(|| missing("description", "doca_argp_param_set_description"))?;
        let callback =
            self.callback.ok_or_else(|| missing("callback", "doca_argp_param_set_callback"))?;
        let kind = match self.kind {
            STRING => Kind::Text,
            INT => Kind::Int,
            BOOLEAN => Kind::Bool,
            UNKNOWN => return Err(missing("type", "doca_argp_param_set_type")),
            JSON_OBJ => {
                return Err(refusal!(
                    NOT_SUPPORTED,
                    "flag {shown} is of type JSON object, which this library does not hand out: \
                     use another"
                ));
            }
            other => {
                return Err(refusal!(
                    INVALID_VALUE,
                    "flag {shown} has the type {other}: use one of enum doca_argp_type"
                ));
            }
        };
        Ok(Flag {
            short: self.short,
            long: self.long,
            arguments: self.arguments,
            description,
            kind,
            is_mandatory: self.is_mandatory,
            action: Action::Call(callback),
        })
    }
}

/// A name that can be told apart from dashes and values.
fn check_name(name: &str) -> Result<(), Refusal> {
    let is_odd = |c: char| c == '=' || c.is_whitespace() || c.is_control();
    if name.is_empty() || name.starts_with('-') || name.contains(is_odd) {
        return Err(refusal!(
            INVALID_VALUE,
            "`{}` is no name for a flag: write it without dashes, spaces and `=`",
            name.escape_debug()
        ));
    }
    Ok(())
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Text(CString),
    Int(c_int),
    Bool(bool),
}

/// A flag that was given: its place in the list of flags, and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) flag: usize,
    pub(crate) value: Value,
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    unsafe extern "C" fn callback(_: *mut c_void, _: *mut c_void) -> DocaError {
        DocaError::SUCCESS
    }

    fn draft() -> Draft {
        Draft {
            short: Some("d".to_owned()),
            long: Some("device".to_owned()),
            description: Some("Which device".to_owned()),
            callback: Some(callback),
            kind: 1,
            ..Draft::default()
        }
    }

    /// A program's flag; an empty name is none.
    pub(crate) fn flag(short: &str, long: &str, kind: Kind) -> Flag {
        let name = |name: &str| Some(name.to_owned()).filter(|name| !name.is_empty());
        Flag { short: name(short), long: name(long), kind, ..draft().finish().unwrap() }
    }

    #[test]
    fn one_name_is_enough() {
        assert_eq!(Draft { short: None, ..draft() }.finish().unwrap().to_string(), "--device");
        assert_eq!(Draft { long: None, ..draft() }.finish().unwrap().to_string(), "-d");
        assert_eq!(draft().finish().unwrap().to_string(), "-d/--device");
    }

    #[test]
    fn whatever_is_missing_is_named_with_the_call_that_sets_it() {
        for (draft, call) in [
            (Draft { short: None, long: None, ..draft() }, "doca_argp_param_set_long_name"),
            (Draft { description: None, ..draft() }, "doca_argp_param_set_description"),
            (Draft { callback: None, ..draft() }, "doca_argp_param_set_callback"),
            (Draft { kind: 0, ..draft() }, "doca_argp_param_set_type"),
        ] {
            let refusal = draft.finish().unwrap_err();
            assert_eq!(refusal.code, DocaError::INITIALIZATION);
            assert!(refusal.text.contains(call), "{}", refusal.text);
        }
    }

    #[test]
    fn types_that_are_none_or_not_there_are_refused() {
        let code = |kind| Draft { kind, ..draft() }.finish().unwrap_err().code;
        assert_eq!(code(4), DocaError::NOT_SUPPORTED);
        assert_eq!([code(5), code(ParamType::MAX)], [DocaError::INVALID_VALUE; 2]);
    }

    #[test]
    fn a_name_has_no_dashes_before_it_and_no_spaces_within() {
        for name in ["", "-d", "--device", "a b", "a=b", "a\n"] {
            let draft = Draft { long: Some(name.to_owned()), ..draft() };
            assert_eq!(draft.finish().unwrap_err().code, DocaError::INVALID_VALUE, "{name:?}");
        }
    }
}
