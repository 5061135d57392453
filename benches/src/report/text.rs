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
    match nanoseconds {
        _ if nanoseconds >= 1e9 => format!("{} s", plain(nanoseconds / 1e9)),
        _ if nanoseconds >= 1e6 => format!("{} ms", plain(nanoseconds / 1e6)),
        _ if nanoseconds >= 1e3 => format!("{} µs", plain(nanoseconds / 1e3)),
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

/// Bytes.
pub(crate) fn size(bytes: f64) -> String {
    match bytes {
        _ if bytes % 1024.0 != 0.0 => format!("{bytes} B"),
        _ if bytes >= 1_048_576.0 => format!("{} MiB", plain(bytes / 1_048_576.0)),
        _ if bytes >= 1024.0 => format!("{} KiB", plain(bytes / 1024.0)),
        _ => format!("{bytes} B"),
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
    let trimmed = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    trimmed.to_owned()
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
}
