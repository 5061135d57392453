//! `cargo urom` through its real binary. Most tests are transcripts.

mod call;
mod check;
mod common;
mod inspect;
mod run;
mod stdout;
mod trace;
mod transcripts;
