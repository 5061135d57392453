//! What `check` can find: for each how bad it is, what it is, and what to do.

use urom_abi::Count;
use urom_abi::plugin::{GET_IFACE_SYMBOL, PLUGIN_NAME_CAPACITY};
use urom_abi::version;
use urom_service::examine::Stage;

use crate::elf::{Glibc, Machine, SYMBOLS, Unusable};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Severity {
    /// A service does not take the file, or no host can use it.
    Error,
    /// It works here, and may not elsewhere, or not always.
    Warning,
    /// Good to know.
    Note,
}

/// One thing that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Finding {
    /// Its bytes are no shared object's.
    NotElf(String),
    /// A program, or an object that was never linked.
    NotShared,
    /// For another machine than was asked for.
    Machine { file: Result<Machine, String>, wanted: Option<Machine> },
    /// One of the two functions is not there.
    NoSymbol(&'static str),
    /// It is there, as data.
    NoFunction(&'static str),
    /// One name for two symbols.
    TwoExports { name: String },
    /// Symbols that nobody asks for.
    OtherExports(Vec<String>),
    /// A file that services pass over.
    FileName(String),
    /// A name that does not fit into DOCA's structure.
    NameLength { name: String },
    /// The file says that it is another plugin than its name does.
    NameDiffers { file: String, described: String },
    /// A file as linkers name it, and not as services do.
    LibraryName { name: String },
    /// The loader refuses it.
    Load(String),
    /// It took its process along.
    Crash { stage: Stage, how: String, said: Option<String> },
    /// It did not come back.
    Hang { stage: Stage, seconds: u64 },
    /// A function failed.
    Failed { symbol: &'static str, code: String },
    /// The interface's version word is 0.
    NoWord,
    /// The word is that of a release that did not have this interface.
    OldWord(u64),
    /// Methods that are NULL.
    NoMethods(Vec<&'static str>),
    /// A library that images may not have.
    Library { name: String, images: Vec<&'static str> },
    /// A library that no image has.
    BuildLibrary { name: String },
    /// A newer glibc than images have.
    Glibc { needs: Glibc, images: Vec<(&'static str, (u32, u32))>, all: bool },
    /// A description that cannot be used.
    Description(Unusable),
    /// Panics end the process.
    PanicAborts,
    /// Its functions were not called.
    NotCalled(Machine),
    /// It has sections for debuggers.
    Unstripped { bytes: u64 },
}

impl Finding {
    pub(crate) fn severity(&self) -> Severity {
        match self {
            Finding::TwoExports { name } if !is_entry(name) => Severity::Warning,
            Finding::Crash { stage: Stage::Exit, .. }
            | Finding::Hang { stage: Stage::Exit, .. } => Severity::Warning,
            Finding::Glibc { all: false, .. } => Severity::Warning,
            Finding::LibraryName { .. }
            | Finding::OldWord(_)
            | Finding::Library { .. }
            | Finding::Description(Unusable::Odd(_))
            | Finding::PanicAborts => Severity::Warning,
            Finding::OtherExports(_) | Finding::NotCalled(_) | Finding::Unstripped { .. } => {
                Severity::Note
            }
            _ => Severity::Error,
        }
    }

    /// What scripts know it by.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Finding::NotElf(_) => "not-elf",
            Finding::NotShared => "not-shared",
            Finding::Machine { .. } => "machine",
            Finding::NoSymbol(_) => "no-symbol",
            Finding::NoFunction(_) => "no-function",
            Finding::TwoExports { .. } => "two-exports",
            Finding::OtherExports(_) => "other-exports",
            Finding::FileName(_) => "file-name",
            Finding::NameLength { .. } => "name-length",
            Finding::NameDiffers { .. } => "name-differs",
            Finding::LibraryName { .. } => "library-name",
            Finding::Load(_) => "load",
            Finding::Crash { .. } => "crash",
            Finding::Hang { .. } => "hang",
            Finding::Failed { .. } => "failed",
            Finding::NoWord => "no-version-word",
            Finding::OldWord(_) => "old-version-word",
            Finding::NoMethods(_) => "no-methods",
            Finding::Library { .. } => "library",
            Finding::BuildLibrary { .. } => "build-library",
            Finding::Glibc { .. } => "glibc",
            Finding::Description(_) => "description",
            Finding::PanicAborts => "panic-aborts",
            Finding::NotCalled(_) => "not-called",
            Finding::Unstripped { .. } => "unstripped",
        }
    }

    /// What it is, in a sentence without capital and full stop.
    pub(crate) fn text(&self) -> String {
        match self {
            Finding::NotElf(reason) => format!("this is no shared object: {reason}"),
            Finding::NotShared => {
                "this is a program or an object file, and no shared object: a service cannot load it"
                    .to_owned()
            }
            Finding::Machine { file, wanted } => {
                let file = file.as_ref().map_or_else(Clone::clone, |machine| machine.name());
                match wanted {
                    Some(wanted) => format!("it is for {file}, and {} is asked for", wanted.name()),
                    None => format!("it is for {file}, on which no UROM worker runs"),
                }
            }
            Finding::NoSymbol(name) => format!("it does not export `{name}`"),
            Finding::NoFunction(name) => format!("it exports `{name}`, which is no function"),
            Finding::TwoExports { name } => {
                format!(
                    "it exports `{name}` more than once, in several versions: a service finds one of them"
                )
            }
            Finding::OtherExports(names) => format!(
                "it exports {} besides the two functions that a service asks for: {}",
                Count(names.len(), "symbol"),
                some(names)
            ),
            Finding::FileName(name) => {
                format!("services look at files whose names end in `.so` only, and this is `{name}`")
            }
            Finding::NameLength { name } => {
                format!(
                    "the name `{name}` has {} bytes, and DOCA has room for {}",
                    name.len(),
                    PLUGIN_NAME_CAPACITY - 1
                )
            }
            Finding::NameDiffers { file, described } => {
                format!(
                    "a service calls it `{file}`, after its file, and hosts ask for `{described}`, its protocol's name"
                )
            }
            Finding::LibraryName { name } => {
                format!("a service calls it `{name}`, after its file, which is unusual for a plugin")
            }
            Finding::Load(text) => format!("the loader refuses it: {text}"),
            Finding::Crash { stage, how, said } => {
                let said = said.as_ref().map_or_else(String::new, |said| format!("; it wrote: {said}"));
                format!("the process that tried it ended {stage}: {how}{said}")
            }
            Finding::Hang { stage, seconds } => format!("it did not come back {stage} in {seconds} s"),
            Finding::Failed { symbol, code } => format!("`{symbol}` fails: {code}"),
            Finding::NoWord => "its interface carries no version (`__doca_api_version` is 0)".to_owned(),
            Finding::OldWord(word) => format!(
                "its interface carries the version of DOCA {}, which had another interface",
                display(*word)
            ),
            Finding::NoMethods(names) => format!("its interface lacks {}", quoted(names)),
            Finding::Library { name, images } => {
                format!("it needs {name}, which is not known to be in {}", images.join(", "))
            }
            Finding::BuildLibrary { name } => {
                format!("it needs {name}, which belongs to the machine that built it and is in no image")
            }
            Finding::Glibc { needs, images, .. } => {
                let have =
                    |(title, glibc): &(&str, (u32, u32))| format!("{title} has {}.{}", glibc.0, glibc.1);
                let because = match needs.symbols.is_empty() {
                    true => String::new(),
                    false => format!(" for {}", some(&needs.symbols)),
                };
                format!(
                    "it needs glibc {}.{}{because}, and {}",
                    needs.version.0,
                    needs.version.1,
                    images.iter().map(have).collect::<Vec<_>>().join(", ")
                )
            }
            Finding::Description(Unusable::Damaged(reason)) => {
                format!("no service takes it, because what it says of its protocol cannot be read: {reason}")
            }
            Finding::Description(Unusable::Odd(reason)) => format!(
                "what it says of its protocol cannot be used: {reason}; a service takes the file all the same, and \
                 `cargo urom inspect` and `call` do not"
            ),
            Finding::PanicAborts => {
                "a panic in it ends the worker's process, for all of its hosts (`panic = \"abort\"`)"
                    .to_owned()
            }
            Finding::NotCalled(machine) => {
                format!("it is for {}: what its functions return cannot be tried here", machine.name())
            }
            Finding::Unstripped { bytes } => {
                format!("{} KiB of it serve backtraces and debuggers", bytes.div_ceil(1024))
            }
        }
    }

    /// What to do.
    pub(crate) fn remedy(&self) -> String {
        match self {
            Finding::NotElf(_) => "give the `.so` that `cargo urom build` prints, or that a C compiler made with `-shared`".to_owned(),
            Finding::NotShared => {
                "build it as `crate-type = [\"cdylib\"]`, or with `cc -shared -fPIC` for C".to_owned()
            }
            Finding::Machine { wanted, .. } => {
                let wanted = wanted.unwrap_or(Machine::Aarch64);
                format!("build it with `cargo urom build --target {}`", wanted.triple())
            }
            Finding::NoSymbol(name) => format!(
                "put `#[urom_plugin]` on an implementation of the protocol's handler in the `cdylib` crate; in C, define \
                 `doca_error_t {name}({})` without `static` and with default visibility",
                argument(name)
            ),
            Finding::NoFunction(name) => {
                format!("rename the variable and define the function `doca_error_t {name}({})`", argument(name))
            }
            Finding::TwoExports { name } => format!(
                "leave one version of `{name}` in the linker's version script; for the two entry functions there is no need of one"
            ),
            Finding::OtherExports(_) => {
                "leave them if others use them; else compile C with `-fvisibility=hidden`, or make them `static`"
                    .to_owned()
            }
            Finding::FileName(_) => "rename it to NAME.so, where hosts ask for the plugin NAME".to_owned(),
            Finding::NameLength { .. } => format!(
                "rename the file, and the protocol with it, to {} bytes at most",
                PLUGIN_NAME_CAPACITY - 1
            ),
            Finding::NameDiffers { described, .. } => {
                format!("rename the file to {described}.so, which `cargo urom build` does")
            }
            Finding::LibraryName { name } => {
                let bare = name.strip_prefix("lib").unwrap_or(name);
                format!("rename the file to {bare}.so if hosts ask for `{bare}`")
            }
            Finding::Load(text) => load_remedy(text),
            Finding::Crash { stage: Stage::Exit, .. } | Finding::Hang { stage: Stage::Exit, .. } => {
                "look into its destructors and what it does with threads: the daemon and its workers end like this too".to_owned()
            }
            Finding::Crash { .. } => {
                "run it under a debugger: `gdb --args cargo-urom probe FILE.so`; a service that lists plugins would end the same way".to_owned()
            }
            Finding::Hang { .. } => {
                "take what waits out of constructors and of the two functions: a service calls them for every host that connects".to_owned()
            }
            Finding::Failed { symbol, .. } => {
                format!("let `{symbol}` fill in what it is given and return DOCA_SUCCESS, whatever the machine has; what can fail belongs into `open`")
            }
            Finding::NoWord | Finding::OldWord(_) => format!(
                "set `iface->__doca_api_version = DOCA_VERSION_EXACT` in `{GET_IFACE_SYMBOL}`, and compile with DOCA {} or newer",
                version::RELEASE
            ),
            Finding::NoMethods(_) => format!(
                "set all six in `{GET_IFACE_SYMBOL}`; one that has nothing to do returns DOCA_SUCCESS (`progress`: DOCA_ERROR_EMPTY)"
            ),
            Finding::Library { name, .. } => format!(
                "link it statically, or install the package that has {name} on the target; ignore this if it is there"
            ),
            Finding::BuildLibrary { name } if name.starts_with("libstd-") => {
                "build it without `-C prefer-dynamic`".to_owned()
            }
            Finding::BuildLibrary { .. } => "build it without `-fsanitize` for the target".to_owned(),
            Finding::Glibc { .. } => {
                "build it on, or in a container of, the oldest image that is to run it; `--image` checks for one alone".to_owned()
            }
            Finding::Description(_) => {
                "build it again with the `urom-pdk` that this tool and the service come from, or use those of its version".to_owned()
            }
            Finding::PanicAborts => "take `panic = \"abort\"` out of the profile (Cargo.toml) or of RUSTFLAGS, and `abort = \"allowed\"` out of `#[urom_plugin]`".to_owned(),
            Finding::NotCalled(_) => "run `cargo urom check` on a machine of that kind as well".to_owned(),
            Finding::Unstripped { .. } => {
                "keep them for readable backtraces; `cargo urom build --strip` makes a smaller file without them"
                    .to_owned()
            }
        }
    }
}

fn is_entry(name: &str) -> bool {
    SYMBOLS.contains(&name)
}

/// The parameter of an entry function in C.
fn argument(name: &str) -> &'static str {
    if name == GET_IFACE_SYMBOL { "struct urom_plugin_iface *iface" } else { "uint64_t *version" }
}

/// What to do about the loader's sentence.
fn load_remedy(text: &str) -> String {
    if text.contains("cannot open shared object file") {
        let doca = text.contains("libdoca_");
        let hint = if doca {
            ": that of DOCA, or `lib` of the prefix that `cargo xtask install` made"
        } else {
            ""
        };
        format!("install that library, or add its directory to LD_LIBRARY_PATH{hint}")
    } else if text.contains("undefined symbol") {
        "link it with the library that has this symbol (`cc -Wl,--no-undefined` says so while linking)"
            .to_owned()
    } else if text.contains("version `GLIBC") {
        "build it on a machine whose glibc is no newer than here".to_owned()
    } else if text.contains("static TLS") {
        "build it without `-ftls-model=initial-exec`".to_owned()
    } else {
        "build it again; the file may have been cut while it was copied".to_owned()
    }
}

/// A version word as text, where it is one.
pub(super) fn display(word: u64) -> String {
    usize::try_from(word).map_or_else(|_| word.to_string(), version::display)
}

fn quoted(names: &[impl AsRef<str>]) -> String {
    names.iter().map(|name| format!("`{}`", name.as_ref())).collect::<Vec<_>>().join(", ")
}

/// The first names, and how many more there are.
fn some(names: &[impl AsRef<str>]) -> String {
    const SHOWN: usize = 4;
    let shown = quoted(&names[..names.len().min(SHOWN)]);
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
