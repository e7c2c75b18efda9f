//! Engines behind a pointer, and the layers around them: a layer follows `queue` and `reap`, and all other calls
//! go to the engine below.

use std::marker::PhantomData;

use fiord_engine::{
    Attachment, Completions, Engine, EngineError, FreeSlot, HeldSlot, MachineClock, Op, Queued,
    Time, TrimRange, Want,
};
use fiord_stat::engine::EngineReport;
use fiord_types::FileIndex;

/// [`Engine`] without its constants, so that it can be behind a pointer. `C`: its clock.
pub(super) trait AnyEngine<C = MachineClock> {
    fn moves_position(&self) -> bool;
    fn completes_at_once(&self) -> bool;
    fn clock(&self) -> C;
    fn attach(&mut self, file: FileIndex, target: &Attachment) -> Result<(), EngineError>;
    fn connect(&mut self) -> Result<(), EngineError>;
    fn report(&self, path: &dyn Fn(FileIndex) -> String) -> EngineReport;
    fn detach(&mut self, file: FileIndex) -> Result<(), EngineError>;
    fn take_slots(&mut self) -> Vec<FreeSlot>;
    fn buffer(&mut self, slot: &mut FreeSlot) -> &mut [u8];
    fn hold(&mut self, slot: FreeSlot) -> HeldSlot;
    fn explain(&mut self, slot: &FreeSlot) -> Option<String>;
    fn ranges(&mut self, slot: &FreeSlot, ranges: &[TrimRange]);
    fn queue(&mut self, slot: FreeSlot, op: &Op) -> Queued;
    fn flush(&mut self) -> Result<u32, EngineError>;
    fn reap(&mut self, want: Want, done: &mut Completions) -> Result<(), EngineError>;
    fn close(&mut self) -> Result<(), EngineError>;
}

impl<E: Engine> AnyEngine<E::Clock> for E {
    fn moves_position(&self) -> bool {
        Engine::moves_position(self)
    }
    fn completes_at_once(&self) -> bool {
        Engine::completes_at_once(self)
    }
    fn clock(&self) -> E::Clock {
        Engine::clock(self)
    }
    fn attach(&mut self, file: FileIndex, target: &Attachment) -> Result<(), EngineError> {
        Engine::attach(self, file, target)
    }
    fn connect(&mut self) -> Result<(), EngineError> {
        Engine::connect(self)
    }
    fn report(&self, path: &dyn Fn(FileIndex) -> String) -> EngineReport {
        Engine::report(self, path)
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

pub(super) trait EnginePointer<C> {
    fn engine(&self) -> &dyn AnyEngine<C>;
    /// The engine, to change it.
    fn engine_mut(&mut self) -> &mut dyn AnyEngine<C>;
}

impl<C> EnginePointer<C> for Box<dyn AnyEngine<C>> {
    fn engine(&self) -> &dyn AnyEngine<C> {
        &**self
    }
    fn engine_mut(&mut self) -> &mut dyn AnyEngine<C> {
        &mut **self
    }
}

impl<C> EnginePointer<C> for Box<dyn AnyEngine<C> + Send> {
    fn engine(&self) -> &dyn AnyEngine<C> {
        &**self
    }
    fn engine_mut(&mut self) -> &mut dyn AnyEngine<C> {
        &mut **self
    }
}

impl<C> EnginePointer<C> for &mut (dyn AnyEngine<C> + '_) {
    fn engine(&self) -> &dyn AnyEngine<C> {
        &**self
    }
    fn engine_mut(&mut self) -> &mut dyn AnyEngine<C> {
        &mut **self
    }
}

/// An engine behind a pointer with a layer around it. The loops are compiled once for all such engines of a layer:
/// what the layers do costs more than the indirect calls.
pub(super) struct Layered<L, C = MachineClock, B = Box<dyn AnyEngine<C>>> {
    below: B,
    layer: L,
    clock: PhantomData<C>,
}

/// An engine behind a pointer.
pub(super) type Boxed = Layered<()>;

/// An engine behind a pointer that another thread can take over.
pub(super) type Sendable = Layered<(), MachineClock, Box<dyn AnyEngine + Send>>;

/// An engine that is borrowed for rare code, which is compiled once for all engines with a clock.
pub(super) type Borrowed<'e, C> = Layered<(), C, &'e mut (dyn AnyEngine<C> + 'e)>;

impl<L: Layer, C: Time> Layered<L, C> {
    /// Puts `layer` around `engine`.
    pub(super) fn new(engine: impl Engine<Clock = C> + 'static, layer: L) -> Self {
        Layered { below: Box::new(engine), layer, clock: PhantomData }
    }
}

impl Sendable {
    /// Puts `engine` behind a pointer.
    pub(super) fn sendable(engine: impl Engine<Clock = MachineClock> + Send + 'static) -> Self {
        Layered { below: Box::new(engine), layer: (), clock: PhantomData }
    }
}

impl<'e, C: Time> Borrowed<'e, C> {
    #[inline(always)]
    pub(super) fn of(engine: &'e mut (impl Engine<Clock = C> + 'e)) -> Self {
        Layered { below: engine, layer: (), clock: PhantomData }
    }
}

impl<L: Layer, C: Time, B: EnginePointer<C>> Engine for Layered<L, C, B> {
    const ASYNC: bool = true;
    const SOMETIMES_AT_ONCE: bool = true;
    type Clock = C;

    fn moves_position(&self) -> bool {
        self.below.engine().moves_position()
    }
    fn completes_at_once(&self) -> bool {
        self.below.engine().completes_at_once()
    }
    fn clock(&self) -> C {
        self.below.engine().clock()
    }
    fn attach(&mut self, file: FileIndex, target: &Attachment) -> Result<(), EngineError> {
        self.below.engine_mut().attach(file, target)
    }
    fn connect(&mut self) -> Result<(), EngineError> {
        self.below.engine_mut().connect()
    }
    fn report(&self, path: &dyn Fn(FileIndex) -> String) -> EngineReport {
        self.below.engine().report(path)
    }
    fn detach(&mut self, file: FileIndex) -> Result<(), EngineError> {
        self.below.engine_mut().detach(file)
    }
    fn take_slots(&mut self) -> Vec<FreeSlot> {
        self.below.engine_mut().take_slots()
    }
    fn buffer(&mut self, slot: &mut FreeSlot) -> &mut [u8] {
        self.below.engine_mut().buffer(slot)
    }
    fn hold(&mut self, slot: FreeSlot) -> HeldSlot {
        self.below.engine_mut().hold(slot)
    }
    fn explain(&mut self, slot: &FreeSlot) -> Option<String> {
        self.below.engine_mut().explain(slot)
    }
    fn ranges(&mut self, slot: &FreeSlot, ranges: &[TrimRange]) {
        self.below.engine_mut().ranges(slot, ranges);
    }
    fn queue(&mut self, slot: FreeSlot, op: &Op) -> Queued {
        self.layer.queue(self.below.engine_mut(), slot, op)
    }
    fn flush(&mut self) -> Result<u32, EngineError> {
        self.below.engine_mut().flush()
    }
    fn reap(&mut self, want: Want, done: &mut Completions) -> Result<(), EngineError> {
        self.layer.reap(self.below.engine_mut(), want, done)
    }
    fn close(&mut self) -> Result<(), EngineError> {
        self.below.engine_mut().close()
    }
}
