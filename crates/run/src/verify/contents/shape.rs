//! Bodies of verified writes that storage can compress (`buffer_compress_percentage`), or in which it finds duplicates
//! (`dedupe_percentage`). They depend on the seed and the offset of the write alone, so that a diagnosis can compute them.

use std::sync::{Arc, Mutex, PoisonError};

use fiord_formats::verify::write::BodyShape;
use fiord_load::content::compress::CompressibleLayout;
use fiord_load::content::duplicates::{BLOCK, Duplicates};
use fiord_load::rng::splitmix;
use fiord_plan::{ContentPlan, JobPlan};
use fiord_types::Errno;

use crate::content::with_pattern_files;
use crate::error::{JobError, Stage};

/// The shape of the bodies of one job.
#[derive(Debug)]
pub(super) struct ShapedBody {
    layout: Option<Mutex<CompressibleLayout>>,
    duplicates: Option<Duplicates>,
}

impl ShapedBody {
    /// The shape of a job's writes; `None` if their bodies have none.
    pub(super) fn of(job: &JobPlan) -> Result<Option<Arc<dyn BodyShape>>, JobError> {
        let ContentPlan::Shaped(shape) = &job.content else { return Ok(None) };
        let shape = with_pattern_files(job, shape)?;
        let most = if shape.dedupe.is_some() { BLOCK } else { usize::MAX };
        let layout =
            shape.compress.as_ref().map(|compress| CompressibleLayout::new(compress, most));
        let layout = layout
            .transpose()
            .map_err(|e| JobError::new(Stage::FillBuffers, Errno::EINVAL, e.to_string()))?;
        let duplicates = shape.dedupe.as_ref().map(|dedupe| {
            let mut own = job.load.seed;
            let places = splitmix(&mut own);
            // Jobs with `dedupe_global` have the same duplicates.
            let contents = if dedupe.global { 0 } else { splitmix(&mut own) };
            Duplicates::new(dedupe, places, contents)
        });
        Ok(Some(Arc::new(ShapedBody { layout: layout.map(Mutex::new), duplicates })))
    }

    /// Makes a part of `piece` compressible.
    fn compress(&self, piece: &mut [u8], offset: u64, mark: &mut dyn FnMut() -> u64) {
        if let Some(layout) = &self.layout {
            layout.lock().unwrap_or_else(PoisonError::into_inner).lay(piece, offset, mark);
        }
    }

    /// Changes a whole block of a file. `at`: its offset.
    fn shape_block(
        &self,
        duplicates: &Duplicates,
        at: u64,
        block: &mut [u8; BLOCK],
        mark: &mut dyn FnMut() -> u64,
    ) {
        match duplicates.class_at(at) {
            Some(class) => {
                duplicates.fill(class, block);
                // A duplicate contains no offset.
                self.compress(block, 0, &mut || duplicates.mark(class));
            }
            None => self.compress(block, at, mark),
        }
    }
}

impl BodyShape for ShapedBody {
    fn shape(&self, seed: u64, offset: u64, body: &mut [u8]) {
        let mut marks = seed;
        let mut mark = || splitmix(&mut marks);
        let Some(duplicates) = &self.duplicates else {
            return self.compress(body, offset, &mut mark);
        };
        let (mut at, mut rest) = (offset, body);
        while !rest.is_empty() {
            let within = (at % BLOCK as u64) as usize;
            let (piece, others) = rest.split_at_mut(rest.len().min(BLOCK - within));
            if let Some(whole) = piece.first_chunk_mut() {
                self.shape_block(duplicates, at, whole, &mut mark);
            } else {
                let mut block = [0; BLOCK];
                let part = within..within + piece.len();
                block[part.clone()].copy_from_slice(piece);
                self.shape_block(duplicates, at - within as u64, &mut block, &mut mark);
                piece.copy_from_slice(&block[part]);
            }
            at += piece.len() as u64;
            rest = others;
        }
    }
}
