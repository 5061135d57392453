//! Tests of the parts that plugins with peers share: see `tests/`.
