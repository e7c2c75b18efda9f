//! `random_distribution`, skewed `file_service_type`, `zonemode=strided`: valid and invalid values.

use fiord_types::{Bytes, PerDir};

use super::{Fake, error, job, run};
use crate::{Distribution, FileService, Law, Skew, Strided, ZoneShare, ZoneSize, ZoneSkip};

const RANDOM: &str = "--name=a --ioengine=null --rw=randread --size=64k --bs=4k --filename=f";
const READ: &str = "--name=a --ioengine=null --rw=read --size=64k --bs=4k --filename=f";

fn distribution(value: &str) -> Distribution {
    let load = job(&Fake::default(), &format!("{RANDOM} --random_distribution={value}")).load;
    assert_eq!(load.no_map, value != "random");
    load.distribution
}

#[test]
fn distributions_are_read() {
    let skewed = |law, centre| Distribution::Skewed(Skew { law, centre });
    assert_eq!(distribution("random"), Distribution::Even);
    assert_eq!(distribution("zipf:1.2"), skewed(Law::Zipf { theta: 1.2 }, None));
    assert_eq!(distribution("zipf:1.2:-1"), skewed(Law::Zipf { theta: 1.2 }, None));
    assert_eq!(distribution("zipf"), skewed(Law::Zipf { theta: 1.1 }, None));
    assert_eq!(distribution("pareto:0.2:0.25"), skewed(Law::Pareto { h: 0.2 }, Some(0.25)));
    assert_eq!(distribution("pareto"), skewed(Law::Pareto { h: 0.2 }, None));
    assert_eq!(distribution("normal:99"), skewed(Law::Normal { widening: 50.0 }, Some(0.5)));
    assert_eq!(distribution("normal:10"), skewed(Law::Normal { widening: 10.0 }, Some(0.5)));
    let percent = |share, p| ZoneShare { share, size: ZoneSize::Percent(p) };
    let bytes = |share, b| ZoneShare { share, size: ZoneSize::Bytes(b) };
    let both = vec![percent(60, 10.0), percent(40, 90.0)];
    assert_eq!(
        distribution("zoned:60/10:40/90"),
        Distribution::Zoned(PerDir::from([both.clone(), both.clone(), both.clone()]))
    );
    assert_eq!(
        distribution("zoned:60/10:40/"),
        Distribution::Zoned(PerDir::from([both.clone(), both.clone(), both.clone()]))
    );
    let all = vec![percent(100, 100.0)];
    assert_eq!(
        distribution("zoned:60/10:40/90,100/100"),
        Distribution::Zoned(PerDir::from([both.clone(), all.clone(), all]))
    );
    assert_eq!(
        distribution("zoned:60/10:40/90,,"),
        Distribution::Zoned(PerDir::from([both, vec![], vec![]]))
    );
    let sizes = vec![bytes(60, Bytes(8192)), bytes(40, Bytes(16384))];
    assert_eq!(
        distribution("zoned_abs:60/8k:40/16k"),
        Distribution::Zoned(PerDir::from([sizes.clone(), sizes.clone(), sizes]))
    );
    assert_eq!(
        distribution("sequence:2,0,1"),
        Distribution::Sequence { blocks: vec![2, 0, 1], stride: false }
    );
}

#[test]
fn refuses_invalid_distributions() {
    let zones = vec!["1/0"; 100].join(":");
    let many = format!("zoned:{zones}:{}", vec!["0/0"; 200].join(":"));
    let long = (0..65).map(|n| (n % 16).to_string()).collect::<Vec<_>>().join(",");
    for (value, message) in [
        ("zipf:1", "zipf theta must be different than 1.0"),
        ("zipf:-2", "theta is negative"),
        ("zipf:abc", "is not a number"),
        ("zipf:nan", "is not a number"),
        ("zipf:1.2:2", "distribution center out of range"),
        ("zipf:1.2:0.5:3", "a number and a centre"),
        ("pareto:0", "pareto input out of range"),
        ("pareto:1", "pareto input out of range"),
        ("normal:100", "normal deviation out of range"),
        ("normal:-1", "normal deviation out of range"),
        ("zoned", "the zones are missing"),
        ("zoned:50/50", "add up to 100"),
        ("zoned:60/50:50/50", "add up to 100"),
        ("zoned:50/60:50/60", "more than 100%"),
        ("zoned:33.3/50:66.7/50", "is not a share"),
        ("zoned:50/x:50/50", "is not the size"),
        ("zoned:100/100,100/100,100/100,100/100", "the list exceeding max length 3"),
        (&many, "at most 256"),
        ("zoned_abs:50/:50/8k", "has no size"),
        ("zoned_abs:50/64k:50/4k", "zoned_abs sizes exceed file size"),
        ("sequence", "block numbers of the sequence are missing"),
        ("sequence:1,,0", "is not a block number"),
        ("sequence:-1", "is not a block number"),
        ("sequence:15,16", "block 16 is out of bounds (max 16)"),
        (&long, ""),
    ] {
        let value = if message.is_empty() { format!("sequence:{long}") } else { value.into() };
        let message = if message.is_empty() { "up to 64 elements (got 65)" } else { message };
        let line = format!("{RANDOM} --random_distribution={value}");
        let got = error(&Fake::default(), &line);
        assert!(got.contains(message), "{value}: {got}");
    }
}

#[test]
fn files_can_be_skewed() {
    let service = |value: &str| {
        job(&Fake::default(), &format!("{RANDOM} --file_service_type={value}")).target.service
    };
    let skewed = |law, centre| FileService::Skewed(Skew { law, centre });
    assert_eq!(service("zipf:1.2:0.5"), skewed(Law::Zipf { theta: 1.2 }, Some(0.5)));
    assert_eq!(service("gauss:10"), skewed(Law::Normal { widening: 10.0 }, Some(0.5)));
    for value in ["zipf:1", "pareto:2", "normal:100", "zipf:x"] {
        let line = format!("{RANDOM} --file_service_type={value}");
        assert!(run(&Fake::default(), &line).is_err(), "{value}");
    }
}

#[test]
fn strides_are_read() {
    let strided = |words: &str| job(&Fake::default(), &format!("{READ} {words}")).load.strided;
    let zones = |transfer, range, skip| {
        Some(Strided { transfer: Bytes(transfer), range: Bytes(range), skip })
    };
    assert_eq!(strided(""), None);
    let mode = "--zonemode=strided --zonesize=8k";
    assert_eq!(strided(mode), zones(8192, 8192, ZoneSkip::Bytes(Bytes::ZERO)));
    assert_eq!(
        strided(&format!("{mode} --zonerange=16k --zoneskip=4k")),
        zones(8192, 16384, ZoneSkip::Bytes(Bytes(4096)))
    );
    assert_eq!(
        strided(&format!("{mode} --zoneskip=2z")),
        zones(8192, 8192, ZoneSkip::Bytes(Bytes(16384)))
    );
    assert_eq!(
        strided(&format!("{mode} --zoneskip=25%")),
        zones(8192, 8192, ZoneSkip::Percent(25.0))
    );
    let file = |words: &str| {
        let line = format!("--name=a --filename=/f --rw=read --bs=4k {mode} {words}");
        let job = job(&Fake::empty().file("/f", 1 << 20), &line);
        let file = &job.target.files[0];
        ([file.offset, file.len, file.beyond].map(Bytes::as_kib), job.end.bytes.as_kib())
    };
    assert_eq!(file("--size=128k --offset=64k"), ([64, 128, 832], 128), "to the end of the file");
    assert_eq!(file("--size=10z --offset=2z"), ([16, 80, 928], 80), "zones are a unit");
    assert_eq!(file("--io_size=10z"), ([0, 1024, 0], 80));
    assert_eq!(file("--size=2m"), ([0, 2048, 0], 2048), "the file is made as large");
    for (line, message) in [
        ("--zonemode=strided", "--zonesize must be specified"),
        ("--zonesize=8k", "--zonemode=none and --zonesize are not compatible"),
    ] {
        assert!(error(&Fake::default(), &format!("{READ} {line}")).contains(message), "{line}");
    }
    let small = format!("{RANDOM} --zonemode=strided --zonesize=8k --zonerange=2k");
    assert!(error(&Fake::default(), &small).contains("holds no block of 4096"));
    let warned = run(&Fake::default(), &format!("{READ} --zoneskip=8k")).unwrap();
    assert!(warned.warnings[0].what.contains("no effect"), "{:?}", warned.warnings);
}
