//! Tests of `fiord compare` and `fiord run`, on simulated devices and on stored results of fio.

use serde_json::Value;

use crate::fiord::Place;

/// A job on a device with this median latency, in microseconds.
fn job(latency: &str) -> String {
    format!(
        "[global]\nioengine=sim\nrw=randread\nbs=4k\nsize=1g\ntime_based\nruntime=1\niodepth=4\n\
         sim_latency=lognormal:{latency}us:0.4\n\n[j]\n"
    )
}

/// A place with the job files `a.fio`, and `b.fio`, whose device is slower.
fn place() -> Place {
    let place = Place::new();
    place.write("a.fio", job("90"));
    place.write("b.fio", job("99"));
    place
}

fn result<'a>(document: &'a Value, metric: &str) -> &'a Value {
    let results = document["results"].as_array().unwrap();
    results.iter().find(|result| result["metric"] == metric).unwrap()
}

fn has_finding(document: &Value, id: &str) -> bool {
    document["findings"].as_array().unwrap().iter().any(|finding| finding["id"] == id)
}

#[test]
fn alternated_runs_are_compared_with_the_printed_command() {
    let place = place();
    let ran = place.run("run --repeat 5 --interleave --eta=always a.fio b.fio").ok_with_progress();
    assert_eq!(ran.out, "To compare the runs: fiord compare a-b.runs/a a-b.runs/b\n");
    let order: Vec<&str> = ran.err.lines().filter_map(|line| line.split(' ').nth(1)).collect();
    assert_eq!(order, ["a", "b", "b", "a", "a", "b", "b", "a", "a", "b"], "{}", ran.err);
    // A second call has nothing left to do.
    let again = place.run("run --repeat 5 --interleave --eta=always a.fio b.fio").ok();
    let exist = "all 10 runs exist already; --restart measures again\n";
    assert_eq!(again.out, format!("{exist}{}", ran.out));
    let text = place.run("compare a-b.runs/a a-b.runs/b").ok().out;
    assert!(text.starts_with("A  a-b.runs/a  (5 runs, fio-3.42"), "{text}");
    let row = text.lines().find(|line| line.contains("p99 latency")).unwrap();
    assert!(row.ends_with("worse"), "{row}");
    assert!(text.contains("sim_latency of job j: A lognormal:90us:0.4, B lognormal:99us:0.4"));
    assert!(!text.contains("not-interleaved"), "{text}");
    // The directory of all runs has one directory for each side.
    // As a shell writes `a-b.runs/a/*.json`: the list of the runs is among them.
    let all = |side: &str| {
        let results = (1..=5).map(|run| format!("a-b.runs/{side}/run={run}.json"));
        results.chain([format!("a-b.runs/{side}/sweep.json")]).collect::<Vec<_>>().join(" ")
    };
    let text = place.run(&format!("compare {} --vs {}", all("a"), all("b"))).ok().out;
    assert_eq!(text.matches("(5 runs, fio-3.42").count(), 2, "{text}");
    // Without --vs, each result is a side.
    let text = place.run(&format!("compare {}", all("a"))).ok().out;
    assert!(text.starts_with("A  a-b.runs/a/run=1.json") && text.contains("\nE  "), "{text}");
    assert!(!text.contains("sweep.json"), "{text}");
    let list = place.run("compare a-b.runs/a/sweep.json a-b.runs/b");
    assert!(list.status == Some(1) && list.err.contains("sweep.json"), "{list:?}");
    let document = place.run("compare a-b.runs --format json").ok().json();
    for metric in ["iops", "mean", "p99"] {
        let result = result(&document, metric);
        assert_eq!(result["verdict"], "worse", "{result}");
        assert_eq!(result["method"], "mann-whitney");
        let change = result["ratio"].as_f64().unwrap();
        let expected = if metric == "iops" { 1.0 / 1.1 } else { 1.1 };
        assert!((change / expected - 1.0).abs() < 0.02, "{result}");
        let interval = result["interval"].as_array().unwrap();
        assert!(interval[0].as_f64().unwrap() <= change && change <= interval[1].as_f64().unwrap());
    }
    // The other way around, all of it is better.
    let turned = place.run("compare a-b.runs/b a-b.runs/a --format=json").ok().json();
    assert!(["iops", "mean", "p99"].iter().all(|m| result(&turned, m)["verdict"] == "better"));
}

#[test]
fn equal_jobs_cannot_be_told_apart() {
    let place = place();
    place.write("c.fio", job("90") + "sim_seed=77\n");
    place.run("run --repeat 5 a.fio").ok();
    for seed in 11..16 {
        place.write("other.fio", job("90") + &format!("sim_seed={seed}\n"));
        place.run(&format!("--output-format=json --output=c{seed}.json other.fio")).ok();
    }
    let document = place.run("compare a.runs/a c*.json --format=json --noise 1%").ok().json();
    for result in document["results"].as_array().unwrap() {
        assert_eq!(result["verdict"], "cannot-tell", "{result}");
        assert!(!result["reason"].as_str().unwrap().is_empty());
    }
    assert!(has_finding(&document, "not-interleaved"));
    // A simulated device gives the same results with the same seed: that is one run.
    place.run("run --repeat 3 c.fio").ok();
    let document = place.run("compare a.runs/a c.runs/c --format=json").ok().json();
    assert_eq!(document["sides"][1]["runs"], 1);
    assert!(has_finding(&document, "copies"), "{document}");
}

#[test]
fn one_run_per_side_says_little() {
    let place = place();
    place.write("c.fio", job("200"));
    for name in ["a", "b", "c"] {
        place.run(&format!("--output-format=json --output={name}.json {name}.fio")).ok();
    }
    let document = place.run("compare a.json b.json --format=json").ok().json();
    assert!(has_finding(&document, "run-variation-unknown"), "{document}");
    for metric in ["iops", "mean", "p99"] {
        let result = result(&document, metric);
        assert_eq!(result["method"], "block-bootstrap", "{result}");
        assert_eq!(
            (&result["verdict"], result["runs_needed"].as_u64()),
            (&"cannot-tell".into(), Some(5))
        );
        assert_eq!(result["interval"].as_array().unwrap().len(), 2);
    }
    // A page contains its results.
    place.run("report a.json -o a.html").ok();
    let page = place.run("compare a.html b.json --format=json").ok().json();
    assert_eq!(page["results"], document["results"]);
    // A difference by half is more than runs usually vary.
    let document = place.run("compare a.json c.json --format=json").ok().json();
    assert_eq!(result(&document, "iops")["verdict"], "worse");
    assert_eq!(result(&document, "p99")["reason"], "if runs vary by no more than 5 %");
    let strict = place.run("compare a.json c.json --format=json --run-variation=50%").ok().json();
    assert_eq!(result(&strict, "iops")["verdict"], "cannot-tell");
    // Two files and one: few runs.
    let few = place.run("compare a.json,b.json c.json --format=json").ok().json();
    assert_eq!(result(&few, "iops")["method"], "welch-log");
    assert!(has_finding(&few, "few-runs"));
    let vs = place.run("compare a.json b.json --vs c.json --format=json").ok().json();
    assert_eq!(vs["sides"][0]["runs"], 2);
    let three = place.run("compare a.json b.json c.json").ok().out;
    assert!(three.contains("B cannot tell") && three.contains("C worse"), "{three}");
}

#[test]
fn conditions_set_the_exit_status() {
    let place = place();
    place.run("run --repeat=5 --interleave a.fio b.fio").ok();
    let status = |condition: &str, sides: &str| {
        let ran = place.run(&format!("compare {sides} --fail-if {condition}"));
        assert!(ran.out.contains("Conditions:"), "{ran:?}");
        (ran.status, ran.err)
    };
    let (slower, faster) = ("a-b.runs/a a-b.runs/b", "a-b.runs/b a-b.runs/a");
    assert_eq!(status("p99>+5%", slower), (Some(248), String::new()));
    assert_eq!(status("iops<-3%", slower), (Some(248), String::new()));
    assert_eq!(status("p99>+5%", faster), (Some(0), String::new()));
    assert_eq!(status("p99.9>+30%", slower), (Some(0), String::new()));
    // One run per side proves nothing.
    let single = "a-b.runs/a/run=1.json a-b.runs/b/run=1.json";
    assert_eq!(status("mean>+5%", single), (Some(247), String::new()));
}

/// The base of a comparison is the job file that was given first, not the one whose name sorts first.
#[test]
fn the_sides_of_a_directory_have_the_order_in_which_they_were_given() {
    let place = place();
    for (from, to) in [("a.fio", "before.fio"), ("b.fio", "after.fio")] {
        std::fs::copy(place.path(from), place.path(to)).unwrap();
    }
    place.run("run --repeat=5 --interleave before.fio after.fio").ok();
    let sides = |document: &Value| -> Vec<String> {
        let sides = document["sides"].as_array().unwrap().iter();
        sides.map(|side| side["name"].as_str().unwrap().to_owned()).collect()
    };
    let document = place.run("compare before-after.runs --format=json").ok().json();
    assert_eq!(sides(&document), ["before-after.runs/before", "before-after.runs/after"]);
    assert_eq!(result(&document, "p99")["verdict"], "worse");
    let failed = place.run("compare before-after.runs --fail-if p99>+5%");
    assert_eq!(failed.status, Some(248), "{failed:?}");
    // The files of one call after another have the order of the calls.
    for name in ["before", "after"] {
        place.run(&format!("run --repeat=2 --dir=d {name}.fio")).ok();
    }
    let document = place.run("compare d --format=json").ok().json();
    assert_eq!(sides(&document), ["d/before", "d/after"]);
}

#[test]
fn results_of_fio_are_compared() {
    let place = Place::new();
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../../compat/golden");
    let case = |name: &str, format: &str| format!("{golden}/{name}/{format}");
    let (json, terse) = (case("randrw-psync-qd1", "json+"), case("randrw-psync-qd1", "terse3"));
    let document = place.run(&format!("compare {json} {terse} --format=json")).ok().json();
    // Reads and writes, three metrics each.
    assert_eq!(document["results"].as_array().unwrap().len(), 6, "{document}");
    assert_eq!(document["results"][0]["method"], "single-values");
    let (two, jobs) =
        (case("two-jobs-newgroup", "json"), case("randread-libaio-qd16-direct", "json"));
    let ran = place.run(&format!("compare {two} {jobs}"));
    assert_eq!(ran.status, Some(1));
    assert!(ran.err.contains("no results in common"), "{}", ran.err);
}

#[test]
fn all_formats() {
    let place = place();
    place.run("run --repeat=5 --interleave a.fio b.fio").ok();
    let sides = "a-b.runs/a a-b.runs/b";
    let table = place.run(&format!("compare {sides} --format=markdown")).ok().out;
    assert!(table.contains("| j | read | p99 latency |"), "{table}");
    assert!(table.contains("|---|---|---|--:|"), "{table}");
    assert_eq!(place.run(&format!("compare {sides} --format=html -o page.html")).ok().out, "");
    let page = std::fs::read_to_string(place.path("page.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    assert!(
        page.contains("<span class=\"worse\">worse</span>") && page.contains("default-src 'none'")
    );
    assert_eq!(page.matches("<svg").count(), 3);
    assert!(page.matches("<circle").count() == 3 && !page.contains("<script"));
}

#[test]
fn wrong_command_lines() {
    let place = place();
    place.write("empty.txt", "nothing\n");
    place.write("cut.json", "{\"jobs\": [");
    std::fs::create_dir(place.path("dir")).unwrap();
    for (line, message) in [
        ("compare none.json other.json", "cannot read none.json: No such file or directory"),
        ("compare empty.txt empty.txt", "empty.txt: there is no JSON document and no terse line"),
        ("compare cut.json cut.json", "cut.json: invalid JSON"),
        ("compare dir dir", "dir contains no results"),
        ("compare x*.json y*.json", "no file matches x*.json"),
        ("compare a b --metrics=p101", "`p101` is not a metric. To fix:"),
        ("compare a b --fail-if=p99", "`p99` is not a condition: it has neither > nor <. To fix:"),
        ("compare a b --fail-if=q>+5%", "`q>+5%` is not a condition: `q` is not a metric. To fix:"),
        ("compare a b --noise=x", "it is not a number of per cent"),
        ("run --repeat=0 a.fio", "0 is not in 1..=1000"),
        ("run none.fio", "none.fio: there is no such job file. To fix:"),
        ("run a.fio --rw=sideways", "sideways"),
    ] {
        let ran = place.run(line);
        assert_eq!((ran.status, ran.out.as_str()), (Some(1), ""), "{line}: {ran:?}");
        assert!(ran.err.contains(message), "{line}: {}", ran.err);
    }
    place.run("--output-format=json --output=a.json a.fio").ok();
    let ran = place.run("compare a.json");
    assert!(ran.err.contains("there is only one side: a.json\nTo fix:"), "{}", ran.err);
    // Runs of another job are not continued.
    place.run("run --repeat=1 a.fio").ok();
    place.write("a.fio", job("50"));
    let ran = place.run("run --repeat=2 a.fio");
    assert!(
        ran.err.contains("belong to another job") && ran.err.contains("--restart"),
        "{}",
        ran.err
    );
    place.run("run --repeat=2 --restart a.fio").ok();
    // A job file that is called like the command is run.
    place.write("run", job("10"));
    assert!(place.run("run --output-format=json").ok().out.contains("\"jobname\" : \"j\""));
}
