//! Compares every byte of UCC's messages with the C layout, in both directions.

mod support;
mod ucc;
