//! Extension tables of C plugins: valid, truncated, incomplete, and with failing calls.

use anyhow::Result;
use graph_protocol::Protocol;
use urom_host::{DocaError, Service};
use urom_tests::c::{Source, prefix};
use urom_tests::{PluginDirectory, Uromd};

fn loopback(
    defines: &[(&str, &str)],
    arguments: &[&str],
) -> Result<Result<u64, (DocaError, String)>> {
    let run_path = format!("-Wl,-rpath,{}", prefix()?.lib().display());
    let source = Source::new("called_plugin.c").flag(&run_path);
    let source = defines.iter().fold(source, |source, (name, value)| source.define(name, value));
    let mut plugins = PluginDirectory::with(&[])?;
    plugins.add(&source.plugin("worker_graph")?)?;
    let daemon = Uromd::start_with(plugins.variable(), |command| command.args(arguments))?;
    let service = Service::builder().address(daemon.address()).connect_blocking()?;
    let graph = service.plugin::<Protocol>()?;
    let worker = service.worker().plugin(&graph).start().wait()?;
    let once = || -> Result<_> {
        let task = graph.task_loopback(&worker, 41).submit()?;
        Ok(task.wait().map(|done| done.data).map_err(|error| (error.code(), error.to_string())))
    };
    let first = once()?;
    for _ in 0..100 {
        assert_eq!(once()?, first);
    }
    Ok(first)
}

#[test]
fn a_table_is_used_as_far_as_it_goes() -> Result<()> {
    let by_call = [
        ("TABLE_SIZE", "sizeof(urom_plugin_extension)"),
        ("TABLE_SIZE", "24"),
        ("TABLE_SIZE", "4096"),
    ];
    for define in by_call {
        assert_eq!(loopback(&[define], &[])?, Ok(42), "{define:?}");
    }
    for size in ["0", "7", "8", "16", "23"] {
        assert_eq!(loopback(&[("TABLE_SIZE", size)], &[])?, Ok(41), "{size} bytes");
    }
    assert_eq!(loopback(&[("NO_CALL", "1")], &[])?, Ok(41));
    assert_eq!(loopback(&[], &["--plain-doca"])?, Ok(41));
    Ok(())
}

#[test]
fn a_call_may_be_declined_and_what_it_gives_is_not_trusted() -> Result<()> {
    assert_eq!(loopback(&[("CALL_GIVES", "UROM_CALLED_DECLINED")], &[])?, Ok(41));
    for define in [("CALL_GIVES", "99"), ("LONG_ANSWER", "")] {
        let (code, _) = loopback(&[define], &[])?.unwrap_err();
        assert_eq!(code, DocaError::UNEXPECTED, "{define:?}");
    }
    Ok(())
}

#[test]
fn an_answer_in_place_may_be_a_failure_with_a_reason() -> Result<()> {
    let (code, text) = loopback(&[("FAILS", "\"nothing\\tthere\"")], &[])?.unwrap_err();
    assert_eq!(code, DocaError::NOT_FOUND);
    assert!(text.ends_with(": nothing there"), "{text}");
    Ok(())
}
