//! The contents of write buffers: which option takes precedence, and warnings about the others.

use fiord_types::Bytes;

use super::*;
use crate::model::*;

fn content(line: &str) -> ContentPlan {
    job(&Fake::empty(), &format!("--name=a --size=8m --rw=write {line}")).content
}

fn warning(line: &str) -> Option<String> {
    let line = format!("--name=a --size=8m --rw=write {line}");
    let resolved = run(&Fake::empty(), &line).unwrap();
    resolved.warnings.first().map(|warning| warning.what.clone())
}

#[test]
fn compressible_and_duplicate_shares_take_precedence() {
    let compress = |chunk| Some(Compress { percent: 50, chunk, pattern: vec![] });
    for more in ["", "--refill_buffers=0", "--scramble_buffers=0"] {
        assert_eq!(
            content(&format!("--buffer_compress_percentage=50 {more}")),
            ContentPlan::Shaped(Shape { compress: compress(Bytes(512)), dedupe: None })
        );
    }
    let dedupe = Dedupe { percent: 30, working_set: None, global: false, blocks: 2048 };
    assert_eq!(
        content("--buffer_compress_percentage=50 --buffer_compress_chunk=0 --dedupe_percentage=30"),
        ContentPlan::Shaped(Shape {
            compress: compress(Bytes::ZERO),
            dedupe: Some(dedupe.clone())
        })
    );
    let set = Dedupe { working_set: Some(5), ..dedupe };
    assert_eq!(
        content("--dedupe_percentage=30 --dedupe_mode=working_set"),
        ContentPlan::Shaped(Shape { compress: None, dedupe: Some(set) })
    );
    assert_eq!(
        content("--buffer_compress_percentage=0 --dedupe_percentage=0"),
        ContentPlan::Scramble
    );
    assert!(matches!(
        content("--buffer_compress_percentage=50 --buffer_pattern=0xabcd"),
        ContentPlan::Shaped(Shape { compress: Some(c), .. }) if c.pattern.len() == 1
    ));
}

/// Duplicates are a share of the blocks that all jobs which share blocks will write.
#[test]
fn counts_the_blocks_that_jobs_will_write() {
    let blocks = |line: &str| -> Vec<u64> {
        let of = |job: JobPlan| match job.content {
            ContentPlan::Shaped(Shape { dedupe: Some(dedupe), .. }) => dedupe.blocks,
            _ => 0,
        };
        jobs(&Fake::empty(), line).into_iter().map(of).collect()
    };
    let job = "--name=a --size=8m --rw=write --dedupe_percentage=50";
    assert_eq!(blocks(job), [2048]);
    assert_eq!(blocks(&format!("{job} --numjobs=2")), [2048, 2048]);
    assert_eq!(blocks(&format!("{job} --numjobs=2 --dedupe_global=1")), [4096, 4096]);
    assert_eq!(blocks(&format!("{job} --io_size=1m")), [256]);
    assert_eq!(blocks(&format!("{job} --io_size=1m --time_based --runtime=1")), [2048]);
    assert_eq!(blocks(&format!("{job} --number_ios=10")), [10]);
}

#[test]
fn options_without_effect_have_a_warning() {
    for (line, what) in [
        ("--buffer_compress_chunk=4k", "without `buffer_compress_percentage`"),
        ("--dedupe_mode=working_set", "without `dedupe_percentage`"),
        ("--dedupe_global=1", "without `dedupe_percentage`"),
        (
            "--dedupe_percentage=10 --dedupe_working_set_percentage=10",
            "without `dedupe_mode=working_set`",
        ),
        ("--dedupe_percentage=10 --buffer_pattern=7", "all blocks are equal"),
        ("--dedupe_percentage=10 --zero_buffers", "`zero_buffers` has no effect"),
        ("--buffer_compress_percentage=10 --zero_buffers", "`zero_buffers` has no effect"),
        ("--bs=4 --buffer_pattern=\"abcde\"", "of its 5 bytes only the first 4"),
    ] {
        let said = warning(line);
        assert!(said.as_ref().is_some_and(|said| said.contains(what)), "{line}: {said:?}");
    }
    for line in [
        "--buffer_compress_percentage=10 --buffer_compress_chunk=4k",
        "--dedupe_percentage=10 --dedupe_mode=working_set --dedupe_working_set_percentage=10",
        "--bs=5 --buffer_pattern=\"abcde\"",
    ] {
        assert_eq!(warning(line), None, "{line}");
    }
}

#[test]
fn shares_that_cannot_be_reached_are_refused() {
    let error =
        |line: &str| error(&Fake::empty(), &format!("--name=a --size=8m --rw=write {line}"));
    let set = "--dedupe_mode=working_set --dedupe_percentage=50 --dedupe_working_set_percentage";
    assert!(error(&format!("{set}=51")).contains("50 % of duplicates cannot be reached"));
    assert!(error(&format!("{set}=0")).contains("a working set of 0 %"));
    content(&format!("{set}=50"));
    assert!(error("--dedupe_percentage=101").contains("out of range"));
    assert!(error("--buffer_compress_percentage=-1").contains("out of range"));
}
