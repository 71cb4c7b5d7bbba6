//! The engine over a manual clock, a store in memory and a scripted provider: what callers and providers notice.
#![expect(clippy::unwrap_used, reason = "the helpers of tests may unwrap like the tests themselves")]

#[macro_use]
mod wrapped;

mod calling;
mod delivering;
mod escalating;
mod fake;
mod handing_over;
mod keeping;
mod keeping_files;
mod naming;
mod polling;
mod rig;
mod simulation;
mod telling;
mod wishing;
