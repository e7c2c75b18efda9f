//! Tests of the NBD protocol: servers of several kinds, and arbitrary bytes.

use proptest::prelude::*;

use super::handshake::{Goal, Handshake, HandshakeStep};
use super::reply::{ReplyContent, header};
use super::request::{NbdCommand, NbdRequest};
use super::uri::{NbdServer, NbdTls, NbdUri, NbdUriError};
use super::*;

/// The greeting of a server with these flags.
fn greeting(flags: u16) -> Vec<u8> {
    let mut bytes = b"NBDMAGICIHAVEOPT".to_vec();
    bytes.extend_from_slice(&flags.to_be_bytes());
    bytes
}

fn option_reply(option: u32, kind: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = 0x0003_e889_0455_65a9u64.to_be_bytes().to_vec();
    for number in [option, kind, data.len() as u32] {
        bytes.extend_from_slice(&number.to_be_bytes());
    }
    bytes.extend_from_slice(data);
    bytes
}

/// The information about an export of 1 MiB that has all commands.
fn described() -> Vec<u8> {
    let mut data = 0u16.to_be_bytes().to_vec();
    data.extend_from_slice(&(1u64 << 20).to_be_bytes());
    data.extend_from_slice(&0x6du16.to_be_bytes());
    data
}

#[test]
fn a_server_with_all_options_is_asked_for_chunks_and_block_sizes() {
    let mut client = Handshake::new("disk", Goal::Use).unwrap();
    let HandshakeStep::Send(out) = client.receive(&greeting(3)).unwrap() else { panic!() };
    assert_eq!(out[..4], [0, 0, 0, 3]);
    assert_eq!(out[12..], [0, 0, 0, 8, 0, 0, 0, 0]);
    let HandshakeStep::Send(out) = client.receive(&option_reply(8, 1, b"")).unwrap() else {
        panic!()
    };
    assert_eq!(out[8..16], [0, 0, 0, 7, 0, 0, 0, 12]);
    assert_eq!(out[16..], *b"\0\0\0\x04disk\0\x01\0\x03");
    let mut blocks = 3u16.to_be_bytes().to_vec();
    for size in [512u32, 4096, 1 << 20] {
        blocks.extend_from_slice(&size.to_be_bytes());
    }
    let mut bytes = option_reply(7, 3, &described());
    bytes.extend_from_slice(&option_reply(7, 3, &blocks));
    assert_eq!(client.receive(&bytes), Ok(HandshakeStep::Receive));
    let flags = ExportFlags(0x6d);
    let export = Export {
        size: 1 << 20,
        flags,
        smallest_block: 512,
        largest_block: 1 << 20,
        structured: true,
    };
    assert_eq!(
        client.receive(&option_reply(7, 1, b"")),
        Ok(HandshakeStep::Done(Vec::new(), export))
    );
    assert!(flags.has(ExportFlags::SEND_TRIM) && !flags.has(ExportFlags::READ_ONLY));
}

#[test]
fn an_old_server_is_asked_by_name() {
    for (flags, zeroes) in [(0, 124), (3, 0)] {
        let mut client = Handshake::new("", Goal::Ask).unwrap();
        let mut step = client.receive(&greeting(flags)).unwrap();
        if flags & 1 != 0 {
            // It knows no option.
            client.receive(&option_reply(8, (1 << 31) + 1, b"")).unwrap();
            step = client.receive(&option_reply(6, (1 << 31) + 1, b"")).unwrap();
        }
        let HandshakeStep::Send(out) = step else { panic!() };
        assert_eq!(out[out.len() - 8..], [0, 0, 0, 1, 0, 0, 0, 0]);
        let mut bytes = (1u64 << 20).to_be_bytes().to_vec();
        bytes.extend_from_slice(&3u16.to_be_bytes());
        bytes.resize(10 + zeroes, 0);
        let HandshakeStep::Done(_, export) = client.receive(&bytes).unwrap() else { panic!() };
        assert_eq!((export.size, export.structured), (1 << 20, false));
        assert!(export.flags.has(ExportFlags::READ_ONLY));
    }
}

#[test]
fn refusals_say_why() {
    let answer = |kind: u32, text: &str| {
        let mut client = Handshake::new("x", Goal::Use).unwrap();
        client.receive(&greeting(3)).unwrap();
        client.receive(&option_reply(8, 1, b"")).unwrap();
        client.receive(&option_reply(7, kind, text.as_bytes())).unwrap_err().to_string()
    };
    assert_eq!(answer((1 << 31) + 6, "no\n"), "the server has no export `x` (no)");
    assert_eq!(answer((1 << 31) + 5, ""), "the server requires TLS");
    assert_eq!(answer((1 << 31) + 2, ""), "the server refuses the export: a policy forbids it");
    assert!(answer(1, "").contains("does not describe the export"));
    let first = |bytes: &[u8]| Handshake::new("x", Goal::Use).unwrap().receive(bytes).unwrap_err();
    assert_eq!(first(b"SSH-2.0-OpenSSH"), NbdError::NoServer("SSH-2.0-OpenSSH".into()));
    assert_eq!(first(b"H"), NbdError::NoServer("H".into()));
    assert_eq!(first(b"NBDMAGIC\0\0\x42\x02\x81\x86\x12\x53"), NbdError::Oldstyle);
}

#[test]
fn replies_are_read() {
    let chunk = |kind: u16, payload: &[u8]| {
        let mut bytes = 0x668e_33efu32.to_be_bytes().to_vec();
        bytes.extend_from_slice(&1u16.to_be_bytes());
        bytes.extend_from_slice(&kind.to_be_bytes());
        bytes.extend_from_slice(&7u64.to_be_bytes());
        bytes.extend_from_slice(&(payload.len() as u32).to_be_bytes());
        bytes.extend_from_slice(payload);
        header(&bytes).map(|found| found.map(|(header, len)| (header.content, len)))
    };
    let data = ReplyContent::Data { offset: 1, len: 3 };
    assert_eq!(chunk(1, b"\0\0\0\0\0\0\0\x01abc"), Ok(Some((data, 28))));
    let hole = ReplyContent::Hole { offset: 1, len: 9 };
    assert_eq!(chunk(2, b"\0\0\0\0\0\0\0\x01\0\0\0\x09"), Ok(Some((hole, 32))));
    let error = ReplyContent::Error { errno: 28, why: "full".into() };
    assert_eq!(chunk(0x8001, b"\0\0\0\x1c\0\x04full"), Ok(Some((error.clone(), 30))));
    assert_eq!(chunk(0x8002, b"\0\0\0\x1c\0\x04full\0\0\0\0\0\0\0\x01"), Ok(Some((error, 38))));
    assert_eq!(chunk(0, b""), Ok(Some((ReplyContent::Nothing, 20))));
    for (kind, payload) in [
        (0, &b"x"[..]),
        (1, b"\0\0\0\0\0\0\0\x01"),
        (2, b""),
        (0x8001, b"\0\0\0\x05\0\x09full"),
        (9, b""),
    ] {
        assert!(matches!(chunk(kind, payload), Err(NbdError::Broken(_))), "{kind}");
    }
}

#[test]
fn uris_are_read() {
    let tcp = |host: &str, port| NbdServer::Tcp(host.into(), port);
    for (text, server, export) in [
        ("nbd://localhost:10810", tcp("localhost", 10810), ""),
        ("nbd://host/a/b", tcp("host", 10809), "a/b"),
        ("nbd://", tcp("localhost", 10809), ""),
        ("nbd://user@[fe80::1]:9/%41", tcp("fe80::1", 9), "A"),
        ("nbd+unix:///?socket=/tmp/s", NbdServer::Unix("/tmp/s".into()), ""),
        ("nbd+unix:///x?socket=a%20b", NbdServer::Unix("a b".into()), "x"),
    ] {
        let expected = NbdUri { server, export: export.into(), tls: None };
        assert_eq!(NbdUri::parse(text), Ok(expected), "{text}");
    }
    for (text, error) in [
        ("http://host", NbdUriError::Scheme),
        ("host:10809", NbdUriError::Scheme),
        ("nbd://host/?tls-certificates=a", NbdUriError::NoTls("tls-certificates".into())),
        ("nbds://me@host/?tls-psk-file=a", NbdUriError::PreSharedKey),
        ("nbds://host/?tls-verify-peer=perhaps", NbdUriError::VerifyPeer),
        ("nbds://host/?tls-certificates=", NbdUriError::Parameter("tls-certificates".into())),
        ("nbds+vsock://2", NbdUriError::Vsock),
        ("nbd+vsock://2", NbdUriError::Vsock),
        ("nbd+unix:///", NbdUriError::NoSocket),
        ("nbd+unix:///?socket=", NbdUriError::NoSocket),
        ("nbd+unix://host/?socket=a", NbdUriError::HostOfSocket),
        ("nbd://host:0", NbdUriError::Port),
        ("nbd://host:http", NbdUriError::Port),
        ("nbd://host/%4", NbdUriError::Escape),
        ("nbd://host/?colour=red", NbdUriError::Parameter("colour".into())),
    ] {
        assert_eq!(NbdUri::parse(text), Err(error), "{text}");
    }
}

#[test]
fn uris_ask_for_tls() {
    for (text, certificates, host, checks_server) in [
        ("nbds://host/x", None, "host", true),
        ("nbds://h?tls-certificates=/a%20b&tls-hostname=n", Some("/a b"), "n", true),
        ("nbds+unix:///?socket=/s&tls-verify-peer=false", None, "localhost", false),
    ] {
        let expected =
            NbdTls { certificates: certificates.map(Into::into), host: host.into(), checks_server };
        assert_eq!(NbdUri::parse(text).unwrap().tls, Some(expected), "{text}");
    }
}

#[test]
fn tls_begins_before_the_options() {
    let greeted = || {
        let mut client = Handshake::new("x", Goal::Use).unwrap().with_tls();
        let HandshakeStep::Send(out) = client.receive(&greeting(3)).unwrap() else { panic!() };
        assert_eq!(out[12..], [0, 0, 0, 5, 0, 0, 0, 0]);
        client
    };
    let mut client = greeted();
    assert_eq!(client.receive(&option_reply(5, 1, b"")), Ok(HandshakeStep::StartTls));
    let HandshakeStep::Send(out) = client.receive(&[]).unwrap() else { panic!() };
    assert_eq!(out[8..], [0, 0, 0, 8, 0, 0, 0, 0]);
    let refused = greeted().receive(&option_reply(5, (1 << 31) + 1, b"no\n"));
    assert_eq!(refused.unwrap_err().to_string(), "the server has no TLS (no)");
    // An attacker adds an answer that is not encrypted.
    let more = [option_reply(5, 1, b""), option_reply(8, 1, b"")].concat();
    assert!(matches!(greeted().receive(&more), Err(NbdError::Broken(_))));
    let mut old = Handshake::new("x", Goal::Use).unwrap().with_tls();
    assert_eq!(old.receive(&greeting(0)), Err(NbdError::NoTls(String::new())));
}

proptest! {
    #[test]
    fn requests_survive(flags: u16, cookie: u64, offset: u64, len: u32, command in 0usize..6) {
        use NbdCommand::{Disconnect, Flush, Read, Trim, Write, WriteZeroes};
        let command = [Read, Write, Disconnect, Flush, Trim, WriteZeroes][command];
        let request = NbdRequest { command, flags, cookie, offset, len };
        prop_assert_eq!(NbdRequest::decode(&request.encode()), Some(request));
    }

    /// However the bytes of a server are cut into pieces, a client understands the same.
    #[test]
    fn pieces_do_not_matter(cut in 1usize..40, extra in prop::collection::vec(any::<u8>(), 0..60)) {
        let mut bytes = greeting(3);
        bytes.extend_from_slice(&option_reply(8, 1, b""));
        bytes.extend_from_slice(&option_reply(7, 3, &described()));
        bytes.extend_from_slice(&option_reply(7, 3, &extra));
        bytes.extend_from_slice(&option_reply(7, 1, b""));
        let run = |size: usize| {
            let mut client = Handshake::new("x", Goal::Use).unwrap();
            let mut sent = Vec::new();
            for piece in bytes.chunks(size) {
                let mut piece = piece;
                loop {
                    match client.receive(piece) {
                        Ok(HandshakeStep::Send(out)) => sent.extend_from_slice(&out),
                        Ok(HandshakeStep::StartTls) => {}
                        Ok(HandshakeStep::Receive) => break,
                        Ok(HandshakeStep::Done(_, export)) => return (sent, Ok(export)),
                        Err(error) => return (sent, Err(error)),
                    }
                    piece = &[];
                }
            }
            (sent, Err(NbdError::Broken("it goes on")))
        };
        prop_assert_eq!(run(cut), run(bytes.len()));
    }

    #[test]
    fn no_bytes_of_a_server_cause_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = header(&bytes);
        for mut start in [Vec::new(), greeting(3), greeting(0)] {
            start.extend_from_slice(&bytes);
            let _ = Handshake::new("x", Goal::Ask).unwrap().receive(&start);
        }
        let _ = NbdUri::parse(&String::from_utf8_lossy(&bytes));
    }
}
