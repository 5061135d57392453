//! Codes, devices, memory, and queries.

use anyhow::Result;
use urom_tests::PluginDirectory;
use urom_tests::c::{Host, Service, Source};

use super::{programs, surroundings};

#[test]
fn texts_and_devices_are_as_documented() -> Result<()> {
    let service = surroundings()?;
    for program in programs("common_calls.c")? {
        let host = Host::new(program).env("UROM_DEVICE", "virtual0,virtual1@03:00.1");
        assert_eq!(host.run(&service)?.success()?.stdout, "done\n");
    }
    Ok(())
}

#[test]
fn memory_maps_buffers_inventories_and_pools_keep_docas_rules() -> Result<()> {
    let service = surroundings()?;
    for program in programs("memory_calls.c")? {
        let host = Host::new(program).env("UROM_DEVICE", "virtual0");
        assert_eq!(host.run(&service)?.success()?.stdout, "done\n");
    }
    Ok(())
}

#[test]
fn sync_events_keep_docas_rules_between_threads_and_processes() -> Result<()> {
    let service = surroundings()?;
    for program in programs("sync_event_calls.c")? {
        let host = Host::new(program).env("UROM_DEVICE", "virtual0");
        assert_eq!(host.run(&service)?.success()?.stdout, "done\n");
    }
    Ok(())
}

#[test]
fn tasks_of_events_and_graphs_keep_docas_rules_and_wake_programs_that_sleep() -> Result<()> {
    let service = surroundings()?;
    for program in programs("task_graph_calls.c")? {
        let host = Host::new(program).env("UROM_DEVICE", "virtual0");
        assert_eq!(host.run(&service)?.success()?.stdout, "done\n");
    }
    Ok(())
}

#[test]
fn commands_that_wait_leave_when_their_context_is_flushed() -> Result<()> {
    let plugin = Source::new("graph_plugin.c").define("COUNTS_ARRIVALS", "1");
    let mut plugins = PluginDirectory::with(&[])?;
    plugins.add(&plugin.plugin("worker_graph")?)?;
    let service = Service::embedded(plugins)?;
    for program in programs("flushed_tasks.c")? {
        let output = Host::new(program).run(&service)?.success()?;
        assert!(output.stdout.ends_with("done\n"), "{}", output.stdout);
    }
    Ok(())
}

#[test]
fn a_query_is_freed_as_any_task_and_the_cpus_are_those_of_the_variable() -> Result<()> {
    let service = surroundings()?;
    for program in programs("group_query.c")? {
        let host = Host::new(program).env("UROM_CPUS", "1-3,9,700");
        assert_eq!(host.run(&service)?.success()?.stdout, "1 2 3 9 done\n");
    }
    Ok(())
}

#[test]
fn unreadable_cpus_fail_the_start_and_are_named() -> Result<()> {
    let service = surroundings()?;
    let program = Source::new("group_query.c").program()?;
    for cpus in ["x", "7-0", "1024"] {
        let output = Host::new(&program).env("UROM_CPUS", cpus).run(&service)?.success()?;
        let start = "DOCA_ERROR_BAD_CONFIG: the embedded service cannot be started: UROM_CPUS is";
        assert!(output.stdout.starts_with(&format!("{start} \"{cpus}\"")), "{}", output.stdout);
        assert!(output.stdout.contains("0-3,6"), "{}", output.stdout);
    }
    Ok(())
}
