//! Commands from `field=value`: the bytes that a typed program would send.

use std::collections::BTreeSet;

use urom_abi::Count as Number;
use urom_abi::describe::{Count, Field, Messages, Payload, Presence, Type, Variant};

use super::fields::{fields, is_value, may_lack, selector};
use super::place::{self, Place};
use super::signature::signature;
use super::{names, value};
use crate::output::quoted;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Assignment {
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

#[derive(Debug)]
pub(crate) struct Encoded {
    pub(crate) bytes: Vec<u8>,
    /// What could not be checked, and what looks wrong but was requested.
    pub(crate) remarks: Vec<String>,
}

/// Encodes a message. Missing fields are zero. The words of payloads are filled in unless they are
/// given.
pub(crate) fn encode(
    messages: &Messages,
    variant: &Variant,
    given: &[Assignment],
) -> Result<Encoded, String> {
    let mut draft = Draft {
        messages,
        variant,
        fixed: vec![0; messages.len],
        payloads: vec![None; variant.payloads.len()],
        paths: BTreeSet::new(),
        remarks: Vec::new(),
    };
    let name = variant.name;
    Place { ty: messages.tag, offset: 0 }
        .put(&mut draft.fixed, variant.tag)
        .ok_or_else(|| format!("the description of {name} is wrong: its tag does not fit"))?;
    for assignment in given {
        draft.assign(assignment).map_err(|why| format!("{name}: {why}"))?;
    }
    draft.complete()?;
    let of_payload = |index: usize, why| format!("{name}: {}: {why}", variant.payloads[index].name);
    for (index, payload) in variant.payloads.iter().enumerate() {
        draft.words(index, payload).map_err(|why| of_payload(index, why))?;
    }
    let Draft { mut fixed, payloads, mut remarks, .. } = draft;
    let lens = variant.payloads.iter().zip(&payloads).map(|(payload, bytes)| {
        (payload.name, elements(payload, bytes.as_deref().unwrap_or_default()))
    });
    // An expression is computed after all words, so that it sees what the receiver will see.
    let names = place::Names { messages, variant, fixed: &fixed, lens: lens.collect() };
    for (index, payload) in variant.payloads.iter().enumerate() {
        let sent = payloads[index].as_ref().map(|_| names.lens[index].1);
        remarks.extend(checks(&names, payload, sent).map_err(|why| of_payload(index, why))?);
    }
    fixed.extend(payloads.into_iter().flatten().flatten());
    Ok(Encoded { bytes: fixed, remarks })
}

struct Draft<'a> {
    messages: &'a Messages,
    variant: &'a Variant,
    fixed: Vec<u8>,
    payloads: Vec<Option<Vec<u8>>>,
    paths: BTreeSet<String>,
    remarks: Vec<String>,
}

impl Draft<'_> {
    fn assign(&mut self, Assignment { path, value }: &Assignment) -> Result<(), String> {
        let root = place::root(path);
        if !self.paths.insert(path.clone()) {
            return Err(format!("`{path}` is given twice"));
        }
        let named = |why: String| format!("{path}: {why}");
        let (messages, variant) = (self.messages, self.variant);
        if let Some(index) = variant.payloads.iter().position(|payload| payload.name == root) {
            return self.payload(index, path, value).map_err(named);
        }
        let Some(field) = fields(messages, variant).find(|field| field.name == root) else {
            // The words of payloads are not listed: they are rarely given.
            let values = fields(messages, variant).filter(|field| is_value(field));
            let payloads = variant.payloads.iter().map(|payload| payload.name);
            let names = values.map(|field| field.name).chain(payloads);
            return Err(names::unknown("there is no field", root, names));
        };
        let place = place::walk(Place::of(field), path)?;
        let out = place
            .bytes_mut(&mut self.fixed)
            .ok_or("the description places it outside of the message")?;
        value::write(&place.ty, value, out).map_err(named)
    }

    fn payload(&mut self, index: usize, path: &str, value: &str) -> Result<(), String> {
        let payload: &'static Payload = &self.variant.payloads[index];
        let size = payload.ty.size();
        let Some(behind) = path.strip_prefix(payload.name).filter(|behind| !behind.is_empty())
        else {
            let bytes = value::elements(&payload.ty, value)?;
            if let Count::Fixed(want) = payload.count
                && bytes.len() != want.saturating_mul(size)
            {
                let found = Number(bytes.len() / size.max(1), "element");
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
            _ => return Err(format!("say which of its {}, such as `[0]`", Number(len, "element"))),
        };
        let place = place::walk(Place { ty, offset: 0 }, path)?;
        let bytes = self.payloads[index].get_or_insert_with(|| vec![0; len.saturating_mul(size)]);
        let out =
            place.bytes_mut(bytes).ok_or("the description places it outside of the payload")?;
        value::write(&place.ty, value, out)
    }

    /// Refuses a message whose fields are not all given.
    fn complete(&self) -> Result<(), String> {
        let is_given = |name: &str| self.paths.iter().any(|path| place::root(path) == name);
        let values = fields(self.messages, self.variant)
            .filter(|field| is_value(field) && !field.optional && !is_given(field.name));
        let payloads = self.variant.payloads.iter().filter(|payload| {
            // A payload with a condition is checked together with it.
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
        let signature = signature(self.messages, self.variant);
        Err(format!("{} needs {missing} too: {signature}", self.variant.name))
    }

    /// The payload's selector, when it says that the payload lies in registered memory.
    fn memory(&self, payload: &Payload) -> Option<&'static Field> {
        selector(self.variant, payload)
            .filter(|field| Place::of(field).integer(&self.fixed).is_some_and(|id| id != 0))
    }

    /// Fills in the words of a payload.
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
            // A payload of a fixed length is always there.
            self.payloads[index] = Some(vec![0; count.saturating_mul(payload.ty.size())]);
        }
        let bytes = self.payloads[index].as_deref();
        let count = elements(payload, bytes.unwrap_or_default());
        let by_address = payload.presence == Presence::ByAddress;
        let there = bytes.is_some_and(|bytes| by_address || !bytes.is_empty());
        if let Some(word) = payload.address {
            self.word(word, u64::from(there), |found| (found != 0) == there)?;
        }
        match length {
            Some(word) => self.word(word, count, |found| found == i128::from(count)),
            None => Ok(()),
        }
    }

    /// Writes a word, unless the user did.
    fn word(
        &mut self,
        path: &str,
        value: u64,
        is_right: impl Fn(i128) -> bool,
    ) -> Result<(), String> {
        let place = place::find(self.messages, self.variant, path)
            .ok_or_else(|| format!("the description has no word `{path}`"))?;
        if !self.paths.contains(path) {
            let put = place.put(&mut self.fixed, value);
            return put.ok_or_else(|| format!("it is longer than `{path}` can say: send less"));
        }
        if !place.integer(&self.fixed).is_some_and(is_right) {
            self.remarks
                .push(format!("`{path}` goes out as it is given, though {value} would be right"));
        }
        Ok(())
    }
}

/// Compares a payload, of which `sent` elements are sent, with the expressions that describe it.
/// Returns remarks on those that cannot be computed.
fn checks(
    names: &place::Names<'_>,
    payload: &Payload,
    sent: Option<u64>,
) -> Result<Vec<String>, String> {
    const UNKNOWN: &str = "that is Rust and cannot be computed here";
    let (name, mut remarks) = (payload.name, Vec::new());
    if let Presence::When(condition) = payload.presence {
        let when = condition.text;
        match (names.holds(&condition), sent) {
            (Some(true), None) => return Err(format!("it must be given, because `{when}` holds")),
            (Some(false), Some(_)) => {
                return Err(format!("it must be left out, because `{when}` does not hold"));
            }
            (Some(_), _) => {}
            (None, Some(_)) => remarks
                .push(format!("`{name}` is sent, which is right only when `{when}`; {UNKNOWN}")),
            (None, None) => remarks.push(format!(
                "`{name}` is not sent, which is right only without `{when}`; {UNKNOWN}"
            )),
        }
    }
    if let (Count::Given(length), Some(count)) = (payload.count, sent) {
        let (len, found) = (length.text, Number(count as usize, "element"));
        match names.count(&payload.count) {
            Some(want) if want != i128::from(count) => {
                return Err(format!("it has {found}, and `{len}` calls for {want}"));
            }
            Some(_) => {}
            None => remarks.push(format!(
                "`{name}` is sent with {found}, which is right only when `{len}` says so; {UNKNOWN}"
            )),
        }
    }
    Ok(remarks)
}

/// How many elements the bytes are; those of a type without bytes are none.
fn elements(payload: &Payload, bytes: &[u8]) -> u64 {
    bytes.len().checked_div(payload.ty.size()).unwrap_or_default() as u64
}
