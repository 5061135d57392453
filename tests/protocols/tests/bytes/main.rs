//! Every byte of every message of UCC's protocol, as C lays it down, in both directions.

mod support;
mod ucc;
