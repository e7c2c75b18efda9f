use proptest::prelude::*;

use super::*;

/// What an answer contains: status, body, whether the connection stays.
type Answer = (u16, Vec<u8>, bool);

/// Reads one answer that arrives in pieces, after which the connection ends. Returns it with the bytes left over.
fn read(method: HttpMethod, limit: u64, pieces: &[&[u8]]) -> Result<(Answer, Vec<u8>), HttpError> {
    let mut reader = HttpReader::new();
    reader.begin(method, limit);
    let mut body = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        let mut input = *piece;
        loop {
            match reader.next(&mut input)? {
                HttpEvent::More => break,
                HttpEvent::Head => {}
                HttpEvent::Body(data) => body.extend_from_slice(data),
                HttpEvent::Complete => {
                    let rest = [input, &pieces[at + 1..].concat()].concat();
                    return Ok(((reader.status(), body, !reader.closes()), rest));
                }
            }
        }
    }
    reader.end()?;
    Ok(((reader.status(), body, !reader.closes()), Vec::new()))
}

fn get(bytes: &str) -> Result<Answer, HttpError> {
    read(HttpMethod::Get, 100, &[bytes.as_bytes()]).map(|(answer, _)| answer)
}

#[test]
fn each_kind_of_body_has_its_end() {
    let hello = |keep| Ok((200, b"hello".to_vec(), keep));
    assert_eq!(get("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), hello(true));
    assert_eq!(get("HTTP/1.1 200 OK\nContent-Length:5\n\nhello"), hello(true));
    assert_eq!(get("HTTP/1.1 200 OK\r\n\r\nhello"), hello(false));
    let chunks = "HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nA: b\r\n\r\n";
    assert_eq!(get(chunks), hello(true));
    assert_eq!(
        get("HTTP/1.1 204 No Content\r\nContent-Length: 9\r\n\r\n"),
        Ok((204, vec![], true))
    );
    assert_eq!(get("HTTP/1.1 304\r\n\r\n"), Ok((304, vec![], true)));
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\nHTTP";
    let answer = read(HttpMethod::Head, 0, &[head]);
    assert_eq!(answer, Ok(((200, vec![], true), b"HTTP".to_vec())));
}

#[test]
fn the_connection_stays_if_both_ends_want_that() {
    let kept = |head: &str| get(&format!("{head}Content-Length: 0\r\n\r\n")).unwrap().2;
    assert!(kept("HTTP/1.1 200 OK\r\n"));
    assert!(!kept("HTTP/1.1 200 OK\r\nConnection: foo, Close\r\n"));
    assert!(!kept("HTTP/1.0 200 OK\r\n"));
    assert!(kept("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n"));
    let both =
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    assert_eq!(get(both), Ok((200, vec![], false)));
}

#[test]
fn preliminary_answers_are_passed_over() {
    let interim = "HTTP/1.1 100 Continue\r\n\r\n";
    let last = "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(get(&format!("{}{last}", interim.repeat(16))), Ok((201, vec![], true)));
    assert_eq!(get(&format!("{}{last}", interim.repeat(17))), Err(HttpError::ManyInterim(16)));
    assert_eq!(get("HTTP/1.1 101 Switching\r\n\r\n"), Err(HttpError::Switched));
}

#[test]
fn wrong_answers_are_errors() {
    let not_http = |text: &str| Err(HttpError::NotHttp(text.to_owned()));
    assert_eq!(get("SSH-2.0-OpenSSH_9\r\n"), not_http("SSH-2.0-OpenSSH_9"));
    assert_eq!(get("\x15\x03\x01"), not_http("???"));
    assert_eq!(get("HTTP/1.1 99 x\r\n\r\n"), not_http("HTTP/1.1 99 x"));
    assert_eq!(get("HTTP/1.1 2000\r\n\r\n"), not_http("HTTP/1.1 2000"));
    assert_eq!(
        get("HTTP/1.1 200 OK\r\nno header\r\n\r\n"),
        Err(HttpError::BadHeader("no header".into()))
    );
    for lengths in ["-1", "5, 5", "5\r\nContent-Length: 6", "99999999999999999999", ""] {
        let answer = get(&format!("HTTP/1.1 200 OK\r\nContent-Length: {lengths}\r\n\r\n"));
        assert_eq!(answer, Err(HttpError::BadLength), "{lengths}");
    }
    let gzip = get("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n");
    assert_eq!(gzip, Err(HttpError::UnknownEncoding("gzip, chunked".into())));
    for chunks in ["x\r\n", "\r\n", "2\r\nabc\r\n", "11111111111111111\r\n", &"0".repeat(5000)] {
        let answer = get(&format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}"));
        assert_eq!(answer, Err(HttpError::BadChunk), "{chunks}");
    }
    let long = format!("HTTP/1.1 200 OK\r\nA: {}", "x".repeat(70_000));
    assert_eq!(get(&long), Err(HttpError::LongHead(MAX_HEAD)));
    let trailer = "A: b\r\n".repeat(4000);
    let answer =
        get(&format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n{trailer}"));
    assert_eq!(answer, Err(HttpError::BadChunk));
}

#[test]
fn bodies_that_are_too_long_or_too_short_are_errors() {
    let long = Err(HttpError::LongBody { limit: 100 });
    assert_eq!(get("HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n"), long);
    assert_eq!(get(&format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(101))), long);
    let chunk = "x".repeat(101);
    assert_eq!(
        get(&format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n{chunk}")),
        long
    );
    let refusal = format!("HTTP/1.1 403 No\r\nContent-Length: 2000\r\n\r\n{}", "x".repeat(2000));
    assert_eq!(get(&refusal).unwrap().1.len(), 2000);
    let cut = |got, of| Err(HttpError::CutBody { got, of });
    assert_eq!(get("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel"), cut(3, Some(5)));
    assert_eq!(
        get("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n"),
        cut(3, None)
    );
    assert_eq!(get("HTTP/1.1 200 OK\r\nContent-"), Err(HttpError::CutHead));
    assert_eq!(get(""), Err(HttpError::NoAnswer));
}

#[test]
fn headers_can_be_looked_up() {
    let mut reader = HttpReader::new();
    reader.begin(HttpMethod::Get, 10);
    let head = "HTTP/1.1 206 Partial Content\r\nRetry-After:  7\r\nContent-Range: bytes 8-17/400\r\nContent-Length: 10\r\n\r\n0123456789";
    let mut input = head.as_bytes();
    assert!(!reader.has_begun());
    assert_eq!(reader.next(&mut input), Ok(HttpEvent::Head));
    assert!(reader.has_begun() && reader.is_success());
    assert_eq!((reader.header("retry-after"), reader.header("etag")), (Some("7"), None));
    assert_eq!((reader.range(), reader.declared_length()), (Some((8, 17)), Some(10)));
    assert_eq!(reader.plain_bytes(), 10);
    reader.took(4);
    assert_eq!((reader.plain_bytes(), reader.received()), (6, 4));
    input = &input[4..];
    assert_eq!(reader.next(&mut input), Ok(HttpEvent::Body(b"456789")));
    assert_eq!(reader.next(&mut input), Ok(HttpEvent::Complete));
}

/// A valid answer with this body, in one of the encodings.
fn answer(body: &[u8], kind: u8, chunk: usize) -> Vec<u8> {
    let mut bytes = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nX: y\r\n".to_vec();
    match kind {
        0 => {
            bytes.extend(format!("Content-Length: {}\r\n\r\n", body.len()).bytes());
            bytes.extend_from_slice(body);
        }
        1 => {
            bytes.extend(b"Transfer-Encoding: chunked\r\n\r\n");
            for part in body.chunks(chunk) {
                bytes.extend(format!("{:x}\r\n", part.len()).bytes());
                bytes.extend_from_slice(part);
                bytes.extend(b"\r\n");
            }
            bytes.extend(b"0\r\n\r\n");
        }
        _ => {
            bytes.extend(b"\r\n");
            bytes.extend_from_slice(body);
        }
    }
    bytes
}

/// Divides bytes at these places.
fn pieces<'a>(mut bytes: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    for cut in cuts {
        let (piece, rest) = bytes.split_at((*cut).min(bytes.len()));
        pieces.push(piece);
        bytes = rest;
    }
    pieces.push(bytes);
    pieces
}

proptest! {
    #[test]
    fn an_answer_is_the_same_in_any_pieces(
        body in prop::collection::vec(any::<u8>(), 0..200),
        kind in 0u8..3,
        chunk in 1usize..50,
        cuts in prop::collection::vec(0usize..40, 0..30),
    ) {
        let bytes = answer(&body, kind, chunk);
        let (found, rest) = read(HttpMethod::Get, 200, &pieces(&bytes, &cuts)).unwrap();
        prop_assert_eq!(found, (200, body, kind < 2));
        prop_assert!(rest.is_empty());
    }

    #[test]
    fn any_bytes_end_and_mean_the_same_in_any_pieces(
        start in prop::sample::select(&["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"][..]),
        noise in prop::collection::vec(prop::sample::select(&b"\r\n:;0123aF xHT/."[..]), 0..120),
        cuts in prop::collection::vec(0usize..20, 0..20),
    ) {
        let bytes = [start.as_bytes(), &noise].concat();
        let whole = read(HttpMethod::Get, 50, &[&bytes]);
        let parts = read(HttpMethod::Get, 50, &pieces(&bytes, &cuts));
        match (whole, parts) {
            // The text of this error is as much as has arrived.
            (Err(HttpError::NotHttp(_)), Err(HttpError::NotHttp(_))) => {}
            (whole, parts) => prop_assert_eq!(whole, parts),
        }
    }
}
