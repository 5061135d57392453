//! Several commands, in arguments and in lines, to one worker and to several.

use std::fs;

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use urom_abi::WorkerId;
use urom_host::Service;

use super::{Remote, call, call_with_input, is_wrong, says};
use crate::common::{daemon, run, rust, tool_with};

/// What `--json` prints, an object for each command.
fn objects(said: &str) -> Result<Vec<Value>> {
    let objects = serde_json::Deserializer::from_str(said).into_iter();
    Ok(objects.collect::<Result<_, _>>()?)
}

#[test]
fn several_commands_go_to_one_worker() -> Result<()> {
    let unruly = Remote::new("worker_unruly")?;
    // It counts what it was told to leak, from the worker's start on.
    let kept = |data: &[u32]| {
        data.iter().map(|data| format!("Kept\n  data = {data}\n")).collect::<String>()
    };
    let said = unruly.call("leak bytes=1 + leak bytes=2 + keep data=7 + leak bytes=4")?;
    assert_eq!(said.good()?, kept(&[1, 3, 7, 7]));
    let lines =
        "leak bytes=1\n# the worker is the same\n\nleak bytes=2 + keep data='5'\nleak bytes=4\n";
    assert_eq!(unruly.call_with_input("-", lines)?.good()?, kept(&[1, 3, 5, 7]));
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("commands");
    fs::write(&file, lines)?;
    assert_eq!(unruly.call(&format!("@{}", file.display()))?.good()?, kept(&[1, 3, 5, 7]));
    // An object for each.
    let said = unruly.call("keep data=1 + keep data=2 --json")?.good()?;
    let values = objects(&said)?;
    let data: Vec<_> =
        values.iter().map(|value| &value["notification"]["fields"]["data"]).collect();
    assert_eq!(data, [&json!(1), &json!(2)]);
    Ok(())
}

#[test]
fn one_of_several_commands_that_fails_keeps_none_of_the_others_from_being_sent() -> Result<()> {
    let faulty = Remote::new("worker_faulty")?;
    let said = faulty.call("echo data=1 + fail code=16 + hang + echo data=2 --timeout 1")?;
    assert_eq!((said.code, &*said.out), (Some(1), "Echoed\n  data = 1\nEchoed\n  data = 2\n"));
    ensure!(
        said.err.contains("Fail of `worker_faulty` ended with DOCA_ERROR_NOT_FOUND"),
        "{said:?}"
    );
    ensure!(said.err.contains("Hang of `worker_faulty` was not answered within 1 s"), "{said:?}");
    let lines = "echo data=1\nechoo data=2\necho data=\nfail code=16\necho data=2\n";
    let said = faulty.call_with_input("-", lines)?;
    assert_eq!((said.code, &*said.out), (Some(2), "Echoed\n  data = 1\nEchoed\n  data = 2\n"));
    ensure!(said.err.matches("error: ").count() == 3, "{said:?}");
    for part in [
        "line 2 of standard input: plugin `worker_faulty`: there is no command `echoo`",
        "line 3 of standard input: plugin `worker_faulty`: Echo: data: `` is no integer",
        "line 4 of standard input: Fail of `worker_faulty` ended with DOCA_ERROR_NOT_FOUND",
    ] {
        ensure!(said.err.contains(part), "no {part:?} in {said:?}");
    }
    // A file is looked through before anything is sent.
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("commands");
    fs::write(&file, lines)?;
    let said = faulty.call(&format!("@{}", file.display()))?;
    assert_eq!(said.out, "");
    let place = format!(
        "error: line 2 of {}: plugin `worker_faulty`: there is no command `echoo`",
        file.display()
    );
    is_wrong(said, &[&place])?;
    says(faulty.call("@/nowhere/commands")?, &["cannot read /nowhere/commands"])
}

#[test]
fn workers_of_a_domain_reach_each_other() -> Result<()> {
    let sandbox = rust("worker_sandbox")?;
    let (daemon, _plugins) = daemon(&["worker_sandbox"])?;
    let line = "0:tag_recv count=5 tag=7 tag_mask=255 + 1:tag_send dest=0 tag=7 data=hello";
    for service in [String::new(), format!("--service {}", daemon.address())] {
        let said = call(&format!("{sandbox} --workers 2 {line} {service} --json"))?.good()?;
        let values = objects(&said)?;
        assert_eq!(values.len(), 2, "{said}");
        assert_eq!(values[0]["notification"]["name"], "TagReceived", "{said}");
        ensure!(values[0].to_string().contains("hello"), "{said}");
    }
    is_wrong(
        call(&format!("{sandbox} {line}"))?,
        &["no worker 1 for tag_send", "--workers 2 starts it"],
    )?;
    is_wrong(
        call(&format!("{sandbox} --workers 2 2:tag_send dest=0 tag=7 data=x"))?,
        &["no worker 2", "--workers 3 starts it"],
    )
}

#[test]
fn what_is_wrong_in_lines_is_told_with_file_and_line() -> Result<()> {
    let graph = rust("worker_graph")?;
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("commands");
    let from_file = |lines: &[u8]| {
        fs::write(&file, lines)?;
        call(&format!("{graph} @{}", file.display()))
    };
    for (line, part) in [
        (&b"loopback data=x"[..], "plugin `worker_graph`: Loopback: data: `x` is no integer"),
        (b"lopback data=1", "plugin `worker_graph`: there is no command `lopback`"),
        (
            b"loopback data=1 + 1:loopback data=2",
            "there is no worker 1 for loopback: --workers 2 starts it",
        ),
    ] {
        let lines = [b"loopback data=1\n# more\n", line, b"\nloopback data=2\n"].concat();
        let said = from_file(&lines)?;
        assert_eq!(said.out, "", "nothing is sent: {part}");
        is_wrong(said, &[&format!("error: line 3 of {}: {part}", file.display())])?;
        let said = call_with_input(&format!("{graph} -"), &lines)?;
        assert_eq!(said.out, "LoopbackDone\n  data = 1\nLoopbackDone\n  data = 2\n", "{part}");
        is_wrong(said, &[&format!("error: line 3 of standard input: {part}")])?;
    }
    assert_eq!(from_file(b"loopback data=1\r\n\r\n")?.good()?, "LoopbackDone\n  data = 1\n");
    // What cannot be read has no further lines.
    let place = directory.path().display();
    says(
        call(&format!("{graph} @{place}"))?,
        &[&format!("cannot read line 1 of {place}: Is a directory")],
    )?;
    let mut command = tool_with(["call", &graph, "-"])?;
    let said = run(command.stdin(fs::File::open(directory.path())?))?;
    says(said, &["cannot read line 1 of standard input: Is a directory"])
}

#[test]
fn values_with_spaces_are_quoted() -> Result<()> {
    let sandbox = rust("worker_sandbox")?;
    let line =
        "mem_map 'map_params={ field_mask=7, address=4096 ,length = 4096, flags=2 }' context=5";
    let said = call_with_input(&format!("{sandbox} -"), line)?.good()?;
    ensure!(said.contains("MemMapped\n  context = 5\n"), "{said}");
    Ok(())
}

#[test]
fn any_number_of_commands_is_sent_with_some_in_flight() -> Result<()> {
    let faulty = Remote::new("worker_faulty")?;
    let echo = |data: usize| (format!("echo data={data}"), format!("Echoed\n  data = {data}\n"));
    let (line, answers): (Vec<_>, Vec<_>) = (0..1000).map(echo).unzip();
    let (line, answers) = (line.join(" + "), answers.concat());
    assert_eq!(faulty.call(&line)?.good()?, answers);
    assert_eq!(faulty.call_with_input("-", &line)?.good()?, answers);

    // A command that is given up leaves room for others, unless there are too many of these.
    let hangs = |count: usize| vec!["hang"; count].join(" + ");
    let line = format!("{} + {line}\necho data=7\n", hangs(63));
    let said = faulty.call_with_input("- --timeout 1", line)?;
    assert_eq!((said.code, &*said.out), (Some(1), &*(answers + "Echoed\n  data = 7\n")));
    assert_eq!(said.err.matches("Hang of `worker_faulty` was not answered within 1 s").count(), 63);
    let said = faulty
        .call_with_input("- --timeout 1", format!("{} + echo data=1\necho data=2", hangs(64)))?;
    assert_eq!((said.code, &*said.out), (Some(1), ""));
    for line in 1..=2 {
        let part = format!(
            "line {line} of standard input: Echo of `worker_faulty` was not sent: its worker has not \
             answered 64 earlier commands"
        );
        ensure!(said.err.contains(&part), "no {part:?} in {said:?}");
    }
    Ok(())
}

#[test]
fn the_worker_of_another_host_is_called_by_the_name_that_logs_give_it() -> Result<()> {
    let remote = Remote::new("worker_faulty")?;
    let service = Service::builder().address(remote.daemon.address()).connect()?;
    let faulty = service.plugin::<faulty_protocol::Protocol>()?;
    let worker = service.worker().plugin(&faulty).start().wait()?;
    assert_eq!(WorkerId(worker.id()).to_string(), "auto-1");
    let pid = faulty.task_pid(&worker).submit()?.wait()?.pid;
    assert_eq!(remote.call("pid --worker auto-1")?.good()?, format!("Process\n  pid = {pid}\n"));
    let number = worker.id();
    assert_eq!(
        remote.call(&format!("pid --worker {number}"))?.good()?,
        format!("Process\n  pid = {pid}\n")
    );
    let another = remote.call("pid")?.good()?;
    ensure!(another != format!("Process\n  pid = {pid}\n"), "{another}");
    for (id, part) in [
        ("auto-", "expected a number, or auto-N"),
        ("auto-x", "expected a number, or auto-N"),
        ("x", "expected a number, or auto-N"),
        ("-1", "expected a number, or auto-N"),
        ("18446744073709551615", "leave out --worker"),
        ("18446744073709551616", "expected a number, or auto-N"),
        ("7 --workers 2", "cannot be used with"),
    ] {
        let said = remote.call(&format!("pid --worker {id}"))?.wrong()?;
        ensure!(said.contains(part), "{id}: {said}");
    }
    Ok(())
}
