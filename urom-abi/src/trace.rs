//! The trace context of a command, as the W3C's header `traceparent` defines it.

use std::fmt;
use std::str::FromStr;

/// Number of bytes of a context in frames and in C structures.
pub const CONTEXT_LEN: usize = 25;

/// The trace and the span that a command belongs to. Neither id is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceContext {
    pub trace_id: u128,
    pub span_id: u64,
    /// Bit 0: the trace is sampled.
    pub flags: u8,
}

impl TraceContext {
    pub const SAMPLED: u8 = 1;

    #[must_use]
    pub fn is_sampled(&self) -> bool {
        self.flags & TraceContext::SAMPLED != 0
    }

    /// Returns both ids in network byte order, and the flags.
    #[must_use]
    pub fn to_bytes(self) -> [u8; CONTEXT_LEN] {
        let mut bytes = [0; CONTEXT_LEN];
        bytes[..16].copy_from_slice(&self.trace_id.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.span_id.to_be_bytes());
        bytes[24] = self.flags;
        bytes
    }

    /// Returns the context of [`to_bytes`](Self::to_bytes); `None` if an id is 0.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; CONTEXT_LEN]) -> Option<TraceContext> {
        let (trace_id, rest) = bytes.split_first_chunk()?;
        let (span_id, flags) = rest.split_first_chunk()?;
        let (trace_id, span_id) = (u128::from_be_bytes(*trace_id), u64::from_be_bytes(*span_id));
        (trace_id != 0 && span_id != 0).then_some(TraceContext {
            trace_id,
            span_id,
            flags: *flags.first()?,
        })
    }
}

/// A `traceparent` of version 00.
impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TraceContext { trace_id, span_id, flags } = self;
        write!(f, "00-{trace_id:032x}-{span_id:016x}-{flags:02x}")
    }
}

/// Reads a `traceparent` of any version, which may have further parts.
impl FromStr for TraceContext {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<TraceContext, &'static str> {
        const WRONG: &str = "expected 00-TRACE-SPAN-FLAGS, with 32, 16 and 2 hexadecimal digits";
        let mut parts = text.split('-');
        let mut part = |digits: usize| {
            let is_hex = |part: &&str| {
                part.len() == digits
                    && part.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
            };
            let part = parts.next().filter(is_hex).ok_or(WRONG)?;
            u128::from_str_radix(part, 16).map_err(|_| WRONG)
        };
        let (version, trace_id) = (part(2)?, part(32)?);
        let (span_id, flags) = (part(16)? as u64, part(2)? as u8);
        let is_whole = version != 0 || parts.next().is_none();
        let is_valid = version != 0xff && is_whole && trace_id != 0 && span_id != 0;
        is_valid.then_some(TraceContext { trace_id, span_id, flags }).ok_or(WRONG)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_context_survives_its_header_and_its_bytes() {
        let context: TraceContext = HEADER.parse().unwrap();
        assert_eq!((context.to_string(), context.is_sampled()), (HEADER.to_owned(), true));
        assert_eq!(TraceContext::from_bytes(&context.to_bytes()), Some(context));
        assert_eq!(context.to_bytes()[..2], [0x4b, 0xf9]);
        let later = format!("01{}-more", &HEADER[2..]);
        assert_eq!(later.parse(), Ok(context));
    }

    #[test]
    fn headers_that_the_w3c_forbids_are_refused() {
        let zero = |from, to| HEADER.replace(from, to);
        for header in [
            String::new(),
            HEADER[..54].to_owned(),
            format!("{HEADER}-more"),
            format!("ff{}", &HEADER[2..]),
            HEADER.to_uppercase(),
            HEADER.replace("4bf", "+bf"),
            zero("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32)),
            zero("00f067aa0ba902b7", &"0".repeat(16)),
        ] {
            assert!(header.parse::<TraceContext>().is_err(), "{header}");
        }
        assert_eq!(TraceContext::from_bytes(&[0; CONTEXT_LEN]), None);
    }
}
