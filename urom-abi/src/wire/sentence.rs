//! Sentences that are made while a protocol is compiled, and the one about answers that do not
//! exist.

use crate::describe::Messages;

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

    pub(crate) const fn as_str(&self) -> &str {
        match std::str::from_utf8(self.bytes.split_at(self.len).0) {
            Ok(text) => text,
            Err(_) => "",
        }
    }
}

/// Fails the compilation, at the place of the call, when no notification has the name `reply`.
///
/// # Panics
/// When no notification has that name. The text lists the names that there are.
#[track_caller]
pub const fn assert_notification(notifications: &Messages, reply: &str) {
    if let Some(sentence) = no_notification(notifications, reply) {
        panic!("{}", sentence.as_str());
    }
}

const fn no_notification(notifications: &Messages, reply: &str) -> Option<Sentence> {
    let variants = notifications.variants;
    // An enum without variants, or one with an error, is reported where it stands.
    if variants.is_empty() {
        return None;
    }
    let (mut i, mut nearest) = (0, (variants[0].name, reply.len()));
    while i < variants.len() {
        let slips = slips(reply.as_bytes(), variants[i].name.as_bytes());
        if slips == 0 {
            return None;
        }
        if slips < nearest.1 {
            nearest = (variants[i].name, slips);
        }
        i += 1;
    }
    let sentence =
        Sentence::new().text("`").text(notifications.name).text("` has no variant `").text(reply);
    let mut sentence = if 3 * nearest.1 <= reply.len() {
        sentence.text("`: did you mean `").text(nearest.0).text("`? There is ")
    } else {
        sentence.text("`: there is ")
    };
    i = 0;
    while i < variants.len() && sentence.len + variants[i].name.len() + 16 < Sentence::MOST {
        let open = if i == 0 { "`" } else { ", `" };
        sentence = sentence.text(open).text(variants[i].name).text("`");
        i += 1;
    }
    Some(if i == variants.len() { sentence } else { sentence.text(", and others") })
}

/// How many letters must be added, removed or replaced to make one name of the other. Of a long
/// name, the first letters count.
const fn slips(a: &[u8], b: &[u8]) -> usize {
    const MOST: usize = 64;
    let (rows, columns) = (least(a.len(), MOST), least(b.len(), MOST));
    let mut row = [0; MOST + 1];
    let mut j = 0;
    while j <= columns {
        row[j] = j;
        j += 1;
    }
    let mut i = 0;
    while i < rows {
        let mut diagonal = row[0];
        row[0] = i + 1;
        j = 0;
        while j < columns {
            let replaced = diagonal + (a[i] != b[j]) as usize;
            diagonal = row[j + 1];
            row[j + 1] = least(replaced, 1 + least(row[j], row[j + 1]));
            j += 1;
        }
        i += 1;
    }
    let more = a.len() + b.len() - rows - columns;
    row[columns] + more
}

const fn least(a: usize, b: usize) -> usize {
    if a < b { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::describe::{Type, Variant};

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

    const fn variant(name: &'static str) -> Variant {
        Variant { name, docs: "", tag: 0, also: None, reply: None, fields: &[], payloads: &[] }
    }

    fn notifications(variants: &'static [Variant]) -> Messages {
        let tag = Type::Int { bytes: 8, signed: false };
        Messages { name: "Notification", docs: "", tag, len: 8, union_at: 8, header: &[], variants }
    }

    #[test]
    fn a_missing_notification_is_named_with_those_there_are() {
        const TWO: [Variant; 2] = [variant("TagSent"), variant("Pong")];
        let two = notifications(&TWO);
        let of = |reply| no_notification(&two, reply).map(|text| text.as_str().to_owned());
        assert_eq!(of("Pong"), None);
        let text = "`Notification` has no variant `TagSendt`: did you mean `TagSent`? There is `TagSent`, `Pong`";
        assert_eq!(of("TagSendt").as_deref(), Some(text));
        let text = "`Notification` has no variant `Gone`: there is `TagSent`, `Pong`";
        assert_eq!(of("Gone").as_deref(), Some(text));
        assert!(no_notification(&notifications(&[]), "Gone").is_none(), "that enum has an error");
        static MANY: [Variant; 200] = [variant("Something"); 200];
        let many = notifications(&MANY);
        let text = no_notification(&many, "Gone").expect("it is none");
        assert!(text.as_str().ends_with("`, and others"), "{}", text.as_str());
    }

    #[test]
    fn slips_are_counted() {
        for (a, b, count) in
            [("", "", 0), ("", "ab", 2), ("Pnog", "Pong", 2), ("TagSendt", "TagSent", 1)]
        {
            assert_eq!(
                (slips(a.as_bytes(), b.as_bytes()), slips(b.as_bytes(), a.as_bytes())),
                (count, count)
            );
        }
        let long = [b'a'; 100];
        assert!(slips(&long, &long[1..]) > 0);
    }
}
