//! A trait that no protocol made.

use urom_pdk::urom_plugin;

struct Graph;

trait Other<S> {}

#[urom_plugin]
impl Other for Graph {}

fn main() {}
