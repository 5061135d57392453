//! `cargo urom` through its real binary. Most tests are transcripts.

mod call;
mod check;
mod common;
mod inspect;
mod replay;
mod run;
mod stdout;
mod trace;
mod transcripts;
