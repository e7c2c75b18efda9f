//! Who shares a way to the processor: for every link above a set of disks, how much the disks below
//! it could move together, and how much it can.

use super::Disk;
use super::pcie;

/// One link and the disks below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedLink {
    /// The function at the lower end of the link: a switch's upstream port, an adapter, a drive.
    pub address: String,
    /// Bytes a second in one direction.
    pub bytes: u64,
    /// What the disks below could move together, bytes a second.
    pub demand: u64,
    /// Those disks.
    pub disks: Vec<String>,
}

impl SharedLink {
    /// Demand over what the link can: above 1, the disks cannot all be fast at a time.
    pub fn ratio(&self) -> f64 {
        self.demand as f64 / self.bytes.max(1) as f64
    }
}

/// The links above these disks, in the order in which the disks lead to them, each once.
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
                let link = SharedLink { address, bytes: now.bytes(), demand: 0, disks: Vec::new() };
                found.push((link, Vec::new()));
                found.len() - 1
            });
            let (link, media) = &mut found[at];
            link.disks.push(disk.name.clone());
            if !media.contains(&medium) {
                media.push(medium);
                link.demand = link.demand.saturating_add(own);
            }
        }
    }
    found.into_iter().map(|(link, _)| link).collect()
}
