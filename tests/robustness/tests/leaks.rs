//! Nothing that a plugin allocates on the C heap is left when it is closed: alone in its process, because the heap is
//! counted as a whole. Sanitizers and Miri have heaps of their own and find leaks by themselves.
#![cfg(all(target_env = "gnu", not(miri)))]

use std::mem;
use std::path::Path;

use urom_abi::descriptor::CommandDesc;

const ROUNDS: usize = 50;

/// The growth of the C heap over many rounds. Its caches grow too, now and then; what is lost every round is always seen.
fn least_growth(round: impl Fn()) -> usize {
    // SAFETY: no preconditions.
    let in_use = || unsafe { libc::mallinfo2() }.uordblks;
    let grown = || {
        let before = in_use();
        (0..ROUNDS).for_each(|_| round());
        in_use().saturating_sub(before)
    };
    (0..6).map(|_| grown()).min().unwrap_or(usize::MAX)
}

#[test]
fn no_input_of_the_corpus_leaves_anything_on_the_heap() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/worker_cmd");
    let files = std::fs::read_dir(corpus).expect("the corpus");
    let mut files: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    // The programs that were written by hand do everything once.
    files.retain(|file| file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("seed-")));
    assert!(!files.is_empty());
    let inputs: Vec<_> = files.iter().map(|file| std::fs::read(file).expect("a readable file")).collect();
    // What plugins log would be long.
    let nothing = std::fs::File::create("/dev/null").expect("/dev/null");
    // SAFETY: two open descriptors.
    assert_eq!(unsafe { libc::dup2(std::os::fd::AsRawFd::as_raw_fd(&nothing), 2) }, 2);
    let run = || inputs.iter().for_each(|input| robustness::targets::worker_cmd(input));
    let forget = || mem::forget(CommandDesc::new(0, 0, 0, &[]).expect("the C heap has room"));
    let (all, least) = (least_growth(run), 40 * ROUNDS);
    assert!(all < least, "{all} bytes were not given back");
    if std::env::var_os("UROM_SANITIZED").is_none() {
        let leaking = least_growth(|| {
            run();
            forget();
        });
        assert!(leaking > least, "one command lost each round would be seen");
    }
}
