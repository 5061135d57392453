//! `ucs_list_link_t`: the circular, doubly linked, intrusive list of commands and notifications.
//! The functions are UCX's `list.h` on raw pointers, as C owns the descriptors half of the time.
//! [`crate::descriptor::DescriptorList`] is the safe owner.

/// A link or the head of a list (`ucs_list_link_t`, 16 bytes). `prev` comes first. An empty head
/// points to itself. Not thread-safe.
#[derive(Debug)]
#[repr(C)]
pub struct ListLink {
    /// The link before this one; for a head, the last.
    pub prev: *mut ListLink,
    /// The link after this one; for a head, the first.
    pub next: *mut ListLink,
}

assert_layout!(ListLink, 16, align 8, { prev @ 0, next @ 8 });

impl ListLink {
    #[doc(hidden)]
    pub const fn detached() -> ListLink {
        ListLink { prev: std::ptr::null_mut(), next: std::ptr::null_mut() }
    }
}

/// Makes `head` an empty list (`ucs_list_head_init`).
///
/// # Safety
/// `head` is valid for writes and does not move while the list is used.
#[doc(hidden)]
#[inline]
pub unsafe fn init(head: *mut ListLink) {
    // SAFETY: the caller promises that `head` is valid for writes.
    unsafe { head.write(ListLink { prev: head, next: head }) }
}

/// Returns whether the list is empty (`ucs_list_is_empty`).
///
/// # Safety
/// `head` is the initialised head of a list.
#[doc(hidden)]
#[inline]
pub unsafe fn is_empty(head: *const ListLink) -> bool {
    // SAFETY: the caller promises that `head` is initialised.
    let first = unsafe { (*head).next };
    std::ptr::eq(first, head)
}

/// Appends `link` to the list (`ucs_list_add_tail`).
///
/// # Safety
/// `head` is the initialised head of a well-formed list without concurrent access. `link` is valid
/// for writes, is in no list, and does not move until it is removed.
#[doc(hidden)]
#[inline]
pub unsafe fn push_back(head: *mut ListLink, link: *mut ListLink) {
    // SAFETY: `init` set both pointers of the caller's head, and list operations keep them valid.
    let last = unsafe { (*head).prev };
    // SAFETY: `link` is valid for writes.
    unsafe { link.write(ListLink { prev: last, next: head }) };
    // SAFETY: `last` is a link of a well-formed list, or `head` itself.
    unsafe { (*last).next = link };
    // SAFETY: the caller's head is valid for writes while the list is used.
    unsafe { (*head).prev = link };
}

/// Removes the first link (`ucs_list_extract_head`), if any. Its own pointers become stale.
///
/// # Safety
/// `head` is the initialised head of a well-formed list without concurrent access.
#[doc(hidden)]
#[inline]
pub unsafe fn pop_front(head: *mut ListLink) -> Option<*mut ListLink> {
    // SAFETY: `init` set both pointers of the caller's head, and list operations keep them valid.
    let first = unsafe { (*head).next };
    if std::ptr::eq(first, head) {
        return None;
    }
    // SAFETY: `first` is a link of a well-formed list.
    let second = unsafe { (*first).next };
    // SAFETY: the caller's head is valid for writes while the list is used.
    unsafe { (*head).next = second };
    // SAFETY: `second` is a link of the same list, or `head` itself.
    unsafe { (*second).prev = head };
    Some(first)
}

/// Moves all links of `from` to the end of `head` (`ucs_list_splice_tail`). `from` becomes empty.
///
/// # Safety
/// Both are initialised heads of distinct well-formed lists without concurrent access.
#[doc(hidden)]
#[inline]
pub unsafe fn append(head: *mut ListLink, from: *mut ListLink) {
    // SAFETY: `from` is initialised.
    let ListLink { prev: last, next: first } = unsafe { from.read() };
    if std::ptr::eq(first, from) {
        return;
    }
    // SAFETY: `init` set both pointers of the caller's head, and list operations keep them valid.
    let before = unsafe { (*head).prev };
    // SAFETY: `before` is a link of a well-formed list, or `head` itself.
    unsafe { (*before).next = first };
    // SAFETY: `first` is a link of the other well-formed list.
    unsafe { (*first).prev = before };
    // SAFETY: as `first`; it may be the same link.
    unsafe { (*last).next = head };
    // SAFETY: the caller's head is valid for writes while the list is used.
    unsafe { (*head).prev = last };
    // SAFETY: `from` is valid for writes, and its links are in `head` now.
    unsafe { init(from) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn appending_moves_everything_and_keeps_the_order() {
        let mut storage: [_; 6] = std::array::from_fn(|_| ListLink::detached());
        let base = storage.as_mut_ptr();
        // SAFETY: in bounds of the array.
        let at = |i: usize| unsafe { base.add(i) };
        let (a, b) = (at(0), at(1));
        for head in [a, b] {
            // SAFETY: the array lives to the end of the test.
            unsafe { init(head) };
        }
        // SAFETY: as above.
        unsafe { push_back(a, at(2)) };
        for i in [3, 4] {
            // SAFETY: as above.
            unsafe { push_back(b, at(i)) };
        }
        // SAFETY: as above.
        unsafe { append(a, b) };
        // SAFETY: as above.
        assert!(unsafe { is_empty(b) });
        // SAFETY: as above.
        unsafe { append(a, b) };
        // SAFETY: as above.
        unsafe { push_back(a, at(5)) };
        for i in 2..6 {
            // SAFETY: as above.
            assert_eq!(unsafe { pop_front(a) }, Some(at(i)));
        }
        // SAFETY: as above.
        assert_eq!(unsafe { pop_front(a) }, None);
    }
}
