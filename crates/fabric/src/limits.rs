//! How long the ends of a run on many hosts wait for each other.

use fiord_types::Nanos;

/// Time between two heartbeats of an end.
pub const HEARTBEAT: Nanos = Nanos::from_secs(1);

/// A peer from which nothing has arrived for this long is lost.
pub const LOST_AFTER: Nanos = Nanos::from_secs(4);

/// How long an agent may need for its first message. An ssh client may have to ask for a password.
pub const GREET_LIMIT: Nanos = Nanos::from_secs(60);

/// Additional time for the first message, for each host: not all connections are made at once.
pub const GREET_EACH: Nanos = Nanos::from_millis(20);

/// After the order to stop, a host may need this long until its next result arrives.
pub const STOP_LIMIT: Nanos = Nanos::from_secs(5);

/// How long a host may do no I/O after all other hosts have ended. A run on one host waits as long for a job that hangs.
pub const HANG_LIMIT: Nanos = Nanos::from_secs(300);

/// How long a host may check its jobs after another host has checked them. Reading a trace takes hosts of one kind about the
/// same time, so a host that needs much longer hangs.
pub const CHECK_LIMIT: Nanos = Nanos::from_secs(60);

/// How long a host may do nothing after another host has gone on until the coordinator names it.
pub const HANG_NOTICE: Nanos = Nanos::from_secs(10);

/// Time between two progress events of a host if the user wants none. They tell the coordinator whether the host does I/O.
pub const WATCH_INTERVAL: Nanos = Nanos::from_secs(5);

/// Time between the decision to start and the start. Longer than the time after which TCP repeats a lost packet.
pub const START_MARGIN: Nanos = Nanos::from_millis(250);

/// Additional time before the start, for each host: the coordinator sends the messages one after another.
pub const START_EACH: Nanos = Nanos::from_micros(50);

/// How long the coordinator waits for other hosts after one failed before the layout.
pub const DOOMED_LIMIT: Nanos = Nanos::from_secs(2);
