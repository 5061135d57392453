//! `cargo urom call`: commands by hand, to plugins in Rust and in C, at a daemon and embedded.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use urom_tests::{PluginDirectory, Uromd};

use crate::common::{
    Said, copy_of, daemon, examples_of, in_c, run, rust, tool, tool_says, tool_with, with_doca,
};

/// Calls with these words, separated by spaces.
fn call(words: &str) -> Result<Said> {
    tool_says(["call"].into_iter().chain(words.split_whitespace()))
}

/// Whether a failed call says all of it, in one line.
fn says(said: Said, parts: &[&str]) -> Result<()> {
    let error = said.bad()?;
    let errors: Vec<_> = error.lines().filter(|line| line.starts_with("error: ")).collect();
    ensure!(errors.len() == 1, "{} errors and not one:\n{error}", errors.len());
    ensure!(parts.iter().all(|part| errors[0].contains(part)), "no {parts:?} in\n{error}");
    Ok(())
}

#[test]
fn a_file_and_a_name_are_called_embedded_and_at_a_daemon() -> Result<()> {
    let file = rust("worker_graph")?;
    let (daemon, plugins) = daemon(&["worker_graph"])?;
    let answer = "LoopbackDone\n  data = 42\n";
    assert_eq!(call(&format!("{file} loopback data=42"))?.good()?, answer);
    assert_eq!(call(&format!("{file} loopback data=42 --service {}", daemon.address()))?.good()?, answer);
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
fn a_service_with_a_key_is_called_with_a_copy_of_its_key_file() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let key = |name: &str, byte: u8, mode: u32| -> Result<String> {
        let file = directory.path().join(name);
        fs::write(&file, [byte; 32])?;
        fs::set_permissions(&file, fs::Permissions::from_mode(mode))?;
        Ok(file.to_str().context("a path in UTF-8")?.to_owned())
    };
    let (right, wrong, open) = (key("right", 1, 0o600)?, key("wrong", 2, 0o600)?, key("open", 1, 0o644)?);
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
fn without_a_command_those_that_there_are_are_listed() -> Result<()> {
    let sandbox = rust("worker_sandbox")?;
    let said = call(&sandbox)?;
    assert_eq!((said.code, &*said.out), (Some(2), ""));
    for line in [
        "error: say which command to send to `worker_sandbox`:",
        "  mem_map [context=<u64>] map_params=<MapParams>",
    ] {
        ensure!(said.err.lines().any(|said| said.starts_with(line)), "no {line:?} in\n{}", said.err);
    }
    let said = call(&format!("worker_sandbox --service 127.0.0.1:1 --protocol {sandbox}"))?;
    ensure!(said.code == Some(2) && said.err.contains("tag_send "), "it needs no service: {said:?}");
    says(call(&in_c("worker_graph")?)?, &["--protocol FILE.so", "--raw"])
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
    says(call(&format!("{} loopback data=7", here.join("worker_graph.so").display()))?, &["no ELF file"])?;
    says(
        run(tool()?.args(["call", "./worker_graph.so.1", "loopback", "data=7"]).current_dir(here))?,
        &["no service takes", "does not end in `.so`", "rename it"],
    )?;
    let odd = here.join("a;b");
    fs::create_dir(&odd)?;
    fs::rename(old, odd.join("worker_graph.so"))?;
    says(call(&format!("{} loopback data=7", odd.join("worker_graph.so").display()))?, &["`;`", "rename it"])
}

#[test]
fn the_examples_of_the_help_work() -> Result<()> {
    let examples = examples_of("call")?;
    ensure!(examples.len() == 9, "{examples:?}");
    for (example, said) in examples {
        said.good().context(example)?;
    }
    Ok(())
}

#[test]
fn nothing_is_left_behind() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let graph = rust("worker_graph")?;
    for words in [&["call", &graph, "loopback", "data=1"][..], &["check", &graph], &["inspect", &graph]] {
        run(tool()?.args(words).env("TMPDIR", directory.path()))?.good()?;
        ensure!(fs::read_dir(directory.path())?.next().is_none(), "{words:?}");
    }
    Ok(())
}

#[test]
fn a_plugin_in_c_is_called_by_the_description_of_another() -> Result<()> {
    let protocol = rust("worker_graph")?;
    let file = in_c("worker_graph")?;
    let words = |command: &mut std::process::Command| -> Result<Said> {
        run(with_doca(command.args(["call", &file, "loopback", "data=7", "--protocol", &protocol]))?)
    };
    assert_eq!(words(&mut tool()?)?.good()?, "LoopbackDone\n  data = 7\n");

    let mut plugins = PluginDirectory::with(&[])?;
    plugins.add(in_c("worker_sandbox")?.as_ref())?;
    let prefix = urom_tests::c::prefix()?;
    let daemon =
        Uromd::start_with(plugins.path(), |command| command.env("LD_LIBRARY_PATH", prefix.library_path()))?;
    // 4 KiB in the plugin. C answers with the tag of another message, which the definition says.
    let map = "mem_map context=5 map_params={field_mask=7,address=0x1000,length=4096,flags=2}";
    let protocol = rust("worker_sandbox")?;
    let said =
        call(&format!("worker_sandbox {map} --protocol {protocol} --service {} --json", daemon.address()))?;
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
    let said = call(&format!("{} --raw @{} {at}", rust("worker_graph")?, file.display()))?.good()?;
    assert_eq!(said, "LoopbackDone\n  data = 9\n");
    says(call(&format!("worker_graph --raw hex:0 {at}"))?, &["--raw", "two hexadecimal digits"])?;
    Ok(())
}

#[test]
fn answers_are_json_for_scripts() -> Result<()> {
    let said =
        call(&format!("{} loopback data=18446744073709551615 --json", rust("worker_graph")?))?.json()?;
    assert_eq!(said["status"], json!({ "code": 0, "name": "DOCA_SUCCESS", "description": "success" }));
    assert_eq!(said["notification"], json!({ "name": "LoopbackDone", "fields": { "data": u64::MAX } }));
    assert_eq!(said["bytes"]["hex"], "0000000000000000ffffffffffffffff");
    ensure!(said["nanoseconds"].as_u64() > Some(0), "{said}");
    Ok(())
}

#[test]
fn arrays_take_text_and_come_back_as_bytes() -> Result<()> {
    let (daemon, _plugins) = daemon(&["worker_faulty"])?;
    let file = rust("worker_faulty")?;
    let said =
        call(&format!("{file} env name=UROM_PLUGIN_PATH --service {} --json", daemon.address()))?.json()?;
    let fields = &said["notification"]["fields"];
    ensure!(fields["len"].as_u64() > Some(1) && fields["value"]["len"] == 64, "{said}");
    let none =
        call(&format!("{file} env name=NO_SUCH_VARIABLE --service {} --json", daemon.address()))?.json()?;
    assert_eq!(none["notification"]["fields"]["len"], json!(u64::MAX));
    Ok(())
}

#[test]
fn a_status_other_than_success_is_named_and_fails_the_call() -> Result<()> {
    let (daemon, _plugins) = daemon(&["worker_faulty"])?;
    let file = rust("worker_faulty")?;
    let at = format!("--service {}", daemon.address());
    for (words, code, text) in [
        ("fail code=16", "DOCA_ERROR_NOT_FOUND", "resource not found"),
        ("fail code=6", "DOCA_ERROR_INVALID_VALUE", "invalid input"),
        ("panic", "DOCA_ERROR_UNEXPECTED", "unexpected scenario detected"),
    ] {
        let said = call(&format!("{file} {words} {at}"))?;
        assert_eq!(said.out, "", "there is nothing to read in a failed command's notification");
        says(said, &["`worker_faulty`", code, text, "worker's log"])?;
    }
    let said = call(&format!("{file} fail code=16 {at} --json"))?;
    let json: Value = serde_json::from_str(&said.out)?;
    assert_eq!((said.code, &json["status"]["code"]), (Some(1), &json!(16)));
    says(call(&format!("{file} crash {at}"))?, &["Crash of `worker_faulty` ended with", "worker"])?;
    Ok(())
}

/// What the tool says when it is given these lines to read.
fn call_with_input(words: &str, lines: &str) -> Result<Said> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("lines");
    fs::write(&file, lines)?;
    let mut command = tool_with(["call"].into_iter().chain(words.split_whitespace()))?;
    run(command.stdin(fs::File::open(file)?))
}

#[test]
fn several_commands_go_to_one_worker() -> Result<()> {
    let (daemon, _plugins) = daemon(&["worker_unruly"])?;
    let unruly = format!("{} --service {}", rust("worker_unruly")?, daemon.address());
    // It counts what it was told to leak, from the worker's start on.
    let kept = |data: &[u32]| data.iter().map(|data| format!("Kept\n  data = {data}\n")).collect::<String>();
    let said = call(&format!("{unruly} leak bytes=1 + leak bytes=2 + keep data=7 + leak bytes=4"))?;
    assert_eq!(said.good()?, kept(&[1, 3, 7, 7]));
    let lines = "leak bytes=1\n# the worker is the same\n\nleak bytes=2 + keep data='5'\nleak bytes=4\n";
    assert_eq!(call_with_input(&format!("{unruly} -"), lines)?.good()?, kept(&[1, 3, 5, 7]));
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("commands");
    fs::write(&file, lines)?;
    assert_eq!(call(&format!("{unruly} @{}", file.display()))?.good()?, kept(&[1, 3, 5, 7]));
    // An object for each.
    let said = call(&format!("{unruly} keep data=1 + keep data=2 --json"))?.good()?;
    let values =
        serde_json::Deserializer::from_str(&said).into_iter::<Value>().collect::<Result<Vec<_>, _>>()?;
    let data: Vec<_> = values.iter().map(|value| &value["notification"]["fields"]["data"]).collect();
    assert_eq!(data, [&json!(1), &json!(2)]);
    Ok(())
}

#[test]
fn one_of_several_commands_that_fails_keeps_none_of_the_others_from_being_sent() -> Result<()> {
    let (daemon, _plugins) = daemon(&["worker_faulty"])?;
    let faulty = format!("{} --service {}", rust("worker_faulty")?, daemon.address());
    let said = call(&format!("{faulty} echo data=1 + fail code=16 + hang + echo data=2 --timeout 1"))?;
    assert_eq!((said.code, &*said.out), (Some(1), "Echoed\n  data = 1\nEchoed\n  data = 2\n"));
    ensure!(said.err.contains("Fail of `worker_faulty` ended with DOCA_ERROR_NOT_FOUND"), "{said:?}");
    ensure!(said.err.contains("Hang of `worker_faulty` was not answered within 1 s"), "{said:?}");
    let lines = "echo data=1\nechoo data=2\necho data=\nfail code=16\necho data=2\n";
    let said = call_with_input(&format!("{faulty} -"), lines)?;
    assert_eq!((said.code, &*said.out), (Some(1), "Echoed\n  data = 1\nEchoed\n  data = 2\n"));
    ensure!(said.err.matches("error: ").count() == 3, "{said:?}");
    // A file is looked through before anything is sent.
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("commands");
    fs::write(&file, lines)?;
    let said = call(&format!("{faulty} @{}", file.display()))?;
    assert_eq!((said.code, &*said.out), (Some(1), ""));
    ensure!(said.err.contains("commands: ") && said.err.contains("no command `echoo`"), "{said:?}");
    says(call(&format!("{faulty} @/nowhere/commands"))?, &["cannot read /nowhere/commands"])
}

#[test]
fn workers_of_a_domain_reach_each_other() -> Result<()> {
    let sandbox = rust("worker_sandbox")?;
    let (daemon, _plugins) = daemon(&["worker_sandbox"])?;
    let line = "0:tag_recv count=5 tag=7 tag_mask=255 + 1:tag_send dest=0 tag=7 data=hello";
    for service in [String::new(), format!("--service {}", daemon.address())] {
        let said = call(&format!("{sandbox} --workers 2 {line} {service} --json"))?.good()?;
        let values =
            serde_json::Deserializer::from_str(&said).into_iter::<Value>().collect::<Result<Vec<_>, _>>()?;
        assert_eq!(values.len(), 2, "{said}");
        assert_eq!(values[0]["notification"]["name"], "TagReceived", "{said}");
        ensure!(values[0].to_string().contains("hello"), "{said}");
    }
    says(call(&format!("{sandbox} {line}"))?, &["no worker 1 for tag_send", "--workers 2 starts it"])?;
    says(
        call(&format!("{sandbox} --workers 2 2:tag_send dest=0 tag=7 data=x"))?,
        &["no worker 2", "--workers 3 starts it"],
    )
}

#[test]
fn a_list_that_lacks_something_is_told_what() -> Result<()> {
    let file = rust("worker_sandbox")?;
    let of = |value: &str| call(&format!("{file} mem_map map_params={value}"));
    says(of("{field_mask=7")?, &["no `}` at its end"])?;
    says(of("{field_mask=7,,flags=2}")?, &["nothing in front of its comma number 2"])?;
    Ok(())
}

#[test]
fn what_never_answers_is_waited_for_as_long_as_one_says() -> Result<()> {
    let (daemon, _plugins) = daemon(&["worker_faulty"])?;
    let start = Instant::now();
    let said = call(&format!("{} hang --timeout 1 --service {}", rust("worker_faulty")?, daemon.address()))?;
    ensure!(start.elapsed() >= Duration::from_secs(1));
    says(said, &["was not answered within 1 s", "--timeout"])
}

#[test]
fn mistakes_are_answered_before_anything_is_started() -> Result<()> {
    let graph = rust("worker_graph")?;
    let sandbox = rust("worker_sandbox")?;
    let absent = "/nowhere/worker_absent.so";
    for (words, parts) in [
        (format!("{graph} lopback data=1"), &["no command `lopback`", "did you mean `Loopback`?"][..]),
        (format!("{graph} loopback dota=1"), &["no field `dota`", "did you mean `data`?"]),
        (format!("{graph} loopback"), &["needs `data`", "data=<u64>"]),
        (format!("{graph} loopback data=x"), &["data: `x` is no integer for a u64"]),
        (format!("{graph} loopback data=18446744073709551616"), &["does not fit a u64"]),
        (
            format!("{sandbox} tag_send dest=1 tag=2 data=@/nowhere"),
            &["data: the file `/nowhere` cannot be read"],
        ),
        (format!("{absent} loopback data=1"), &[absent, "cannot be read"]),
        ("worker_graph loopback data=1".to_owned(), &["nowhere to look", "UROM_PLUGIN_PATH", "--service"]),
    ] {
        says(call(&words)?, parts).context(words)?;
    }
    let mut command = tool()?;
    command.args(["call", "worker_absent", "x"]).env("UROM_PLUGIN_PATH", "/nowhere;/tmp");
    says(run(&mut command)?, &["no plugin `worker_absent` in UROM_PLUGIN_PATH, which is /nowhere;/tmp"])?;
    for wrong in [
        "",
        "x.so loopback data",
        "x.so loopback data=1 --repeat 0",
        "x.so loopback data=1 --in-flight 2",
        "x.so loopback data=1 + loopback data=2 --repeat 2",
        "x.so - --repeat 2",
        "x.so @file --repeat 2",
        "x.so loopback data=1 +",
        "x.so one:loopback data=1",
        "x.so loopback data=1 --workers 0",
        "x.so --raw hex:00 loopback",
    ] {
        assert_eq!(call(wrong)?.code, Some(2), "{wrong}");
    }
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
    says(said, &["looking for plugin `worker_graph`", "the service has `worker_sandbox`", "UROM_PLUGIN_PATH"])
}

#[test]
fn a_repeated_call_reports_every_command() -> Result<()> {
    let (daemon, _plugins) = daemon(&["worker_graph"])?;
    let words =
        format!("{} loopback data=42 --repeat 2000 --service {}", rust("worker_graph")?, daemon.address());
    for (in_flight, warm_up, words) in [
        (1, 200, words.clone()),
        (13, 200, format!("{words} --in-flight 13")),
        (4, 7, format!("{words} --in-flight 4 --warm-up 7")),
    ] {
        let said = call(&format!("{words} --json"))?.json()?;
        let number = |name: &str| said[name].as_u64();
        assert_eq!((number("count"), number("asked"), number("errors")), (Some(2000), Some(2000), Some(0)));
        assert_eq!((number("in_flight"), number("warm_up")), (Some(in_flight), Some(warm_up)));
        let latency = ["min", "p50", "p90", "p99", "max"]
            .map(|name| said["latency_ns"][name].as_u64().unwrap_or_default());
        ensure!(latency.is_sorted() && latency[0] > 0, "{said}");
        // By Little's law: the window over the mean time. The median is no larger than twice the mean.
        let (rate, seconds) =
            (said["rate"].as_f64().context("rate")?, said["seconds"].as_f64().context("seconds")?);
        ensure!((rate * seconds - 2000.0).abs() < 1.0, "{said}");
        ensure!(rate * latency[1] as f64 / 1e9 < 2.0 * in_flight as f64 + 0.1, "{said}");
        let table = call(&words)?.good()?;
        for part in
            ["commands    2000 of 2000", &format!("after {warm_up} for warming up"), "p99", "per second"]
        {
            ensure!(table.contains(part), "no {part:?} in\n{table}");
        }
    }
    Ok(())
}

#[test]
fn errors_of_a_repeated_call_are_counted_and_fail_it() -> Result<()> {
    let (daemon, _plugins) = daemon(&["worker_faulty"])?;
    let file = rust("worker_faulty")?;
    let at = format!("--in-flight 8 --service {}", daemon.address());
    let said = call(&format!("{file} fail code=16 --repeat 100 {at} --json"))?;
    let json: Value = serde_json::from_str(&said.out)?;
    assert_eq!((&json["count"], &json["errors"]), (&json!(100), &json!(100)));
    says(said, &["100 of 100 answers: resource not found (DOCA_ERROR_NOT_FOUND)"])?;
    let said = call(&format!("{file} hang --repeat 100 --warm-up 0 --timeout 1 {at} --json"))?;
    let json: Value = serde_json::from_str(&said.out)?;
    assert_eq!(json["count"], json!(0));
    says(said, &["it ended after 0 of 100 commands", "DOCA_ERROR_TIME_OUT"])?;
    says(
        call(&format!("{file} hang --repeat 100 --timeout 1 {at}"))?,
        &["the warm-up ended after 0 commands"],
    )?;
    let said = call(&format!("{file} crash --repeat 100 --warm-up 0 {at} --json"))?;
    assert_eq!(said.code, Some(1), "{said:?}");
    Ok(())
}
