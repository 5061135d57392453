//! Plugins driven as a worker does, and the plugins in C that they are compared with.

pub mod driven;
pub mod in_c;
