//! The channel numbers of a progress engine's connections.

use std::collections::VecDeque;

/// Connections by channel number. A number is reused only after all others, so that a late frame of
/// a hung worker does not reach another connection.
pub(super) struct Channels<T> {
    all: Vec<Option<T>>,
    resting: VecDeque<u16>,
    /// XORed with an index in `all` to make unpredictable channel numbers.
    mask: u16,
}

impl<T: Clone> Channels<T> {
    pub(super) fn new(mask: u16) -> Channels<T> {
        Channels { all: Vec::new(), resting: VecDeque::new(), mask }
    }

    /// Allocates a number for a new connection. `None` if all 65536 are in use.
    pub(super) fn open(&mut self, make: impl FnOnce(u16) -> T) -> Option<T> {
        let index = match u16::try_from(self.all.len()) {
            Ok(fresh) => {
                self.all.push(None);
                fresh
            }
            Err(_) => self.resting.pop_front()?,
        };
        let connection = make(index ^ self.mask);
        self.all[usize::from(index)] = Some(connection.clone());
        Some(connection)
    }

    pub(super) fn close(&mut self, number: u16) {
        let index = number ^ self.mask;
        if self.all.get_mut(usize::from(index)).and_then(Option::take).is_some() {
            self.resting.push_back(index);
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.all.iter().flatten()
    }

    #[inline]
    pub(super) fn get(&self, number: u16) -> Option<&T> {
        self.all.get(usize::from(number ^ self.mask))?.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_given_again_only_after_all_others_were() {
        for mask in [0, 0x4711, u16::MAX] {
            let mut channels = Channels::new(mask);
            for round in 0..2 {
                for index in 0..=u16::MAX {
                    assert_eq!(channels.open(|number| number), Some(index ^ mask), "round {round}");
                    channels.close(index ^ mask);
                    assert_eq!(channels.get(index ^ mask), None);
                }
            }
        }
    }

    #[test]
    fn all_numbers_can_be_taken_and_no_more() {
        let mut channels = Channels::new(0x00ff);
        for index in 0..=u16::MAX {
            assert_eq!(channels.open(|number| number), Some(index ^ 0x00ff));
        }
        assert_eq!(channels.open(|number| number), None);
        channels.close(7);
        channels.close(7);
        assert_eq!(channels.open(|number| number), Some(7));
        assert_eq!(channels.open(|number| number), None);
    }
}
