//! `libblkio` in a build without the cargo feature of that name. The option table says how to get it, and the planner refuses
//! its jobs. Tests compile this module in all builds.

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
    EngineError::plain("this build has no engine libblkio")
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

#[cfg(test)]
mod tests {
    use fiord_plan::{
        BlkioInstance, EndpointSubject, EnginePlan, LibblkioDriver, LibblkioWaitMode,
    };

    use super::*;

    #[test]
    fn a_build_without_the_engine_neither_asks_a_target_nor_creates_the_engine() {
        let plan = LibblkioPlan {
            instance: BlkioInstance::new(LibblkioDriver::VhostUser, "sock".into()),
            polled: false,
            vectored: false,
            zeroes_on_trim: false,
            wait: LibblkioWaitMode::Block,
            completion_events: false,
        };
        assert_eq!(ask(&plan).unwrap_err().about, EndpointSubject::Library);
        let config = EngineConfig::plain(EnginePlan::Libblkio(Box::new(plan)), 1, 512);
        assert!(NoLibblkio::new(&config).is_err());
    }
}
