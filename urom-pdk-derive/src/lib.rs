//! The macros of urom-pdk: urom_command, urom_notification, urom_plugin.
