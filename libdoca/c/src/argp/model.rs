//! Flags, and the values of a parse.

use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::fmt;

use urom_abi::log::{DISABLE, Level};
use urom_abi::{DocaError, DocaStatus};

/// `doca_argp_param_cb_t`: takes the value and the pointer from `doca_argp_init`.
pub(crate) type Callback =
    unsafe extern "C" fn(value: *mut c_void, config: *mut c_void) -> DocaStatus;

/// `doca_argp_cmd_cb_t` and `doca_argp_validation_cb_t`: take the pointer from `doca_argp_init`.
pub(crate) type ConfigCallback = unsafe extern "C" fn(config: *mut c_void) -> DocaStatus;

/// `doca_argp_dpdk_cb_t`: takes the arguments before `--`, like `main`.
pub(crate) type DpdkCallback =
    unsafe extern "C" fn(argc: c_int, argv: *mut *mut c_char) -> DocaStatus;

/// `enum doca_argp_type`: an integer, because C programs may pass any number.
pub(crate) type ParamType = c_uint;
pub(crate) const UNKNOWN: ParamType = 0;
pub(crate) const STRING: ParamType = 1;
pub(crate) const INT: ParamType = 2;
/// It does not take a value on the command line.
pub(crate) const BOOLEAN: ParamType = 3;
pub(crate) const JSON_OBJ: ParamType = 4;
/// A number of `enum doca_log_level`, for the built-in flags.
pub(crate) const LEVEL: ParamType = ParamType::MAX;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ArgpError {
    pub(crate) code: DocaError,
    pub(crate) text: String,
}

/// Builds an [`ArgpError`] from a code's name or `code = expression`, and a format string.
macro_rules! refusal {
    (code = $code:expr, $($text:tt)+) => {
        $crate::argp::model::ArgpError { code: $code, text: format!($($text)+) }
    };
    ($code:ident, $($text:tt)+) => {
        $crate::argp::model::refusal!(code = ::urom_abi::DocaError::$code, $($text)+)
    };
}
pub(crate) use refusal;

fn levels() -> impl Iterator<Item = c_int> {
    std::iter::once(DISABLE).chain(Level::ALL.map(Level::number)).map(u32::cast_signed)
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum FlagAction {
    Help,
    Version,
    LogLevel,
    SdkLogLevel,
    Json,
    Call(Callback),
}

/// `struct doca_argp_param`. Programs set the fields one by one; then [`check`](Flag::check).
#[derive(Clone, Debug, Default)]
pub(crate) struct Flag {
    /// Without its dash; may have several letters.
    pub(crate) short: Option<String>,
    pub(crate) long: Option<String>,
    pub(crate) arguments: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) kind: ParamType,
    pub(crate) is_mandatory: bool,
    pub(crate) is_cli_only: bool,
    pub(crate) is_multiple: bool,
    /// It must be alone, and required flags may be missing.
    pub(crate) is_singular: bool,
    pub(crate) is_inherited: bool,
    pub(crate) is_hidden: bool,
    pub(crate) action: Option<FlagAction>,
}

impl Flag {
    pub(crate) fn is_named(&self, other: &Flag) -> bool {
        let same = |a: &Option<String>, b: &Option<String>| a.is_some() && a == b;
        same(&self.short, &other.short) || same(&self.long, &other.long)
    }

    pub(crate) fn int(&self, number: c_int) -> Result<FlagValue, ArgpError> {
        if self.kind == LEVEL && !levels().any(|level| level == number) {
            return Err(refusal!(
                INVALID_VALUE,
                "flag {self} needs a level ({LEVELS}), and was given {number}"
            ));
        }
        Ok(FlagValue::Int(number))
    }

    pub(crate) fn is_programs(&self) -> bool {
        matches!(self.action, Some(FlagAction::Call(_)))
    }

    pub(crate) fn check(&self) -> Result<(), ArgpError> {
        let names = || [&self.short, &self.long].into_iter().flatten();
        for (is_there, what, call) in [
            (
                names().next().is_some(),
                "name",
                "doca_argp_param_set_short_name or doca_argp_param_set_long_name",
            ),
            (self.description.is_some(), "description", "doca_argp_param_set_description"),
            (self.action.is_some(), "callback", "doca_argp_param_set_callback"),
            (self.kind != UNKNOWN, "type", "doca_argp_param_set_type"),
        ] {
            if !is_there {
                return Err(refusal!(
                    INITIALIZATION,
                    "flag {self} lacks {what}: call {call} before doca_argp_register_param"
                ));
            }
        }
        names().try_for_each(|name| check_name(name, "flag"))?;
        match self.kind {
            STRING | INT | BOOLEAN => Ok(()),
            JSON_OBJ => Err(refusal!(
                NOT_SUPPORTED,
                "flag {self} is of type JSON object, which this library does not hand out: use \
                 another"
            )),
            other => Err(refusal!(
                INVALID_VALUE,
                "flag {self} has the type {other}: use one of enum doca_argp_type"
            )),
        }
    }
}

pub(crate) fn check_name(name: &str, of: &str) -> Result<(), ArgpError> {
    let is_odd = |c: char| c == '=' || c.is_whitespace() || c.is_control();
    if name.is_empty() || name.starts_with('-') || name.contains(is_odd) {
        return Err(refusal!(
            INVALID_VALUE,
            "`{}` is not a name for a {of}: write it without dashes, spaces and `=`",
            name.escape_debug()
        ));
    }
    Ok(())
}

impl fmt::Display for Flag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.short, &self.long) {
            (Some(short), Some(long)) => write!(f, "-{short}/--{long}"),
            (None, Some(long)) => write!(f, "--{long}"),
            (Some(short), None) => write!(f, "-{short}"),
            (None, None) => f.write_str("without a name"),
        }
    }
}

pub(crate) const LEVELS: &str =
    "10=DISABLE, 20=CRITICAL, 30=ERROR, 40=WARNING, 50=INFO, 60=DEBUG, 70=TRACE";

pub(crate) fn built_in() -> Vec<Flag> {
    let flag = |short: &str, long: &str, arguments: &str, description: String, kind, action| {
        let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Flag {
            short: some(short),
            long: some(long),
            arguments: some(arguments),
            description: Some(description),
            kind,
            is_inherited: true,
            action: Some(action),
            ..Flag::default()
        }
    };
    let program = format!("Log level of the program: {LEVELS}");
    let libraries = format!("Log level of the DOCA libraries: {LEVELS}");
    let version = "Print the DOCA version and exit".to_owned();
    vec![
        flag("h", "help", "", "Print this text and exit".to_owned(), BOOLEAN, FlagAction::Help),
        flag("v", "version", "", version, BOOLEAN, FlagAction::Version),
        flag("l", "log-level", "<level>", program, LEVEL, FlagAction::LogLevel),
        flag("", "sdk-log-level", "<level>", libraries, LEVEL, FlagAction::SdkLogLevel),
        flag(
            "j",
            "json",
            "<path>",
            "Read flags from a JSON file, too".to_owned(),
            STRING,
            FlagAction::Json,
        ),
    ]
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FlagValue {
    Text(CString),
    Int(c_int),
    Bool(bool),
}

#[derive(Clone, Debug)]
pub(crate) struct ParsedFlag<'a> {
    pub(crate) flag: &'a Flag,
    pub(crate) value: FlagValue,
}

impl ParsedFlag<'_> {
    pub(crate) fn is_of(&self, flag: &Flag) -> bool {
        std::ptr::eq(self.flag, flag)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    impl fmt::Display for ParsedFlag<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "{}=", self.flag)?;
            match &self.value {
                FlagValue::Text(text) => f.write_str(&text.to_string_lossy()),
                FlagValue::Int(number) => write!(f, "{number}"),
                FlagValue::Bool(is_set) => write!(f, "{is_set}"),
            }
        }
    }

    unsafe extern "C" fn callback(_: *mut c_void, _: *mut c_void) -> DocaStatus {
        DocaStatus::SUCCESS
    }

    pub(crate) fn flag(short: &str, long: &str, kind: ParamType) -> Flag {
        let name = |name: &str| Some(name.to_owned()).filter(|name| !name.is_empty());
        Flag {
            short: name(short),
            long: name(long),
            description: Some("Which device".to_owned()),
            kind,
            action: Some(FlagAction::Call(callback)),
            ..Flag::default()
        }
    }

    #[test]
    fn whatever_is_missing_is_named_with_the_call_that_sets_it() {
        for (flag, call) in [
            (flag("", "", STRING), "doca_argp_param_set_long_name"),
            (
                Flag { description: None, ..flag("d", "", STRING) },
                "doca_argp_param_set_description",
            ),
            (Flag { action: None, ..flag("d", "", STRING) }, "doca_argp_param_set_callback"),
            (flag("d", "", UNKNOWN), "doca_argp_param_set_type"),
        ] {
            let refusal = flag.check().unwrap_err();
            assert_eq!(refusal.code, DocaError::INITIALIZATION);
            assert!(refusal.text.contains(call), "{}", refusal.text);
        }
    }
}
