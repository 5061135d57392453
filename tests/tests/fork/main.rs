//! Programs in Rust, C and Python that fork after they have connected, with a daemon and embedded.
//! In the child, calls on the parent's objects fail at once, and a new connection works. The parent
//! is not disturbed.

mod in_c;
mod in_rust;
