//! Medians, and sides measured in turns.

use anyhow::{Context, Result};

/// Returns the middle value, or the mean of the two middle values; `None` if empty.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    Some(sorted[(sorted.len() - 1) / 2].midpoint(upper))
}

pub(crate) fn of_rounds(rounds: &[f64]) -> Result<f64> {
    median(rounds).context("no round was measured")
}

/// Measures sides `0..sides` `rounds` times; the first side rotates. Returns the values of each
/// side, round by round.
pub(crate) fn in_turns<T>(
    rounds: usize,
    sides: usize,
    mut measure: impl FnMut(usize) -> Result<T>,
) -> Result<Vec<Vec<T>>> {
    let mut all: Vec<Vec<T>> = (0..sides).map(|_| Vec::new()).collect();
    for round in 0..rounds {
        for turn in 0..sides {
            let side = (round + turn) % sides;
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
        let mut order = Vec::new();
        let all = in_turns(3, 3, |side| {
            order.push(side);
            Ok(side)
        });
        assert_eq!(all.unwrap(), [vec![0; 3], vec![1; 3], vec![2; 3]]);
        assert_eq!(order, [0, 1, 2, 1, 2, 0, 2, 0, 1]);
    }
}
