//! Tests of profiles.

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
    // 4000 reads and 24 large writes per second, if the machine is fast enough.
    assert!((3000..=4100).contains(&ios("read")), "{}", ios("read"));
    assert!((20..=26).contains(&ios("write")), "{}", ios("write"));
    assert_eq!(job["read"]["io_bytes"].as_u64().unwrap(), ios("read") * 1536);
    // The profile judges only the small reads.
    let test = &document["fiord"]["latency_slices"][0];
    assert_eq!(
        (test["name"].as_str(), test["slices"][0]["ios"].as_u64()),
        (Some("act"), Some(ios("read")))
    );
    assert!(matches!(test["verdict"].as_str(), Some("passed" | "failed")), "{test}");
}

/// If the latency of the device is known, the expected table is known as well.
#[test]
fn act_tells_the_slices_and_the_verdict_as_fio_does() {
    let line = "--profile=act --device-names=dev --ioengine=sim --size=1g --test-duration=20 \
                --findings=off --sim_latency=";
    let place = Place::new();
    let ran = place.run(&format!("{line}constant:50us --latency_slice=9s")).ok();
    let table = "        trans                   device\n        %>(ms)                  %>(ms)\n \
                 slice\t  1\t  8\t 64\t  1\t  8\t 64\n -----  -----   -----  ------   -----   -----  \
                 ------\n    1\t0.00\t0.00\t0.00\t0.00\t0.00\t0.00\n    \
                 2\t0.00\t0.00\t0.00\t0.00\t0.00\t0.00\n    3\t0.00\t0.00\t0.00\t0.00\t0.00\t0.00\n\n\
                 act: test complete, device(s): PASSED\n\nact-read-dev: (groupid=0";
    assert!(ran.out.contains(table), "{}", ran.out);
    // All reads take longer than 1 ms and less than 8 ms. The default slice of an hour covers the whole run.
    let ran = place.run(&format!("{line}constant:2ms")).ok();
    let row = "\n    1\t100.00\t0.00\t0.00\t100.00\t0.00\t0.00\n\nact: test complete, device(s): \
               FAILED\nfiord: failed: 100.00% of the I/Os took more than 1 ms, and less than 5% may\n";
    assert!(ran.out.contains(row), "{}", ran.out);
    // Reads that take longer than 64 ms also take longer than 1 ms and 8 ms.
    let ran = place.run(&format!("{line}constant:100ms")).ok();
    assert!(ran.out.contains("\n    1\t100.00\t100.00\t100.00\t100.00"), "{}", ran.out);
    assert!(ran.out.contains("I/Os began 19."), "{}", ran.out);
    // The preparation is not a test.
    let ran = place
        .run(&line.replace("--test-duration=20", "--prep --size=1m").replace("--sim_latency=", ""));
    assert!(!ran.ok().out.contains("slice"));
}

/// Checks the checksum of each block of a file.
fn checked_blocks(path: &std::path::Path) -> u64 {
    let bytes = std::fs::read(path).unwrap();
    let (blocks, rest) = bytes.as_chunks::<{ 1 << 20 }>();
    assert!(rest.is_empty());
    for block in blocks {
        let (data, last) = block.split_last_chunk::<4>().unwrap();
        assert_eq!(fiord_load::content::checked::crc(data), *last);
    }
    blocks.len() as u64
}

#[test]
fn vioperf_appends_checked_blocks_and_tells_the_bandwidth_by_core() {
    let place = Place::new();
    place.write("vioperf.1.0", []);
    // A rate keeps the files small on a fast machine.
    let line = "--profile=vioperf --thread-count=2 --duration=1 --direct=0 --reserve=1m \
                --preserve-files --rate_iops=20 --output-format=json,normal";
    let ran = place.run(line).ok();
    // The document, then the text.
    let from = ran.out.find("\n{").unwrap();
    let mut documents = serde_json::Deserializer::from_str(&ran.out[from..]).into_iter();
    let document: serde_json::Value = documents.next().unwrap().unwrap();
    let text = &ran.out[from + documents.byte_offset()..];
    assert_eq!(place.names(), ["vioperf.0.0", "vioperf.1.0"]);
    let write = &document["jobs"][0]["write"];
    let ios = write["total_ios"].as_u64().unwrap();
    assert!((10..=44).contains(&ios), "{ios}");
    assert_eq!(write["io_bytes"], ios << 20);
    let files = ["vioperf.0.0", "vioperf.1.0"].map(|name| checked_blocks(&place.path(name)));
    assert!(files.iter().all(|blocks| *blocks > 0));
    assert_eq!(files.iter().sum::<u64>(), ios);
    let per_core = &document["fiord"]["per_core"][0];
    let (bw, cores) = (per_core["bw_bytes"].as_u64().unwrap(), per_core["cores"].as_u64().unwrap());
    assert!(cores >= 1 && bw > 10 << 20, "{per_core}");
    let by_core = per_core["bw_bytes_per_core"].as_f64().unwrap();
    assert!((by_core * cores as f64 - bw as f64).abs() < 1.0, "{per_core}");
    let message = format!(
        "Bandwidth by core, group 0: {:.1} MB/s, {:.1} MB/s per core (",
        bw as f64 / 1e6,
        by_core / 1e6
    );
    assert!(text.contains(&message), "{text}");

    // Once more without checksums: the run appends to the files and then removes them.
    let line = line.replace("--preserve-files", "--crc=0 --loops=1");
    place.run(&line).ok();
    assert_eq!(place.names(), Vec::<String>::new());
}

#[test]
fn vioperf_grows_the_files_that_are_there() {
    let place = Place::new();
    let block = vec![7; 1 << 20];
    place.write("vioperf.0.0", &block);
    let line = "--profile=vioperf --threads=1 --duration=300ms --direct=0 --reserve=1m \
                --preserve-files --rate_iops=20 --output-format=json";
    let document = place.run(line).ok().json();
    let ios = document["jobs"][0]["write"]["total_ios"].as_u64().unwrap();
    let bytes = std::fs::read(place.path("vioperf.0.0")).unwrap();
    assert_eq!(bytes.len() as u64, (ios + 1) << 20);
    assert!(ios > 0 && bytes[..1 << 20] == block);
}

#[test]
fn vioperf_ends_before_the_disk_is_full() {
    let place = Place::new();
    let began = std::time::Instant::now();
    let line = "--profile=vioperf --threads=2 --duration=1h --direct=0 --reserve=8000p \
                --rate_iops=20 --output-format=json";
    let ran = place.run(line);
    assert!(began.elapsed().as_secs() < 60);
    assert_eq!(ran.status, Some(1), "{}", ran.err);
    for part in ["on .: ", "ENOSPC", "ended early", "are free", "space_reserve"] {
        assert!(ran.err.contains(part), "{part}: {}", ran.err);
    }
    assert_eq!(ran.err.matches("ended early").count(), 1, "{}", ran.err);
    assert_eq!(ran.json()["jobs"][0]["jobname"], "vioperf");
    assert_eq!(place.names(), Vec::<String>::new());
}
