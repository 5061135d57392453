//! Differences of two answers, and commands that name memory.

use urom_abi::DocaStatus;
use urom_abi::describe::{Messages, Type};
use urom_abi::memory::MemoryRange;

use super::datum::Datum;
use super::decode::decode;
use super::location::{Location, fields};
use super::memory::is_range;
use super::text::plain;

/// An answer to a command.
#[derive(Clone, Copy, Debug)]
pub struct AnswerRef<'a> {
    /// Its status.
    pub status: DocaStatus,
    /// The notification without a header, if there is one.
    pub payload: Option<&'a [u8]>,
    /// The text of a failure; may be empty.
    pub text: &'a str,
}

/// Returns the first difference of two answers. Answers with the same failure are the same: its
/// text may name addresses and hosts. For `messages` and `ignored` see [`difference`].
#[must_use]
pub fn answer_difference(
    messages: Option<&Messages>,
    recorded: AnswerRef<'_>,
    replayed: AnswerRef<'_>,
    ignored: &[String],
) -> Option<String> {
    if recorded.status != replayed.status {
        return Some(format!("{}; recorded: {}", end_of(replayed), end_of(recorded)));
    }
    if recorded.status != DocaStatus::SUCCESS {
        return None;
    }
    let [was, is] = [recorded, replayed].map(|answer| answer.payload.unwrap_or_default());
    difference(messages, (was, is), ignored)
}

fn end_of(answer: AnswerRef<'_>) -> String {
    match (answer.status.check(), answer.text) {
        (Ok(()), _) => "it succeeded".to_owned(),
        (Err(code), "") => code.name().to_owned(),
        (Err(code), text) => format!("{}: {}", code.name(), plain(text)),
    }
}

/// Returns the first difference of two messages, with the name of its field and both values. Fields
/// and payloads in `ignored` may differ. `None` for messages without a difference.
#[must_use]
pub fn difference(
    messages: Option<&Messages>,
    (recorded, replayed): (&[u8], &[u8]),
    ignored: &[String],
) -> Option<String> {
    if recorded == replayed {
        return None;
    }
    let decoded =
        messages.map(|messages| [recorded, replayed].map(|it| decode(messages, None, it)));
    let Some([Ok(recorded_as), Ok(replayed_as)]) = decoded else {
        return Some(different_bytes(recorded, replayed));
    };
    let [was, is] = [recorded_as.variant.name, replayed_as.variant.name];
    if was != is {
        return Some(format!("the answer is {is}; recorded: {was}"));
    }
    let mut pairs = recorded_as.fields.iter().zip(&replayed_as.fields);
    // As text, a NaN is equal to itself.
    let is_other = |was: &Datum, is: &Datum| was != is && format!("{was:?}") != format!("{is:?}");
    let differs = pairs.find(|((name, was), (_, is))| {
        is_other(was, is) && !ignored.iter().any(|ignored| ignored == name)
    });
    if let Some(((name, was), (_, is))) = differs {
        return Some(format!("{name} = {is}; recorded: {was}"));
    }
    // The words of payloads are not values: a plugin may write any address there.
    let [was, is] =
        [recorded_as.problems, replayed_as.problems].map(|problems| problems.join("; "));
    (was != is).then(|| format!("problems of the answer: {is}; recorded: {was}"))
}

/// Shows some bytes from the first difference on.
fn different_bytes(recorded: &[u8], replayed: &[u8]) -> String {
    const SHOWN: usize = 16;
    let mut pairs = recorded.iter().zip(replayed);
    let at = pairs.position(|(was, is)| was != is).unwrap_or(recorded.len().min(replayed.len()));
    let part = |bytes: &[u8]| Datum::Bytes(bytes[at..].iter().take(SHOWN).copied().collect());
    let (is, was) = (replayed.len(), recorded.len());
    format!("from byte {at} of {is}: {}; recorded, of {was}: {}", part(replayed), part(recorded))
}

/// A range of memory that a command names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedRange {
    /// The offset of its `MemoryRange` in the command.
    pub at: usize,
    /// Its value.
    pub range: MemoryRange,
}

/// Returns the ranges of memory that a command names.
#[must_use]
pub fn ranges(messages: &Messages, command: &[u8]) -> Vec<NamedRange> {
    let mut found = Vec::new();
    for field in messages.find(command).into_iter().flat_map(|it| fields(messages, it)) {
        add_ranges(Location { ty: field.ty, offset: field.offset }, command, &mut found);
    }
    found
}

fn add_ranges(location: Location, command: &[u8], found: &mut Vec<NamedRange>) {
    match location.ty {
        ty if is_range(&ty) => {
            let Some(bytes) = location.bytes(command) else { return };
            let range: MemoryRange = bytemuck::pod_read_unaligned(bytes);
            if range.memory != 0 {
                found.push(NamedRange { at: location.offset, range });
            }
        }
        Type::Struct(of) => {
            for field in of.fields {
                let offset = location.offset.saturating_add(field.offset);
                add_ranges(Location { ty: field.ty, offset }, command, found);
            }
        }
        Type::Array { of: ty @ (Type::Struct(_) | Type::Array { .. }), len } if ty.size() > 0 => {
            for index in 0..len {
                let offset = location.offset.saturating_add(ty.size().saturating_mul(index));
                if offset >= command.len() {
                    return;
                }
                add_ranges(Location { ty: *ty, offset }, command, found);
            }
        }
        _ => {}
    }
}
