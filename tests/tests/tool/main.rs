//! `cargo urom` through its real binary: a module for each verb, and one for `check`'s images.

mod build;
mod call;
mod check;
mod common;
mod examples;
mod fresh;
mod images;
mod inspect;
mod new;
mod run;
mod stdout;
