//! The installed prefix: what lies in it, what compilers and loaders make of it, and that it can be moved.

mod layout;
mod linking;
mod moved;
mod programs;

/// What the headers want defined before they declare what DOCA calls experimental, which is all of UROM.
const EXPERIMENTAL: &str = "DOCA_ALLOW_EXPERIMENTAL_API";
