//! Encodes commands from `field=value` like a typed program.

use std::collections::BTreeSet;

use urom_abi::Quantity;
use urom_abi::describe::{Count, Field, Messages, Payload, Presence, Type, Variant};

use super::location::{self, DescribedMessage, Location, fields, is_value, may_lack};
use super::memory::{Memories, is_range};
use super::signature::signature;
use super::{names, value};
use crate::text::quoted;

/// A field and its value, `field=value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    path: String,
    value: String,
}

impl std::str::FromStr for Assignment {
    type Err = String;

    fn from_str(text: &str) -> Result<Assignment, String> {
        let (path, value) =
            text.split_once('=').ok_or("expected field=value, such as tag=7 or data=hello")?;
        Ok(Assignment { path: path.trim().to_owned(), value: value.to_owned() })
    }
}

/// A message that was written.
#[derive(Debug)]
pub struct Encoded {
    /// Its bytes, with the tag.
    pub bytes: Vec<u8>,
    /// Unchecked conditions, and requested values that look wrong.
    pub remarks: Vec<String>,
}

/// Encodes a message. Missing optional fields are zero; other missing fields are an error. The
/// words of payloads are computed unless they are given.
///
/// # Errors
/// A field is unknown or missing, or a value does not fit; the text names it.
pub fn encode(
    messages: &Messages,
    variant: &Variant,
    given: &[Assignment],
    memories: &Memories,
) -> Result<Encoded, String> {
    let mut message =
        DescribedMessage { messages, variant, fixed: vec![0; messages.len], lens: Vec::new() };
    let (name, tag) = (variant.name, Location { ty: messages.tag, offset: 0 });
    tag.put(&mut message.fixed, variant.tag)
        .ok_or_else(|| format!("the description of {name} is wrong: its tag does not fit"))?;
    let payloads = vec![None; variant.payloads.len()];
    let mut draft =
        MessageDraft { message, payloads, memories, paths: BTreeSet::new(), remarks: Vec::new() };
    for assignment in given {
        draft.assign(assignment).map_err(|why| format!("{name}: {why}"))?;
    }
    draft.complete()?;
    // Expressions are computed after all words, so they see the receiver's values.
    for step in [MessageDraft::words, MessageDraft::check] {
        for (index, payload) in variant.payloads.iter().enumerate() {
            let named = |why| format!("{name}: {}: {why}", payload.name);
            step(&mut draft, index, payload).map_err(named)?;
        }
    }
    let MessageDraft { message, payloads, remarks, .. } = draft;
    let mut bytes = message.fixed;
    bytes.extend(payloads.into_iter().flatten().flatten());
    Ok(Encoded { bytes, remarks })
}

struct MessageDraft<'a> {
    message: DescribedMessage<'a>,
    payloads: Vec<Option<Vec<u8>>>,
    memories: &'a Memories,
    paths: BTreeSet<String>,
    remarks: Vec<String>,
}

impl MessageDraft<'_> {
    fn assign(&mut self, Assignment { path, value }: &Assignment) -> Result<(), String> {
        let root = location::root(path);
        if !self.paths.insert(path.clone()) {
            return Err(format!("`{path}` is given twice"));
        }
        let named = |why: String| format!("{path}: {why}");
        let DescribedMessage { messages, variant, .. } = self.message;
        if let Some(index) = variant.payloads.iter().position(|payload| payload.name == root) {
            return self.payload(index, path, value).map_err(named);
        }
        let Some(field) = fields(messages, variant).find(|field| field.name == root) else {
            // The words of payloads are not listed: they are rarely given.
            let values = fields(messages, variant).filter(|field| is_value(field));
            let payloads = variant.payloads.iter().map(|payload| payload.name);
            let names = values.map(|field| field.name).chain(payloads);
            return Err(names::unknown("unknown field", root, names));
        };
        let location = location::walk(Location::of(field), path)?;
        let out = location
            .bytes_mut(&mut self.message.fixed)
            .ok_or("the description places it outside of the message")?;
        value::write(&location.ty, value, self.memories, out)
            .map_err(|why| named(self.hint(&location.ty, value, why)))
    }

    fn payload(&mut self, index: usize, path: &str, value: &str) -> Result<(), String> {
        let payload: &'static Payload = &self.message.variant.payloads[index];
        let size = payload.ty.size();
        let Some(behind) = path.strip_prefix(payload.name).filter(|behind| !behind.is_empty())
        else {
            let bytes = value::elements(&payload.ty, value, self.memories)
                .map_err(|why| self.hint(&payload.ty, value, why))?;
            if let Count::Fixed(want) = payload.count
                && bytes.len() != want.saturating_mul(size)
            {
                let found = Quantity(bytes.len() / size.max(1), "element");
                return Err(format!("it is given {found}, and has exactly {want}"));
            }
            self.payloads[index] = Some(bytes);
            return Ok(());
        };
        let Count::Fixed(len) = payload.count else {
            return Err("its length is not known before: give all of it, as a list".to_owned());
        };
        let ty = match len {
            _ if behind.starts_with('[') => Type::Array { of: &payload.ty, len },
            1 => payload.ty,
            _ => {
                return Err(format!(
                    "say which of its {}, such as `[0]`",
                    Quantity(len, "element")
                ));
            }
        };
        let location = location::walk(Location { ty, offset: 0 }, path)?;
        let bytes = self.payloads[index].get_or_insert_with(|| vec![0; len.saturating_mul(size)]);
        let out =
            location.bytes_mut(bytes).ok_or("the description places it outside of the payload")?;
        value::write(&location.ty, value, self.memories, out)
    }

    /// Adds a hint to an error if the value names memory in a field of another type.
    fn hint(&self, ty: &Type, value: &str, why: String) -> String {
        let name = value.split('[').next().unwrap_or_default();
        match self.memories.contains_key(name) && !is_range(ty) {
            true => {
                format!("{why}; `{name}` is memory, which only a field of type MemoryRange names")
            }
            false => why,
        }
    }

    fn complete(&self) -> Result<(), String> {
        let is_given = |name: &str| self.paths.iter().any(|path| location::root(path) == name);
        let DescribedMessage { messages, variant, .. } = self.message;
        let values = fields(messages, variant)
            .filter(|field| is_value(field) && !field.optional && !is_given(field.name));
        let payloads = variant.payloads.iter().filter(|payload| {
            // Conditional payloads are checked with their condition.
            !payload.optional
                && !may_lack(payload)
                && !is_given(payload.name)
                && self.memory(payload).is_none()
        });
        let missing = values.map(|field| field.name).chain(payloads.map(|payload| payload.name));
        let missing = quoted(missing);
        if missing.is_empty() {
            return Ok(());
        }
        let signature = signature(messages, variant);
        Err(format!("{} needs {missing} too: {signature}", variant.name))
    }

    /// Returns the payload's selector if the payload lies in registered memory.
    fn memory(&self, payload: &Payload) -> Option<&'static Field> {
        let selector = self.message.selector(payload)?;
        self.message.word(selector.name).is_some_and(|id| id != 0).then_some(selector)
    }

    fn words(&mut self, index: usize, payload: &Payload) -> Result<(), String> {
        let length = match payload.count {
            Count::Word(word) => Some(word),
            Count::Fixed(_) | Count::Given(_) => None,
        };
        if let Some(selector) = self.memory(payload) {
            if self.payloads[index].is_some() {
                return Err(format!(
                    "it cannot both travel with the command and lie in registered memory: leave it \
                     out, or `{}`",
                    selector.name
                ));
            }
            let mut words = payload.address.into_iter().chain(length);
            return match words.find(|word| !self.paths.contains(*word)) {
                Some(word) => Err(format!(
                    "it lies in registered memory: say where and how long with `{word}`"
                )),
                None => Ok(()),
            };
        }
        if let (None, Count::Fixed(count), false) =
            (&self.payloads[index], payload.count, may_lack(payload))
        {
            // A payload of a fixed length is always present.
            self.payloads[index] = Some(vec![0; count.saturating_mul(payload.ty.size())]);
        }
        let bytes = self.payloads[index].as_deref();
        // The count of a type without bytes is 0.
        let len = bytes.unwrap_or_default().len();
        let count = len.checked_div(payload.ty.size()).unwrap_or_default() as u64;
        let by_address = payload.presence == Presence::ByAddress;
        let there = bytes.is_some_and(|bytes| by_address || !bytes.is_empty());
        self.message.lens.push((payload.name, count));
        if let Some(word) = payload.address {
            self.word(word, u64::from(there), |found| (found != 0) == there)?;
        }
        match length {
            Some(word) => self.word(word, count, |found| found == i128::from(count)),
            None => Ok(()),
        }
    }

    fn word(
        &mut self,
        path: &str,
        value: u64,
        is_right: impl Fn(i128) -> bool,
    ) -> Result<(), String> {
        let location = self.message.location(path);
        let location =
            location.ok_or_else(|| format!("the description lacks the word `{path}`"))?;
        if !self.paths.contains(path) {
            let put = location.put(&mut self.message.fixed, value);
            return put.ok_or_else(|| format!("it is longer than `{path}` can say: send less"));
        }
        if !location.integer(&self.message.fixed).is_some_and(is_right) {
            self.remarks.push(format!("`{path}` is sent as given, though {value} would be right"));
        }
        Ok(())
    }

    fn check(&mut self, index: usize, payload: &Payload) -> Result<(), String> {
        const UNKNOWN: &str = "that is Rust and cannot be computed here";
        let (name, is_sent) = (payload.name, self.payloads[index].is_some());
        if let Presence::When(condition) = payload.presence {
            let when = condition.text;
            self.remarks.extend(match (self.message.holds(&condition), is_sent) {
                (Some(true), false) => {
                    return Err(format!("it must be given, because `{when}` holds"));
                }
                (Some(false), true) => {
                    return Err(format!("it must be left out, because `{when}` does not hold"));
                }
                (Some(_), _) => None,
                (None, true) => {
                    Some(format!("`{name}` is sent, which is right only when `{when}`; {UNKNOWN}"))
                }
                (None, false) => Some(format!(
                    "`{name}` is not sent, which is right only without `{when}`; {UNKNOWN}"
                )),
            });
        }
        if let (Count::Given(length), true) = (payload.count, is_sent) {
            let count = self.message.lens.iter().find(|(of, _)| *of == name).map_or(0, |of| of.1);
            let (len, found) = (length.text, Quantity(count as usize, "element"));
            match self.message.count(&payload.count) {
                Some(want) if want != i128::from(count) => {
                    return Err(format!("it has {found}, and `{len}` calls for {want}"));
                }
                Some(_) => {}
                None => self.remarks.push(format!(
                    "`{name}` is sent with {found}, which is right only when `{len}` says so; \
                     {UNKNOWN}"
                )),
            }
        }
        Ok(())
    }
}
