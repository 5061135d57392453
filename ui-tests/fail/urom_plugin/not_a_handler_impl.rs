//! The attribute on other items.

use urom_pdk::urom_plugin;

#[urom_plugin]
struct Graph;

#[urom_plugin]
impl Graph {
    fn new() -> Graph {
        Graph
    }
}

#[urom_plugin]
enum Other {}

fn main() {}
