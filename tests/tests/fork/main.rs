//! Programs that fork after they have connected: in Rust, in C and in Python, with a daemon and
//! embedded. What the parent has made is refused in the child, at once; what the child makes works;
//! and the parent goes on.

mod in_c;
mod in_rust;
