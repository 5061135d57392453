//! Medians, and sides measured in turns.

use anyhow::Result;

/// The middle value, or the mean of the two in the middle; nothing of nothing.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    let lower = sorted[(sorted.len() - 1) / 2];
    Some(lower.midpoint(upper))
}

/// Measures two sides `rounds` times, now this one first and now that. Returns what each side gave, round by round.
///
/// # Errors
/// The first that either side gives.
pub(crate) fn alternate<T>(
    rounds: usize,
    mut a: impl FnMut() -> Result<T>,
    mut b: impl FnMut() -> Result<T>,
) -> Result<[Vec<T>; 2]> {
    in_turns(rounds, |side| if side == 0 { a() } else { b() })
}

/// Measures any number of sides `rounds` times, each round beginning with the next of them. Returns what each side gave, round by
/// round.
///
/// # Errors
/// The first that a side gives.
pub(crate) fn in_turns<T, const SIDES: usize>(
    rounds: usize,
    mut measure: impl FnMut(usize) -> Result<T>,
) -> Result<[Vec<T>; SIDES]> {
    let mut all = [const { Vec::new() }; SIDES];
    for round in 0..rounds {
        for turn in 0..SIDES {
            let side = (round + turn) % SIDES;
            all[side].push(measure(side)?);
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 100.0]), Some(3.0));
    }

    #[test]
    fn sides_take_turns_in_going_first() {
        let order = std::cell::RefCell::new(String::new());
        let side = |name| {
            order.borrow_mut().push(name);
            Ok(name)
        };
        let all = alternate(3, || side('a'), || side('b')).unwrap();
        assert_eq!(*order.borrow(), "abbaab");
        assert_eq!(all, [vec!['a'; 3], vec!['b'; 3]]);
        let mut order = Vec::new();
        let all = in_turns(3, |side| {
            order.push(side);
            Ok(side)
        });
        assert_eq!(all.unwrap(), [vec![0; 3], vec![1; 3], vec![2; 3]]);
        assert_eq!(order, [0, 1, 2, 1, 2, 0, 2, 0, 1]);
    }
}
