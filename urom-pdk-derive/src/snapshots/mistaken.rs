#[urom_command(plugin = "mistaken", version = 1)]
enum Command {
    #[urom(reply = Done)]
    Wait { forever: bool },
}
