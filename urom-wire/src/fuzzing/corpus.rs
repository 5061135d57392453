//! The committed inputs and seeds of fuzz targets, checked by a test of each crate with bodies.

use std::fs;
use std::path::PathBuf;

use super::{Body, frames, now};
use crate::envelope::{Envelope, VerificationTag};
use crate::stream::send;

pub type Seeds = Vec<(String, Vec<u8>)>;

fn corpus(target: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target)
}

pub fn encoded<T: serde::Serialize>(message: &T) -> Vec<u8> {
    let mut bytes = Vec::new();
    now(send(&mut bytes, message)).unwrap();
    bytes
}

/// Panics if a committed input fails, or if a seed among them is outdated.
pub fn check(targets: &[(&str, Body)], seeds: Vec<(&str, Seeds)>) {
    replay(targets);
    seeds_are_committed(seeds);
    every_input_holds(targets);
}

fn every_input_holds(targets: &[(&str, Body)]) {
    for (target, body) in targets {
        let files = fs::read_dir(corpus(target)).expect(target);
        let mut count = 0;
        for file in files.map(|file| file.unwrap().path()) {
            let input = fs::read(&file).unwrap();
            count += 1;
            if let Err(panic) = std::panic::catch_unwind(|| body(&input)) {
                eprintln!("{target}: {}", file.display());
                std::panic::resume_unwind(panic);
            }
        }
        assert!(count > 0, "{target} lacks input");
    }
}

/// Runs the inputs in the directory `UROM_REPLAY`, in order: they failed together. It is inside its
/// target's directory; the target may be another crate's.
fn replay(targets: &[(&str, Body)]) {
    let Some(directory) = std::env::var_os("UROM_REPLAY").map(PathBuf::from) else { return };
    let target =
        directory.parent().and_then(|parent| parent.file_name()).expect("the target's directory");
    assert!(corpus(&target.to_string_lossy()).is_dir(), "{target:?} is not a target");
    let Some((_, body)) = targets.iter().find(|(name, _)| *name == target) else { return };
    let files = fs::read_dir(&directory).expect("a directory").map(|file| file.unwrap().path());
    let mut files: Vec<_> = files.filter(|file| file.extension().is_none()).collect();
    files.sort();
    assert!(!files.is_empty(), "{} lacks inputs", directory.display());
    for file in files {
        eprintln!("{}", file.display());
        body(&fs::read(&file).unwrap());
    }
}

/// Compares the seeds with the committed ones. `UROM_BLESS=1` writes them.
fn seeds_are_committed(all: Vec<(&str, Seeds)>) {
    for (target, seeds) in all {
        for (name, bytes) in seeds {
            let file = corpus(target).join(format!("seed-{name}"));
            if std::env::var_os("UROM_BLESS").is_some() {
                fs::create_dir_all(corpus(target)).unwrap();
                fs::write(&file, &bytes).unwrap();
            }
            assert_eq!(
                fs::read(&file).unwrap_or_default(),
                bytes,
                "{target}: seed-{name}; UROM_BLESS=1 writes it"
            );
        }
    }
}

pub fn strange() -> Vec<u8> {
    let message = |how: u8, header: &[u8], data: &[u8]| {
        [&[6 + 8 * how, header.len() as u8], header, &[data.len() as u8], data].concat()
    };
    let kinds = (1..8).flat_map(|how| message(how, &[how; 2], &[how; 9])).collect();
    let bare = (1..8).flat_map(|how| message(how, &[], &[])).collect();
    let command = frames::command(0, 0, &[]);
    let envelope = Envelope { tag: VerificationTag::new(0x0101_0101), channel: 0 };
    let with_pass = message(0, &[], &frames::message(envelope, &command));
    [kinds, bare, with_pass, message(2, b"expected", &[]), message(4, &[], &command), vec![7]]
        .concat()
}
