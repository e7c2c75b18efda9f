//! Engines that do no I/O. Their ops are cycles: each does a piece of the engine's work.
//!
//! [`CycleEngine`] implements everything but the work itself, which is a `CyclicWork`.

mod cpuio;
mod exec;

use fiord_types::FileIndex;

use crate::buffers::{Buffers, slots_of_buffers};
use crate::{
    Attachment, Completions, Engine, EngineConfig, EngineError, FreeSlot, MachineClock, Op,
    Outcome, Queued, Want,
};

/// `ioengine=cpuio`.
pub type Cpuio = CycleEngine<cpuio::CpuCycles>;
/// `ioengine=exec`.
pub type Exec = CycleEngine<exec::Program>;

/// The work of an engine that does no I/O.
pub trait CyclicWork: Sized {
    /// Creates the work. It must not begin before the first cycle.
    ///
    /// # Errors
    ///
    /// The options or the machine do not allow it.
    fn new(config: &EngineConfig) -> Result<Self, EngineError>;

    /// Does one cycle of work. It must return soon after [`EndSignal::is_stopped`](crate::EndSignal) became
    /// true.
    ///
    /// # Errors
    ///
    /// The work failed. The text says why.
    fn cycle(&mut self) -> Result<(), EngineError>;

    /// Ends the work. Nothing of it may continue after this call.
    ///
    /// # Errors
    ///
    /// A part of the work may still run. The text says which.
    fn close(&mut self) -> Result<(), EngineError> {
        Ok(())
    }
}

/// An engine that does no I/O, built from a `CyclicWork`. It has one slot, whose buffer it does not use.
#[derive(Debug)]
pub struct CycleEngine<A> {
    activity: A,
    buffers: Buffers,
    clock: MachineClock,
    /// Why the last cycle failed.
    failure: Option<String>,
}

impl<A: CyclicWork> CycleEngine<A> {
    /// Creates the engine.
    ///
    /// # Errors
    ///
    /// The work cannot be created.
    pub fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        Ok(CycleEngine {
            activity: A::new(config)?,
            buffers: Buffers::new(&EngineConfig { slots: 1, ..config.clone() })?,
            clock: config.clock,
            failure: None,
        })
    }
}

impl<A: CyclicWork> Engine for CycleEngine<A> {
    const ASYNC: bool = false;
    type Clock = MachineClock;

    fn clock(&self) -> MachineClock {
        self.clock
    }

    fn attach(&mut self, _file: FileIndex, _target: &Attachment) -> Result<(), EngineError> {
        Ok(())
    }

    fn detach(&mut self, _file: FileIndex) -> Result<(), EngineError> {
        Ok(())
    }

    slots_of_buffers!();

    fn explain(&mut self, _slot: &FreeSlot) -> Option<String> {
        self.failure.take()
    }

    fn queue(&mut self, slot: FreeSlot, _op: &Op) -> Queued {
        let outcome = match self.activity.cycle() {
            Ok(()) => Outcome::ok(0),
            Err(error) => {
                self.failure = Some(error.to_string());
                Outcome::err(error.errno.unwrap_or(fiord_types::Errno::EIO))
            }
        };
        Queued::Done(slot, outcome)
    }

    fn flush(&mut self) -> Result<u32, EngineError> {
        Ok(0)
    }

    fn reap(&mut self, _want: Want, _done: &mut Completions) -> Result<(), EngineError> {
        Ok(())
    }

    fn close(&mut self) -> Result<(), EngineError> {
        self.activity.close()
    }
}
