//! `cargo urom` through its real binary. One module for each verb.

mod build;
mod call;
mod check;
mod common;
mod inspect;
mod new;
mod run;
