//! How a failure reads.

/// An error and what is behind it as one sentence, without saying anything twice: many errors
/// repeat the one behind them.
pub fn explain(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for link in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = link;
        } else if !text.contains(&link) {
            text = format!("{text}: {link}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    #[test]
    fn every_cause_is_said_once() {
        let error = anyhow!("no route").context("sending failed: no route").context("round 3");
        assert_eq!(explain(&error), "round 3: sending failed: no route");
        assert_eq!(explain(&anyhow!("alone")), "alone");
    }
}
