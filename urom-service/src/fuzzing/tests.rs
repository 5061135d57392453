//! The committed inputs of the targets, with the [seeds](super::seeds) among them.

use std::fs;
use std::path::PathBuf;

use super::ALL;
use super::seeds::*;

fn corpus(target: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target)
}

#[test]
fn every_committed_input_holds() {
    for (target, body) in ALL {
        let files = fs::read_dir(corpus(target)).expect(target);
        let mut count = 0;
        for file in files {
            let file = file.unwrap().path();
            let input = fs::read(&file).unwrap();
            count += 1;
            if let Err(panic) = std::panic::catch_unwind(|| body(&input)) {
                eprintln!("{target}: {}", file.display());
                std::panic::resume_unwind(panic);
            }
        }
        assert!(count > 0, "{target} has no input");
    }
}

/// `UROM_REPLAY` names a directory of inputs that failed together, in that of their target.
#[test]
fn what_failed_after_others_is_replayed() {
    let Some(directory) = std::env::var_os("UROM_REPLAY").map(PathBuf::from) else { return };
    let target =
        directory.parent().and_then(|parent| parent.file_name()).expect("the target's directory");
    let (_, body) = ALL.into_iter().find(|(name, _)| *name == target).expect("a target");
    let files = fs::read_dir(&directory).expect("a directory").map(|file| file.unwrap().path());
    let mut files: Vec<_> = files.filter(|file| file.extension().is_none()).collect();
    files.sort();
    assert!(!files.is_empty(), "{} has no inputs", directory.display());
    for file in files {
        eprintln!("{}", file.display());
        body(&fs::read(&file).unwrap());
    }
}

/// `UROM_BLESS=1` writes them.
#[test]
fn seeds_are_committed() {
    let all = [
        ("control_messages", of_control()),
        ("daemon", of_daemon()),
        ("domain_table", of_domain()),
        ("greeting", of_greeting()),
        ("hello", of_hello()),
        ("host_control", of_host_control()),
        ("host_frames", of_host_frames()),
        ("ucx_address", of_ucx_address()),
        ("worker_control", of_worker_control()),
        ("worker_frames", of_worker_frames()),
    ];
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
