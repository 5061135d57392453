//! Links the tool as `uromd` is linked, because it is one too: plugins find their log in it, and it
//! finds UCX.

fn main() {
    let arguments =
        (0..).map_while(|number| std::env::var(format!("DEP_UROM_SERVICE_PROGRAM_{number}")).ok());
    arguments.for_each(|argument| println!("cargo:rustc-link-arg-bins={argument}"));
    ucx_probe::emit_rpath();
}
