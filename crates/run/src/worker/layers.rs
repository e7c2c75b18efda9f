//! Engines behind a pointer, and the layers around them: a layer follows `queue` and `reap`, and all other calls
//! go to the engine below.

use fiord_engine::{
    Attachment, Completions, Engine, EngineError, FaultLog, FreeSlot, HeldSlot, MachineClock, Op,
    Queued, Time, TrimRange, Want,
};
use fiord_types::FileIndex;

/// [`Engine`] without its constants, so that it can be behind a pointer. `C`: its clock.
pub(super) trait AnyEngine<C = MachineClock> {
    fn completes_at_once(&self) -> bool;
    fn clock(&self) -> C;
    fn attach(&mut self, file: FileIndex, target: &Attachment) -> Result<(), EngineError>;
    fn detach(&mut self, file: FileIndex) -> Result<(), EngineError>;
    fn take_slots(&mut self) -> Vec<FreeSlot>;
    fn buffer(&mut self, slot: &mut FreeSlot) -> &mut [u8];
    fn hold(&mut self, slot: FreeSlot) -> HeldSlot;
    fn explain(&mut self, slot: &FreeSlot) -> Option<String>;
    fn injected_faults(&self) -> Option<&FaultLog>;
    fn ranges(&mut self, slot: &FreeSlot, ranges: &[TrimRange]);
    fn queue(&mut self, slot: FreeSlot, op: &Op) -> Queued;
    fn flush(&mut self) -> Result<u32, EngineError>;
    fn reap(&mut self, want: Want, done: &mut Completions) -> Result<(), EngineError>;
    fn close(&mut self) -> Result<(), EngineError>;
}

impl<E: Engine> AnyEngine<E::Clock> for E {
    fn completes_at_once(&self) -> bool {
        Engine::completes_at_once(self)
    }
    fn clock(&self) -> E::Clock {
        Engine::clock(self)
    }
    fn attach(&mut self, file: FileIndex, target: &Attachment) -> Result<(), EngineError> {
        Engine::attach(self, file, target)
    }
    fn detach(&mut self, file: FileIndex) -> Result<(), EngineError> {
        Engine::detach(self, file)
    }
    fn take_slots(&mut self) -> Vec<FreeSlot> {
        Engine::take_slots(self)
    }
    fn buffer(&mut self, slot: &mut FreeSlot) -> &mut [u8] {
        Engine::buffer(self, slot)
    }
    fn hold(&mut self, slot: FreeSlot) -> HeldSlot {
        Engine::hold(self, slot)
    }
    fn explain(&mut self, slot: &FreeSlot) -> Option<String> {
        Engine::explain(self, slot)
    }
    fn injected_faults(&self) -> Option<&FaultLog> {
        Engine::injected_faults(self)
    }
    fn ranges(&mut self, slot: &FreeSlot, ranges: &[TrimRange]) {
        Engine::ranges(self, slot, ranges);
    }
    fn queue(&mut self, slot: FreeSlot, op: &Op) -> Queued {
        Engine::queue(self, slot, op)
    }
    fn flush(&mut self) -> Result<u32, EngineError> {
        Engine::flush(self)
    }
    fn reap(&mut self, want: Want, done: &mut Completions) -> Result<(), EngineError> {
        Engine::reap(self, want, done)
    }
    fn close(&mut self) -> Result<(), EngineError> {
        Engine::close(self)
    }
}

/// What happens around the calls of an engine. `()` does nothing.
pub(super) trait Layer {
    /// Queues an op on the engine below.
    fn queue<C>(&mut self, below: &mut dyn AnyEngine<C>, slot: FreeSlot, op: &Op) -> Queued {
        below.queue(slot, op)
    }
    /// Reaps completions of the engine below.
    fn reap<C>(
        &mut self,
        below: &mut dyn AnyEngine<C>,
        want: Want,
        done: &mut Completions,
    ) -> Result<(), EngineError> {
        below.reap(want, done)
    }
}

impl Layer for () {}

/// An engine behind a pointer with a layer around it. The loops are compiled once for all such engines of a layer:
/// what the layers do costs more than the indirect calls.
pub(super) struct Layered<L, C = MachineClock> {
    below: Box<dyn AnyEngine<C>>,
    layer: L,
}

/// An engine behind a pointer.
pub(super) type Boxed = Layered<()>;

impl<L: Layer, C: Time> Layered<L, C> {
    /// Puts `layer` around `engine`.
    pub(super) fn new(engine: impl Engine<Clock = C> + 'static, layer: L) -> Self {
        Layered { below: Box::new(engine), layer }
    }
}

impl<L: Layer, C: Time> Engine for Layered<L, C> {
    const ASYNC: bool = true;
    const SOMETIMES_AT_ONCE: bool = true;
    type Clock = C;

    fn completes_at_once(&self) -> bool {
        self.below.completes_at_once()
    }
    fn clock(&self) -> C {
        self.below.clock()
    }
    fn attach(&mut self, file: FileIndex, target: &Attachment) -> Result<(), EngineError> {
        self.below.attach(file, target)
    }
    fn detach(&mut self, file: FileIndex) -> Result<(), EngineError> {
        self.below.detach(file)
    }
    fn take_slots(&mut self) -> Vec<FreeSlot> {
        self.below.take_slots()
    }
    fn buffer(&mut self, slot: &mut FreeSlot) -> &mut [u8] {
        self.below.buffer(slot)
    }
    fn hold(&mut self, slot: FreeSlot) -> HeldSlot {
        self.below.hold(slot)
    }
    fn explain(&mut self, slot: &FreeSlot) -> Option<String> {
        self.below.explain(slot)
    }
    fn injected_faults(&self) -> Option<&FaultLog> {
        self.below.injected_faults()
    }
    fn ranges(&mut self, slot: &FreeSlot, ranges: &[TrimRange]) {
        self.below.ranges(slot, ranges);
    }
    fn queue(&mut self, slot: FreeSlot, op: &Op) -> Queued {
        self.layer.queue(&mut *self.below, slot, op)
    }
    fn flush(&mut self) -> Result<u32, EngineError> {
        self.below.flush()
    }
    fn reap(&mut self, want: Want, done: &mut Completions) -> Result<(), EngineError> {
        self.layer.reap(&mut *self.below, want, done)
    }
    fn close(&mut self) -> Result<(), EngineError> {
        self.below.close()
    }
}
