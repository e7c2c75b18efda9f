//! The block device beside an NVMe generic device.
//!
//! Since Linux 6.10 the block layer keeps a write pointer of its own for each zone that was partly
//! written through it, and fails writes elsewhere. Commands that are passed through change the zone
//! without its knowing. What empties or fills such a zone is done again here, where it changes
//! nothing but what the block layer knows: once a zone, since after that it keeps no pointer of it.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use fiord_plan::FileKind;
use fiord_sys::zone::{Action, Device, Zone, ZonedDevice};
use fiord_sys::{block, file};

/// The block device, and the zones of which it may keep pointers.
#[derive(Debug)]
pub(super) struct Beside {
    device: Box<dyn ZonedDevice>,
    zones: Mutex<Vec<u32>>,
}

impl Beside {
    /// Of the device at a path, which has these zones. `None`: there is no block device beside it, it
    /// cannot be opened, or no zone is partly written.
    pub fn of(path: &Path, kind: FileKind, zones: &[Zone]) -> Option<Beside> {
        if kind != FileKind::Char || !zones.iter().any(is_partly_written) {
            return None;
        }
        let (name, _) = block::beside_generic(file::facts(path).ok()?.node?)?;
        let device = Device::open(&block::node(&name), true).ok()?;
        Some(Beside::new(Box::new(device), zones))
    }

    pub fn new(device: Box<dyn ZonedDevice>, zones: &[Zone]) -> Beside {
        let partly = zones.iter().zip(0..).filter(|(zone, _)| is_partly_written(zone));
        Beside { device, zones: Mutex::new(partly.map(|(_, number)| number).collect()) }
    }

    /// The device has reset or finished a zone: so does the block layer. Should it refuse, nothing is
    /// worse than it was.
    pub fn follow(&self, action: Action, zone: u32, start: u64, len: u64) {
        if !matches!(action, Action::Reset | Action::Finish) {
            return;
        }
        let mut zones = self.zones.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = zones.iter().position(|known| *known == zone)
            && self.device.manage(action, start, len).is_ok()
        {
            zones.swap_remove(at);
        }
    }
}

fn is_partly_written(zone: &Zone) -> bool {
    zone.is_sequential()
        && zone.write_pointer > zone.start
        && zone.write_pointer < zone.writable_end()
}
