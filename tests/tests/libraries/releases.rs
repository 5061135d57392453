//! Releases of DOCA.

use std::sync::Arc;

use anyhow::Result;
use tracing::Level;
use urom_host::DocaError;

use crate::shim::Shim;
use crate::{load, refused};

#[test]
fn a_release_before_2_7_is_refused_with_what_was_found() -> Result<()> {
    for (version, found) in [
        (Some("\"2.6.0058\""), "it is of DOCA 2.6.0058"),
        (Some("\"1.5\""), "it is of DOCA 1.5"),
        (Some("\"\""), "returns \"\""),
        (Some("\"sunny\\n\""), "returns \"sunny\\n\""),
        (Some("\"\\377\\376\""), "which is not a release"),
        (Some("(char *)0"), "gives NULL"),
        (None, "lacks the function doca_version_runtime"),
    ] {
        // The version is checked before missing functions.
        let shim = Shim::new(version, &["doca_pe_create"])?;
        let error = refused(&shim.path(), DocaError::UNSUPPORTED_VERSION).to_string();
        assert!(error.contains(found) && error.contains("DOCA 2.7 or newer"), "{error}");
    }
    Ok(())
}

#[test]
fn a_release_from_2_7_on_is_accepted_and_an_unknown_release_with_a_warning() -> Result<()> {
    let log = tempfile::NamedTempFile::new()?;
    let warnings = || std::fs::read_to_string(log.path());
    let subscriber = tracing_subscriber::fmt().with_max_level(Level::WARN).with_ansi(false);
    let subscriber = subscriber.with_writer(Arc::new(log.reopen()?)).finish();
    tracing::subscriber::with_default(subscriber, || -> Result<()> {
        for version in ["2.7.0085", "2.10.0", "3.0.0058", "3.9"] {
            let shim = Shim::new(Some(&format!("\"{version}\"")), &[])?;
            assert_eq!(load(shim.path())?.version(), Some(version));
        }
        assert_eq!(warnings()?, "");
        let shim = Shim::new(Some("\"4.1.0\""), &[])?;
        load(shim.path())?;
        load(shim.path())?;
        let warning = warnings()?;
        assert_eq!(warning.lines().count(), 1, "one warning for each file: {warning}");
        for part in ["DOCA 4.1.0", &shim.path().display().to_string()] {
            assert!(warning.contains(part), "{warning}");
        }
        Ok(())
    })
}
