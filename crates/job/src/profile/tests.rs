use super::*;
use crate::command::{Action, Invocation, invocation};
use crate::load::Memory;
use crate::option::table;

fn read(args: &[&str]) -> Result<Invocation, Vec<Diagnostic>> {
    let args: Vec<String> = args.iter().map(|a| a.to_string()).collect();
    invocation(&args, &mut Memory::default())
}

fn wrong(args: &[&str]) -> String {
    crate::diagnostic::render(&read(args).expect_err("it is wrong"), false)
}

/// The command line that `--showcmd` prints for a profile.
fn shown(args: &[&str]) -> String {
    let args: Vec<&str> = args.iter().copied().chain(["--showcmd"]).collect();
    match read(&args).expect("it is right").action {
        Action::ShowCmd(text) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_profile_is_a_word_of_the_option() {
    let words = crate::command::help::words_of(&table::find("profile").unwrap().kind);
    let names: Vec<&str> = words.iter().map(|w| w.name).collect();
    assert_eq!(names, PROFILES.iter().map(|p| p.name).collect::<Vec<_>>());
    for option in PROFILES.iter().flat_map(|p| p.options) {
        assert!(!option.doc.is_empty() && option.example.contains(option.name), "{}", option.name);
        if let Some(default) = option.default {
            assert!(parse::value(option, Some(default), &Bases::default()).is_ok());
        }
    }
}

/// The jobs that fio 3.42 traces for `--profile=tiobench` on a machine with 1000 MiB of memory.
#[test]
fn tiobench_is_four_passes() {
    let text = shown(&["--profile=tiobench"]);
    let globals = "--buffered=0 --size=4096000 --bs=4096 --loops=1 --directory=./ --numjobs=1 \
                   --runtime=600 --group_reporting --thread --overwrite=1 \
                   --filename=.fio.tio.1:.fio.tio.2:.fio.tio.3:.fio.tio.4 --ioengine=sync";
    let jobs = "--name=seqwrite --rw=write --end_fsync=1 --name=randwrite --stonewall \
                --rw=randwrite --end_fsync=1 --name=seqread --stonewall --rw=read \
                --name=randread --stonewall --rw=randread";
    assert!(text.contains(globals) && text.contains(jobs), "{text}");
    let text = shown(&[
        "--profile=tiobench",
        "--size=10",
        "--block=8k",
        "--numruns=3",
        "--dir=/mnt",
        "--threads=4",
    ]);
    let globals = "--size=10485760 --bs=8192 --loops=3 --directory=/mnt --numjobs=4";
    assert!(text.contains(globals), "{text}");
}

/// The jobs that fio 3.42 traces for `--profile=act`: rates by load, threads and sizes.
#[test]
fn act_has_readers_and_a_writer_for_each_device() {
    let text = shown(&["--profile=act", "--device-names=/dev/a,/dev/b", "--test-duration=2m"]);
    for device in ["/dev/a", "/dev/b"] {
        let read = format!(
            "--name=act-read-{device} --filename={device} --rw=randread --numjobs=8 \
             --rate_iops=250 --bs=1536 --latency_test=act \
             --latency_limits=1ms:5,8ms:1,64ms:0.1"
        );
        let write = format!(
            "--name=act-write-{device} --filename={device} --rw=randwrite --rate_iops=12 --bs=131072"
        );
        assert!(text.contains(&read) && text.contains(&write), "{text}");
    }
    assert!(text.contains("--runtime=120s --time_based"), "{text}");
    let act = |more: &[&str]| {
        let mut args = vec!["--profile=act", "--device-names=/d"];
        args.extend(more);
        shown(&args)
    };
    for (more, rates) in [
        (&["--load=3", "--threads-per-queue=4"][..], [1500, 36]),
        (&["--read-req-num-512-blocks=6"], [250, 24]),
        (&["--load=8", "--read-req-num-512-blocks=4"], [2000, 125]),
        (&["--large-block-op-kbytes=262144"], [250, 6]),
        (&["--threads-per-queue=3"], [666, 12]),
    ] {
        let text = act(more);
        for rate in rates {
            assert!(text.contains(&format!("--rate_iops={rate} ")), "{more:?} {text}");
        }
    }
    let prep = act(&["--prep"]);
    let zeroes = "--name=act-prep-zeroes-/d --filename=/d --bs=1048576 --zero_buffers --rw=write";
    let salt = "--name=act-prep-salt-/d --stonewall --filename=/d --bs=4096 --ioengine=libaio \
                --iodepth=64 --rw=randwrite";
    assert!(prep.contains(zeroes) && prep.contains(salt), "{prep}");
}

#[test]
fn job_options_apply_to_all_jobs_of_a_profile() {
    let text = shown(&["--profile=act", "--device-names=/d", "--direct=0", "--ioengine=psync"]);
    let job = read(&["--profile=act", "--device-names=/d", "--direct=0"]).unwrap().jobs;
    assert!(!job[0].get(table::DIRECT), "{text}");
    assert!(text.contains("--ioengine=psync"));
}

#[test]
fn jobs_and_options_that_a_profile_would_ignore_are_errors() {
    assert!(wrong(&["--profile=act"]).contains("the device names are missing"));
    assert!(wrong(&["--profile=ct"]).contains("profile 'ct' not found"));
    assert!(wrong(&["--profile=tiobench", "--name=x"]).contains("job x would not run"));
    assert!(wrong(&["--profile=tiobench", "a.fio"]).contains("job file a.fio would not run"));
    assert!(wrong(&["--profile=tiobench", "--threads=0"]).contains("threads=0"));
    assert!(wrong(&["--profile=tiobench", "--profile=act"]).contains("only one profile"));
    let small = wrong(&["--profile=act", "--device-names=/d", "--large-block-op-kbytes=1024"]);
    assert!(small.contains("a large write of 1024 bytes is smaller"), "{small}");
    // The options of a profile are known only after the profile.
    assert!(wrong(&["--device-names=/d", "--profile=act"]).contains("device-names"));
}

#[test]
fn cmdhelp_explains_the_options_of_a_profile() {
    let Action::Print(text) = read(&["--profile=act", "--cmdhelp"]).unwrap().action else {
        panic!("no help")
    };
    assert!(text.contains("device-names            : The devices") && !text.contains("iodepth"));
}

#[test]
fn a_profile_in_a_job_file_is_an_error() {
    let mut memory = Memory::job("[global]\nprofile=act\n[a]\nsize=1m\n");
    let errors = invocation(&["job.fio".to_string()], &mut memory).expect_err("it has no effect");
    let text = crate::diagnostic::render(&errors, false);
    assert!(text.contains("profile=act has no effect in a job file") && text.contains("job.fio:2"));
}

#[test]
fn vioperf_appends_to_one_file_per_thread() {
    let text = shown(&["--profile=vioperf"]);
    let all = "--bs=1048576 --ioengine=psync --directory=./ --numjobs=4 --size=16492674416640 \
               --file_append=1 --fallocate=none --create_on_open=1 --direct=1 --runtime=300000ms --buffer_crc=1 \
               --unlink=1 --space_reserve=4294967296 --core_bandwidth=1 --group_reporting --thread \
               --name=vioperf --rw=write";
    assert!(text.contains(all), "{text}");
    let text = shown(&[
        "--profile=vioperf",
        "--thread-count=9",
        "--duration=2",
        "--directory=/d",
        "--crc=0",
        "--direct=0",
        "--preserve-files",
        "--reserve=1g",
    ]);
    for part in ["--numjobs=9 ", "--runtime=2000ms ", "--directory=/d ", "--buffer_crc=0 "] {
        assert!(text.contains(part), "{part}: {text}");
    }
    for part in ["--direct=0 ", "--unlink=0 ", "--space_reserve=1073741824 "] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(wrong(&["--profile=vioperf", "--duration=0"]).contains("--duration=5m"));
}
