//! Which plugin is called, and where.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use anyhow::{Context, Result, ensure};
use serde_json::json;
use urom_tests::{PluginDirectory, Uromd};

use super::{call, is_wrong, says};
use crate::common::{
    Said, copy_of, daemon, in_c, patch, run, rust, tool, tool_says, tool_with, with_doca,
};

#[test]
fn a_file_and_a_name_are_called_embedded_and_at_a_daemon() -> Result<()> {
    let file = rust("worker_graph")?;
    let (daemon, plugins) = daemon(&["worker_graph"])?;
    let answer = "LoopbackDone\n  data = 42\n";
    assert_eq!(call(&format!("{file} loopback data=42"))?.good()?, answer);
    assert_eq!(
        call(&format!("{file} loopback data=42 --service {}", daemon.address()))?.good()?,
        answer
    );
    let by_name = |words: &[&str]| {
        let mut command = tool()?;
        command.args(["call", "worker_graph", "Loopback", "data=0x2a"]).args(words);
        run(command.env("UROM_PLUGIN_PATH", plugins.path()))?.good()
    };
    assert_eq!(by_name(&[])?, answer);
    assert_eq!(by_name(&["--service", daemon.address()])?, answer);
    Ok(())
}

#[test]
fn a_file_is_the_plugin_that_a_service_takes_it_for() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let (here, protocol) = (directory.path(), rust("worker_graph")?);
    // The embedded service is given this file alone, and not what lies beside it.
    fs::write(here.join("worker_graph.so"), "no plugin")?;
    let answer = |words: &mut std::process::Command| -> Result<()> {
        assert_eq!(run(with_doca(words)?)?.good()?, "LoopbackDone\n  data = 7\n");
        Ok(())
    };
    for name in ["worker_renamed.so", "libworker_graph.so"] {
        let file = copy_of("worker_graph", here, name)?;
        answer(tool()?.arg("call").arg(file).args(["loopback", "data=7"]))?;
    }
    let in_c = in_c("worker_graph")?;
    for name in ["worker_c.so", "libworker_c.so"] {
        fs::copy(&in_c, here.join(name))?;
        let words = ["loopback", "data=7", "--protocol", &protocol];
        answer(tool()?.args(["call", name]).args(words).current_dir(here))?;
        // By the name that the file gives it, which nothing else says.
        let name = name.trim_end_matches(".so");
        answer(tool()?.args(["call", name]).args(words).env("UROM_PLUGIN_PATH", here))?;
    }
    let old = copy_of("worker_graph", here, "worker_graph.so.1")?;
    says(
        call(&format!("{} loopback data=7", here.join("worker_graph.so").display()))?,
        &["no ELF file"],
    )?;
    says(
        run(tool()?.args(["call", "./worker_graph.so.1", "loopback", "data=7"]).current_dir(here))?,
        &["no service takes", "does not end in `.so`", "rename it"],
    )?;
    let odd = here.join("a;b");
    fs::create_dir(&odd)?;
    fs::rename(old, odd.join("worker_graph.so"))?;
    says(
        call(&format!("{} loopback data=7", odd.join("worker_graph.so").display()))?,
        &["`;`", "rename it"],
    )
}

#[test]
fn a_plugin_in_c_is_called_by_the_description_of_another() -> Result<()> {
    let protocol = rust("worker_graph")?;
    let file = in_c("worker_graph")?;
    let words = |command: &mut std::process::Command| -> Result<Said> {
        run(with_doca(command.args([
            "call",
            &file,
            "loopback",
            "data=7",
            "--protocol",
            &protocol,
        ]))?)
    };
    assert_eq!(words(&mut tool()?)?.good()?, "LoopbackDone\n  data = 7\n");

    let mut plugins = PluginDirectory::with(&[])?;
    plugins.add(in_c("worker_sandbox")?.as_ref())?;
    let prefix = urom_tests::c::prefix()?;
    let daemon = Uromd::start_with(plugins.path(), |command| {
        command.env("LD_LIBRARY_PATH", prefix.library_path())
    })?;
    // 4 KiB in the plugin. C answers with the tag of another message, which the definition says.
    let map = "mem_map context=5 map_params={field_mask=7,address=0x1000,length=4096,flags=2}";
    let protocol = rust("worker_sandbox")?;
    let said = call(&format!(
        "worker_sandbox {map} --protocol {protocol} --service {} --json",
        daemon.address()
    ))?;
    let said = said.json()?;
    assert_eq!(
        (&said["notification"]["name"], &said["notification"]["fields"]["context"]),
        (&json!("MemMapped"), &json!(5))
    );
    ensure!(said["notification"]["fields"]["memh_id"].as_u64() > Some(0), "{said}");
    Ok(())
}

#[test]
fn without_a_description_it_is_said_what_to_do() -> Result<()> {
    let file = in_c("worker_graph")?;
    says(call(&format!("{file} loopback data=7"))?, &[&file, "--protocol FILE.so", "--raw"])?;
    says(
        call(&format!("{file} loopback data=7 --protocol {file}"))?,
        &["--protocol takes a .so that was built with this kit"],
    )?;
    let (daemon, _plugins) = daemon(&["worker_graph"])?;
    let far = call(&format!("worker_graph loopback data=7 --service {}", daemon.address()))?;
    says(far, &["`worker_graph`", "--protocol FILE.so", "--raw"])?;
    Ok(())
}

#[test]
fn raw_bytes_need_no_description() -> Result<()> {
    let (daemon, _plugins) = daemon(&["worker_graph"])?;
    let bytes = "00000000000000002a00000000000000";
    let at = format!("--service {}", daemon.address());
    let said = call(&format!("worker_graph --raw hex:{bytes} {at}"))?.good()?;
    assert_eq!(said, format!("hex:{bytes} (16 bytes)\n"));
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("command");
    fs::write(&file, [&[0; 8][..], &[9], &[0; 7]].concat())?;
    // A description reads the answer.
    let said =
        call(&format!("{} --raw @{} {at}", rust("worker_graph")?, file.display()))?.good()?;
    assert_eq!(said, "LoopbackDone\n  data = 9\n");
    is_wrong(
        call(&format!("worker_graph --raw hex:0 {at}"))?,
        &["--raw", "two hexadecimal digits"],
    )?;
    Ok(())
}

#[test]
fn a_service_whose_plugin_has_another_layout_is_refused_with_the_first_difference() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let file = copy_of("worker_graph", directory.path(), "worker_graph.so")?;
    // In the description: a text is its length and what it holds.
    patch(&file, b"\x04\0\0\0data", b"\x04\0\0\0date")?;
    let (daemon, _plugins) = daemon(&["worker_graph"])?;
    let words = format!("{} loopback date=42 --service {}", file.display(), daemon.address());
    says(
        call(&words)?,
        &[
            "DOCA_ERROR_UNSUPPORTED_VERSION",
            "the host has `Loopback.date`",
            "where the plugin has `Loopback.data`",
        ],
    )
}

#[test]
fn a_service_with_a_key_is_called_with_a_copy_of_its_key_file() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let key = |name: &str, byte: u8, mode: u32| -> Result<String> {
        let file = directory.path().join(name);
        fs::write(&file, [byte; 32])?;
        fs::set_permissions(&file, fs::Permissions::from_mode(mode))?;
        Ok(file.to_str().context("a path in UTF-8")?.to_owned())
    };
    let (right, wrong, open) =
        (key("right", 1, 0o600)?, key("wrong", 2, 0o600)?, key("open", 1, 0o644)?);
    let plugins = PluginDirectory::with(&["worker_graph"])?;
    let daemon = Uromd::start_with(plugins.path(), |command| command.args(["--key-file", &right]))?;
    let file = rust("worker_graph")?;
    let words = format!("call {file} loopback data=42 --service {}", daemon.address());
    let call = |with: &[&str]| tool_says(words.split(' ').chain(with.iter().copied()));
    let answer = "LoopbackDone\n  data = 42\n";
    assert_eq!(call(&["--key-file", &right])?.good()?, answer);
    assert_eq!(run(tool_with(words.split(' '))?.env("UROM_KEY_FILE", &right))?.good()?, answer);
    says(call(&[])?, &["UROM_KEY_FILE"])?;
    says(call(&["--key-file", &wrong])?, &["key"])?;
    says(call(&["--key-file", &open])?, &[&open, "mode 0644"])?;
    // A service in this process has none.
    let said = tool_says(["call", &file, "loopback", "data=42", "--key-file", &right])?;
    ensure!(said.code == Some(2) && said.err.contains("--service"), "{said:?}");
    Ok(())
}

#[test]
fn a_service_that_is_not_there_or_lacks_the_plugin_is_named() -> Result<()> {
    let graph = rust("worker_graph")?;
    // Nobody listens on a port that was just given back.
    let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let said = call(&format!("{graph} loopback data=1 --service {port}"))?;
    says(said, &[&port.to_string(), "from --service", "start uromd there"])?;
    let (daemon, _plugins) = daemon(&["worker_sandbox"])?;
    let said = call(&format!("{graph} loopback data=1 --service {}", daemon.address()))?;
    says(
        said,
        &[
            "looking for plugin `worker_graph`",
            "the service has `worker_sandbox`",
            "UROM_PLUGIN_PATH",
        ],
    )
}
