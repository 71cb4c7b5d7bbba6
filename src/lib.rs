//! jobgate
