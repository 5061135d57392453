//! `--repeat`.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{Remote, says};

#[test]
fn a_repeated_call_reports_every_command() -> Result<()> {
    let graph = Remote::new("worker_graph")?;
    for (in_flight, words) in [(1, ""), (13, "--in-flight 13")] {
        let words = format!("loopback data=42 --repeat 2000 {words}");
        let said = graph.call(&format!("{words} --json"))?.json()?;
        let number = |name: &str| said[name].as_u64();
        assert_eq!(
            (number("count"), number("asked"), number("errors"), number("in_flight")),
            (Some(2000), Some(2000), Some(0), Some(in_flight))
        );
        let (rate, seconds) =
            (said["rate"].as_f64().context("rate")?, said["seconds"].as_f64().context("seconds")?);
        ensure!((rate * seconds - 2000.0).abs() < 1.0, "{said}");
        let table = graph.call(&words)?.good()?;
        for part in ["commands    2000 of 2000", "per second"] {
            ensure!(table.contains(part), "no {part:?} in\n{table}");
        }
    }
    Ok(())
}

#[test]
fn errors_of_a_repeated_call_are_counted_and_fail_it() -> Result<()> {
    let remote = Remote::new("worker_faulty")?;
    let faulty = |words: &str| remote.call(&format!("{words} --in-flight 8"));
    let said = faulty("fail code=16 --repeat 100 --json")?;
    let json: Value = serde_json::from_str(&said.out)?;
    assert_eq!((&json["count"], &json["errors"]), (&json!(100), &json!(100)));
    says(said, &["100 of 100 answers: Fail of `worker_faulty` ended with DOCA_ERROR_NOT_FOUND"])?;
    let said = faulty("hang --repeat 100 --timeout 1 --json")?;
    let json: Value = serde_json::from_str(&said.out)?;
    assert_eq!(json["count"], json!(0));
    says(said, &["it ended after 0 of 100 commands", "was not answered within 1 s"])?;
    let said = faulty("crash --repeat 100 --json")?;
    assert_eq!(said.code, Some(1), "{said:?}");
    Ok(())
}
