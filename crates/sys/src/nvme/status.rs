//! Statuses of completed commands, and their names.
//!
//! The format is that of Base 3.3.3.2 ("Status Field"); the names come from its status code tables, from
//! NVM 3.1.2 and from ZNS 3.1.2.

/// The status of a completion as the kernel returns it: the 15 bits above the phase tag.
///
/// Bits 7:0 are the status code, 10:8 the status code type, 12:11 the command retry delay, 13 More,
/// and 14 Do Not Retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Status(pub u16);

/// The type of a status code (Base, figure "Status Code – Status Code Type Values").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CodeType {
    /// 0h: statuses that any command can have.
    Generic,
    /// 1h: statuses whose meaning depends on the command.
    CommandSpecific,
    /// 2h: errors of the medium or of data integrity.
    Media,
    /// 3h: errors of the path to the namespace.
    Path,
    /// 7h: statuses that the manufacturer defines.
    Vendor,
    /// A type that the specification does not define.
    Reserved(u8),
}

impl std::fmt::Display for CodeType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            CodeType::Generic => "generic command status",
            CodeType::CommandSpecific => "command specific status",
            CodeType::Media => "media and data integrity error",
            CodeType::Path => "path related status",
            CodeType::Vendor => "vendor specific status",
            CodeType::Reserved(number) => return write!(f, "reserved status type {number:X}h"),
        })
    }
}

impl Status {
    /// Returns the status code.
    #[must_use]
    pub const fn code(self) -> u8 {
        self.0 as u8
    }

    /// Returns the status code type (bits 10:8) and the status code (bits 7:0), as a number.
    #[must_use]
    pub const fn type_and_code(self) -> u16 {
        self.0 & 0x7ff
    }

    /// Returns the status code type.
    #[must_use]
    pub const fn code_type(self) -> CodeType {
        match (self.0 >> 8) as u8 & 0b111 {
            0 => CodeType::Generic,
            1 => CodeType::CommandSpecific,
            2 => CodeType::Media,
            3 => CodeType::Path,
            7 => CodeType::Vendor,
            other => CodeType::Reserved(other),
        }
    }

    /// Whether the command would fail again if it were retried (Do Not Retry).
    #[must_use]
    pub const fn do_not_retry(self) -> bool {
        self.0 & 1 << 14 != 0
    }

    /// Returns the name in the specification; `None` if fiord does not know it.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        let names = match self.code_type() {
            CodeType::Generic => GENERIC,
            CodeType::CommandSpecific => COMMAND_SPECIFIC,
            CodeType::Media => MEDIA,
            CodeType::Path => PATH,
            CodeType::Vendor | CodeType::Reserved(_) => return None,
        };
        names.iter().find(|(code, _)| *code == self.code()).map(|(_, name)| *name)
    }

    /// Whether the error concerns only the blocks of this command (an error of the medium or of one
    /// transfer), so that other commands may succeed.
    #[must_use]
    pub const fn is_about_these_blocks(self) -> bool {
        match self.code_type() {
            CodeType::Media => true,
            // Data Transfer Error, Internal Error, Unrecovered Error.
            CodeType::Generic => matches!(self.code(), 0x04 | 0x06 | 0x88),
            _ => false,
        }
    }

    /// Whether the namespace has no free space (Capacity Exceeded).
    #[must_use]
    pub const fn is_full(self) -> bool {
        matches!((self.code_type(), self.code()), (CodeType::Generic, 0x81))
    }

    /// Returns the likely cause and the remedy, for statuses that are well known; otherwise an empty text.
    #[must_use]
    pub const fn advice(self) -> &'static str {
        match (self.code_type(), self.code()) {
            (CodeType::Generic, 0x01) => "the controller does not have this command",
            (CodeType::Generic, 0x02) => {
                "the controller refuses a field of the command. To fix: use a smaller block size, or \
                 leave out options that the namespace's format does not support"
            }
            (CodeType::Generic, 0x20) | (CodeType::CommandSpecific, 0x82) => {
                "the namespace is write-protected. To fix: remove the protection (nvme set-feature)"
            }
            (CodeType::Generic, 0x81) => {
                "the thinly provisioned namespace is full. To fix: trim it, or make `size` smaller"
            }
            (CodeType::Generic, 0x83) => "another host has reserved the namespace",
            (CodeType::CommandSpecific, 0x81) | (CodeType::Media, 0x82..=0x84) => {
                "the data does not match its protection information"
            }
            (CodeType::CommandSpecific, 0xbc) => {
                "a zone can only be written at its write pointer. To fix: use zonemode=zbd"
            }
            (CodeType::CommandSpecific, 0xbd | 0xbe) => {
                "the job writes to more zones than the device can keep open. To fix: use \
                 zonemode=zbd and max_open_zones"
            }
            (CodeType::CommandSpecific, 0xb9) => {
                "the zone is full. To fix: reset it (`fiord zones --reset`)"
            }
            (CodeType::Media, 0x87) => "the blocks were never written. To fix: write them first",
            (CodeType::Path, _) => {
                "the path to the namespace is broken. To fix: find the cause in the kernel log (dmesg)"
            }
            _ => "",
        }
    }
}

impl std::fmt::Display for Status {
    /// Formats the status as `LBA Out of Range (NVMe generic command status 80h, do not retry)`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = self.name().unwrap_or("Unnamed status");
        write!(f, "{name} (NVMe {} {:02X}h", self.code_type(), self.code())?;
        f.write_str(if self.do_not_retry() { ", do not retry)" } else { ")" })
    }
}

/// Base, figures "Generic Command Status Values"; codes from 80h on belong to the command sets.
const GENERIC: &[(u8, &str)] = &[
    (0x00, "Successful Completion"),
    (0x01, "Invalid Command Opcode"),
    (0x02, "Invalid Field in Command"),
    (0x03, "Command ID Conflict"),
    (0x04, "Data Transfer Error"),
    (0x05, "Commands Aborted due to Power Loss Notification"),
    (0x06, "Internal Error"),
    (0x07, "Command Abort Requested"),
    (0x08, "Command Aborted due to SQ Deletion"),
    (0x09, "Command Aborted due to Failed Fused Command"),
    (0x0a, "Command Aborted due to Missing Fused Command"),
    (0x0b, "Invalid Namespace or Format"),
    (0x0c, "Command Sequence Error"),
    (0x0d, "Invalid SGL Segment Descriptor"),
    (0x0e, "Invalid Number of SGL Descriptors"),
    (0x0f, "Data SGL Length Invalid"),
    (0x10, "Metadata SGL Length Invalid"),
    (0x11, "SGL Descriptor Type Invalid"),
    (0x12, "Invalid Use of Controller Memory Buffer"),
    (0x13, "PRP Offset Invalid"),
    (0x14, "Atomic Write Unit Exceeded"),
    (0x15, "Operation Denied"),
    (0x16, "SGL Offset Invalid"),
    (0x18, "Host Identifier Inconsistent Format"),
    (0x19, "Keep Alive Timer Expired"),
    (0x1a, "Keep Alive Timeout Invalid"),
    (0x1b, "Command Aborted due to Preempt and Abort"),
    (0x1c, "Sanitize Failed"),
    (0x1d, "Sanitize In Progress"),
    (0x1e, "SGL Data Block Granularity Invalid"),
    (0x1f, "Command Not Supported for Queue in CMB"),
    (0x20, "Namespace is Write Protected"),
    (0x21, "Command Interrupted"),
    (0x22, "Transient Transport Error"),
    (0x23, "Command Prohibited by Command and Feature Lockdown"),
    (0x24, "Admin Command Media Not Ready"),
    (0x25, "Invalid Key Tag"),
    (0x26, "Host Dispersed Namespace Support Not Enabled"),
    (0x27, "Host Identifier Not Initialized"),
    (0x28, "Incorrect Key"),
    (0x29, "FDP Disabled"),
    (0x2a, "Invalid Placement Handle List"),
    (0x80, "LBA Out of Range"),
    (0x81, "Capacity Exceeded"),
    (0x82, "Namespace Not Ready"),
    (0x83, "Reservation Conflict"),
    (0x84, "Format In Progress"),
    (0x85, "Invalid Value Size"),
    (0x86, "Invalid Key Size"),
    (0x87, "KV Key Does Not Exist"),
    (0x88, "Unrecovered Error"),
    (0x89, "Key Exists"),
];

/// Base, figure "Command Specific Status Values"; 80h to 83h NVM, B8h to BFh ZNS.
const COMMAND_SPECIFIC: &[(u8, &str)] = &[
    (0x00, "Completion Queue Invalid"),
    (0x01, "Invalid Queue Identifier"),
    (0x02, "Invalid Queue Size"),
    (0x03, "Abort Command Limit Exceeded"),
    (0x05, "Asynchronous Event Request Limit Exceeded"),
    (0x06, "Invalid Firmware Slot"),
    (0x07, "Invalid Firmware Image"),
    (0x08, "Invalid Interrupt Vector"),
    (0x09, "Invalid Log Page"),
    (0x0a, "Invalid Format"),
    (0x0b, "Firmware Activation Requires Conventional Reset"),
    (0x0c, "Invalid Queue Deletion"),
    (0x0d, "Feature Identifier Not Saveable"),
    (0x0e, "Feature Not Changeable"),
    (0x0f, "Feature Not Namespace Specific"),
    (0x10, "Firmware Activation Requires NVM Subsystem Reset"),
    (0x11, "Firmware Activation Requires Controller Level Reset"),
    (0x12, "Firmware Activation Requires Maximum Time Violation"),
    (0x13, "Firmware Activation Prohibited"),
    (0x14, "Overlapping Range"),
    (0x15, "Namespace Insufficient Capacity"),
    (0x16, "Namespace Identifier Unavailable"),
    (0x18, "Namespace Already Attached"),
    (0x19, "Namespace Is Private"),
    (0x1a, "Namespace Not Attached"),
    (0x1b, "Thin Provisioning Not Supported"),
    (0x1c, "Controller List Invalid"),
    (0x1d, "Device Self-test In Progress"),
    (0x1e, "Boot Partition Write Prohibited"),
    (0x1f, "Invalid Controller Identifier"),
    (0x20, "Invalid Secondary Controller State"),
    (0x21, "Invalid Number of Controller Resources"),
    (0x22, "Invalid Resource Identifier"),
    (0x23, "Sanitize Prohibited While Persistent Memory Region is Enabled"),
    (0x24, "ANA Group Identifier Invalid"),
    (0x25, "ANA Attach Failed"),
    (0x26, "Insufficient Capacity"),
    (0x27, "Namespace Attachment Limit Exceeded"),
    (0x28, "Prohibition of Command Execution Not Supported"),
    (0x29, "I/O Command Set Not Supported"),
    (0x2a, "I/O Command Set Not Enabled"),
    (0x2b, "I/O Command Set Combination Rejected"),
    (0x2c, "Invalid I/O Command Set"),
    (0x2d, "Identifier Unavailable"),
    (0x80, "Conflicting Attributes"),
    (0x81, "Invalid Protection Information"),
    (0x82, "Attempted Write to Read Only Range"),
    (0x83, "Command Size Limit Exceeded"),
    (0xb8, "Zone Boundary Error"),
    (0xb9, "Zone Is Full"),
    (0xba, "Zone Is Read Only"),
    (0xbb, "Zone Is Offline"),
    (0xbc, "Zone Invalid Write"),
    (0xbd, "Too Many Active Zones"),
    (0xbe, "Too Many Open Zones"),
    (0xbf, "Invalid Zone State Transition"),
];

/// Base, figure "Media and Data Integrity Error Values", NVM 3.1.2.
const MEDIA: &[(u8, &str)] = &[
    (0x80, "Write Fault"),
    (0x81, "Unrecovered Read Error"),
    (0x82, "End-to-end Guard Check Error"),
    (0x83, "End-to-end Application Tag Check Error"),
    (0x84, "End-to-end Reference Tag Check Error"),
    (0x85, "Compare Failure"),
    (0x86, "Access Denied"),
    (0x87, "Deallocated or Unwritten Logical Block"),
    (0x88, "End-to-End Storage Tag Check Error"),
];

/// Base, figure "Path Related Status Values".
const PATH: &[(u8, &str)] = &[
    (0x00, "Internal Path Error"),
    (0x01, "Asymmetric Access Persistent Loss"),
    (0x02, "Asymmetric Access Inaccessible"),
    (0x03, "Asymmetric Access Transition"),
    (0x60, "Controller Pathing Error"),
    (0x70, "Host Pathing Error"),
    (0x71, "Command Aborted By Host"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_shows_name_and_type() {
        assert_eq!(
            Status(0x4080).to_string(),
            "LBA Out of Range (NVMe generic command status 80h, do not retry)"
        );
        assert_eq!(
            Status(0x02bd - 0x100).to_string(),
            "Too Many Active Zones (NVMe command specific status BDh)"
        );
        assert_eq!(
            Status(0x0281).to_string(),
            "Unrecovered Read Error (NVMe media and data integrity error 81h)"
        );
        assert_eq!(
            Status(0x0303).to_string(),
            "Asymmetric Access Transition (NVMe path related status 03h)"
        );
        assert_eq!(
            Status(0x47c1).to_string(),
            "Unnamed status (NVMe vendor specific status C1h, do not retry)"
        );
        assert_eq!(Status(0x0555).to_string(), "Unnamed status (NVMe reserved status type 5h 55h)");
    }

    #[test]
    fn retry_delay_and_more_are_not_part_of_the_code() {
        let status = Status(0x3aa2 & !0x0700 | 0x0200 | 0x1800 | 0x2000);
        assert_eq!((status.code(), status.code_type()), (0xa2, CodeType::Media));
        assert!(!status.do_not_retry());
    }

    #[test]
    fn media_errors_concern_only_their_blocks() {
        assert!(Status(0x0281).is_about_these_blocks());
        assert!(Status(0x0006).is_about_these_blocks());
        assert!(!Status(0x4001).is_about_these_blocks());
        assert!(!Status(0x01bd).is_about_these_blocks());
    }

    #[test]
    fn codes_are_sorted_and_names_are_unique() {
        let mut names = Vec::new();
        for table in [GENERIC, COMMAND_SPECIFIC, MEDIA, PATH] {
            assert!(table.is_sorted_by_key(|(code, _)| *code));
            names.extend(table.iter().map(|(_, name)| *name));
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
