//! Links the library under DOCA's name.

fn main() {
    doca_link::library("doca_common");
}
