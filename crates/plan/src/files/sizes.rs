//! Which region of a file a job asks for: `size`, `filesize`, `offset` and related options, percentages.

use fiord_job::option::def::OptionDef;
use fiord_job::option::table::{
    FILE_APPEND, FILESIZE, FILL_DEVICE, OFFSET, OFFSET_ALIGN, OFFSET_INCREMENT, SIZE,
};
use fiord_job::option::value::Amount;
use fiord_types::Bytes;

use crate::files::region::{Extent, MAX_FILE, Region};
use crate::files::share::HostShare;
use crate::load::{seeds, zones};
use crate::model::{NameCall, Zones};
use crate::options::reading::Reading;

/// The size options of one job, read once for all its files.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    pub(crate) size: Option<Amount>,
    /// `filesize`: smallest and largest size in bytes.
    pub(crate) filesize: Option<(u64, u64)>,
    pub(crate) offset: Amount,
    /// `offset_increment`.
    pub(crate) increment: Amount,
    /// Percentages of `offset` and `increment` are rounded up to multiples of this many bytes.
    pub(crate) align: u64,
    /// `file_append`.
    pub(crate) append: bool,
    /// `fill_device`.
    pub(crate) fill: bool,
    /// The smallest block size in bytes.
    pub(crate) block: u64,
    /// The seed for sizes from a `filesize` range.
    pub(crate) seed: u64,
    /// The part of each file that this host uses. `None`: the whole file.
    pub(crate) share: Option<HostShare>,
}

/// Why a job has no region in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoRegion {
    /// The file has no size, and the job sets none.
    SizeUnknown,
    /// The region would begin at or after the end of the file.
    OffsetBehindEnd { offset: u64, end: u64 },
    /// The region would end after the end of the largest file.
    TooLarge,
}

impl Wanted {
    /// Reads the options.
    pub(crate) fn read(job: Reading, block: u64, seed: u64) -> Self {
        let amount =
            |option: &'static OptionDef, value: Option<Amount>| match zones::amount(job, value) {
                Some(Amount::Zones(_)) if !zones::wanted(job) => {
                    job.report(
                    job.error(
                        option,
                        format!("`{}` is given in zones, but the job has none", option.name),
                    )
                    .help(
                        "To fix: add a `zonemode`, or write bytes (`4g`) or a percentage (`20%`)",
                    ),
                );
                    None
                }
                other => other,
            };
        let size = amount(SIZE.def(), job.get(SIZE)).filter(|s| *s != Amount::Bytes(0));
        let offset = amount(OFFSET.def(), Some(job.get(OFFSET))).unwrap_or(Amount::Bytes(0));
        let increment = amount(OFFSET_INCREMENT.def(), Some(job.get(OFFSET_INCREMENT)))
            .unwrap_or(Amount::Bytes(0));
        let align = Some(job.get(OFFSET_ALIGN).0).filter(|a| *a > 0).unwrap_or(block);
        let filesize = job.get(FILESIZE).map(|size| (size.low(), size.high()));
        // As in fio, a name that the job creates stands for one block unless the job sets a size.
        let creates = job.spec.engine().access.name_call().is_some_and(NameCall::creates);
        let one_block = (creates && size.is_none()).then_some((block.max(1), block.max(1)));
        Wanted {
            size,
            filesize: filesize.or(one_block),
            offset,
            increment,
            align: align.max(1),
            append: job.get(FILE_APPEND),
            fill: job.get(FILL_DEVICE),
            block: block.max(1),
            seed,
            share: None,
        }
    }

    /// Only a part of each file belongs to this host.
    pub(crate) fn of_host(self, share: Option<HostShare>) -> Self {
        Wanted { share, ..self }
    }

    /// Converts amounts in zones to bytes.
    pub(crate) fn in_zones(mut self, zones: Option<Zones>) -> Self {
        let Some(zones) = zones else { return self };
        let bytes = |amount| match amount {
            Amount::Zones(count) => Amount::Bytes(zones.size.saturating_mul(count).0),
            other => other,
        };
        self.size = self.size.map(bytes);
        (self.offset, self.increment) = (bytes(self.offset), bytes(self.increment));
        self
    }

    /// The region of the file `name` for one instance of a job that has `files` files.
    pub(crate) fn region(
        &self,
        extent: Extent,
        files: u64,
        instance: u32,
        name: &[u8],
    ) -> Result<Region, NoRegion> {
        let drawn = self.filesize.map(|range| self.draw(range, name));
        let now = match extent {
            Extent::Growable(now) => now.unwrap_or(0),
            Extent::Fixed(size) => size,
            Extent::Endless => 0,
        };
        // Percentages refer to the final size of the file if it is known, otherwise to the present
        // one.
        let whole = match (extent, self.size) {
            (Extent::Fixed(size), _) => size,
            // As in fio, what has no size is as large as the job says.
            (Extent::Endless, Some(Amount::Bytes(size))) => size / files.max(1),
            _ => drawn.unwrap_or(now),
        };
        // The present end of the file replaces `offset`.
        let appends = self.append && matches!(extent, Extent::Growable(_));
        let offset = if appends { Some(now) } else { self.start(whole, instance) };
        let offset = offset.filter(|o| *o <= MAX_FILE).ok_or(NoRegion::TooLarge)?;
        match extent {
            Extent::Fixed(size) => self.in_fixed(offset, size, drawn, files),
            _ => self.in_growable(offset, now, drawn, files, extent),
        }
    }

    /// The offset in bytes of an instance: `offset` and its multiple of `offset_increment`.
    fn start(&self, whole: u64, instance: u32) -> Option<u64> {
        let first = match self.offset {
            Amount::Percent(p) => round_up(share(whole, p), self.align)?,
            Amount::Bytes(b) => b,
            Amount::Zones(_) => 0,
        };
        let further = match self.increment {
            Amount::Percent(p) => {
                round_up(share(whole, p).checked_mul(u64::from(instance))?, self.align)?
            }
            Amount::Bytes(b) => b.checked_mul(u64::from(instance))?,
            Amount::Zones(_) => 0,
        };
        first.checked_add(further)
    }

    fn in_fixed(
        &self,
        offset: u64,
        size: u64,
        drawn: Option<u64>,
        files: u64,
    ) -> Result<Region, NoRegion> {
        let end = drawn.map_or(size, |d| d.min(size));
        if offset >= end {
            return Err(NoRegion::OffsetBehindEnd { offset, end });
        }
        let rest = end - offset;
        let len = match self.size {
            Some(Amount::Percent(p)) => share(end, p).min(rest),
            Some(Amount::Bytes(b)) if drawn.is_none() && b / files.max(1) > 0 => b / files.max(1),
            _ => rest,
        };
        let asked = (len > rest).then_some(Bytes(len));
        Ok(Region { offset: Bytes(offset), len: Bytes(len.min(rest)), needed: None, asked })
    }

    fn in_growable(
        &self,
        offset: u64,
        now: u64,
        drawn: Option<u64>,
        files: u64,
        extent: Extent,
    ) -> Result<Region, NoRegion> {
        let len = match (drawn, self.size) {
            (Some(whole), Some(Amount::Percent(p))) => {
                share(whole, p).min(self.rest(offset, whole)?)
            }
            (Some(whole), _) => self.rest(offset, whole)?,
            (None, Some(Amount::Bytes(b))) if b / files.max(1) > 0 => b / files.max(1),
            (None, Some(Amount::Percent(p))) if now > 0 => match self.append {
                true => share(now, p),
                false => share(now, p).min(self.rest(offset, now)?),
            },
            (None, None) if self.fill => (MAX_FILE - offset) / self.block * self.block,
            (None, _) if now > 0 && !self.append => self.rest(offset, now)?,
            (None, _) => return Err(NoRegion::SizeUnknown),
        };
        let end = offset.checked_add(len).filter(|e| *e <= MAX_FILE);
        let end = end.ok_or(NoRegion::TooLarge)?;
        let unbounded = self.fill && self.size.is_none() && drawn.is_none();
        let grows = matches!(extent, Extent::Growable(_)) && end > now && !unbounded;
        let needed = grows.then_some(Bytes(end));
        Ok(Region { offset: Bytes(offset), len: Bytes(len), needed, asked: None })
    }

    fn rest(&self, offset: u64, end: u64) -> Result<u64, NoRegion> {
        end.checked_sub(offset).filter(|l| *l > 0).ok_or(NoRegion::OffsetBehindEnd { offset, end })
    }

    /// Draws the size of a file evenly from a `filesize` range, in whole blocks if the range
    /// contains any. All jobs that share a file draw the same size.
    fn draw(&self, (low, high): (u64, u64), name: &[u8]) -> u64 {
        if low == high {
            return low;
        }
        let span = u128::from(high - low) + 1;
        let bits = u128::from(seeds::mix(self.seed, seeds::of_text(name)));
        let drawn = low + ((bits * span) >> 64) as u64;
        let whole = drawn / self.block * self.block;
        if whole >= low { whole } else { drawn }
    }
}

/// `percent` per cent of `whole`, rounded down, with a precision of a millionth of a per cent.
pub(crate) fn share(whole: u64, percent: f64) -> u64 {
    let millionths = (percent.max(0.0) * 1e6).round() as u128;
    (u128::from(whole).saturating_mul(millionths) / 100_000_000).min(u128::from(u64::MAX)) as u64
}

/// Rounds up to the next multiple; `None` if it exceeds 64 bits.
fn round_up(value: u64, multiple: u64) -> Option<u64> {
    value.checked_next_multiple_of(multiple.max(1))
}
