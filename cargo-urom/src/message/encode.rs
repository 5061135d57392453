//! Commands from `field=value`: the bytes that a typed program would send.

use std::collections::BTreeSet;

use urom_abi::Count as Number;
use urom_abi::describe::{
    Condition, Count, Field, FieldKind, Given, Messages, Payload, Presence, Variant,
};

use super::expr::{self, Names};
use super::place::{self, Place, Step};
use super::{names, value};

/// One `field=value`.
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

/// A message that was put together.
#[derive(Debug)]
pub(crate) struct Encoded {
    pub(crate) bytes: Vec<u8>,
    /// What could not be checked, and what was done although it looks wrong.
    pub(crate) remarks: Vec<String>,
}

/// Puts a message together. What nobody sets is zero; the words of payloads are filled in, unless they are set too.
///
/// # Errors
/// A sentence on what is missing, unknown, or does not fit.
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
        roots: BTreeSet::new(),
        remarks: Vec::new(),
    };
    Place { ty: messages.tag, offset: 0 }.put(&mut draft.fixed, variant.tag).ok_or_else(|| {
        format!("the description of {} is wrong: its tag does not fit", variant.name)
    })?;
    for assignment in given {
        draft.assign(assignment).map_err(|why| format!("{}: {why}", variant.name))?;
    }
    draft.complete()?;
    for (index, payload) in variant.payloads.iter().enumerate() {
        draft
            .words(index, payload)
            .map_err(|why| format!("{}: {}: {why}", variant.name, payload.name))?;
    }
    // After all words, so that an expression over one sees what the receiver will see.
    for (index, payload) in variant.payloads.iter().enumerate() {
        draft
            .checks(index, payload)
            .map_err(|why| format!("{}: {}: {why}", variant.name, payload.name))?;
    }
    let Draft { mut fixed, payloads, remarks, .. } = draft;
    fixed.extend(payloads.into_iter().flatten().flatten());
    Ok(Encoded { bytes: fixed, remarks })
}

/// A message while it is put together.
struct Draft<'a> {
    messages: &'a Messages,
    variant: &'a Variant,
    fixed: Vec<u8>,
    /// The bytes of each payload that was given.
    payloads: Vec<Option<Vec<u8>>>,
    /// The paths that were given.
    paths: BTreeSet<String>,
    /// The names they begin with.
    roots: BTreeSet<String>,
    remarks: Vec<String>,
}

impl Draft<'_> {
    fn assign(&mut self, Assignment { path, value }: &Assignment) -> Result<(), String> {
        let (root, steps) = place::split(path)?;
        if self.paths.contains(path) {
            return Err(format!("`{path}` is given twice"));
        }
        let named = |why: String| format!("{path}: {why}");
        if let Some(index) = self.variant.payloads.iter().position(|payload| payload.name == root) {
            self.payload(index, path, &steps, value).map_err(named)?;
        } else if let Some(field) =
            place::fields(self.messages, self.variant).find(|field| field.name == root)
        {
            let place = place::walk(Place { ty: field.ty, offset: field.offset }, path, &steps)?;
            let out = place
                .of_mut(&mut self.fixed)
                .ok_or("the description places it outside of the message")?;
            value::write(&place.ty, value, out).map_err(named)?;
        } else {
            return Err(names::unknown("there is no field", root, self.settable()));
        }
        self.paths.insert(path.clone());
        self.roots.insert(root.to_owned());
        Ok(())
    }

    /// The names that a user sets as a rule: no words of payloads.
    fn settable(&self) -> impl Iterator<Item = &'static str> {
        let fields = self.messages.header.iter().chain(self.variant.fields);
        let own = fields.filter(|field| is_value(field)).map(|field| field.name);
        own.chain(self.variant.payloads.iter().map(|payload| payload.name))
            .collect::<Vec<_>>()
            .into_iter()
    }

    fn payload(
        &mut self,
        index: usize,
        path: &str,
        steps: &[Step<'_>],
        value: &str,
    ) -> Result<(), String> {
        let Payload { ty, count, .. } = self.variant.payloads[index];
        if steps.is_empty() {
            let bytes = value::elements(&ty, value)?;
            if let Count::Fixed(count) = count
                && bytes.len() != count.saturating_mul(ty.size())
            {
                let (found, want) = (bytes.len() / ty.size().max(1), count);
                return Err(format!(
                    "it is given {}, and has exactly {want}",
                    Number(found, "element")
                ));
            }
            self.payloads[index] = Some(bytes);
            return Ok(());
        }
        let Count::Fixed(count) = count else {
            return Err("its length is not known before: give all of it, as a list".to_owned());
        };
        let bytes =
            self.payloads[index].get_or_insert_with(|| vec![0; count.saturating_mul(ty.size())]);
        let (at, rest) = match steps {
            [Step::Index(at), rest @ ..] => (*at, rest),
            // The only element needs no number.
            _ if count == 1 => (0, steps),
            _ => {
                return Err(format!(
                    "say which of its {}, such as `[0]`",
                    Number(count, "element")
                ));
            }
        };
        if at >= count {
            return Err(format!("there is no element {at}, only 0 to {}", count.saturating_sub(1)));
        }
        let place = place::walk(Place { ty, offset: ty.size().saturating_mul(at) }, path, rest)?;
        let out = place.of_mut(bytes).ok_or("the description places it outside of the payload")?;
        value::write(&place.ty, value, out)
    }

    /// Refuses a message whose fields are not all given.
    fn complete(&self) -> Result<(), String> {
        let fields =
            place::fields(self.messages, self.variant).filter(|field| self.is_missing(field));
        let payloads =
            self.variant.payloads.iter().zip(&self.payloads).filter(|(payload, bytes)| {
                // What a condition decides about is checked with it.
                bytes.is_none()
                    && !payload.optional
                    && !matches!(payload.presence, Presence::When(_) | Presence::ByAddress)
                    && !self.is_elsewhere(payload)
            });
        let missing: Vec<_> = fields
            .map(|field| field.name)
            .chain(payloads.map(|(payload, _)| payload.name))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let list: Vec<_> = missing.iter().map(|name| format!("`{name}`")).collect();
        Err(format!(
            "{} needs {} too: {}",
            self.variant.name,
            list.join(", "),
            names::signature(self.messages, self.variant)
        ))
    }

    fn is_missing(&self, field: &Field) -> bool {
        !self.roots.contains(field.name) && is_value(field) && !field.optional
    }

    /// Whether a payload's selector says that it lies in registered memory.
    fn is_elsewhere(&self, payload: &Payload) -> bool {
        selector(self.variant, payload)
            .and_then(|field| Place { ty: field.ty, offset: field.offset }.integer(&self.fixed))
            .is_some_and(|id| id != 0)
    }

    /// Fills in the words of a payload.
    fn words(&mut self, index: usize, payload: &Payload) -> Result<(), String> {
        if let Some(selector) =
            selector(self.variant, payload).filter(|_| self.is_elsewhere(payload))
        {
            if self.payloads[index].is_some() {
                return Err(format!(
                    "it cannot both travel with the command and lie in registered memory: leave it out, or `{}`",
                    selector.name
                ));
            }
            for word in payload.address.into_iter().chain(length(payload)) {
                if !self.paths.contains(word) {
                    return Err(format!(
                        "it lies in registered memory: say where and how long with `{word}`"
                    ));
                }
            }
            return Ok(());
        }
        if let (None, Count::Fixed(count), Presence::Always | Presence::Registered) =
            (&self.payloads[index], payload.count, payload.presence)
        {
            // One of a length of its own, left out, is there all the same.
            self.payloads[index] = Some(vec![0; count.saturating_mul(payload.ty.size())]);
        }
        let bytes = self.payloads[index].as_deref();
        let count = elements(payload, bytes.unwrap_or_default());
        let there = match payload.presence {
            Presence::ByAddress => bytes.is_some(),
            _ => bytes.is_some_and(|bytes| !bytes.is_empty()),
        };
        if let Some(word) = payload.address {
            self.word(word, u64::from(there), |found| (found != 0) == there)?;
        }
        if let Some(word) = length(payload) {
            self.word(word, count, |found| found == i128::from(count))?;
        }
        Ok(())
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

    /// Compares a payload with the expressions that describe it, as far as they can be computed.
    fn checks(&mut self, index: usize, payload: &Payload) -> Result<(), String> {
        let there = self.payloads[index].is_some();
        if let Presence::When(Condition { text: when, compares }) = payload.presence {
            match compares.and_then(|compares| expr::holds(&compares, &*self)) {
                Some(true) if !there => return Err(format!("it must be given, because `{when}` holds")),
                Some(false) if there => {
                    return Err(format!("it must be left out, because `{when}` does not hold"));
                }
                Some(_) => {}
                None => self.remarks.push(format!(
                    "`{}` is {}, which is right only {} `{when}`; that is Rust and cannot be computed here",
                    payload.name,
                    if there { "sent" } else { "not sent" },
                    if there { "when" } else { "without" },
                )),
            }
        }
        if let (Count::Given(Given { text: len, term }), Some(bytes)) =
            (payload.count, self.payloads[index].as_deref())
        {
            let count = elements(payload, bytes) as usize;
            match term.and_then(|term| expr::number(&term, &*self)) {
                Some(want) if want != count as i128 => {
                    return Err(format!("it has {}, and `{len}` calls for {want}", Number(count, "element")));
                }
                Some(_) => {}
                None => self.remarks.push(format!(
                    "`{}` is sent with {}, which is right only when `{len}` says so; that is Rust and cannot be computed \
                     here",
                    payload.name,
                    Number(count, "element")
                )),
            }
        }
        Ok(())
    }
}

impl Names for Draft<'_> {
    fn field(&self, path: &str) -> Option<i128> {
        place::find(self.messages, self.variant, path)?.integer(&self.fixed)
    }

    fn constant(&self, path: &str) -> Option<i128> {
        place::constant(self.variant, path)
    }

    fn len(&self, name: &str) -> Option<i128> {
        let index = self.variant.payloads.iter().position(|payload| payload.name == name)?;
        let bytes = self.payloads.get(index)?.as_deref().unwrap_or_default();
        Some(elements(self.variant.payloads.get(index)?, bytes).into())
    }
}

/// Whether a field has a value of its own.
pub(super) fn is_value(field: &Field) -> bool {
    matches!(field.kind, FieldKind::Plain | FieldKind::Echo)
}

/// The word that says in which registered memory a payload lies.
pub(super) fn selector(variant: &Variant, payload: &Payload) -> Option<&'static Field> {
    let is_selector =
        |field: &&Field| matches!(field.kind, FieldKind::Selector { of } if of == payload.name);
    variant.fields.iter().find(is_selector)
}

/// The word that says how long a payload is.
fn length(payload: &Payload) -> Option<&'static str> {
    match payload.count {
        Count::Word(word) => Some(word),
        Count::Fixed(_) | Count::Given(_) => None,
    }
}

/// How many elements so many bytes are; those of a type without bytes are none.
fn elements(payload: &Payload, bytes: &[u8]) -> u64 {
    bytes.len().checked_div(payload.ty.size()).unwrap_or_default() as u64
}
