//! The installed prefix: its files, its use by compilers and loaders, and its relocation.

mod container;
mod documented;
mod layout;
mod linking;
mod meson;
mod moved;
mod programs;
mod unit;
mod versions;
