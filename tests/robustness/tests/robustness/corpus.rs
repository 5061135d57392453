//! Runs the committed inputs of the fuzz targets.
#![cfg_attr(miri, allow(dead_code, reason = "Miri does without files"))]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use robustness::subject::{SUBJECTS, Subject};
use robustness::{description, targets};

use crate::{programs, samples};

fn directory(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target)
}

fn inputs(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let directory = directory(target);
    let entries =
        fs::read_dir(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let files = entries.map(|entry| entry.expect("a readable directory").path());
    files.map(|file| (file.clone(), fs::read(&file).expect("a readable file"))).collect()
}

fn seeds(target: &str) -> Vec<(String, Vec<u8>)> {
    match target {
        "worker_cmd" => {
            programs::programs().into_iter().map(|(name, program)| (name, program.0)).collect()
        }
        "rdmo_message" => messages(),
        "exported_map" => maps(),
        "exported_event" => events(),
        "description_read" => {
            let named = |subject: &&'static Subject| {
                (subject.description.name.to_owned(), description::of(subject))
            };
            SUBJECTS.iter().map(named).collect()
        }
        _ => {
            let is_command = target == "command_decode";
            let samples =
                samples::all().into_iter().filter(|sample| sample.is_command == is_command);
            samples
                .map(|sample| (sample.name, [&[sample.protocol][..], &sample.bytes].concat()))
                .collect()
        }
    }
}

/// Maps with each permission, with right and wrong checksums.
fn maps() -> Vec<(String, Vec<u8>)> {
    use urom_memory::{Access, Mmap};
    let both = Access::LOCAL_READ_WRITE | Access::PCI_READ_WRITE;
    let named = [("both", both), ("read", Access::PCI_READ_ONLY)];
    let seeds = named.map(|(name, access)| {
        let map = Mmap::from_vec(vec![0; 10], access).expect("it has bytes");
        let mut bytes = map.export().expect("others may read it");
        // Number and address differ in each run.
        bytes[16..32].copy_from_slice(&[3; 16]);
        let whole = |choice: u8| [&[choice], &bytes[..]].concat();
        [(name.to_owned(), whole(1)), (format!("{name}-damaged"), whole(0))]
    });
    seeds.concat().into_iter().map(without_sum).collect()
}

/// An event: unchanged, with a wrong counter, of another process, and truncated.
fn events() -> Vec<(String, Vec<u8>)> {
    let changed = |choice: u8, at: usize, change: u8| {
        let mut input = vec![0; at + 2];
        (input[0], input[at + 1]) = (choice, change);
        input
    };
    let named = [
        ("same", changed(1, 0, 0)),
        ("offset", changed(1, 40, 8)),
        ("process", changed(1, 16, 1)),
        ("cut", changed(3, 62, 0)),
    ];
    named.map(|(name, input)| (name.to_owned(), input)).into()
}

fn without_sum((name, mut bytes): (String, Vec<u8>)) -> (String, Vec<u8>) {
    let len = bytes.len();
    bytes[len - 4..].fill(0);
    (name, bytes)
}

fn messages() -> Vec<(String, Vec<u8>)> {
    use rdmo_protocol::data::{Operation, Part, Request};
    let mut parts = Vec::new();
    for data in [&b"odd"[..], b"", b"behind"] {
        Part { address: 1, rkey: 2, data }.write(&mut parts).expect("it is short");
    }
    let append = Operation::Append { pointer: 1, pointer_rkey: 2, data_rkey: 3 };
    let messages = [
        ("append", append, b"data".to_vec()),
        ("flush", Operation::Flush { flush_id: 0xbeef }, Vec::new()),
        ("scatter", Operation::Scatter { count: 3 }, parts),
    ];
    let message = |(name, operation, data): (&str, Operation, Vec<u8>)| {
        let mut buffer = Request::BUFFER;
        let request = Request { client: 0, fence: true, operation };
        let header = request.header(&mut buffer);
        (name.to_owned(), [&[header.len() as u8][..], header, &data].concat())
    };
    messages.into_iter().map(message).collect()
}

#[test]
#[cfg_attr(miri, ignore = "needs files; the programs and corruptions run under Miri")]
fn every_input_of_the_corpus_holds() {
    crate::quiet();
    for (name, body) in targets::ALL {
        let inputs = inputs(name);
        assert!(!inputs.is_empty(), "{name} lacks input");
        for (file, input) in inputs {
            let outcome = std::panic::catch_unwind(|| body(&input));
            assert!(outcome.is_ok(), "{} does not hold", file.display());
        }
    }
}

/// Includes the service's targets, whose inputs its own tests run.
#[test]
#[cfg_attr(miri, ignore = "needs files")]
fn every_target_has_inputs_and_there_are_no_others() {
    let names = |directory: PathBuf| {
        let entries = fs::read_dir(directory).expect("a readable directory");
        let files = entries.map(|entry| PathBuf::from(entry.expect("an entry").file_name()));
        files.map(|file| file.with_extension("")).collect::<BTreeSet<_>>()
    };
    assert_eq!(names(directory("")), names(directory("../fuzz_targets")));
}

#[test]
#[cfg_attr(miri, ignore = "needs files")]
fn the_corpus_is_small() {
    let targets = fs::read_dir(directory("")).expect("the corpus");
    let names =
        targets.map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"));
    let files: Vec<_> = names.flat_map(|name| inputs(&name)).collect();
    let bytes: usize = files.iter().map(|(_, input)| input.len()).sum();
    assert!(files.len() < 768 && bytes < 1 << 20, "{} files, {bytes} bytes", files.len());
}

/// `UROM_BLESS=1` writes the seeds.
#[test]
#[cfg_attr(miri, ignore = "needs files")]
fn the_corpus_has_every_seed() {
    for (target, _) in targets::ALL {
        for (name, seed) in seeds(target) {
            let file = directory(target).join(format!("seed-{name}"));
            if std::env::var_os("UROM_BLESS").is_some() {
                fs::create_dir_all(directory(target)).expect("a directory");
                fs::write(&file, &seed).expect("a writable file");
            }
            let found = fs::read(&file).unwrap_or_default();
            assert_eq!(
                found,
                seed,
                "{}: `UROM_BLESS=1 cargo test -p robustness` writes it",
                file.display()
            );
        }
    }
}
