//! Releases of DOCA.

use std::fmt;
use std::sync::{Arc, Mutex};

use anyhow::Result;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};
use urom_host::{DocaError, Library};

use crate::refused;
use crate::shim::Shim;

#[test]
fn a_release_before_2_7_is_refused_with_what_was_found() -> Result<()> {
    for (version, found) in [
        (Some("\"2.6.0058\""), "it is of DOCA 2.6.0058"),
        (Some("\"1.5\""), "it is of DOCA 1.5"),
        (Some("\"\""), "says \"\""),
        (Some("\"sunny\\n\""), "says \"sunny\\n\""),
        (Some("\"\\377\\376\""), "which is no release"),
        (Some("(char *)0"), "gives NULL"),
        (None, "no function doca_version_runtime"),
    ] {
        // Other functions are of no interest then.
        let shim = Shim::new(version, &["doca_pe_create"])?;
        let error = refused(&shim.path(), DocaError::UNSUPPORTED_VERSION).to_string();
        assert!(error.contains(found) && error.contains("DOCA 2.7 or newer"), "{error}");
    }
    Ok(())
}

#[test]
fn a_release_from_2_7_on_is_taken_and_one_that_is_not_known_with_a_warning() -> Result<()> {
    let warnings = Warnings::default();
    tracing::subscriber::with_default(warnings.clone(), || -> Result<()> {
        for version in ["2.7.0085", "2.10.0", "3.0.0058", "3.9"] {
            let shim = Shim::new(Some(&format!("\"{version}\"")), &[])?;
            assert_eq!(Library::load(shim.path())?.version(), Some(version));
        }
        assert_eq!(warnings.taken(), [""; 0]);
        let shim = Shim::new(Some("\"4.1.0\""), &[])?;
        Library::load(shim.path())?;
        let [warning] = &warnings.taken()[..] else { panic!("one warning") };
        assert!(
            warning.contains("DOCA 4.1.0") && warning.contains(&shim.path().display().to_string()),
            "{warning}"
        );
        Library::load(shim.path())?;
        assert_eq!(warnings.taken(), [""; 0], "once for each file");
        Ok(())
    })
}

/// Keeps the text of every warning.
#[derive(Clone, Default)]
struct Warnings(Arc<Mutex<Vec<String>>>);

impl Warnings {
    fn taken(&self) -> Vec<String> {
        self.0.lock().map(|mut texts| std::mem::take(&mut *texts)).unwrap_or_default()
    }
}

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN
    }

    fn event(&self, event: &Event<'_>) {
        struct Message(String);
        impl Visit for Message {
            fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
                if field.name() == "message" {
                    self.0 = format!("{value:?}");
                }
            }
        }
        let mut message = Message(String::new());
        event.record(&mut message);
        if let Ok(mut texts) = self.0.lock() {
            texts.push(message.0);
        }
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}
