//! The full-screen view of a run (`--live`), and of a finished one (`fiord live`).
//!
//! Events of the run change a [model]; [`draw`](draw::draw) draws it into a buffer; the [screen] puts the buffer on
//! the terminal and reads keys. Only the screen and the samples of devices touch the system. The workers do nothing for the view:
//! the conductor sends the same events to any observer.
//!
//! | question | module |
//! |---|---|
//! | what is known of the run, its hosts, jobs, devices and findings | [`model`] |
//! | what is kept of the last intervals | [`history`] |
//! | what is drawn where | [`draw`] |
//! | what do keys do | [`keys`], [`controls`] |
//! | how is the list sorted | [`rows`] |
//! | which characters and colours | [`look`] |
//! | what does a replay of a finished run show, and when | [`replay`] |
//! | how do cells get to the terminal | [`backend`], [`screen`] |
//! | devices: queue, utilization, temperature | [`devices`] |

#![forbid(unsafe_code)]

pub mod backend;
pub mod controls;
pub mod devices;
pub mod draw;
pub mod history;
pub mod keys;
pub mod look;
pub mod model;
pub mod page;
pub mod replay;
pub mod rows;
pub mod screen;

#[cfg(test)]
mod tests;
