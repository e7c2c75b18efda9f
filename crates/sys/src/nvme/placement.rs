//! Flexible data placement: the placement identifiers of a namespace (NVM Command Set Specification
//! 1.0 with TP4146, "I/O Management Receive").

use std::os::fd::AsFd;

use super::admin::{self, CommandQueue, PassthruCmd, Refused};

/// Opcode of I/O Management Receive.
const IO_MANAGEMENT_RECEIVE: u8 = 0x12;
/// Management operation: the status of reclaim unit handles.
const RECLAIM_UNIT_HANDLES: u32 = 0x01;
/// Size of the header before the descriptors, and of each descriptor, in bytes.
const HEADER: usize = 16;
const DESCRIPTOR: usize = 32;

/// Returns the placement identifiers of a namespace, in the order of the controller's reclaim unit
/// handles, as `nvme fdp status` shows them.
///
/// # Errors
/// The controller's status if flexible data placement is not enabled; otherwise those of the ioctl.
pub fn identifiers(node: impl AsFd) -> Result<Vec<u16>, Refused> {
    // Read the number of descriptors first, then all of them: some controllers refuse to return less
    // than the buffer holds.
    let mut header = [0; HEADER];
    receive(&node, &mut header)?;
    let mut all = vec![0; HEADER + usize::from(count(&header)) * DESCRIPTOR];
    receive(&node, &mut all)?;
    Ok(parse(&all))
}

/// Reads the status of reclaim unit handles, as much as fits in `data`.
fn receive(node: impl AsFd, data: &mut [u8]) -> Result<(), Refused> {
    let command = PassthruCmd {
        opcode: IO_MANAGEMENT_RECEIVE,
        nsid: admin::namespace_id(&node).map_err(Refused::Kernel)?,
        cdw10: RECLAIM_UNIT_HANDLES,
        // Number of dwords minus one.
        cdw11: data.len() as u32 / 4 - 1,
        ..Default::default()
    };
    admin::send(node, CommandQueue::Io, command, data)
}

/// Returns the number of descriptors: bytes 14 and 15.
fn count(header: &[u8; HEADER]) -> u16 {
    u16::from_le_bytes([header[14], header[15]])
}

/// Parses the placement identifiers: descriptors of 32 bytes start at byte 16, and each begins with its
/// placement identifier.
fn parse(data: &[u8]) -> Vec<u16> {
    let word = |bytes: &[u8]| u16::from_le_bytes([bytes[0], bytes[1]]);
    let Some((header, list)) = data.split_first_chunk::<HEADER>() else { return Vec::new() };
    list.chunks_exact(DESCRIPTOR).take(count(header).into()).map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_descriptor_begins_with_its_identifier() {
        let mut data = vec![0u8; HEADER + 3 * DESCRIPTOR];
        data[14] = 2;
        data[HEADER + DESCRIPTOR] = 0x05;
        data[HEADER + DESCRIPTOR + 1] = 0x01;
        data[HEADER + 2 * DESCRIPTOR] = 0x09;
        assert_eq!(parse(&data), [0, 0x105]);
        data[14] = 200;
        assert_eq!(parse(&data).len(), 3);
        assert_eq!(parse(&data[..10]), [0u16; 0]);
    }

    #[test]
    fn a_regular_file_has_no_identifiers() {
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        assert!(matches!(identifiers(&file), Err(Refused::Kernel(_))));
    }
}
