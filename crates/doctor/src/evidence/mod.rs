//! What several findings need to know about a run.
//!
//! | question | module |
//! |---|---|
//! | must the file system allocate space for the writes of a job? | `allocation` |
//! | how does a finding write a number, and keep it for its claim? | `amount` |
//! | how long did something hold up the connections of a job? | `connections` |
//! | how long did control groups have to wait for CPU time? | `cpu_quota` |
//! | did other programs use the CPUs of the jobs? | `crowd` |
//! | how many I/Os did a device have in flight? | `device_queue` |
//! | how does a finding name a direction? | `direction` |
//! | which command writes a range? | `fill` |
//! | how does a finding name hosts, and which hosts are alike? | `hosts` |
//! | how does a warning about a job become a finding? | `noted` |
//! | which jobs use the page cache, and which file systems are in memory? | `page_cache` |
//! | which jobs use the same files, and touch the same bytes of them? | `places` |
//! | which rates were not reached? | `rate` |
//! | which jobs sent requests to an object server? | `requests` |
//! | how does a remedy name options? | `setting` |
//! | how is a result compared with `spec=`? | `spec` |
//! | how long do threads sleep in the call that submits I/Os? | `submission` |
//! | which jobs have one I/O in flight at a time? | `synchronous` |
//! | which jobs run, or ran, at the same time? | `timing` |
//! | which bytes of its files does a job touch? | `touched` |
//! | which text does an option have in the job? | `typed` |

pub(crate) mod allocation;
pub(crate) mod amount;
pub(crate) mod connections;
pub(crate) mod cpu_quota;
pub(crate) mod crowd;
pub(crate) mod device_queue;
pub(crate) mod direction;
pub(crate) mod fill;
pub(crate) mod hosts;
pub(crate) mod noted;
pub(crate) mod page_cache;
pub(crate) mod places;
pub(crate) mod rate;
pub(crate) mod requests;
pub(crate) mod setting;
pub(crate) mod spec;
pub(crate) mod submission;
pub(crate) mod synchronous;
pub(crate) mod timing;
pub(crate) mod touched;
pub(crate) mod typed;
