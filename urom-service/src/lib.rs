//! uromd, its workers, the embedded service and the DOCA UROM host interface over them.
