//! What fio 3.42 printed for a set of jobs: names, groups and options as the reports list them.

use std::path::Path;

use serde_json::{Map, Value};

use super::*;

fn texts(list: &[(String, String)]) -> Map<String, Value> {
    list.iter().map(|(name, text)| (name.clone(), text.clone().into())).collect()
}

fn expected(of: &Value, key: &str) -> Map<String, Value> {
    of.get(key).and_then(Value::as_object).cloned().unwrap_or_default()
}

/// The jobs that reports list: only the first one of a group that is reported together.
fn listed(plan: &crate::Plan) -> Vec<&JobPlan> {
    let mut groups = Vec::new();
    plan.jobs
        .iter()
        .filter(|job| {
            let first = !groups.contains(&job.identity.group);
            if job.reporting.group {
                groups.push(job.identity.group);
            }
            !job.reporting.group || first
        })
        .collect()
}

fn compare(case: &Path) -> Option<()> {
    let command = std::fs::read_to_string(case.join("cmd")).ok()?;
    let json = std::fs::read_to_string(case.join("json")).ok()?;
    let json: Value = serde_json::from_str(&json[json.find("{\n")?..]).ok()?;
    let line = command.trim().strip_prefix("fio ")?;
    let resolved = match run(&Fake::empty(), line) {
        Ok(resolved) => resolved,
        Err(errors) => panic!("{}: {errors:#?}", case.display()),
    };
    let shown = case.display();
    assert_eq!(texts(&resolved.plan.global_options), expected(&json, "global options"), "{shown}");
    let printed = json["jobs"].as_array()?;
    let jobs = listed(&resolved.plan);
    assert_eq!(jobs.len(), printed.len(), "{shown}");
    for (job, printed) in jobs.iter().zip(printed) {
        assert_eq!(printed["jobname"], job.identity.name.as_str(), "{shown}");
        assert_eq!(printed["groupid"], job.identity.group, "{shown}");
        assert_eq!(texts(&job.identity.options), expected(printed, "job options"), "{shown}");
    }
    Some(())
}

#[test]
fn options_and_groups_as_printed() {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../../compat/golden");
    let mut compared = 0;
    for entry in std::fs::read_dir(golden).unwrap() {
        let case = entry.unwrap().path();
        if compare(&case).is_some() {
            compared += 1;
        }
    }
    assert!(compared >= 20, "only {compared} cases were compared");
}
