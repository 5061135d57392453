//! All findings of `check`: severity, code for scripts, text and remedy.

use std::fmt::Display;

use super::report::CheckReport;
use super::report::Severity::{Error, Note, Warning};

macro_rules! findings {
    ($($name:ident($($arg:ident),*) => $severity:expr, $code:literal, $text:literal,
        $remedy:literal;)*) => {
        impl CheckReport {
            $(pub(super) fn $name(&mut self, $($arg: impl Display),*) {
                self.add($severity, $code, format!($text), format!($remedy));
            })*
        }
    };
}

findings! {
    not_elf(reason) => Error, "not-elf", "this is not a shared object: {reason}",
        "give a complete `.so` of 64 bits, from `cargo urom build` or a C compiler with `-shared`";
    not_shared() => Error, "not-shared",
        "this is a program or an object file, and no shared object: a service cannot load it",
        "build it as `crate-type = [\"cdylib\"]`, or with `cc -shared -fPIC` for C";
    other_machine(file, wanted, target) => Error, "machine",
        "it is for {file}, and {wanted} is asked for",
        "build it for {wanted}: a plugin in Rust with `cargo urom build --target {target}`";
    no_machine(file, target) => Error, "machine", "it is for {file}, on which no UROM worker runs",
        "build it for aarch64 or x86_64: a plugin in Rust with `cargo urom build --target {target}`";
    file_name(file) => Error, "file-name",
        "services look at files whose names end in `.so` only, and this is `{file}`",
        "rename it to NAME.so, where hosts ask for the plugin NAME";
    name_length(name, len, most) => Error, "name-length",
        "the name `{name}` has {len} bytes, and DOCA allows {most}",
        "give the file a name of at most {most} bytes in front of `.so`";
    library_name(name, bare) => Warning, "library-name",
        "a service calls it `{name}`, after its file, which is unusual for a plugin",
        "rename the file to {bare}.so if hosts ask for `{bare}`";
    name_differs(name, described) => Error, "name-differs",
        "a service calls it `{name}`, after its file, and hosts ask for `{described}`, its \
         protocol's name",
        "rename the file to {described}.so, which `cargo urom build` does";
    damaged_description(reason) => Error, "description",
        "no service takes it, because its description of its protocol is malformed: {reason}",
        "build it again with the `urom-pdk` that this tool and the service come from, or use those \
         of its version";
    odd_description(reason) => Warning, "description",
        "what it says of its protocol cannot be used: {reason}; a service takes the file all the \
         same, and `cargo urom inspect` and `call` do not",
        "build it again with the `urom-pdk` that this tool and the service come from, or use those \
         of its version";
    panic_aborts() => Warning, "panic-aborts",
        "a panic in it ends the worker's process, for all of its hosts (`panic = \"abort\"`)",
        "take `panic = \"abort\"` out of the profile (Cargo.toml) or of RUSTFLAGS, and \
         `abort = \"allowed\"` out of `#[urom_plugin]`";
    unstripped(kib) => Note, "unstripped", "{kib} KiB of it serve backtraces and debuggers",
        "keep them for readable backtraces; `cargo urom build --strip`, or `strip` for a plugin in C, \
         makes a smaller file without them";
}

findings! {
    no_symbol(name, declaration) => Error, "no-symbol", "it does not export `{name}`",
        "put `#[urom_plugin]` on an implementation of the protocol's handler in the `cdylib` \
         crate; in C, define `{declaration}` without `static` and with default visibility";
    no_function(name, declaration) => Error, "no-function",
        "it exports `{name}`, which is not a function",
        "rename the variable and define the function `{declaration}`";
    two_entries(name) => Error, "two-exports",
        "it exports `{name}` more than once, in several versions: a service finds one version",
        "leave one version of `{name}` in the linker's version script; for the two entry functions \
         there is no need of one";
    two_exports(name) => Warning, "two-exports",
        "it exports `{name}` more than once, in several versions: a service finds one version",
        "leave one version of `{name}` in the linker's version script";
    other_exports(symbols, names) => Note, "other-exports",
        "it exports {symbols} beside the two functions that a service loads: {names}",
        "leave them if others use them; else compile C with `-fvisibility=hidden`, or make them \
         `static`; in Rust, remove `#[no_mangle]`";
}

findings! {
    glibc_of_none(needs, images) => Error, "glibc", "it needs glibc {needs}, and {images}",
        "build it on, or in a container of, the oldest image that is to run it";
    glibc_of_some(needs, images) => Warning, "glibc", "it needs glibc {needs}, and {images}",
        "build it on, or in a container of, the oldest image that is to run it; `--image` checks \
         for one alone";
    library(name, images) => Warning, "library",
        "it needs {name}, which is not known to be in {images}",
        "link it statically, or install the package that has {name} on the target; ignore this if \
         it is there";
    build_library(name, option) => Error, "build-library",
        "it needs {name}, which belongs to the machine that built it and is in no image",
        "build it without {option}";
}

findings! {
    not_called(machine) => Note, "not-called",
        "it is for {machine}: what its functions return cannot be tried here",
        "run `cargo urom check` on a machine of that kind as well";
    load(text, remedy) => Error, "load", "the loader refuses it: {text}", "{remedy}";
    crash(stage, how) => Error, "crash", "the process that tried it ended {stage}: {how}",
        "run it under a debugger: `gdb --args cargo-urom uromd examine FILE.so`; NVIDIA's service, \
         which loads plugins to list them, would end the same way";
    crash_at_exit(stage, how) => Warning, "crash", "the process that tried it ended {stage}: {how}",
        "look into its destructors and what it does with threads: the daemon and its workers end \
         like this too";
    hang(stage, seconds) => Error, "hang", "it did not come back {stage} in {seconds} s",
        "take what waits out of constructors and of the two functions: a service calls them for \
         every host that connects";
    hang_at_exit(stage, seconds) => Warning, "hang", "it did not come back {stage} in {seconds} s",
        "look into its destructors and what it does with threads: the daemon and its workers end \
         like this too";
    failed(symbol, code) => Error, "failed", "`{symbol}` fails: {code}",
        "let `{symbol}` fill in what it is given and return DOCA_SUCCESS, whatever the machine \
         has; what can fail belongs into `open`";
    no_version_word(release) => Error, "no-version-word",
        "its interface carries no version (`__doca_api_version` is 0)",
        "set `iface->__doca_api_version = DOCA_VERSION_EXACT` in `urom_plugin_get_iface`, and \
         compile with DOCA {release} or newer";
    old_version_word(word, release) => Warning, "old-version-word",
        "its interface carries the version of DOCA {word}, which had another interface",
        "set `iface->__doca_api_version = DOCA_VERSION_EXACT` in `urom_plugin_get_iface`, and \
         compile with DOCA {release} or newer";
    no_methods(names) => Error, "no-methods", "its interface lacks {names}",
        "set all six in `urom_plugin_get_iface`; one that has nothing to do returns DOCA_SUCCESS \
         (`progress`: DOCA_ERROR_EMPTY)";
}
