//! Sentences that are made while a protocol is compiled, and those about wrong answers.

use crate::describe::{FieldKind, Messages, Variant};

/// A text under construction, usable in constants. What does not fit is left out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sentence {
    bytes: [u8; Sentence::MOST],
    len: usize,
}

impl Sentence {
    const MOST: usize = 512;

    pub(crate) const fn new() -> Sentence {
        Sentence { bytes: [0; Sentence::MOST], len: 0 }
    }

    pub(crate) const fn text(mut self, text: &str) -> Sentence {
        let bytes = text.as_bytes();
        let fits = bytes.len() <= Sentence::MOST - self.len;
        let mut i = 0;
        while fits && i < bytes.len() {
            self.bytes[self.len + i] = bytes[i];
            i += 1;
        }
        self.len += i;
        self
    }

    pub(crate) const fn number(self, number: usize) -> Sentence {
        let mut digits = [0; 20];
        let (mut at, mut rest) = (digits.len(), number);
        while at == digits.len() || rest > 0 {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        match std::str::from_utf8(digits.split_at(at).1) {
            Ok(digits) => self.text(digits),
            Err(_) => self,
        }
    }

    /// The text.
    pub(crate) const fn as_str(&self) -> &str {
        match std::str::from_utf8(self.bytes.split_at(self.len).0) {
            Ok(text) => text,
            Err(_) => "",
        }
    }
}

/// Fails the compilation, at the place of the call, when command number `at` names an answer that
/// is no notification, or that does not repeat the fields which the command marks `echo`.
#[track_caller]
pub const fn assert_answer(notifications: &Messages, commands: &Messages, at: usize) {
    if let Some(sentence) = wrong_answer(notifications, commands, at) {
        panic!("{}", sentence.as_str());
    }
}

const fn wrong_answer(
    notifications: &Messages,
    commands: &Messages,
    at: usize,
) -> Option<Sentence> {
    let (variants, command) = (notifications.variants, &commands.variants[at]);
    let Some(reply) = command.reply else { return None };
    let mut i = 0;
    while i < variants.len() {
        if same(variants[i].name, reply) {
            let lacks = lacks_echo(notifications, &variants[i], commands, command);
            let exceeds = lacks_echo(commands, command, notifications, &variants[i]);
            return if lacks.is_some() { lacks } else { exceeds };
        }
        i += 1;
    }
    // An enum without variants, or one with an error, is reported where it stands.
    if variants.is_empty() {
        return None;
    }
    let sentence = Sentence::new().text("`").text(notifications.name).text("` has no variant `");
    let mut sentence = sentence.text(reply).text("`: there is ");
    i = 0;
    while i < variants.len() && sentence.len + variants[i].name.len() + 16 < Sentence::MOST {
        let open = if i == 0 { "`" } else { ", `" };
        sentence = sentence.text(open).text(variants[i].name).text("`");
        i += 1;
    }
    Some(if i == variants.len() { sentence } else { sentence.text(", and others") })
}

/// What is wrong when `a` has an echoed field that `b` has not.
const fn lacks_echo(
    of_a: &Messages,
    a: &Variant,
    of_b: &Messages,
    b: &Variant,
) -> Option<Sentence> {
    let mut i = 0;
    while i < of_a.header.len() + a.fields.len() {
        if let Some(name) = echoed(of_a, a, i) {
            let (mut j, mut found) = (0, false);
            while j < of_b.header.len() + b.fields.len() {
                found = found || matches!(echoed(of_b, b, j), Some(other) if same(name, other));
                j += 1;
            }
            if !found {
                let sentence = Sentence::new().text("`").text(a.name).text("` marks `").text(name);
                let sentence = sentence.text("` as `echo` and `").text(b.name);
                return Some(sentence.text("` does not: mark that field `#[urom(echo)]` in both"));
            }
        }
        i += 1;
    }
    None
}

/// The name of field number `i`, those of the header first, when it is echoed.
const fn echoed(of: &Messages, variant: &Variant, i: usize) -> Option<&'static str> {
    let header = of.header.len();
    let field = if i < header { &of.header[i] } else { &variant.fields[i - header] };
    if let FieldKind::Echo = field.kind { Some(field.name) } else { None }
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::describe::Type;

    #[test]
    fn numbers_have_all_their_digits() {
        for number in [0, 7, 10, usize::MAX] {
            assert_eq!(Sentence::new().number(number).as_str(), number.to_string());
        }
    }

    #[test]
    fn what_does_not_fit_is_left_out() {
        let long = "x".repeat(Sentence::MOST);
        assert_eq!(Sentence::new().text("a").text(&long).text("b").as_str(), "ab");
    }

    const fn variant(name: &'static str, reply: Option<&'static str>) -> Variant {
        Variant { name, reply, ..Variant::NONE }
    }

    fn messages(name: &'static str, variants: &'static [Variant]) -> Messages {
        let tag = Type::Int { bytes: 8, signed: false };
        Messages { name, docs: "", tag, len: 8, union_at: 8, header: &[], variants }
    }

    #[test]
    fn a_missing_notification_is_named_with_those_there_are() {
        const ONE: [Variant; 2] = [variant("Ping", Some("Pong")), variant("Go", Some("Gone"))];
        const TWO: [Variant; 2] = [variant("TagSent", None), variant("Pong", None)];
        static MANY: [Variant; 200] = [variant("Something", None); 200];
        let wrong = |variants, at| {
            let notifications = messages("Notification", variants);
            let sentence = wrong_answer(&notifications, &messages("Command", &ONE), at);
            sentence.map(|text| text.as_str().to_owned())
        };
        assert_eq!(wrong(&TWO, 0), None);
        let text = "`Notification` has no variant `Gone`: there is `TagSent`, `Pong`";
        assert_eq!(wrong(&TWO, 1).as_deref(), Some(text));
        assert_eq!(wrong(&[], 1), None, "that enum has an error");
        assert!(wrong(&MANY, 1).is_some_and(|text| text.ends_with("`, and others")));
    }
}
