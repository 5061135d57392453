//! Exports and imports between processes with UCX.

use anyhow::Result;
use urom_tests::c::Source;

use crate::{EMULATED, count, preloaded, run, well};

fn source() -> Source {
    Source::new("emulated_handles.c").ucx().flag("-D_GNU_SOURCE")
}

fn passes(test: &str) -> Result<String> {
    let log = well(&preloaded(&source(), &[test])?)?;
    assert_ne!(count(&log, EMULATED), 0, "{log}");
    Ok(log)
}

#[test]
fn exported_memory_of_others_is_at_the_same_address_until_it_is_unmapped() -> Result<()> {
    let log = passes("import")?;
    assert_eq!(count(&log, EMULATED), 5, "each process logs it once: {log}");
    assert_eq!(log.lines().count(), 5, "{log}");
    Ok(())
}

#[test]
fn a_process_imports_its_own_memory() -> Result<()> {
    passes("own").map(drop)
}

#[test]
fn a_context_for_exported_memory_alone_has_ucx_warn_of_nothing() -> Result<()> {
    let log = passes("alone")?;
    assert_eq!(log.lines().count(), 1, "{log}");
    Ok(())
}

#[test]
fn bytes_that_are_no_handle_are_unreachable() -> Result<()> {
    let log = passes("no-handles")?;
    for why in ["are not a handle", "end too early", "were changed or cut off"] {
        assert_ne!(count(&log, why), 0, "{why}: {log}");
    }
    Ok(())
}

#[test]
fn handles_that_were_not_exported_are_unreachable() -> Result<()> {
    let log = passes("forged")?;
    for why in ["the cookie is not the arena", "the descriptor is another file", "cannot be opened"]
    {
        assert_ne!(count(&log, why), 0, "{why}: {log}");
    }
    Ok(())
}

#[test]
fn memory_of_another_user_is_unreachable() -> Result<()> {
    if !rustix::process::geteuid().is_root() {
        println!("left out: only root can be another user");
        return Ok(());
    }
    let log = passes("other-user")?;
    assert_eq!(count(&log, "it belongs to user 65534, and this process to user 0"), 1, "{log}");
    Ok(())
}

#[test]
fn an_arena_at_an_address_that_is_taken_is_unreachable() -> Result<()> {
    let log = passes("own-child")?;
    assert_eq!(count(&log, "something else is at 0x"), 1, "{log}");
    Ok(())
}

#[test]
fn memory_outside_of_the_arena_is_unsupported() -> Result<()> {
    let log = passes("outside")?;
    assert_eq!(count(&log, "cannot be exported: only memory of malloc() can"), 4, "{log}");
    assert_eq!(count(&log, "has closed its descriptor"), 2, "{log}");
    Ok(())
}

#[test]
fn packed_buffers_are_released_and_no_request_is_nothing_to_release() -> Result<()> {
    passes("release").map(drop)
}

#[test]
fn where_there_is_an_rdma_device_nothing_is_emulated() -> Result<()> {
    let devices = tempfile::tempdir()?;
    std::fs::create_dir(devices.path().join("mlx5_0"))?;
    let host = preloaded(&source(), &["device"])?.env("UROM_EMULATION_DEVICES", devices.path());
    let log = well(&host)?;
    assert_eq!(count(&log, "nothing is emulated: there is an RDMA device"), 1, "{log}");
    assert_eq!(count(&log, EMULATED), 0, "{log}");
    // Without a device, this test of the program fails.
    assert!(!run(&preloaded(&source(), &["device"])?)?.status.success());
    Ok(())
}
