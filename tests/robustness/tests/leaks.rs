//! A closed plugin has freed all its memory on the C heap. The test has its own process, because it
//! counts the whole heap. Sanitizers and Miri have their own heaps and leak checks.
#![cfg(all(target_env = "gnu", not(miri)))]

use std::mem;
use std::path::Path;

use urom_abi::descriptor::CommandDesc;

const ROUNDS: usize = 50;

/// Usual growth of the C heap in bytes, over many rounds. Its caches vary now and then; a leak in
/// every round shows in most measurements.
fn usual_growth(round: impl Fn()) -> i64 {
    // SAFETY: `mallinfo2` has no preconditions.
    let in_use = || unsafe { libc::mallinfo2() }.uordblks;
    let grown = || {
        let before = in_use();
        (0..ROUNDS).for_each(|_| round());
        in_use() as i64 - before as i64
    };
    let mut grown = [(); 7].map(|()| grown());
    grown.sort_unstable();
    grown[grown.len() / 2]
}

#[test]
fn no_input_of_the_corpus_leaves_anything_on_the_heap() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/worker_cmd");
    let files = std::fs::read_dir(corpus).expect("the corpus");
    let mut files: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    // The seeds, written by hand, use every feature once.
    files.retain(|file| {
        file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("seed-"))
    });
    assert!(!files.is_empty());
    let inputs: Vec<_> =
        files.iter().map(|file| std::fs::read(file).expect("a readable file")).collect();
    // The plugins' logs would be long.
    let nothing = std::fs::File::create("/dev/null").expect("/dev/null");
    // SAFETY: both descriptors are open.
    assert_eq!(unsafe { libc::dup2(std::os::fd::AsRawFd::as_raw_fd(&nothing), 2) }, 2);
    let run = || inputs.iter().for_each(|input| robustness::targets::worker_cmd(input));
    let forget = || mem::forget(CommandDesc::new(0, 0, 0, &[]).expect("the C heap suffices"));
    let (all, least) = (usual_growth(run), 40 * ROUNDS as i64);
    assert!(all < least, "{all} bytes were not given back");
    if std::env::var_os("UROM_SANITIZED").is_none() {
        let leaking = usual_growth(|| {
            run();
            forget();
        });
        assert!(
            leaking > least,
            "one command lost each round would be seen, not just {leaking} bytes"
        );
    }
}
