//! Quantities for people, and text for HTML.

/// Text as HTML and SVG have it, in attributes too.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Nanoseconds.
pub(crate) fn time(nanoseconds: f64) -> String {
    match nanoseconds.abs() {
        magnitude if magnitude >= 1e9 => format!("{} s", plain(nanoseconds / 1e9)),
        magnitude if magnitude >= 1e6 => format!("{} ms", plain(nanoseconds / 1e6)),
        magnitude if magnitude >= 1e3 => format!("{} µs", plain(nanoseconds / 1e3)),
        _ => format!("{} ns", plain(nanoseconds)),
    }
}

/// Something a second.
pub(crate) fn rate(each_second: f64) -> String {
    match each_second {
        _ if each_second >= 1e6 => format!("{} M/s", plain(each_second / 1e6)),
        _ if each_second >= 1e3 => format!("{} k/s", plain(each_second / 1e3)),
        _ => format!("{} /s", plain(each_second)),
    }
}

/// Bytes; few of them in full, unless they are whole KiB.
pub(crate) fn size(bytes: f64) -> String {
    match bytes {
        _ if bytes >= 1_048_576.0 => format!("{} MiB", plain(bytes / 1_048_576.0)),
        _ if bytes >= 1024.0 && (bytes >= 10_240.0 || bytes % 1024.0 == 0.0) => {
            format!("{} KiB", plain(bytes / 1024.0))
        }
        _ => format!("{} B", plain(bytes)),
    }
}

/// A quantity of any unit.
pub(crate) fn quantity(value: f64, unit: &str) -> String {
    match unit {
        "ns" => time(value),
        "us" => time(value * 1e3),
        "/s" => rate(value),
        "bytes" => size(value),
        "" => plain(value),
        other => format!("{} {other}", plain(value)),
    }
}

/// Three digits that count, or all before the point.
pub(crate) fn plain(value: f64) -> String {
    let magnitude = value.abs();
    let text = match magnitude {
        _ if magnitude >= 100.0 => format!("{value:.0}"),
        _ if magnitude >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    };
    let trimmed =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    // A negative value that is nearly nothing is nothing.
    if trimmed == "-0" { "0".to_owned() } else { trimmed.to_owned() }
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
        assert_eq!(
            (size(8.0), size(4096.0), size(16_777_216.0)),
            ("8 B".into(), "4 KiB".into(), "16 MiB".into())
        );
    }

    #[test]
    fn a_mean_of_bytes_is_read_as_a_round_number_of_them_is() {
        assert_eq!(quantity(5_402_364.0, "bytes"), "5.15 MiB");
        assert_eq!(quantity(20_000.5, "bytes"), "19.5 KiB");
        assert_eq!(quantity(4000.0, "bytes"), "4000 B");
        assert_eq!(quantity(0.0, "bytes"), "0 B");
    }

    #[test]
    fn what_is_less_than_nothing_keeps_its_unit_and_what_is_nearly_nothing_has_no_sign() {
        assert_eq!(quantity(-0.001, "allocations"), "0 allocations");
        assert_eq!(quantity(-0.0, ""), "0");
        assert_eq!(quantity(-0.4, ""), "-0.4");
        assert_eq!(quantity(-2_080.0, "ns"), "-2.08 µs");
        assert_eq!(quantity(-2.08, "ns"), "-2.08 ns");
    }
}
