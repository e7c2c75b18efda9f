//! The dashboard in `examples/grafana`: each metric and label in its queries is exported by a run, and Prometheus understands
//! the queries.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

use crate::fiord::Place;

/// All queries: those of the panels and of the variables.
fn queries() -> Vec<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/grafana/fiord.json");
    let dashboard: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    let panels = targets.map(|target| target["expr"].as_str().unwrap().to_owned());
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    let variables = variables.iter().filter_map(|variable| variable["query"]["query"].as_str());
    // `label_values(METRIC, LABEL)` is Grafana's. As a query it is this one.
    let values = variables.map(|query| {
        let inside = query.trim_start_matches("label_values(").trim_end_matches(')');
        let (metric, label) = inside.rsplit_once(',').unwrap();
        format!("count by ({}) ({metric})", label.trim())
    });
    panels.chain(values).collect()
}

/// The labels of each metric in the text format of Prometheus, by the name of the metric.
fn exported(text: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut all = BTreeMap::<String, BTreeSet<String>>::new();
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let (name, rest) = line.split_once('{').unwrap_or((line, ""));
        let labels = rest.rsplit_once('}').map_or("", |(labels, _)| labels);
        // Values contain no `="`, because each quote in them has a backslash.
        let names = labels.split("=\"").map(|part| part.rsplit(['"', ',']).next().unwrap());
        all.entry(name.trim().to_owned()).or_default().extend(names.map(str::to_owned));
    }
    // A native histogram has the name of its family.
    for family in text.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let (name, kind) = family.split_once(' ').unwrap();
        if kind == "histogram" {
            let labels = all[&format!("{name}_count")].clone();
            all.insert(name.to_owned(), labels);
        }
    }
    all
}

/// The metrics in a query, and the labels that the query needs of each: those in its braces, and those of `by (…)`.
fn used(query: &str) -> Vec<(String, BTreeSet<String>)> {
    let word = |text: &str| -> String {
        text.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect()
    };
    let mut by = BTreeSet::new();
    let mut metrics = Vec::new();
    for (at, _) in query.match_indices("by (") {
        let list = query[at + 4..].split(')').next().unwrap();
        by.extend(list.split(',').map(|label| label.trim().to_owned()));
    }
    for (at, _) in query.match_indices("fiord_") {
        let name = word(&query[at..]);
        let braces = query[at + name.len()..].strip_prefix('{').unwrap_or_default();
        let inside = braces.split('}').next().unwrap();
        let filters = inside.split(',').map(|filter| word(filter.trim()));
        let mut labels: BTreeSet<String> = filters.filter(|label| !label.is_empty()).collect();
        labels.extend(by.iter().filter(|label| *label != "le").cloned());
        metrics.push((name, labels));
    }
    metrics
}

#[test]
fn each_metric_of_the_dashboard_is_exported_by_a_run() {
    let place = Place::new();
    let job = "--name=job --ioengine=psync --bs=4k --size=256k --filename=f --verify=crc32c --iodepth=8 --output=o.txt";
    place.run(&format!("{job} --rw=write --do_verify=0")).ok();
    // Bad blocks are counted once there is one.
    let mut data = std::fs::read(place.path("f")).unwrap();
    data[5000] ^= 1;
    std::fs::write(place.path("f"), data).unwrap();
    let ran = place.run(&format!("{job} --rw=read --metrics=a.prom"));
    assert_eq!(ran.status, Some(1), "{ran:?}");
    let known = exported(&std::fs::read_to_string(place.path("a.prom")).unwrap());
    let queries = queries();
    assert!(queries.len() > 10, "{queries:?}");
    for query in &queries {
        let used = used(query);
        assert!(!used.is_empty(), "no metric in {query}");
        for (name, labels) in used {
            let has = known.get(&name).unwrap_or_else(|| panic!("{name} is not exported: {query}"));
            let missing: Vec<_> = labels.difference(has).collect();
            assert!(missing.is_empty(), "{name} has no labels {missing:?}: {query}");
        }
    }
}

#[test]
fn promtool_understands_the_queries_of_the_dashboard() {
    let place = Place::new();
    let mut rules = "groups:\n- name: dashboard\n  rules:\n".to_owned();
    for (number, query) in queries().iter().enumerate() {
        let query = query.replace("$__rate_interval", "1m").replace('\'', "''");
        let query = query.replace("$host", ".*").replace("$job", ".*");
        rules += &format!("  - record: query{number}\n    expr: '{query}'\n");
    }
    place.write("rules.yml", &rules);
    let rules = place.path("rules.yml");
    match Command::new("promtool").args(["check", "rules"]).arg(rules).output() {
        Ok(checked) => assert!(checked.status.success(), "{checked:?}"),
        Err(error) => eprintln!("skipped: promtool cannot be started: {error}"),
    }
}
