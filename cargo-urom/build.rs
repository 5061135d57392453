//! Links the tool like `uromd`, with the log function for plugins, because it can run as `uromd`.

fn main() {
    let arguments =
        (0..).map_while(|number| std::env::var(format!("DEP_UROM_SERVICE_PROGRAM_{number}")).ok());
    arguments.for_each(|argument| println!("cargo:rustc-link-arg-bins={argument}"));
    ucx_probe::emit_rpath();
}
