//! The list of crates in the program (software bill of materials) in the format CycloneDX 1.5, as JSON.
//! cargo-cyclonedx (0.5) names the crates of the repository by absolute paths, so that two builds would differ, and does not know
//! the script in the pages.

use serde_json::{Value, json};

use super::dependencies::Dependency;

/// Returns the list for `fiord` in this version, with `time` as RFC 3339 text.
pub(super) fn cyclonedx(dependencies: &[Dependency], version: &str, time: &str) -> Value {
    let is_program = |dependency: &&Dependency| dependency.name == "fiord";
    let program = dependencies.iter().find(is_program).map(component);
    let components: Vec<Value> =
        dependencies.iter().filter(|dependency| !is_program(dependency)).map(component).collect();
    let graph: Vec<Value> = dependencies
        .iter()
        .map(|dependency| json!({"ref": dependency.key(), "dependsOn": dependency.uses}))
        .collect();
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": time,
            "tools": {"components": [
                {"type": "application", "name": "cargo xtask dist", "version": version},
            ]},
            "component": program,
        },
        "components": components,
        "dependencies": graph,
    })
}

fn component(dependency: &Dependency) -> Value {
    let is_program = dependency.name == "fiord";
    let mut component = json!({
        "type": if is_program { "application" } else { "library" },
        "bom-ref": dependency.key(),
        "name": dependency.name,
        "version": dependency.version,
        "licenses": [{"expression": dependency.licence}],
    });
    if let Some(purl) = &dependency.purl {
        component["purl"] = json!(purl);
    }
    if let Some(checksum) = &dependency.checksum {
        component["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
    }
    component
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_has_a_component() {
        let dependencies = crate::dist::dependencies::of_fiord(&crate::place::root()).unwrap();
        let bom = cyclonedx(&dependencies, "0.1.0", "2026-01-01T00:00:00Z");
        let names = |value: &Value| value.as_str().unwrap().to_owned();
        let mut known = vec![names(&bom["metadata"]["component"]["bom-ref"])];
        known.extend(bom["components"].as_array().unwrap().iter().map(|c| names(&c["bom-ref"])));
        for node in bom["dependencies"].as_array().unwrap() {
            assert!(known.contains(&names(&node["ref"])), "{node}");
            for used in node["dependsOn"].as_array().unwrap() {
                assert!(known.contains(&names(used)), "{node}");
            }
        }
        assert!(known.len() > 50, "{known:?}");
    }
}
