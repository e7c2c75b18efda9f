//! Tests of jobs whose I/Os have several priorities: what the reports say about each.

use serde_json::Value;

use crate::fiord::Place;

fn run(line: &str) -> Value {
    let place = Place::new();
    let common = "--output-format=json --filename=f --size=4m --bs=4k --iodepth=4";
    place.run(&format!("{common} {line}")).ok().json()["jobs"][0].clone()
}

/// Class, level, hint and number of each priority.
fn prios(row: &Value, latency: &str) -> Vec<(u64, u64, u64, u64)> {
    let list = row["prios"].as_array().cloned().unwrap_or_default();
    let whole = |p: &Value, key: &str| p[key].as_u64().unwrap();
    let of = |p: &Value| {
        let n = p[latency]["N"].as_u64().unwrap();
        (whole(p, "prioclass"), whole(p, "prio"), whole(p, "priohint"), n)
    };
    list.iter().map(of).collect()
}

#[test]
fn shares_of_reads_and_writes_are_reported_by_priority() {
    for engine in ["io_uring", "libaio"] {
        let job = run(&format!(
            "--ioengine={engine} --name=a --rw=randrw --cmdprio_percentage=30,10 \
             --cmdprio_class=2 --cmdprio=3 --cmdprio_hint=5,6"
        ));
        let mut sum = 0;
        for (row, percent, hint) in [("read", 30, 5), ("write", 10, 6)] {
            let n = job[row]["total_ios"].as_u64().unwrap();
            let list = prios(&job[row], "clat_ns");
            assert_eq!(list.len(), 2, "{engine} {row}");
            assert_eq!((list[0].0, list[0].1, list[0].2), (0, 0, 0), "{engine} {row}");
            assert_eq!((list[1].0, list[1].1, list[1].2), (2, 3, hint), "{engine} {row}");
            assert_eq!(list[0].3 + list[1].3, n);
            assert!(list[1].3.abs_diff(n * percent / 100) < n / 10, "{engine} {row}: {list:?}");
            sum += n;
        }
        assert_eq!(sum, 1024);
    }
}

#[test]
fn one_priority_needs_no_list() {
    let all =
        run("--ioengine=io_uring --name=a --rw=read --cmdprio_percentage=100 --cmdprio_class=2");
    assert!(all["read"].get("prios").is_none());
    let none = run("--ioengine=io_uring --name=a --rw=read --cmdprio_percentage=0");
    assert!(none["read"].get("prios").is_none());
}

#[test]
fn a_group_lists_the_priorities_of_all_its_jobs() {
    let job = run("--ioengine=io_uring --rw=read --group_reporting --lat_percentiles=1 \
         --name=a --prio=6 --name=b --cmdprio_percentage=25 --cmdprio_class=2 --cmdprio=1 --name=c");
    let list = prios(&job["read"], "lat_ns");
    let names: Vec<_> = list.iter().map(|p| (p.0, p.1)).collect();
    assert_eq!(names, [(2, 6), (0, 0), (2, 1)]);
    assert_eq!(list[0].3, 1024);
    assert_eq!(list.iter().map(|p| p.3).sum::<u64>(), 3072);
}

/// The trace says which I/Os a replay makes, and the job which priorities they have.
#[test]
fn a_replay_has_the_priorities_of_the_job() {
    let place = Place::new();
    let ios: String = (0..400).map(|i| format!("f read {} 4096\n", i * 4096)).collect();
    place.write("log", format!("fio version 2 iolog\nf add\nf open\n{ios}f close\n"));
    let job = "--name=a --ioengine=libaio --iodepth=4 --read_iolog=log --cmdprio_percentage=25 \
               --cmdprio_class=2 --cmdprio=3 --output-format=json";
    let json = place.run(job).ok().json();
    let list = prios(&json["jobs"][0]["read"], "clat_ns");
    let names: Vec<_> = list.iter().map(|p| (p.0, p.1)).collect();
    assert_eq!(names, [(0, 0), (2, 3)]);
    assert_eq!(list[0].3 + list[1].3, 400);
    // Five standard deviations of a binomial with n = 400, p = 0.25 are 43.
    assert!(list[1].3.abs_diff(100) < 43, "{list:?}");
}
