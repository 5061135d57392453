//! The installed prefix: what lies in it, what compilers and loaders make of it, and that it can be moved.

mod container;
mod documented;
mod layout;
mod linking;
mod loading;
mod meson;
mod moved;
mod programs;
mod unit;
mod versions;
