//! `doca_cpu_set_t`: the CPUs of a service or a worker.

use std::fmt;

/// A set of up to 1024 CPUs (`doca_cpu_set_t`, 128 bytes; bit `c` is in word `c / 64`). Its text
/// form is used by `taskset` and `uromd --cpus`: `0-7,9`.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct CpuSet {
    words: [u64; 16],
}

const _: () = assert!(size_of::<CpuSet>() == 128 && align_of::<CpuSet>() == 8);

impl CpuSet {
    /// The largest CPU number plus 1.
    #[doc(hidden)]
    pub const CAPACITY: usize = 1024;

    /// Returns an empty set.
    pub const fn empty() -> CpuSet {
        CpuSet { words: [0; 16] }
    }

    /// Adds a CPU (`DOCA_CPU_SET`); false and unchanged from [`CAPACITY`](Self::CAPACITY) on.
    pub const fn insert(&mut self, cpu: usize) -> bool {
        if cpu >= Self::CAPACITY {
            return false;
        }
        self.words[cpu / 64] |= 1 << (cpu % 64);
        true
    }

    /// Returns whether a CPU is in the set (`doca_cpu_is_set`).
    pub const fn contains(&self, cpu: usize) -> bool {
        cpu < Self::CAPACITY && self.words[cpu / 64] & (1 << (cpu % 64)) != 0
    }

    /// Returns whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// Returns whether every CPU of this set is in `other`.
    #[doc(hidden)]
    pub fn is_subset(&self, other: &CpuSet) -> bool {
        self.words.iter().zip(&other.words).all(|(mine, theirs)| mine & !theirs == 0)
    }

    /// Iterates over the CPUs in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        (0..Self::CAPACITY).filter(|cpu| self.contains(*cpu))
    }
}

impl FromIterator<usize> for CpuSet {
    /// Ignores numbers of at least [`CAPACITY`](CpuSet::CAPACITY).
    fn from_iter<I: IntoIterator<Item = usize>>(cpus: I) -> CpuSet {
        let mut set = CpuSet::empty();
        for cpu in cpus {
            set.insert(cpu);
        }
        set
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.iter().peekable();
        let mut separator = "";
        while let Some(first) = cpus.next() {
            let mut last = first;
            while cpus.peek() == Some(&(last + 1)) {
                last += 1;
                cpus.next();
            }
            write!(f, "{separator}{first}")?;
            if last > first {
                write!(f, "-{last}")?;
            }
            separator = ",";
        }
        Ok(())
    }
}

impl fmt::Debug for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CpuSet({self})")
    }
}

/// Error of parsing a CPU set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{part}` is not a CPU or a range of CPUs below {}; write, for example, 0-3,6",
    CpuSet::CAPACITY
)]
pub struct ParseCpuSetError {
    part: String,
}

impl std::str::FromStr for CpuSet {
    type Err = ParseCpuSetError;

    fn from_str(text: &str) -> Result<CpuSet, ParseCpuSetError> {
        let mut set = CpuSet::empty();
        for part in text.split(',') {
            let wrong = || ParseCpuSetError { part: part.to_owned() };
            let number =
                |s: &str| s.trim().parse::<usize>().ok().filter(|cpu| *cpu < CpuSet::CAPACITY);
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = number(first).zip(number(last)).ok_or_else(wrong)?;
            if first > last {
                return Err(wrong());
            }
            for cpu in first..=last {
                set.insert(cpu);
            }
        }
        Ok(set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_set_agree_both_ways() {
        for text in ["0", "0-7", "1,3,5-6", "1023", "63-64"] {
            assert_eq!(text.parse::<CpuSet>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn text_that_is_no_set_is_named() {
        for text in ["", "a", "3-1", "1024", "0-", "1,,2", "-1", "99999999999999999999"] {
            assert!(text.parse::<CpuSet>().is_err(), "{text:?}");
        }
        assert!("0,x1".parse::<CpuSet>().unwrap_err().to_string().contains("`x1`"));
    }

    #[test]
    fn a_number_beyond_the_capacity_is_refused_not_wrapped() {
        let mut set = CpuSet::empty();
        assert!(!set.insert(1024));
        assert!(set.is_empty() && !set.contains(1024));
    }

    #[test]
    fn subsets_are_seen_across_words() {
        let all: CpuSet = "0-100".parse().unwrap();
        let some: CpuSet = "3,99".parse().unwrap();
        assert!(some.is_subset(&all) && !all.is_subset(&some));
    }
}
