//! Uploads of objects in parts (`http_s3_part_size`): which request follows which, and what happens if one fails.
//!
//! The requests of an object follow each other in its slot. An upload that fails is removed from the server before its op
//! ends.

use fiord_formats::http::{PartList, UploadEnd, encode_text, upload_id};
use fiord_plan::RetryLimit;
use fiord_stat::engine::RequestCount;
use fiord_types::{Errno, Nanos};

use super::Http;
use super::failure::RequestFailure;
use super::lane::{LaneData, RequestLane};
use super::request::ObjectCall;
use crate::error::FailureCause;
use crate::{Outcome, Slot, Time};

/// How long requests that remove uploads may take after the job must stop and has given up all other requests, ns.
const REMOVAL: u64 = 2_000_000_000;

/// How many times a request that removes an upload is sent again. A server may fail to remove an upload while it still
/// works on a part of it.
const REMOVALS: RetryLimit = RetryLimit(3);

/// A request of an upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UploadStep {
    /// Asks for an identifier.
    Create,
    /// Sends the part with this number, from 0.
    Part(u32),
    /// Makes an object of the parts.
    Complete,
    /// Removes the parts.
    Abort,
}

impl UploadStep {
    /// What the request asks the server to do.
    pub(super) const fn call(self) -> ObjectCall {
        match self {
            UploadStep::Create => ObjectCall::CreateUpload,
            UploadStep::Part(_) => ObjectCall::PutPart,
            UploadStep::Complete => ObjectCall::CompleteUpload,
            UploadStep::Abort => ObjectCall::AbortUpload,
        }
    }
}

/// The upload of a slot's object.
#[derive(Default)]
pub(super) struct Upload {
    /// The request in flight. `None`: the op is a single request, not an upload in parts.
    pub(super) step: Option<UploadStep>,
    part_size: usize,
    /// The encoded identifier. Empty before the server has told it.
    id: String,
    list: PartList,
    /// The query of the request, and its body if that is not a part.
    pub(super) query: String,
    pub(super) text: String,
    /// When the request in flight was made, ns.
    began: u64,
    /// The outcome of the op, once the upload has failed.
    failed: Option<Outcome>,
}

impl Upload {
    /// Begins the upload of an object.
    fn begin(&mut self, part_size: usize) {
        self.part_size = part_size;
        self.id.clear();
        self.list.clear();
        self.failed = None;
        self.set(UploadStep::Create);
    }

    /// Prepares a request.
    fn set(&mut self, step: UploadStep) {
        self.step = Some(step);
        self.text.clear();
        self.query = match step {
            UploadStep::Create => "uploads=".to_owned(),
            UploadStep::Part(at) => format!("partNumber={}&uploadId={}", at + 1, self.id),
            UploadStep::Complete | UploadStep::Abort => format!("uploadId={}", self.id),
        };
        if step == UploadStep::Complete {
            self.text = self.list.document();
        }
    }

    /// The part of an object that a request sends.
    pub(super) fn part(&self, object: LaneData) -> LaneData {
        match self.step {
            Some(UploadStep::Part(at)) => object.part(at as usize * self.part_size, self.part_size),
            _ => LaneData::NONE,
        }
    }

    /// The request has succeeded. Returns whether that ends the upload; otherwise, the next request is prepared.
    fn answered(
        &mut self,
        step: UploadStep,
        lane: &RequestLane,
        len: usize,
    ) -> Result<bool, RequestFailure> {
        match step {
            UploadStep::Create => match upload_id(lane.text()) {
                Some(id) => {
                    self.id = encode_text(&id);
                    self.set(if self.failed.is_some() {
                        UploadStep::Abort
                    } else {
                        UploadStep::Part(0)
                    });
                    Ok(false)
                }
                None => Err(unknown("names no upload")),
            },
            UploadStep::Part(at) => {
                let Some(tag) = lane.tag() else { return Err(unknown("has no header `ETag`")) };
                self.list.add(tag);
                let is_last = (at as usize + 1) * self.part_size >= len;
                self.set(if is_last { UploadStep::Complete } else { UploadStep::Part(at + 1) });
                Ok(false)
            }
            UploadStep::Complete => match UploadEnd::read(lane.text()) {
                UploadEnd::Complete => Ok(true),
                UploadEnd::Refused => Err(lane.refused()),
                UploadEnd::Unknown => Err(unknown("does not say that the object is complete")),
            },
            UploadStep::Abort => Ok(true),
        }
    }
}

/// The answer is not the one that S3 has for a request.
fn unknown(why: &str) -> RequestFailure {
    let help =
        "To fix: leave out `http_s3_part_size`, or use a server that accepts uploads in parts";
    let why = FailureCause::from(format!("the server's answer {why}")).help(help);
    RequestFailure::new(Errno::EPROTO, why)
}

impl Http {
    /// Begins an upload if the object of a write is longer than a part.
    pub(super) fn begin_upload(&mut self, slot: Slot, len: usize, is_write: bool) {
        let upload = &mut self.uploads[slot as usize];
        upload.step = None;
        let part_size = self.plan.part_size().map_or(usize::MAX, |size| size.0 as usize);
        if is_write && len > part_size {
            upload.begin(part_size);
        }
    }

    /// A request of an upload has succeeded: begins the next one. Returns the outcome of the op if it was the last.
    pub(super) fn next_of_upload(
        &mut self,
        slot: Slot,
        step: UploadStep,
    ) -> Result<Option<Outcome>, RequestFailure> {
        let (index, lane, now) = (slot as usize, self.lane(slot), self.clock.now());
        let len = self.data[index].len();
        let upload = &mut self.uploads[index];
        if let UploadStep::Part(_) = step {
            self.counts.part_took(Nanos(now.saturating_sub(upload.began)));
        }
        if upload.answered(step, &self.lanes[lane], len)? {
            let removed = step == UploadStep::Abort;
            self.counts.add(RequestCount::AbortedUploads, u64::from(removed));
            return Ok(Some(upload.failed.unwrap_or(Outcome::ok(len as u32))));
        }
        self.begin_request(slot, now);
        Ok(None)
    }

    /// How many times a request that failed is sent again because it removes an upload.
    pub(super) fn removals(&self, slot: Slot, failure: &RequestFailure) -> RetryLimit {
        let may_pass = failure.is_passing || failure.errno == Errno::EIO;
        match self.uploads[slot as usize].step {
            Some(UploadStep::Abort) if may_pass => REMOVALS,
            _ => RetryLimit(0),
        }
    }

    /// A request has failed with this outcome. Begins to remove the upload that it belonged to, and returns whether there
    /// is one.
    pub(super) fn abort_upload(&mut self, slot: Slot, outcome: Outcome) -> bool {
        let upload = &mut self.uploads[slot as usize];
        if upload.step.is_none_or(|step| step == UploadStep::Abort) || upload.id.is_empty() {
            return false;
        }
        upload.failed = Some(outcome);
        upload.set(UploadStep::Abort);
        self.begin_request(slot, self.clock.now());
        true
    }

    /// The server did not remove an upload. Returns the outcome of its op: that of the request that failed first.
    pub(super) fn abort_failed(&mut self, slot: Slot, why: &str) -> Outcome {
        let host = &self.servers[self.chosen[slot as usize]].named.host;
        let why = format!(
            "the server {host} may keep the parts of an upload, because the request to remove them failed: {why}"
        );
        let said = &mut self.said[slot as usize];
        *said = Some(match said.take() {
            Some(before) => format!("{before}. Moreover, {why}"),
            None => why,
        });
        match self.uploads[slot as usize].failed {
            // The message is part of an error only.
            None | Some(Outcome::ENDED) => Outcome::err(Errno::ETIMEDOUT),
            Some(outcome) => outcome,
        }
    }

    /// The job must stop. Continues with the request of a slot if it belongs to an upload, which is to be removed.
    /// Returns whether the op continues.
    pub(super) fn end_upload(&mut self, slot: Slot, now: u64) -> bool {
        let gave_up = *self.gave_up.get_or_insert(now);
        let lane = self.lane(slot);
        let upload = &mut self.uploads[slot as usize];
        let Some(step) = upload.step else { return false };
        if now.saturating_sub(gave_up) >= REMOVAL {
            self.lanes[lane].close();
            let outcome = self.abort_failed(slot, "no answer before the end of the job");
            self.finish(slot, outcome);
            return false;
        }
        match step {
            // It failed, and was to be sent again.
            UploadStep::Create if self.pauses.is_paused(slot) => {
                self.finish(slot, Outcome::ENDED);
                return false;
            }
            // The answer will tell what to remove.
            UploadStep::Create => upload.failed = Some(Outcome::ENDED),
            UploadStep::Abort => {}
            UploadStep::Part(_) | UploadStep::Complete => {
                self.lanes[lane].close();
                self.abort_upload(slot, Outcome::ENDED);
                return !self.go_on(slot, false);
            }
        }
        true
    }

    /// Remembers when the first attempt of a request of an upload began.
    pub(super) fn upload_request_began(&mut self, slot: Slot, now: u64) {
        self.uploads[slot as usize].began = now;
    }
}
