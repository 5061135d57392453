//! [`Condition`]: a condition for waiting on a counter. `urom-memory` contains the counter itself.

use std::fmt;

use crate::host_memory::MemoryAction;

/// A wait condition on a sync event's counter (`doca_sync_event_wait_gt`,
/// `doca_sync_event_wait_eq`, `doca_sync_event_wait_neq`). The counter has 64 bits, unsigned.
///
/// ```
/// use urom_abi::sync_event::Condition;
///
/// let condition = Condition::greater(2).masked(0xff);
/// // Only the counter is masked, not the value.
/// assert!(condition.is_met(0x103) && !condition.is_met(0x102));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Condition {
    relation: Relation,
    mask: u64,
    value: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Relation {
    Greater,
    Equal,
    NotEqual,
}

impl Condition {
    /// Waits for a counter greater than `value` (`doca_sync_event_wait_gt`).
    #[must_use]
    pub const fn greater(value: u64) -> Condition {
        Condition { relation: Relation::Greater, mask: u64::MAX, value }
    }

    /// Waits for a counter equal to `value` (`doca_sync_event_wait_eq`).
    #[must_use]
    pub const fn equal(value: u64) -> Condition {
        Condition { relation: Relation::Equal, mask: u64::MAX, value }
    }

    /// Waits for a counter other than `value` (`doca_sync_event_wait_neq`).
    #[must_use]
    pub const fn not_equal(value: u64) -> Condition {
        Condition { relation: Relation::NotEqual, mask: u64::MAX, value }
    }

    /// Masks the counter before the comparison. A second mask replaces the first.
    #[must_use]
    pub const fn masked(self, mask: u64) -> Condition {
        Condition { mask, ..self }
    }

    /// Returns whether the counter meets the condition.
    #[inline]
    #[must_use]
    pub const fn is_met(&self, counter: u64) -> bool {
        let counter = counter & self.mask;
        match self.relation {
            Relation::Greater => counter > self.value,
            Relation::Equal => counter == self.value,
            Relation::NotEqual => counter != self.value,
        }
    }

    #[doc(hidden)]
    pub const fn action(&self) -> (MemoryAction, u64, u64) {
        let action = match self.relation {
            Relation::Greater => MemoryAction::WAIT_GT,
            Relation::Equal => MemoryAction::WAIT_EQ,
            Relation::NotEqual => MemoryAction::WAIT_NEQ,
        };
        (action, self.mask, self.value)
    }

    #[doc(hidden)]
    pub const fn of(action: MemoryAction, operand: u64, compare: u64) -> Option<Condition> {
        let condition = match action {
            MemoryAction::WAIT_GT => Condition::greater(compare),
            MemoryAction::WAIT_EQ => Condition::equal(compare),
            MemoryAction::WAIT_NEQ => Condition::not_equal(compare),
            _ => return None,
        };
        Some(condition.masked(operand))
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = match self.relation {
            Relation::Greater => ">",
            Relation::Equal => "==",
            Relation::NotEqual => "!=",
        };
        match self.mask {
            u64::MAX => write!(f, "counter {sign} {}", self.value),
            mask => write!(f, "(counter & {mask:#x}) {sign} {}", self.value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_is_compared_after_the_mask() {
        let max = u64::MAX;
        for (condition, met, unmet) in [
            (Condition::greater(0), &[1, max][..], &[0][..]),
            (Condition::greater(7), &[8, 1 << 63], &[0, 7]),
            (Condition::greater(max), &[], &[0, max]),
            (Condition::equal(7), &[7], &[0, 6, 8, max]),
            (Condition::not_equal(7), &[0, 6, 8, max], &[7]),
            (Condition::greater(7).masked(0xf0), &[0x10, 0x1f], &[7, 8, 0x0f, 0x100]),
            (Condition::equal(1).masked(1), &[1, 3, max], &[0, 2]),
            // The value is not masked, so no counter equals it.
            (Condition::equal(0x101).masked(1), &[], &[1, 0x101]),
            (Condition::not_equal(0x101).masked(1), &[1, 0x101], &[]),
            (Condition::equal(0).masked(0), &[0, 1, max], &[]),
            (Condition::greater(0).masked(0), &[], &[0, 1, max]),
        ] {
            for &counter in met {
                assert!(condition.is_met(counter), "{condition}: {counter}");
            }
            for &counter in unmet {
                assert!(!condition.is_met(counter), "{condition}: {counter}");
            }
        }
    }

    #[test]
    fn a_condition_survives_as_an_action_and_other_actions_are_none() {
        for kind in [Condition::greater, Condition::equal, Condition::not_equal] {
            for condition in [kind(0), kind(u64::MAX).masked(5)] {
                let (action, operand, compare) = condition.action();
                assert_eq!(Condition::of(action, operand, compare), Some(condition));
            }
        }
        for action in (0..=MemoryAction::LOAD.0).chain([10, u32::MAX]) {
            assert_eq!(Condition::of(MemoryAction(action), 0, 0), None);
        }
    }

    #[test]
    fn a_condition_is_written_as_c_writes_it() {
        assert_eq!(Condition::greater(3).to_string(), "counter > 3");
        assert_eq!(Condition::equal(3).masked(15).to_string(), "(counter & 0xf) == 3");
        assert_eq!(Condition::not_equal(0).to_string(), "counter != 0");
    }
}
