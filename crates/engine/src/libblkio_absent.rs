//! `libblkio` in a build without the cargo feature of that name. The planner refuses its jobs.

use std::convert::Infallible;

use fiord_plan::{EndpointError, EndpointFacts, LibblkioPlan};
use fiord_types::FileIndex;

use crate::error::about_the_library;
use crate::{
    Attachment, Completions, Engine, EngineConfig, EngineError, FreeSlot, HeldSlot, MachineClock,
    Op, Queued, Want,
};

/// The `libblkio` engine. This build has none.
#[derive(Debug)]
pub struct NoLibblkio {
    none: Infallible,
}

impl NoLibblkio {
    /// Creates no engine.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn new(_config: &EngineConfig) -> Result<Self, EngineError> {
        Err(absent())
    }
}

/// The error of a build without the engine.
fn absent() -> EngineError {
    let what = "this build has no engine libblkio";
    EngineError::plain(what).help("To fix: rebuild with `--features libblkio`")
}

impl Engine for NoLibblkio {
    const ASYNC: bool = true;
    type Clock = MachineClock;

    fn clock(&self) -> MachineClock {
        match self.none {}
    }

    fn attach(&mut self, _file: FileIndex, _target: &Attachment) -> Result<(), EngineError> {
        match self.none {}
    }

    fn detach(&mut self, _file: FileIndex) -> Result<(), EngineError> {
        match self.none {}
    }

    fn take_slots(&mut self) -> Vec<FreeSlot> {
        match self.none {}
    }

    fn buffer(&mut self, _slot: &mut FreeSlot) -> &mut [u8] {
        match self.none {}
    }

    fn hold(&mut self, _slot: FreeSlot) -> HeldSlot {
        match self.none {}
    }

    fn queue(&mut self, _slot: FreeSlot, _op: &Op) -> Queued {
        match self.none {}
    }

    fn flush(&mut self) -> Result<u32, EngineError> {
        match self.none {}
    }

    fn reap(&mut self, _want: Want, _done: &mut Completions) -> Result<(), EngineError> {
        match self.none {}
    }
}

/// Asks no target.
pub(crate) fn ask(_plan: &LibblkioPlan) -> Result<EndpointFacts, EndpointError> {
    Err(about_the_library(absent()))
}
