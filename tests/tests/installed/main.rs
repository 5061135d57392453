//! The installed prefix: what is in it, what compilers and loaders make of it, and its moves.

mod container;
mod documented;
mod layout;
mod linking;
mod meson;
mod moved;
mod programs;
mod unit;
mod versions;
