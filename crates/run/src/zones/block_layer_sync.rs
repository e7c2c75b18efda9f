//! Keeps the block layer's write pointers right when jobs use the generic device of an NVMe namespace or a SCSI disk.
//!
//! Since Linux 6.10 the block layer keeps its own write pointer for each zone that was partly written through
//! the block device, and fails writes at other offsets. Passthrough commands change the zone without the
//! block layer noticing. So this module repeats each reset and finish of such a zone on the block device.
//! The repetition changes nothing on the drive. It is needed once for each zone, because the block layer then
//! drops its write pointer.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use fiord_plan::FileKind;
use fiord_sys::zone::{Zone, ZoneAction, ZonedDevice, ZonedNode};
use fiord_sys::{block, file};
use fiord_types::{Bytes, ZoneIndex};

/// The block device of a generic device, and the zones whose write pointers the block layer may keep.
#[derive(Debug)]
pub(super) struct BlockLayerSync {
    device: Box<dyn ZonedDevice>,
    zones: Mutex<Vec<ZoneIndex>>,
}

impl BlockLayerSync {
    /// For the generic device at `path` with these zones. `None` if it has no block device, the block device
    /// cannot be opened, or no zone is partly written.
    pub(super) fn of(path: &Path, kind: FileKind, zones: &[Zone]) -> Option<BlockLayerSync> {
        if kind != FileKind::Char || !zones.iter().any(is_partly_written) {
            return None;
        }
        let (name, _) = block::block_device_of_generic(file::facts(path).ok()?.node?)?;
        let device = ZonedNode::open(&block::node(&name), true).ok()?;
        Some(BlockLayerSync::new(Box::new(device), zones))
    }

    pub(super) fn new(device: Box<dyn ZonedDevice>, zones: &[Zone]) -> BlockLayerSync {
        let partly = zones.iter().zip(0..).filter(|(zone, _)| is_partly_written(zone));
        BlockLayerSync {
            device,
            zones: Mutex::new(partly.map(|(_, number)| ZoneIndex(number)).collect()),
        }
    }

    /// Repeats a reset or finish of a zone on the block device. An error is ignored: it leaves the block layer
    /// as it was.
    pub(super) fn follow(&self, action: ZoneAction, zone: ZoneIndex, start: Bytes, len: Bytes) {
        if !matches!(action, ZoneAction::Reset | ZoneAction::Finish) {
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
