//! The engine on servers that do what they should, and on servers that do not.

use fiord_formats::nbd::request::NbdRequest;
use fiord_plan::{EndpointPlan, FileKind, IoAttributes, NbdServer, NbdUri};
use fiord_types::Nanos;

use super::server::{Reaction, SIZE, chunk, data, simple, start};
use super::*;

/// The flags of an export that has everything.
const ALL: u16 = 0x6d;

const BLOCK: u32 = 4096;

fn config(port: u16, slots: u32, timeout: Nanos) -> EngineConfig {
    let address = format!("nbd://127.0.0.1:{port}");
    let plan = NbdPlan {
        endpoint: EndpointPlan { address: Some(address.clone().into()), server: None, timeout },
        uri: NbdUri {
            server: NbdServer::Tcp("127.0.0.1".into(), port),
            export: String::new(),
            tls: None,
        },
    };
    EngineConfig {
        addresses: vec![address.into()],
        ..EngineConfig::plain(EnginePlan::Nbd(Box::new(plan)), slots, BLOCK)
    }
}

fn engine(port: u16, slots: u32) -> Nbd {
    connected(&config(port, slots, Nanos(60_000_000_000)))
}

fn connected(config: &EngineConfig) -> Nbd {
    let mut engine = Nbd::new(config).unwrap();
    let (offset, len) = (Bytes(0), Bytes(SIZE));
    let target = Attachment { fd: None, kind: FileKind::Endpoint, offset, len, read_only: false };
    engine.attach(FileIndex(0), &target).unwrap();
    engine
}

fn op(kind: OpKind, block: u64) -> Op {
    let offset = block * u64::from(BLOCK);
    let attributes = IoAttributes::PLAIN;
    Op { kind, file: FileIndex(0), offset, len: BLOCK, at: 0, attributes }
}

/// Carries out ops of the same kind at once, and returns outcome, explanation and buffer of each, in order of the slots.
fn carry_out(
    engine: &mut Nbd,
    kind: OpKind,
    slots: Vec<FreeSlot>,
) -> Vec<(Outcome, Option<String>, Vec<u8>)> {
    let count = slots.len();
    let mut done = Completions::with_capacity(count as u32);
    let mut all: Vec<_> = (0..count).map(|_| None).collect();
    for mut slot in slots {
        let number = slot.index();
        engine.buffer(&mut slot).fill(number as u8 + 1);
        match engine.queue(slot, &op(kind, number.into())) {
            Queued::Pending => {}
            Queued::Done(slot, outcome) => done.push(slot, outcome),
            Queued::Full(_) => panic!("full"),
        }
    }
    let mut left = count;
    while left > 0 {
        while let Some((mut slot, outcome)) = done.pop_front() {
            let text = engine.explain(&slot);
            let bytes = engine.buffer(&mut slot).to_vec();
            let index = slot.index() as usize;
            assert!(all[index].replace((outcome, text, bytes)).is_none());
            left -= 1;
        }
        if left > 0 {
            engine.reap(Want { min: 1, max: left as u32, timeout: None }, &mut done).unwrap();
        }
    }
    all.into_iter().map(Option::unwrap).collect()
}

/// The bytes that a read of a request returns: the number of the block.
fn contents(request: &NbdRequest) -> Vec<u8> {
    vec![(request.offset / u64::from(BLOCK)) as u8 ^ 0x55; request.len as usize]
}

/// Reads one block from a server that answers the read with these bytes. Returns outcome, explanation and buffer.
fn read_one(
    answer: impl Fn(&NbdRequest) -> Vec<Reaction> + Send + Sync + 'static,
) -> (Outcome, String, Vec<u8>) {
    let port = start(ALL, move |request, _| answer(request));
    let mut engine = engine(port, 1);
    let slots = engine.take_slots();
    let (outcome, text, bytes) = carry_out(&mut engine, OpKind::Read, slots).remove(0);
    (outcome, text.unwrap_or_default(), bytes)
}

#[test]
#[cfg_attr(miri, ignore = "needs sockets")]
fn replies_can_be_split_anywhere() {
    for piece in [1, 7, 29, 4096, 1 << 20] {
        let port = start(ALL, move |request, _| {
            let mut bytes =
                chunk(request.cookie, false, 1, &data(request.offset, &contents(request)[..100]));
            let rest = data(request.offset + 100, &contents(request)[100..]);
            bytes.extend_from_slice(&chunk(request.cookie, true, 1, &rest));
            vec![Reaction::Send(bytes, piece)]
        });
        let mut engine = engine(port, 4);
        let slots = engine.take_slots();
        let all = carry_out(&mut engine, OpKind::Read, slots);
        for (block, (outcome, text, bytes)) in (0u8..).zip(all) {
            assert_eq!((outcome, text), (Outcome::ok(BLOCK), None), "{piece}");
            assert!(bytes.iter().all(|byte| *byte == block ^ 0x55), "{piece}");
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "needs sockets")]
fn writes_arrive_with_their_data() {
    let port = start(ALL, |request, data| {
        let right = (request.offset / u64::from(BLOCK)) as u8 + 1;
        let whole = data.len() == BLOCK as usize && data.iter().all(|byte| *byte == right);
        vec![Reaction::Send(simple(request, if whole { 0 } else { 22 }), 16)]
    });
    let mut engine = engine(port, 64);
    let slots = engine.take_slots();
    let all = carry_out(&mut engine, OpKind::Write, slots);
    assert!(all.iter().all(|(outcome, ..)| *outcome == Outcome::ok(BLOCK)));
}

#[test]
#[cfg_attr(miri, ignore = "needs sockets")]
fn holes_are_zeroes_and_errors_are_errnos() {
    let (outcome, _, bytes) = read_one(|request| {
        let mut hole = request.offset.to_be_bytes().to_vec();
        hole.extend_from_slice(&96u32.to_be_bytes());
        let mut bytes = chunk(request.cookie, false, 2, &hole);
        bytes.extend_from_slice(&chunk(
            request.cookie,
            false,
            1,
            &data(request.offset + 96, &[7; 4000]),
        ));
        bytes.extend_from_slice(&chunk(request.cookie, true, 0, &[]));
        vec![Reaction::Send(bytes, 4096)]
    });
    assert_eq!(outcome, Outcome::ok(BLOCK));
    assert!(bytes[..96].iter().all(|byte| *byte == 0) && bytes[96..].iter().all(|byte| *byte == 7));
    let (outcome, text, _) = read_one(|request| {
        let payload = b"\0\0\0\x1c\0\x04full";
        vec![Reaction::Send(chunk(request.cookie, true, 0x8001, payload), 4096)]
    });
    assert_eq!(outcome, Outcome::err(Errno::ENOSPC));
    assert!(text.ends_with("the server says: full"), "{text}");
    let (outcome, text, _) = read_one(|request| vec![Reaction::Send(simple(request, 5), 4096)]);
    assert_eq!((outcome, text.as_str()), (Outcome::err(Errno::EIO), ""));
}

#[test]
#[cfg_attr(miri, ignore = "needs sockets")]
fn a_server_that_breaks_the_protocol_fails_the_request() {
    type Answer = fn(&NbdRequest) -> Vec<u8>;
    let wrong: [(Answer, &str); 6] = [
        (
            |request| chunk(request.cookie, true, 1, &data(request.offset, &[1; 100])),
            "the wrong number of bytes",
        ),
        (
            |request| chunk(request.cookie, true, 1, &data(request.offset + 1, &[1; 4096])),
            "did not ask for",
        ),
        (|request| chunk(request.cookie, true, 1, &data(u64::MAX, &[1; 4096])), "did not ask for"),
        (|request| chunk(request.cookie + 1, true, 0, &[]), "that fiord did not make"),
        (|request| chunk(request.cookie ^ 1 << 40, true, 0, &[]), "that fiord did not make"),
        (|_| b"HTTP/1.1 400 Bad Request".to_vec(), "begins with an unknown magic number"),
    ];
    for (answer, what) in wrong {
        let (outcome, text, _) =
            read_one(move |request| vec![Reaction::Send(answer(request), 4096)]);
        assert_eq!(outcome, Outcome::err(Errno::EPROTO), "{what}");
        assert!(
            text.contains(what) && text.contains("the read of 4096 bytes at offset 0"),
            "{text}"
        );
    }
}

#[test]
#[cfg_attr(miri, ignore = "needs sockets")]
fn a_connection_that_ends_in_the_middle_of_data_fails_the_request() {
    let (outcome, text, _) = read_one(|request| {
        let bytes = chunk(request.cookie, true, 1, &data(request.offset, &contents(request)));
        vec![Reaction::Send(bytes[..1000].to_vec(), 4096), Reaction::Close]
    });
    assert_eq!(outcome, Outcome::err(Errno::ECONNRESET));
    assert!(
        text.contains("closed the connection before the server answered the read of 4096"),
        "{text}"
    );
}

#[test]
#[cfg_attr(miri, ignore = "needs sockets")]
fn a_request_without_an_answer_times_out_and_the_engine_connects_again() {
    let asked = std::sync::atomic::AtomicU32::new(0);
    let port = start(ALL, move |request, _| {
        let number = asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        if number < 2 {
            return Vec::new();
        }
        vec![Reaction::Send(
            chunk(request.cookie, true, 1, &data(request.offset, &contents(request))),
            4096,
        )]
    });
    let mut engine = connected(&config(port, 2, Nanos(500_000_000)));
    let mut slots = engine.take_slots();
    let mut done = Completions::with_capacity(2);
    for slot in std::mem::take(&mut slots) {
        let number = slot.index();
        assert_eq!(engine.queue(slot, &op(OpKind::Read, number.into())), Queued::Pending);
    }
    while done.len() < 2 {
        engine.reap(Want { min: 1, max: 2, timeout: None }, &mut done).unwrap();
    }
    let outcomes = [Outcome::err(Errno::ETIMEDOUT), Outcome::err(Errno::ETIMEDOUT)];
    for outcome in outcomes {
        let (slot, found) = done.pop_front().unwrap();
        assert_eq!(found, outcome);
        let text = engine.explain(&slot).unwrap();
        assert!(text.contains("the read of 4096 bytes at offset"), "{text}");
        slots.push(slot);
    }
    let all = carry_out(&mut engine, OpKind::Read, slots);
    assert!(all.iter().all(|(outcome, ..)| *outcome == Outcome::ok(BLOCK)), "{all:?}");
}

#[test]
#[cfg_attr(miri, ignore = "needs sockets")]
fn what_the_server_does_not_have_is_refused() {
    let port = start(3, |_, _| vec![Reaction::Close]);
    for (kind, errno, what) in [
        (OpKind::Write, Errno::EPERM, "forbids writes"),
        (OpKind::Fsync, Errno::EOPNOTSUPP, "has no flush"),
    ] {
        let mut engine = engine(port, 1);
        let slots = engine.take_slots();
        let (outcome, text, _) = carry_out(&mut engine, kind, slots).remove(0);
        assert_eq!(outcome, Outcome::err(errno));
        assert!(text.unwrap().contains(what));
    }
    let engine = engine(port, 1);
    assert!(ask(&engine.plan).unwrap().read_only);
}

#[test]
#[cfg_attr(miri, ignore = "needs sockets")]
fn an_interrupted_job_does_not_wait_for_the_server() {
    let port = start(ALL, |_, _| Vec::new());
    let mut engine = connected(&config(port, 3, Nanos(3_600_000_000_000)));
    engine.end.interrupt();
    let slots = engine.take_slots();
    let all = carry_out(&mut engine, OpKind::Read, slots);
    assert!(all.iter().all(|(outcome, ..)| *outcome == Outcome::ENDED), "{all:?}");
}

/// At the end of the run time the job still waits for a request until its timeout.
#[test]
fn a_job_that_must_stop_waits_for_the_timeout() {
    let port = start(ALL, |_, _| Vec::new());
    let mut engine = connected(&config(port, 3, Nanos(1_500_000_000)));
    engine.end.stop();
    let slots = engine.take_slots();
    let all = carry_out(&mut engine, OpKind::Read, slots);
    assert!(all.iter().all(|(outcome, ..)| outcome.get() == Err(Errno::ETIMEDOUT)), "{all:?}");
}
