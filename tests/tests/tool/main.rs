//! `cargo urom` through its real binary. One module for each verb, and one for what `check` knows of images.

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
