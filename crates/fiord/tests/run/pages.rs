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
    place.write("fio.json", "fio: this is no JSON\n{\"jobs\": [{\"jobname\": \"old\", \"read\": {\"total_ios\": 1, \"iops\": 2}}]}\n");
    let ran = place.run("report a.html fio.json").ok();
    assert!(ran.out.contains("<article id=\"r2\">") && ran.out.contains("old"), "{}", ran.out);
    let read = |name: &str| fs::read_to_string(place.path(name)).unwrap();
    let jobs = |page: &str| fiord_report::read(page).unwrap().jobs;
    assert_eq!(jobs(&read("a.html")), jobs(&read("b.html")));
    for (results, why) in [
        ("missing.json", "missing.json"),
        (".", "name a file"),
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
}
