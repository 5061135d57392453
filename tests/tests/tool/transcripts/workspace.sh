# What transcripts of `build` and `fresh` have at hand: workspaces, in the directory ws.

export CARGO_NET_OFFLINE=true CARGO_TARGET_DIR=$TARGET

# A workspace of these members. The optimiser is not tested, and nothing has to be fetched.
workspace() {
    rm -rf ws && mkdir ws && cp "$KIT/Cargo.lock" ws
    printf '[workspace]\nresolver = "3"\nmembers = [%s]\n\n[profile.release]\nopt-level = 0\n' \
        "$(printf '"%s", ' "$@")" >ws/Cargo.toml
}

# A package; standard input is more of its manifest.
package() {
    mkdir -p "ws/$1/src" && : >"ws/$1/src/lib.rs"
    { printf '[package]\nname = "%s"\nedition = "2024"\n\n' "$1"; cat; } >"ws/$1/Cargo.toml"
}

# A package with the plugin worker_graph, whose library has the second name.
plugin() {
    package "$1" <<END
[lib]
name = "$2"
crate-type = ["cdylib"]

[features]
more = []

[dependencies]
graph-protocol = { path = "$KIT/plugins/graph-rs/protocol" }
urom-pdk = { path = "$KIT/urom-pdk" }
END
    cp "$KIT/plugins/graph-rs/plugin/src/lib.rs" "ws/$1/src/lib.rs"
}

# A package with a plugin of its name, whose one command panics.
panicking() {
    package "$1" <<END
[lib]
name = "worker_$1"
crate-type = ["cdylib"]

[dependencies]
urom-abi = { path = "$KIT/urom-abi" }
urom-pdk = { path = "$KIT/urom-pdk" }
END
    cat >"ws/$1/src/lib.rs" <<END
mod protocol {
    #[urom_abi::urom_command(plugin = "worker_$1", version = 1)]
    pub enum Command {
        #[urom(reply = Done)]
        Fail,
    }

    #[urom_abi::urom_notification]
    pub enum Notification {
        Done,
    }
}

use protocol::{Done, Fail, Handler};
use urom_pdk::prelude::*;

struct Panicking;

#[urom_plugin]
impl Handler for Panicking {
    fn open(_cx: &OpenContext) -> Result<Self> {
        Ok(Panicking)
    }

    async fn fail(&self, _cx: &Context, _cmd: Fail) -> Result<Done> {
        deeper()
    }
}

#[inline(never)]
fn deeper() -> Result<Done> {
    panic!("as the test asks")
}
END
}

# A new workspace whose names are the caller's own: those of files that are built come from them.
calc() {
    cargo urom new --kit "path=$KIT" "$1" >/dev/null 2>&1 && mv "$1" ws && cp "$KIT/Cargo.lock" ws
    rm -f "$TARGET"/debug/libworker_*
    cd ws
}

# Makes what was built older than later edits by any clock, and its sources older yet.
age() {
    touch -d '10 seconds ago' plugin/src/lib.rs
    touch -d '5 seconds ago' "$TARGET/debug/libworker_$1.so"
}

# A test of the host's program.
host_test() {
    sed -i 's/^fn main()/#[test]\nfn sums() {\n    main().unwrap();\n}\n\n&/' host/src/main.rs
}
