//! `cargo urom` through its real binary. One module for each verb.

mod call;
mod common;
mod inspect;
mod new;
