//! Profiles through the binary.

use crate::fiord::Place;

#[test]
fn tiobench_makes_its_four_passes() {
    let place = Place::new();
    let line = "--profile=tiobench --size=1 --block=8192 --threads=2 --output-format=json";
    let document = place.run(line).ok().json();
    let jobs = document["jobs"].as_array().unwrap();
    let did: Vec<(&str, &str, u64)> = jobs
        .iter()
        .map(|job| {
            let dir = if job["read"]["total_ios"] == 0 { "write" } else { "read" };
            let bytes = job[dir]["io_bytes"].as_u64().unwrap();
            (job["jobname"].as_str().unwrap(), dir, bytes)
        })
        .collect();
    let both = 2 << 20;
    let wanted = [
        ("seqwrite", "write", both),
        ("randwrite", "write", both),
        ("seqread", "read", both),
        ("randread", "read", both),
    ];
    assert_eq!(did, wanted);
    assert_eq!(place.names(), [".fio.tio.1", ".fio.tio.2", ".fio.tio.3", ".fio.tio.4"]);
}

#[test]
fn act_reads_and_writes_at_its_rates() {
    let place = Place::new();
    place.write("dev", vec![0; 8 << 20]);
    let line = "--profile=act --device-names=dev --load=2 --threads-per-queue=2 --test-duration=1 \
                --direct=0 --output-format=json";
    let document = place.run(line).ok().json();
    let job = &document["jobs"][0];
    let ios = |dir: &str| job[dir]["total_ios"].as_u64().unwrap();
    // 4000 reads and 24 large writes a second, the machine permitting.
    assert!((3000..=4100).contains(&ios("read")), "{}", ios("read"));
    assert!((20..=26).contains(&ios("write")), "{}", ios("write"));
    assert_eq!(job["read"]["io_bytes"].as_u64().unwrap(), ios("read") * 1536);
}
