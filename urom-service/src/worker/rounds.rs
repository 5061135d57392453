//! Chooses the plugins to poll in a turn.
//!
//! A plugin that owes answers is polled every turn. Other plugins may serve peers: they are polled
//! every turn for a moment, then once in [`ROUND`] steps, and after every sleep. A hand goes round
//! like a clock's, one position for each poll for commands and each command. A plugin that moves
//! other data, such as its own UCX messages, is polled every turn for longer.

/// Steps in one round of the hand: the largest number of plugins.
pub(crate) const ROUND: u32 = u64::BITS;

/// Steps awake after a plugin moved other data: more than a message and its answer take.
const MOVING: u32 = 16 * ROUND;

#[derive(Debug)]
pub(crate) struct Rounds {
    all: u64,
    owing: u64,
    /// Polled every turn: they owe answers, or owed some when the hand last passed them, or since.
    awake: u64,
    /// Plugins that moved other data, and their remaining steps.
    moving: u64,
    moves: u32,
    commands: u32,
    hand: u32,
}

impl Rounds {
    pub(crate) fn new(plugins: usize) -> Rounds {
        debug_assert!(plugins <= ROUND as usize);
        let all = (0..plugins).fold(0, |all, index| all | bit(index));
        Rounds { all, owing: 0, awake: all, moving: 0, moves: 0, commands: 0, hand: 0 }
    }

    #[inline]
    pub(crate) fn owes(&mut self, index: usize) {
        self.owing |= bit(index);
        self.commands += 1;
    }

    /// Records a command that was answered at once.
    #[inline]
    pub(crate) fn answered(&mut self, index: usize) {
        self.awake |= bit(index);
        self.commands += 1;
    }

    /// Records that the plugin moved other data, and may have more to do.
    #[inline]
    pub(crate) fn moved(&mut self, index: usize) {
        self.moving |= bit(index);
        self.moves = MOVING;
    }

    #[inline]
    pub(crate) fn any_moves(&self) -> bool {
        self.moving != 0
    }

    #[inline]
    pub(crate) fn settled(&mut self, index: usize) {
        self.owing &= !bit(index);
    }

    #[inline]
    pub(crate) fn any_owes(&self) -> bool {
        self.owing != 0
    }

    /// Returns the plugins to poll in this turn, after `looks` polls for commands.
    #[inline]
    pub(crate) fn due(&mut self, looks: u32) -> DuePlugins {
        let steps = looks.saturating_add(std::mem::take(&mut self.commands));
        self.moves = self.moves.saturating_sub(steps);
        if self.moves == 0 {
            self.moving = 0;
        }
        if self.owing == self.all {
            // All are awake, so the hand's position does not matter.
            self.awake = self.all;
            return DuePlugins(self.all);
        }
        let passed =
            if steps < ROUND { ((1 << steps) - 1_u64).rotate_left(self.hand) } else { u64::MAX };
        self.hand = self.hand.wrapping_add(steps) % ROUND;
        self.awake = self.awake & !passed | self.owing | self.moving;
        DuePlugins((self.awake | passed) & self.all)
    }
}

#[inline]
fn bit(index: usize) -> u64 {
    1 << (index as u32 % ROUND)
}

#[derive(Debug)]
pub(crate) struct DuePlugins(u64);

impl Iterator for DuePlugins {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let index = self.0.trailing_zeros() as usize;
        self.0 &= self.0 - 1;
        Some(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts the polls of each plugin in `turns` turns of one step each.
    fn polls(rounds: &mut Rounds, turns: usize) -> Vec<usize> {
        let mut polls = vec![0; rounds.all.count_ones() as usize];
        (0..turns).for_each(|_| rounds.due(1).for_each(|index| polls[index] += 1));
        polls
    }

    #[test]
    fn one_that_moves_something_of_its_own_is_polled_every_turn_for_a_while() {
        let mut rounds = Rounds::new(3);
        polls(&mut rounds, 2 * ROUND as usize);
        rounds.moved(1);
        let polled = polls(&mut rounds, MOVING as usize);
        assert_eq!(polled, [16, MOVING as usize, 16]);
        polls(&mut rounds, ROUND as usize);
        assert!(!rounds.any_moves());
        assert_eq!(polls(&mut rounds, ROUND as usize), [1, 1, 1]);
    }

    #[test]
    fn one_busy_plugin_among_62_pays_for_one_resting_one_a_turn() {
        let mut rounds = Rounds::new(62);
        rounds.owes(40);
        polls(&mut rounds, 200);
        let seen = polls(&mut rounds, 640);
        assert_eq!(seen[40], 640);
        assert!(
            seen.iter().enumerate().all(|(index, polls)| index == 40 || *polls == 10),
            "{seen:?}"
        );
    }

    #[test]
    fn a_plugin_falls_to_rest_only_a_while_after_its_last_answer() {
        for turns_before in 0..ROUND as usize {
            let mut rounds = Rounds::new(1);
            polls(&mut rounds, 200 + turns_before);
            rounds.owes(0);
            assert!(rounds.any_owes());
            assert_eq!(polls(&mut rounds, 500), [500]);
            rounds.settled(0);
            assert!(!rounds.any_owes());
            let awake = (0..1000).take_while(|_| polls(&mut rounds, 1) == [1]).count();
            assert!(awake <= ROUND as usize, "{awake}");
            // The count ended with a turn without a poll.
            assert_eq!(polls(&mut rounds, 62), [0]);
            assert_eq!(polls(&mut rounds, 1), [1]);
        }
    }

    #[test]
    fn many_commands_in_a_turn_and_a_sleep_count_as_many_turns() {
        let mut rounds = Rounds::new(62);
        polls(&mut rounds, 200);
        let four: usize = (0..16).map(|_| rounds.due(4).count()).sum();
        assert_eq!(four, 62);
        assert_eq!(rounds.due(ROUND).count(), 62);
        assert_eq!(rounds.due(u32::MAX).count(), 62);
    }

    #[test]
    fn a_full_worker_and_an_empty_one() {
        let mut rounds = Rounds::new(64);
        assert_eq!(rounds.due(1).collect::<Vec<_>>(), (0..64).collect::<Vec<_>>());
        rounds.owes(63);
        assert!(rounds.due(1).any(|index| index == 63));
        assert_eq!(Rounds::new(0).due(64).count(), 0);
    }
}
