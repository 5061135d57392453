use proptest::prelude::*;

use super::*;

const FIRST: u32 = 3;

/// The allocator and its model: for each granule, whether it is in use and may be dirty.
struct Checked {
    runs: Runs,
    used: Vec<GranuleRun>,
    dirty: Vec<bool>,
}

#[derive(Debug, Clone)]
enum Step {
    Extend(u32),
    Take { len: u32, align: u32 },
    Give { which: usize, clean: bool },
    Split { which: usize, part: u32 },
    Grow { which: usize, more: u32 },
}

impl Checked {
    fn new() -> Checked {
        Checked { runs: Runs::new(FIRST), used: Vec::new(), dirty: vec![true; FIRST as usize] }
    }

    fn extend(&mut self, more: u32) {
        self.dirty.resize(self.dirty.len() + more as usize, false);
        self.runs.extend(more);
    }

    fn take(&mut self, len: u32, align: u32) -> Option<u32> {
        let Some((run, is_clean)) = self.runs.take(len, align) else {
            let longest = self.free().iter().map(|run| run.len).max().unwrap_or(0);
            assert!(longest < len + align - 1, "{longest} granules are free");
            return None;
        };
        assert_eq!((run.start % align, run.len), (0, len));
        assert!(run.start >= FIRST && self.free().iter().any(|free| holds(*free, run)));
        if is_clean {
            assert!(!self.dirty[range(run)].contains(&true), "{run:?} was used");
        }
        self.dirty[range(run)].fill(true);
        self.used.push(run);
        Some(run.start)
    }

    fn give(&mut self, which: usize, clean: bool) {
        if self.used.is_empty() {
            return;
        }
        let run = self.used.swap_remove(which % self.used.len());
        self.dirty[range(run)].fill(!clean);
        let mut given = self.runs.give(run.start, clean, true);
        while let Ok(Some(large)) = given {
            assert!(large.len >= RELEASE && holds(large, run));
            assert!(!self.used.iter().any(|used| overlaps(*used, large)));
            self.dirty[range(large)].fill(false);
            given = self.runs.give(large.start, true, true);
        }
        assert_eq!(given, Ok(None));
        // A second free is an error, unless another run begins there by now.
        assert_eq!(self.runs.give(run.start, false, true), Err(NoRun));
    }

    fn free(&self) -> Vec<GranuleRun> {
        let mut used = self.used.clone();
        used.sort_by_key(|run| run.start);
        let mut free = Vec::new();
        let mut at = FIRST;
        for run in used.into_iter().chain([GranuleRun { start: self.runs.end(), len: 0 }]) {
            if run.start > at {
                free.push(GranuleRun { start: at, len: run.start - at });
            }
            at = run.start + run.len;
        }
        free
    }

    fn check(&mut self) {
        let mut listed = Vec::new();
        for (start, entry) in &self.runs.runs {
            let Some(most) = entry.dirty else { continue };
            let found = GranuleRun { start: *start, len: entry.len };
            let dirty = self.dirty[range(found)].iter().filter(|dirty| **dirty).count();
            assert!(dirty <= most as usize && most <= entry.len);
            assert!(self.runs.free.contains(&(entry.len, *start)));
            listed.push(found);
        }
        assert_eq!((&listed, listed.len()), (&self.free(), self.runs.free.len()));
        self.used.sort_by_key(|run| run.start);
        assert_eq!(self.runs.used().collect::<Vec<_>>(), self.used);
    }

    fn run(&mut self, step: &Step) {
        match *step {
            Step::Extend(more) => self.extend(more),
            Step::Take { len, align } => drop(self.take(len, align)),
            Step::Give { which, clean } => self.give(which, clean),
            Step::Split { which, part } if !self.used.is_empty() => {
                let which = which % self.used.len();
                let run = self.used[which];
                if run.len > 1 {
                    let len = 1 + part % (run.len - 1);
                    assert_eq!(self.runs.split(run.start, len), Ok(run.start + len));
                    self.used[which].len = len;
                    self.used.push(GranuleRun { start: run.start + len, len: run.len - len });
                }
            }
            Step::Grow { which, more } if !self.used.is_empty() => {
                let which = which % self.used.len();
                let run = self.used[which];
                let end = run.start + run.len;
                let behind =
                    self.free().iter().find(|free| free.start == end).map_or(0, |it| it.len);
                let grown = self.runs.grow(run.start, run.len + more);
                assert_eq!(grown, Ok(behind >= more));
                if behind >= more {
                    let added = GranuleRun { start: end, len: more };
                    self.dirty[range(added)].fill(true);
                    self.used[which].len += more;
                }
            }
            Step::Split { .. } | Step::Grow { .. } => {}
        }
        self.check();
    }
}

fn range(run: GranuleRun) -> std::ops::Range<usize> {
    run.start as usize..(run.start + run.len) as usize
}

fn holds(outer: GranuleRun, inner: GranuleRun) -> bool {
    outer.start <= inner.start && inner.start + inner.len <= outer.start + outer.len
}

fn overlaps(one: GranuleRun, other: GranuleRun) -> bool {
    one.start < other.start + other.len && other.start < one.start + one.len
}

fn step() -> impl Strategy<Value = Step> {
    let align = prop_oneof![4 => Just(1u32), 1 => (1..6u32).prop_map(|power| 1 << power)];
    prop_oneof![
        1 => (1..200u32).prop_map(Step::Extend),
        6 => (1..80u32, align).prop_map(|(len, align)| Step::Take { len, align }),
        5 => (any::<usize>(), any::<bool>()).prop_map(|(which, clean)| Step::Give { which, clean }),
        1 => (any::<usize>(), any::<u32>()).prop_map(|(which, part)| Step::Split { which, part }),
        1 => (any::<usize>(), 1..40u32).prop_map(|(which, more)| Step::Grow { which, more }),
    ]
}

proptest! {
    #[test]
    fn runs_never_overlap_and_neighbours_are_joined(
        steps in prop::collection::vec(step(), 1..120),
    ) {
        let mut checked = Checked::new();
        for step in &steps {
            checked.run(step);
        }
        while !checked.used.is_empty() {
            checked.give(0, false);
            checked.check();
        }
    }
}

#[test]
fn addresses_that_nobody_was_given_are_refused() {
    let mut checked = Checked::new();
    checked.extend(100);
    let start = checked.take(10, 1).expect("there is space");
    for wrong in [0, FIRST - 1, start + 1, start + 9, start + 10, 102, 103, 104, u32::MAX] {
        assert_eq!(checked.runs.give(wrong, false, true), Err(NoRun), "{wrong}");
        assert_eq!(checked.runs.len(wrong), Err(NoRun), "{wrong}");
        assert_eq!(checked.runs.grow(wrong, 1), Err(NoRun), "{wrong}");
        assert_eq!(checked.runs.split(wrong, 1), Err(NoRun), "{wrong}");
    }
    assert_eq!(checked.runs.len(start), Ok(10));
}

#[test]
fn no_run_is_taken_without_space() {
    let mut checked = Checked::new();
    assert_eq!(checked.take(1, 1), None);
    checked.extend(20);
    assert_eq!(checked.take(21, 1), None);
    assert_eq!(checked.runs.take(u32::MAX, 1), None);
    assert_eq!(checked.runs.take(u32::MAX, 1 << 31), None);
    assert_eq!(checked.take(20, 1), Some(FIRST));
    assert_eq!(checked.take(1, 1), None);
}

#[test]
fn small_runs_are_given_back_together() {
    let mut checked = Checked::new();
    checked.extend(4 * RELEASE);
    let starts: Vec<u32> = (0..RELEASE).filter_map(|_| checked.take(1, 1)).collect();
    let mut released = 0;
    for start in starts {
        if let Ok(Some(run)) = checked.runs.give(start, false, true) {
            released += 1;
            assert_eq!(checked.runs.give(run.start, true, true), Ok(None));
        }
    }
    assert_eq!(released, 1);
}
