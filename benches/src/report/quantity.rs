//! Human-readable quantities.

const TIMES: &[(f64, &str)] = &[(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")];
const RATES: &[(f64, &str)] = &[(1e6, "M/s"), (1e3, "k/s"), (1.0, "/s")];
/// Small sizes are in bytes, unless they are whole KiB.
const SIZES: &[(f64, &str)] = &[(1_048_576.0, "MiB"), (1024.0, "KiB")];

pub(crate) fn quantity(value: f64, unit: &str) -> String {
    match unit {
        "ns" => scaled(value, TIMES),
        "us" => scaled(value * 1e3, TIMES),
        "/s" => scaled(value, RATES),
        "bytes" if value < 10_240.0 && value % 1024.0 != 0.0 => format!("{} B", plain(value)),
        "bytes" if value != 0.0 => scaled(value, SIZES),
        "bytes" => "0 B".to_owned(),
        "" => plain(value),
        other => format!("{} {other}", plain(value)),
    }
}

fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    let fits = units.iter().find(|(factor, _)| value.abs() >= *factor).or(units.last());
    let (factor, unit) = fits.copied().unwrap_or((1.0, ""));
    format!("{} {unit}", plain(value / factor))
}

/// Three significant digits, or all before the point.
pub(crate) fn plain(value: f64) -> String {
    let digits = match value.abs() {
        magnitude if magnitude >= 100.0 => 0,
        magnitude if magnitude >= 10.0 => 1,
        _ => 2,
    };
    let text = format!("{value:.digits$}");
    let text = if digits == 0 { &text } else { text.trim_end_matches('0').trim_end_matches('.') };
    // A negative value near 0 loses its sign.
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_at_a_glance() {
        assert_eq!(quantity(489.4, "ns"), "489 ns");
        assert_eq!(quantity(10_020.0, "ns"), "10 µs");
        assert_eq!(quantity(4_200_000.0, "/s"), "4.2 M/s");
        assert_eq!(quantity(0.0, ""), "0");
        assert_eq!(quantity(100.0, "MiB"), "100 MiB");
        assert_eq!(quantity(4096.0, "bytes"), "4 KiB");
        assert_eq!(quantity(16_777_216.0, "bytes"), "16 MiB");
    }

    #[test]
    fn a_mean_of_bytes_is_read_as_a_round_number_of_them_is() {
        assert_eq!(quantity(5_402_364.0, "bytes"), "5.15 MiB");
        assert_eq!(quantity(20_000.5, "bytes"), "19.5 KiB");
        assert_eq!(quantity(4000.0, "bytes"), "4000 B");
        assert_eq!(quantity(0.0, "bytes"), "0 B");
    }

    #[test]
    fn a_negative_number_keeps_its_unit_and_one_near_zero_has_no_sign() {
        assert_eq!(quantity(-0.001, "allocations"), "0 allocations");
        assert_eq!(quantity(-0.0, ""), "0");
        assert_eq!(quantity(-0.4, ""), "-0.4");
        assert_eq!(quantity(-2_080.0, "ns"), "-2.08 µs");
        assert_eq!(quantity(-2.08, "ns"), "-2.08 ns");
    }
}
