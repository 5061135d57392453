//! Messages with payloads, on hand-written code of the shape that the macros generate.

mod command;
mod commands;
mod memory;
mod notification;
mod notifications;
