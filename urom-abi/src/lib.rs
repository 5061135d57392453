//! What both sides of a DOCA UROM offload share: C structs, codes, and the wire encoding.
