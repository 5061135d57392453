//! The numbers by which a progress engine tells its connections apart.

use std::collections::VecDeque;

/// How many numbers rest before the first is used again, so that a late frame finds nobody rather than somebody else.
const RESTING: usize = 64;

/// Connections by channel number.
pub(super) struct Channels<T> {
    all: Vec<Option<T>>,
    resting: VecDeque<u16>,
}

impl<T: Clone> Channels<T> {
    pub(super) fn new() -> Channels<T> {
        Channels { all: Vec::new(), resting: VecDeque::new() }
    }

    /// Gives a new connection its number. `None` when all 65536 are taken or rest.
    pub(super) fn open(&mut self, make: impl FnOnce(u16) -> T) -> Option<T> {
        let fresh = u16::try_from(self.all.len()).ok();
        let rested =
            if self.resting.len() > RESTING || fresh.is_none() { self.resting.pop_front() } else { None };
        let number = rested.or(fresh)?;
        let connection = make(number);
        if rested.is_none() {
            self.all.push(None);
        }
        self.all[usize::from(number)] = Some(connection.clone());
        Some(connection)
    }

    /// Frees a number.
    pub(super) fn close(&mut self, number: u16) {
        if self.all.get_mut(usize::from(number)).and_then(Option::take).is_some() {
            self.resting.push_back(number);
        }
    }

    /// Every connection.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.all.iter().flatten()
    }

    /// The connection with a number.
    #[inline]
    pub(super) fn get(&self, number: u16) -> Option<&T> {
        self.all.get(usize::from(number))?.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_rests_before_it_is_used_again() {
        let mut channels = Channels::new();
        for expected in 0..=(RESTING as u16) {
            assert_eq!(channels.open(|number| number), Some(expected));
            channels.close(expected);
            assert_eq!(channels.get(expected), None);
        }
        assert_eq!(channels.open(|number| number), Some(0));
        assert_eq!(channels.get(0), Some(&0));
    }

    #[test]
    fn all_numbers_can_be_taken_and_no_more() {
        let mut channels = Channels::new();
        for expected in 0..=u16::MAX {
            assert_eq!(channels.open(|number| number), Some(expected));
        }
        assert_eq!(channels.open(|number| number), None);
        channels.close(7);
        channels.close(7);
        assert_eq!(channels.open(|number| number), Some(7));
        assert_eq!(channels.open(|number| number), None);
    }
}
