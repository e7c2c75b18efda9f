//! Tests of `--html` and `fiord report`.

use std::fs;

use crate::fiord::Place;
use crate::hosts;

const JOB: &str = "--name=a --rw=randread --bs=4k --size=1m --ioengine=psync --filename=data";

#[test]
fn a_run_writes_a_page_beside_every_format() {
    let place = Place::new();
    for formats in ["normal", "json", "json+", "terse", "normal,json"] {
        let ran = place.run(&format!("{JOB} --output-format={formats} --html=p.html")).ok();
        assert!(!ran.out.is_empty() && ran.err.is_empty(), "{formats}: {}", ran.err);
        let page = fs::read_to_string(place.path("p.html")).unwrap();
        assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
        assert!(page.contains("<dt>Kernel</dt><dd>Linux "), "{formats}");
        let back = fiord_report::read(&page).unwrap();
        assert_eq!((back.jobs[0].name.as_str(), back.jobs[0].dirs[0].total_ios), ("a", 256));
    }
}

#[test]
fn only_the_final_report_becomes_a_page() {
    let place = Place::new();
    let job = "--name=a --rw=read --bs=4k --size=1m --ioengine=null --time_based --runtime=1";
    let rest = "--status-interval=300ms --output=o.json --output-format=json --html=p.html";
    place.run(&format!("{job} {rest}")).ok();
    let documents = fiord_report::read_all(&fs::read_to_string(place.path("o.json")).unwrap());
    assert!(documents.unwrap().len() > 1, "there are interim reports");
    let page = fs::read_to_string(place.path("p.html")).unwrap();
    assert_eq!(fiord_report::read_all(&page).unwrap().len(), 1);
}

#[test]
fn a_page_that_cannot_be_written_is_noticed_before_the_run() {
    let place = Place::new();
    for (html, why) in [
        ("no/such/p.html", "create the directory"),
        (".", "not a directory"),
        ("-", "standard output"),
    ] {
        let ran = place.run(&format!("{JOB} --html={html}"));
        assert_eq!(ran.status, Some(1), "{html}");
        assert!(ran.err.contains("To fix:") && ran.err.contains(why), "{html}: {}", ran.err);
        assert!(!place.path("data").exists(), "the run did not start");
    }
    let ran = place.run(&format!("{JOB} --html=same --output=./same"));
    assert!(ran.status == Some(1) && ran.err.contains("the same file"), "{}", ran.err);
    let ran = place.run(&format!("{JOB} --html=/dev/full"));
    assert_eq!(ran.status, Some(1));
    assert!(ran.err.contains("cannot write the results to /dev/full"), "{}", ran.err);
    assert!(ran.out.contains("Run status group 0"), "the other results are printed");
}

#[test]
fn results_become_pages() {
    let place = Place::new();
    place.run(&format!("{JOB} --output-format=json+ --output=a.json --html=a.html")).ok();
    place.run("report a.json -o b.html").ok();
    // A result of fio, with text before the document.
    place.write("fio.json", "fio: this is not JSON\n{\"jobs\": [{\"jobname\": \"old\", \"read\": {\"total_ios\": 1, \"iops\": 2}}]}\n");
    let ran = place.run("report a.html fio.json").ok();
    assert!(ran.out.contains("<article id=\"r2\">") && ran.out.contains("old"), "{}", ran.out);
    let read = |name: &str| fs::read_to_string(place.path(name)).unwrap();
    let jobs = |page: &str| fiord_report::read(page).unwrap().jobs;
    assert_eq!(jobs(&read("a.html")), jobs(&read("b.html")));
    for (results, why) in [
        ("missing.json", "missing.json"),
        (".", "is not the directory of a sweep or a suite"),
        ("empty.json", "there is no JSON"),
        ("bytes.json", "is not text"),
        ("a.json -o no/such/c.html", "no/such/c.html"),
    ] {
        place.write("empty.json", "");
        place.write("bytes.json", [0xff, 0xfe, 0]);
        let ran = place.run(&format!("report {results}"));
        assert_eq!(ran.status, Some(1), "{results}");
        assert!(ran.out.is_empty() && ran.err.contains(why), "{results}: {}", ran.err);
    }
}

#[test]
fn runs_on_many_hosts_have_a_page() {
    let place = hosts::place();
    let options = hosts::options(&place, "h1,h2");
    place.run(&format!("{options} {JOB} --html=p.html --output=o")).ok();
    let page = fs::read_to_string(place.path("p.html")).unwrap();
    assert!(page.contains("on 2 hosts"), "the title names the hosts");
    let back = fiord_report::read_hosts(&fiord_report::embedded::embedded(&page).unwrap()[0].json);
    let back = back.unwrap();
    assert_eq!(back.hosts.len(), 2);
    assert!(back.hosts.iter().all(|host| host.complete && host.report.is_some()));
    assert!(back.hosts.iter().all(|host| host.targets[0].path.ends_with("data")));
    assert!(page.contains("<caption>Targets</caption>"));
}

/// The results of a finished sweep, and of one that was killed before it could write them.
#[test]
fn a_directory_of_a_sweep_becomes_a_page() {
    let place = Place::new();
    let job = "--name=job --ioengine=sim --rw=randread --size=1m --set iodepth=1,2,4 --format=json";
    let printed = place.run(&format!("sweep {job}")).ok().out;
    let page = place.run("report job.sweep").ok().out;
    let kept = &fiord_report::embedded::embedded(&page).unwrap()[0];
    let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!((kept.name.as_str(), value(&kept.json)), ("job.sweep", value(&printed)));
    assert!(page.contains("Latency over throughput"));
    let list = place.path("job.sweep/sweep.json");
    let mut manifest = value(&fs::read_to_string(&list).unwrap());
    manifest.as_object_mut().unwrap().remove("results").unwrap();
    manifest["points"].as_array_mut().unwrap().pop();
    fs::write(&list, manifest.to_string()).unwrap();
    let page = place.run("report job.sweep").ok().out;
    assert!(page.contains("The sweep is not complete") && page.contains("iodepth=2"));
    assert!(!page.contains("iodepth=4"));
    // Another run of the sweep keeps the results again.
    place.run(&format!("sweep {job}")).ok();
    assert!(place.run("report job.sweep").ok().out.contains("iodepth=4"));
    manifest["points"] = serde_json::json!([]);
    fs::write(&list, manifest.to_string()).unwrap();
    let ran = place.run("report job.sweep");
    assert!(ran.status == Some(1) && ran.err.contains("is finished\nTo fix:"), "{}", ran.err);
}

#[test]
fn preconditioning_has_a_page() {
    let place = Place::new();
    place.write("f", vec![0; 2 << 20]);
    let line = "precondition --yes --state=s.json --format=json --output=p.json f";
    let ran = place.run(line).ok();
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
    let page = place.run("report p.json").ok().out;
    assert!(page.contains("Sequential passes") && page.contains("pass 1/1"), "{page}");
}

/// Pages and comparisons say that findings were switched off.
#[test]
fn a_page_does_not_praise_a_run_without_findings() {
    let place = Place::new();
    place
        .run(&format!("{JOB} --findings=off --html=p.html --output=o.json --output-format=json"))
        .ok();
    let page = fs::read_to_string(place.path("p.html")).unwrap();
    assert!(page.contains("Findings were switched off") && !page.contains("No findings"));
    let compared = place.run("compare o.json p.html").ok().out;
    assert!(compared.contains("A: findings were switched off in 1 of 1 run"), "{compared}");
}

/// The map of bad extents needs the size of the file.
#[test]
fn bad_extents_name_the_size_of_their_file() {
    let place = Place::new();
    let job = "--name=v --filename=data --size=1m --bs=4k --ioengine=psync --verify=crc32c";
    place.run(&format!("{job} --rw=write --do_verify=0")).ok();
    let mut data = fs::read(place.path("data")).unwrap();
    data[300_000] ^= 1;
    fs::write(place.path("data"), data).unwrap();
    let ran =
        place.run(&format!("{job} --rw=read --output-format=json --output=o.json --html=p.html"));
    assert_eq!(ran.status, Some(1), "{}", ran.err);
    let report = fiord_report::read(&fs::read_to_string(place.path("o.json")).unwrap()).unwrap();
    let results = report.jobs[0].verify.as_ref().unwrap();
    assert_eq!(results.extents()[0].file_size, Some(fiord_types::Bytes::from_mib(1)));
    let page = fs::read_to_string(place.path("p.html")).unwrap();
    assert!(page.contains("All 1.00\u{202f}MiB of the file in eight rows"));
}
