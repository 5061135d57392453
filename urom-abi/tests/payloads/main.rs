//! Messages with payloads: what is written, what is read back, and what is refused.

mod commands;
mod memory;
mod message;
mod notifications;
