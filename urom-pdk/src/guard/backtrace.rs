//! The plugin's part of a backtrace: the functions from the panicking one to the handler's method.

use std::fmt;

use crate::panic::FILE;

/// File and module of [`contain`](crate::panic::contain), and of the future that polls a handler.
const GUARD: (&str, &str) = (FILE, "urom_pdk::panic::");
const SERVE: (&str, &str) = (urom_abi::wire::SERVE_FILE, "urom_abi::wire::serve::");

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PluginFrame<'a> {
    name: &'a str,
    /// `at file:line:column`; `None` without line tables.
    location: Option<&'a str>,
}

impl fmt::Display for PluginFrame<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        self.location.map_or(Ok(()), |location| write!(f, " {location}"))
    }
}

impl PluginFrame<'_> {
    fn file(&self) -> &str {
        let location = self.location.and_then(|it| it.strip_prefix("at ")).unwrap_or_default();
        location.rsplitn(3, ':').nth(2).unwrap_or_default()
    }

    fn is_of(&self, (file, module): (&str, &str)) -> bool {
        // With line tables, the name of a generic function may lack its module.
        self.file().ends_with(file) || self.name.trim_start_matches('<').starts_with(module)
    }

    fn is_of_kit_or_rust(&self) -> bool {
        let kit = FILE.trim_end_matches("panic.rs");
        let files = [kit, "/rustc/", "/rustlib/src/rust/library/"];
        let names = ["urom_pdk::", "__rust_try"];
        files.iter().any(|part| self.file().contains(part))
            || names.iter().any(|part| self.name.trim_start_matches('<').starts_with(part))
            || self.name.contains(" urom_abi::protocol::Serve<")
    }
}

/// The plugin's functions, from the panicking one to the handler's `method` before `serve`.
pub(crate) fn of_plugin<'a>(printed: &'a str, method: Option<&'a str>) -> Vec<PluginFrame<'a>> {
    let mut frames = frames(printed);
    let begins = frames.iter().position(|frame| frame.name.contains("rust_begin_unwind"));
    frames.drain(..begins.map_or(0, |begins| begins + 1));
    let end = frames.iter().position(|frame| frame.is_of(SERVE) || frame.is_of(GUARD));
    let method = method.filter(|_| end.is_some_and(|end| frames[end].is_of(SERVE)));
    let shown = frames.into_iter().take(end.unwrap_or(usize::MAX));
    let shown = shown.skip_while(|frame| frame.name.starts_with("core::panicking::"));
    // The panicking function is always the plugin's.
    let shown = shown.enumerate().filter(|(at, frame)| *at == 0 || !frame.is_of_kit_or_rust());
    let mut shown = shown.map(|(_, frame)| frame).collect::<Vec<_>>();
    if let (Some(last), Some(method)) = (shown.last_mut(), method) {
        last.name = method;
    }
    shown
}

fn frames(printed: &str) -> Vec<PluginFrame<'_>> {
    let mut frames: Vec<PluginFrame<'_>> = Vec::new();
    for line in printed.lines().map(str::trim) {
        match (line.starts_with("at "), frames.last_mut()) {
            (true, Some(frame)) => frame.location = Some(line),
            _ => {
                let (number, name) = line.split_once(": ").unwrap_or(("", line));
                let is_id = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
                let name = if is_id { name } else { line };
                frames.push(PluginFrame { name, location: None });
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
            SERVE.0
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
            GUARD.0.replace("panic", "executor")
        );
        assert_eq!(shown(&printed), ["my_plugin::deeper"]);
    }

    #[test]
    fn a_backtrace_without_the_kits_functions_is_whole() {
        assert_eq!(shown("   0: <unknown>\n   1: start\n"), ["<unknown>", "start"]);
        assert_eq!(shown(""), [""; 0]);
    }
}
