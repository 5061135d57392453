//! The test kit, with correct and with faulty plugins.

mod arbitrary;
mod beyond;
mod clock;
mod domains;
mod driving;
mod faults;
mod injections;
mod plugin;
mod wrong;
