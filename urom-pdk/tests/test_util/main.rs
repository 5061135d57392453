//! The test kit: what it does for a plugin that is right, and what it says of plugins that are
//! wrong.

mod arbitrary;
mod beyond;
mod clock;
mod domains;
mod driving;
mod faults;
mod injections;
mod plugin;
mod wrong;
