//! Links that several disks share: for every link above a set of disks, the bandwidth that the disks
//! below it could use together, and the bandwidth of the link.

use fiord_types::Bytes;

use super::Disk;
use super::pcie;

/// One link and the disks below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedLink {
    /// The function at the lower end of the link: a switch's upstream port, an adapter, a drive.
    pub address: String,
    /// Bandwidth of the link in one direction, per second.
    pub bytes: Bytes,
    /// Bandwidth that the disks below could use together, per second.
    pub demand: Bytes,
    /// Names of the disks below.
    pub disks: Vec<String>,
}

impl SharedLink {
    /// Returns demand divided by bandwidth. Above 1, the disks cannot all run at full speed together.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.demand.0 as f64 / self.bytes.max(Bytes(1)).0 as f64
    }
}

/// Returns the links above these disks, each once, in the order in which the disks lead to them.
#[must_use]
pub fn links(disks: &[Disk]) -> Vec<SharedLink> {
    let mut found: Vec<(SharedLink, Vec<&str>)> = Vec::new();
    for disk in disks {
        let Some(own) = disk.bandwidth() else { continue };
        // Namespaces of one controller share its link, which counts once.
        let medium = disk.medium();
        for function in pcie::links(&disk.pcie) {
            let Some(now) = function.now else { continue };
            let at = found.iter().position(|(link, _)| link.address == function.address);
            let at = at.unwrap_or_else(|| {
                let address = function.address.clone();
                let link = SharedLink {
                    address,
                    bytes: Bytes(now.bytes()),
                    demand: Bytes::ZERO,
                    disks: Vec::new(),
                };
                found.push((link, Vec::new()));
                found.len() - 1
            });
            let (link, media) = &mut found[at];
            link.disks.push(disk.name.clone());
            if !media.contains(&medium) {
                media.push(medium);
                link.demand = link.demand.saturating_add(Bytes(own));
            }
        }
    }
    found.into_iter().map(|(link, _)| link).collect()
}
