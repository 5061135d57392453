//! What is known of a payload's elements when a protocol is compiled.

use super::{Plain, Sentence};

/// Fails the compilation, at the place of the call, when values of a type cannot be the elements of
/// a payload.
#[track_caller]
pub const fn assert_element<T: Plain>(name: &str) {
    if size_of::<T>() == 0 {
        let text = Sentence::new().text("`").text(name);
        let text = text.text(
            "` has no bytes, so nothing could count such elements: use a type with at least one",
        );
        panic!("{}", text.as_str());
    }
}
