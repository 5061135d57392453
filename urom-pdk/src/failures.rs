//! Log lines of failed commands, a few of each kind.

use std::time::Instant;

use heck::ToSnakeCase;
use urom_abi::describe::Messages;
use urom_abi::log::Level;
use urom_abi::shared::SharedCommand;
use urom_abi::{DocaError, Quantity};

use crate::lines::{LineWindow, Unlogged};
use crate::panic::{CodeLocation, Panic};
use crate::{Error, guard, log};

pub(crate) enum Failure {
    Error(Error),
    Panic(Panic),
}

impl Failure {
    pub(crate) fn code(&self) -> DocaError {
        match self {
            Failure::Error(error) => error.code(),
            Failure::Panic(_) => DocaError::UNEXPECTED,
        }
    }

    pub(crate) fn for_host(&self) -> String {
        match self {
            Failure::Error(error) => error
                .message()
                .map_or_else(String::new, |text| log::contained(format_args!("{text}"))),
            Failure::Panic(panic) => format!("its handler {panic}"),
        }
    }
}

/// Failures by kind. The plugin, not its hosts, determines the kinds, so there are few.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    kinds: Vec<(FailureKind, LineWindow)>,
}

type FailureKind = (&'static str, bool);

impl Failures {
    /// Logs why a command of the handler (type `handler`) failed, up to the limit for its kind.
    pub(crate) fn report(
        &mut self,
        handler: &str,
        commands: &Messages,
        command: &SharedCommand,
        failure: Failure,
    ) {
        let (bytes, dest_id) = (command.payload(), command.dest_id());
        let variant = commands.find(bytes).map(|variant| variant.name);
        let name = variant.unwrap_or("unknown command");
        let kind = (name, matches!(failure, Failure::Panic(_)));
        let Some(more) = self.note(kind, Instant::now()) else { return };
        let (len, host) = (Quantity(bytes.len(), "byte"), log::host_of(dest_id));
        match failure {
            Failure::Error(error) => log::failure(
                Level::Warning,
                error.at().map(CodeLocation::of),
                format_args!("{name} of {len} from {host} failed: {}{more}", log::shown(&error)),
            ),
            Failure::Panic(panic) => {
                let text =
                    format_args!("{name} of {len} from {host} failed: its handler {panic}{more}");
                log::failure(Level::Error, panic.location(), text);
                let method = variant.map(|name| method(handler, name));
                guard::log_backtrace(&panic, method.as_deref());
            }
        }
    }

    /// Counts a failure. Returns the number of earlier unlogged ones if it gets a line.
    fn note(&mut self, kind: FailureKind, now: Instant) -> Option<Unlogged> {
        if let Some((_, window)) = self.kinds.iter_mut().find(|(known, _)| *known == kind) {
            return window.note(now);
        }
        let mut window = LineWindow::new(now);
        let unlogged = window.note(now);
        self.kinds.push((kind, window));
        unlogged
    }

    fn unlogged(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        let counts = self.kinds.iter().map(|((name, _), window)| (*name, window.unlogged()));
        counts.filter(|(_, unlogged)| *unlogged > 0)
    }
}

impl Drop for Failures {
    fn drop(&mut self) {
        for (name, count) in self.unlogged() {
            let text = format_args!("{name}: {count} more failed, and were not logged");
            log::failure(Level::Warning, None, text);
        }
    }
}

/// `my_plugin::Sandbox` and `TagSend` become `Sandbox::tag_send`.
fn method(handler: &str, variant: &str) -> String {
    let path = handler.split('<').next().unwrap_or_default();
    let name = path.rsplit("::").next().unwrap_or_default();
    format!("{name}::{}", variant.to_snake_case())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::LINES;

    const ECHO: FailureKind = ("Echo", false);

    #[test]
    fn a_flood_of_one_kind_hides_no_other() {
        let (mut failures, now) = (Failures::default(), Instant::now());
        let lines = (0..1000).filter_map(|_| failures.note(ECHO, now)).count();
        assert_eq!(lines, LINES as usize);
        assert_eq!(failures.unlogged().collect::<Vec<_>>(), [("Echo", 1000 - u64::from(LINES))]);
        for kind in [("Echo", true), ("unknown command", false)] {
            assert_eq!(failures.note(kind, now), Some(Unlogged::default()), "{kind:?}");
        }
    }

    #[test]
    fn a_method_is_named_by_type_and_command() {
        assert_eq!(method("my_plugin::Sandbox", "TagSend"), "Sandbox::tag_send");
        assert_eq!(method("a::Generic<b::Other, 3>", "Gen"), "Generic::gen");
    }
}
