//! Options about the machine (`--idle-prof`, `--cpuclock-test`) and about the threads of jobs (`nice`).

use crate::fiord::Place;

const JOB: &str = "--name=a --ioengine=null --size=1t --rw=read --time_based --runtime=300ms";

/// Whether a line is `  unit work: mean=NUMBERus, stddev=NUMBER`.
fn is_unit_work(line: &str) -> bool {
    let numbers =
        line.strip_prefix("  unit work: mean=").and_then(|rest| rest.split_once("us, stddev="));
    numbers
        .is_some_and(|(mean, stddev)| mean.parse::<f64>().is_ok() && stddev.parse::<f64>().is_ok())
}

#[test]
fn idleness_is_reported_in_fios_form() {
    let place = Place::new();
    let cpus = place.script("grep -c ^cpu[0-9] /proc/stat").out.trim().parse::<usize>().unwrap();
    for (how, percpu) in [("system", false), ("percpu", true)] {
        let out = place.run(&format!("{JOB} --idle-prof={how}")).ok().out;
        let section = out.split_once("\n\nCPU idleness:\n").unwrap().1.lines().collect::<Vec<_>>();
        let share = section[0].strip_prefix("  system: ").unwrap().strip_suffix('%').unwrap();
        assert!((0.0..=100.0).contains(&share.parse::<f64>().unwrap()), "{out}");
        if percpu {
            let shares = section[1].strip_prefix("  percpu: ").unwrap();
            assert_eq!(shares.split(", ").filter(|share| share.ends_with('%')).count(), cpus);
        }
        assert!(is_unit_work(section[1 + usize::from(percpu)]), "{out}");
        let json = place.run(&format!("{JOB} --idle-prof={how} --output-format=json")).ok().json();
        let keys: Vec<_> = json["cpu_idleness"].as_object().unwrap().keys().cloned().collect();
        let expected = if percpu { 3 + cpus } else { 3 };
        assert_eq!(keys.len(), expected, "{keys:?}");
        assert!(json["cpu_idleness"]["unit_mean"].as_f64().unwrap() > 0.0);
    }
    // A terse line has no place for it, and without the option there is nothing.
    assert!(!place.run(JOB).ok().out.contains("idleness"));
    assert!(!place.run(&format!("{JOB} --idle-prof=percpu --minimal")).ok().out.contains("idle"));
}

#[test]
fn calibration_runs_no_job() {
    let place = Place::new();
    let out = place.run("--idle-prof=calibrate --name=a --size=1m --output-format=json").ok().out;
    let lines: Vec<_> = out.lines().collect();
    assert!(lines.len() == 2 && lines[0] == "CPU idleness:" && is_unit_work(lines[1]), "{out}");
    assert_eq!(place.names(), [""; 0]);
    let wrong = place.run("--idle-prof=cpu --name=a --ioengine=null --size=4k");
    let said = "failed parsing --idle-prof=cpu: `cpu` is not system, percpu or calibrate";
    assert!(wrong.status == Some(1) && wrong.err.contains(said), "{wrong:?}");
    assert_eq!(place.run("--idle-prof=system").status, Some(1));
}

#[test]
fn the_clocks_of_the_cpus_are_compared() {
    let place = Place::new();
    let ran = place.run("--cpuclock-test --name=a --size=1m");
    assert!(ran.out.starts_with("cs: reliable_tsc: "), "{ran:?}");
    assert!(
        ran.out.contains("\ncs: Testing ") && ran.out.contains(" clocks seen, first "),
        "{ran:?}"
    );
    let passed = ran.out.ends_with("\ncs: Pass!\n");
    let failed = ran.out.contains("\ncs: Fail: ");
    assert_eq!((passed, ran.status), (!failed, Some(i32::from(failed))), "{ran:?}");
    assert_eq!((ran.err.as_str(), place.names().len()), ("", 0));
}

#[test]
fn the_thread_of_a_job_has_the_niceness_of_the_job() {
    let place = Place::new();
    let fiord = env!("CARGO_BIN_EXE_fiord");
    // Field 19 of `stat`; the names of fiord's threads have no blanks. The job runs until the script has seen it.
    let ran = place.script(&format!(
        "own=$(cut -d' ' -f19 /proc/$$/stat)
         {fiord} --name=a --ioengine=null --size=1t --time_based --runtime=60 --thread --nice=7 >/dev/null 2>&1 & pid=$!
         for _ in $(seq 1000); do
           cat /proc/$pid/task/*/stat 2>/dev/null | cut -d' ' -f19 | grep -qx -- $((own + 7)) && echo seen && break
           sleep 0.01
         done; kill -INT $pid; wait $pid"
    ));
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("seen\n", ""));
}
