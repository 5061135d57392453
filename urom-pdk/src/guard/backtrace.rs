//! The plugin's part of a backtrace.
//!
//! Rust prints a backtrace from the panic's own functions down to the start of the thread. A
//! plugin's author needs what lies between: the functions from the one that panicked to the
//! handler's method.

use std::fmt;

use crate::panic::FILE;

/// The file of [`contain`](crate::panic::contain), which catches every panic of the plugin.
const GUARD: Part = Part { file: FILE, module: "urom_pdk::panic::" };
/// The file of the future that polls a handler's method.
const SERVE: Part = Part { file: urom_abi::wire::SERVE_FILE, module: "urom_abi::wire::serve::" };

/// A part of the kit, as backtraces show it.
struct Part {
    file: &'static str,
    module: &'static str,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Frame<'a> {
    name: &'a str,
    /// `at file:line:column`; nothing where there are no line tables.
    place: Option<&'a str>,
}

impl fmt::Display for Frame<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        self.place.map_or(Ok(()), |place| write!(f, " {place}"))
    }
}

impl Frame<'_> {
    /// The file without line and column, and empty without a place.
    fn file(&self) -> &str {
        let place = self.place.and_then(|place| place.strip_prefix("at ")).unwrap_or_default();
        place.rsplitn(3, ':').nth(2).unwrap_or_default()
    }

    fn is_of(&self, part: &Part) -> bool {
        // With line tables, the name of a generic function may lack its module.
        self.file().ends_with(part.file)
            || self.name.trim_start_matches('<').starts_with(part.module)
    }

    /// Whether it lies between the kit's guard and the plugin: a function of the kit, one that the
    /// macros made, or one of Rust's own.
    fn is_between(&self) -> bool {
        let directory = GUARD.file.trim_end_matches("panic.rs");
        let file = self.file();
        let of_rust = ["/rustc/", "/rustlib/src/rust/library/"];
        file.contains(directory)
            || of_rust.iter().any(|part| file.contains(part))
            || self.name.trim_start_matches('<').starts_with("urom_pdk::")
            || self.name.contains(" urom_abi::protocol::Serve<")
            || self.name == "__rust_try"
    }
}

/// The functions of a printed backtrace from the one that panicked to the last of the plugin's.
///
/// What polled the handler's method shows which one that is; it then gets the name `method`.
pub(crate) fn of_plugin<'a>(printed: &'a str, method: Option<&'a str>) -> Vec<Frame<'a>> {
    let mut frames = frames(printed);
    let begins = frames.iter().position(|frame| frame.name.contains("rust_begin_unwind"));
    frames.drain(..begins.map_or(0, |begins| begins + 1));
    let panicking = |frame: &&Frame<'_>| frame.name.starts_with("core::panicking::");
    frames.drain(..frames.iter().take_while(panicking).count());
    let Some(end) = frames.iter().position(|frame| frame.is_of(&SERVE) || frame.is_of(&GUARD))
    else {
        return frames;
    };
    let polled = frames[end].is_of(&SERVE);
    frames.truncate(end);
    let between = frames.iter().skip(1).rev().take_while(|frame| frame.is_between()).count();
    frames.truncate(frames.len() - between);
    if let (true, Some(last), Some(method)) = (polled, frames.last_mut(), method) {
        last.name = method;
    }
    frames
}

fn frames(printed: &str) -> Vec<Frame<'_>> {
    let mut frames: Vec<Frame<'_>> = Vec::new();
    for line in printed.lines().map(str::trim) {
        match (line.starts_with("at "), frames.last_mut()) {
            (true, Some(frame)) => frame.place = Some(line),
            _ => {
                let (number, name) = line.split_once(": ").unwrap_or(("", line));
                let numbered =
                    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
                frames.push(Frame { name: if numbered { name } else { line }, place: None });
            }
        }
    }
    frames
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(printed: &str) -> Vec<String> {
        of_plugin(printed, Some("Sandbox::tag_send")).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn functions_end_at_what_polled_the_handler() {
        let printed = format!(
            "   0: __rustc::rust_begin_unwind\n             at /rustc/5/std/src/panicking.rs:689:5\n   \
            1: core::panicking::panic_fmt\n   2: my_plugin::deeper\n             at ./src/lib.rs:7:5\n   \
            3: {{async_fn#0}}\n             at ./src/lib.rs:12:9\n   4: poll<a, b>\n             \
            at /home/me/{}:67:24\n   5: clone3\n",
            SERVE.file
        );
        let frames =
            ["my_plugin::deeper at ./src/lib.rs:7:5", "Sandbox::tag_send at ./src/lib.rs:12:9"];
        assert_eq!(shown(&printed), frames);
        let stripped = "   0: my_plugin::deeper\n   1: x::{{closure}}\n   \
            2: <urom_abi::wire::serve::Answering<C,F> as Future>::poll\n   3: clone3\n";
        assert_eq!(shown(stripped), ["my_plugin::deeper", "Sandbox::tag_send"]);
    }

    #[test]
    fn functions_between_the_plugin_and_the_guard_are_left_out() {
        let printed = format!(
            "   0: my_plugin::deeper\n   1: <P as urom_abi::protocol::Serve<S,H>>::progress\n   \
            2: {{closure#0}}<a>\n             at ./{}:9:9\n   3: __rust_try\n   \
            4: urom_pdk::panic::contain\n   5: clone3\n",
            GUARD.file.replace("panic", "executor")
        );
        assert_eq!(shown(&printed), ["my_plugin::deeper"]);
    }

    #[test]
    fn a_backtrace_without_the_kits_functions_is_whole() {
        assert_eq!(shown("   0: <unknown>\n   1: start\n"), ["<unknown>", "start"]);
        assert_eq!(shown(""), [""; 0]);
    }
}
