//! Runs on hosts that are network namespaces on a bridge, and over a real sshd. Each test has a network, mounts and
//! processes of its own, and needs root.

use serde_json::Value;

use crate::fiord::{Place, Ran};

/// Creates the namespaces `h1` to `h$HOSTS` with the addresses 10.77.0.1 and so on, and a bridge to them. Everything
/// disappears with the script.
const NETWORK: &str = r#"
set -e
SECURITY=--insecure
mount -t tmpfs none /run
mkdir -p /run/sshd
ip link set lo up
ip link add br0 type bridge
ip addr add 10.77.0.254/24 dev br0
ip link set br0 up
for i in $(seq "$HOSTS"); do
  ip netns add "h$i"
  ip link add "v$i" type veth peer name eth0 netns "h$i"
  ip link set "v$i" master br0 up
  ip -n "h$i" addr add "10.77.0.$i/24" dev eth0
  ip -n "h$i" link set eth0 up
  ip -n "h$i" link set lo up
  mkdir -p "h$i"
done
# Starts a server on a host, and waits until it listens.
serve() {
  host=$1; shift
  (cd "$host" && exec ip netns exec "$host" "$@" "$FIORD" --server="10.77.0.${host#h}" $SECURITY) >"$host/log" 2>&1 &
  eval "pid_$host=$!"
  for _ in $(seq 200); do grep -qs listening "$host/log" && return; sleep 0.05; done
  echo "the server of $host does not listen" >&2; cat "$host/log" >&2; exit 1
}
clients() { for i in $(seq "$HOSTS"); do printf -- '--client=10.77.0.%s ' "$i"; done; }
"#;

/// Runs a script after [`NETWORK`]. `None`: this machine cannot, and the reason is printed.
pub(crate) fn run(place: &Place, hosts: usize, script: &str) -> Option<Ran> {
    place.write("script", format!("{NETWORK}{script}"));
    let shell =
        "exec timeout 60 unshare --net --mount --pid --fork --kill-child --mount-proc bash script";
    let possible = place.script("unshare --net --mount --pid --fork ip link add br0 type bridge");
    if possible.status != Some(0) {
        println!("skipped: no network namespaces: {}", possible.err);
        return None;
    }
    let mut command = place.shell(shell);
    command.env("HOSTS", hosts.to_string()).env("FIORD", env!("CARGO_BIN_EXE_fiord"));
    Some(Ran::from(command.output().unwrap()))
}

const JOB: &str = "[a]\nioengine=null\nrw=read\nsize=1g\nruntime=1\ntime_based\n";

#[test]
fn servers_in_sixteen_namespaces_start_together() {
    let place = Place::new();
    place.write("a.fio", JOB);
    let script = r#"for i in $(seq "$HOSTS"); do serve "h$i"; done
"$FIORD" $SECURITY $(clients) a.fio --output-format=json"#;
    let Some(ran) = run(&place, 16, script) else { return };
    assert_eq!(ran.status, Some(0), "{ran:?}");
    let document = ran.json();
    let clients = document["client_stats"].as_array().unwrap();
    assert_eq!(clients.len(), 17, "{ran:?}");
    assert_eq!(clients[16]["jobname"], "All clients");
    assert!(document["fiord"]["start_skew_ns"].is_u64(), "{ran:?}");
}

#[test]
fn clocks_of_hosts_may_differ() {
    let place = Place::new();
    place.write("a.fio", JOB);
    let script = r#"serve h1
serve h2 unshare --time --monotonic=100000 --boottime=100000 --fork
"$FIORD" $SECURITY $(clients) a.fio --output-format=json"#;
    let Some(ran) = run(&place, 2, script) else { return };
    assert_eq!(ran.status, Some(0), "{ran:?}");
    let all = &ran.json()["fiord"];
    // The clocks are 100,000 s apart.
    let less_than_a_second = |value: &Value| value.as_u64().is_some_and(|ns| ns < 1_000_000_000);
    assert!(less_than_a_second(&all["start_skew_ns"]), "{all}");
    assert!(less_than_a_second(&all["clock_error_ns"]), "{all}");
}

#[test]
fn a_host_that_freezes_or_disappears_from_the_network_is_lost() {
    let place = Place::new();
    place.write("a.fio", JOB.replace("runtime=1", "runtime=30"));
    for fault in ["kill -STOP $pid_h2", "kill -KILL $pid_h2", "ip link set v2 down"] {
        let script = format!(
            r#"serve h1; serve h2
"$FIORD" $SECURITY $(clients) a.fio --output-format=json & client=$!
sleep 3
{fault}
begun=$(date +%s%N)
wait $client && status=0 || status=$?
echo "$(( ($(date +%s%N) - begun) / 1000000 )) ms" >took
exit $status"#
        );
        let Some(ran) = run(&place, 2, &script) else { return };
        assert_eq!(ran.status, Some(249), "{fault}: {ran:?}");
        assert!(ran.err.contains("host 10.77.0.2"), "{fault}: {ran:?}");
        let took = std::fs::read_to_string(place.path("took")).unwrap();
        let took: u64 = took.trim_end().trim_end_matches(" ms").parse().unwrap();
        assert!(took < 8000, "{fault}: {took} ms");
        let document = ran.json();
        let read = &document["client_stats"][0]["read"]["io_bytes"];
        assert!(read.as_u64().unwrap() > 0, "{fault}: {ran:?}");
    }
}

#[test]
fn keys_on_both_sides_admit_hosts_and_others_are_refused() {
    let place = Place::new();
    place.write("a.fio", JOB);
    let keys = r#"for who in server client stranger; do "$FIORD" keys create --keys $who >/dev/null; done
key() { "$FIORD" keys show --keys $1 | grep -o 'SHA256:[^ ]*' | head -1; }
"$FIORD" keys trust --keys server "$(key client)" client >/dev/null
for who in client stranger; do "$FIORD" keys trust --keys $who "$(key server)" server >/dev/null; done
SECURITY=--keys=$PWD/server
serve h1
"#;
    let script =
        format!("{keys}\"$FIORD\" --keys=client --client=10.77.0.1 a.fio --output-format=json");
    let Some(ran) = run(&place, 1, &script) else { return };
    assert_eq!((ran.status, ran.err.as_str()), (Some(0), ""), "{ran:?}");

    let wrong = ["--keys=stranger", "--insecure"];
    for way in wrong {
        let script =
            format!("{keys}\"$FIORD\" {way} --client=10.77.0.1 a.fio --output-format=json");
        let place = Place::new();
        place.write("a.fio", JOB);
        let Some(ran) = run(&place, 1, &script) else { return };
        assert_eq!(ran.status, Some(249), "{way}: {ran:?}");
        assert!(ran.err.contains("key"), "{way}: {ran:?}");
        let log = std::fs::read_to_string(place.path("h1/log")).unwrap();
        assert!(log.contains("refused") || log.contains("lost"), "{way}: {log}");
        assert!(!log.contains("sent jobs"), "{way}: {log}");
    }
}

/// Starts an sshd on each host, which is a machine of its own name, and makes the command `./rsh` that reaches them.
const SSHD: &str = r#"
for needed in sshd ssh ssh-keygen; do
  command -v "$needed" >/dev/null || { echo "skipped: $needed is not installed"; exit 77; }
done
ssh-keygen -q -t ed25519 -N '' -f key
ssh-keygen -q -t ed25519 -N '' -f host_key
cp key.pub authorized; chmod 600 authorized key host_key
here=$PWD
cat >sshd_config <<END
HostKey $here/host_key
AuthorizedKeysFile $here/authorized
StrictModes no
PermitRootLogin yes
UsePAM no
PidFile none
END
for i in $(seq "$HOSTS"); do
  name="hostname 10.77.0.$i; exec $(command -v sshd) -f $here/sshd_config -D"
  ip netns exec "h$i" unshare --uts sh -c "$name" &
done
cat >rsh <<END
#!/bin/sh
exec ssh -o BatchMode=yes -i $here/key -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR "\$@"
END
chmod +x rsh
for i in $(seq "$HOSTS"); do
  for _ in $(seq 100); do ./rsh "10.77.0.$i" true 2>/dev/null && break; sleep 0.1; done
done
"#;

#[test]
fn hosts_are_reached_with_a_real_sshd() {
    let place = Place::new();
    place.write("a.fio", JOB);
    let script = r#""$FIORD" --hosts='10.77.0.[1-2]' --ssh=./rsh --remote-fiord="$FIORD" --output-format=json a.fio"#;
    let Some(ran) = run(&place, 2, &format!("{SSHD}{script}")) else { return };
    if ran.status == Some(77) {
        return println!("{}", ran.out);
    }
    assert_eq!((ran.status, ran.err.as_str()), (Some(0), ""), "{ran:?}");
    assert_eq!(ran.json()["client_stats"].as_array().unwrap().len(), 3);
}

#[test]
fn mpirun_starts_ranks_on_two_machines() {
    let place = Place::new();
    let script = r#"for needed in mpirun orted; do
  command -v "$needed" >/dev/null || { echo "skipped: $needed of Open MPI is not installed"; exit 77; }
done
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
timeout 40 mpirun --host 10.77.0.1,10.77.0.2 -n 2 --map-by node --mca plm_rsh_agent "$here/rsh" \
  --mca oob_tcp_if_include 10.77.0.0/24 --mca orte_keep_fqdn_hostnames 1 -x FIORD_RENDEZVOUS=10.77.0.1 \
  "$FIORD" --ranks --insecure --output-format=json --output="$here/out" \
  --name=a --ioengine=net --rw=write --bs=64k --size=4m --peer=next >&2"#;
    let Some(ran) = run(&place, 2, &format!("{SSHD}{script}")) else { return };
    if ran.status == Some(77) {
        return println!("{}", ran.out);
    }
    assert_eq!(ran.status, Some(0), "{ran:?}");
    let document: Value =
        serde_json::from_slice(&std::fs::read(place.path("out")).unwrap()).unwrap();
    let jobs = document["client_stats"].as_array().unwrap();
    let names: Vec<&str> = jobs.iter().map(|job| job["jobname"].as_str().unwrap()).collect();
    let expected =
        ["a_to_10.77.0.2", "a_from_10.77.0.2", "a_from_10.77.0.1", "a_to_10.77.0.1", "All clients"];
    assert_eq!(names, expected, "{document}");
    assert_eq!(jobs[4]["read"]["io_bytes"], 8 << 20);
}
