//! `cargo urom` through its real binary. Most tests are transcripts.

mod build;
mod call;
mod check;
mod common;
mod fresh;
mod inspect;
mod run;
mod stdout;
mod transcripts;
