//! jobgate
fn main() {}
