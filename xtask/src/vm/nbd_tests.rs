use super::*;
use crate::vm::cache::WriteCache;
use crate::vm::scratch::Scratch;

const SIZE: u64 = 64 << 10;

/// A client that has agreed on the drive.
struct Client(UnixStream);

impl Client {
    fn connect(server: &DriveServer) -> Self {
        let mut stream = UnixStream::connect(server.socket()).unwrap();
        let mut hello = [0; 18];
        stream.read_exact(&mut hello).unwrap();
        assert_eq!(&hello[..16], SERVER_MAGIC);
        stream.write_all(&1u32.to_be_bytes()).unwrap();
        let mut client = Client(stream);
        // An option that the server does not know.
        client.option(8, &[]);
        assert_eq!(client.option_reply(), (8, REPLY_UNSUPPORTED, vec![]));
        client.option(OPTION_GO, &[0; 6]);
        let (_, reply, info) = client.option_reply();
        assert_eq!(reply, REPLY_INFO);
        assert_eq!(info[2..10], SIZE.to_be_bytes());
        assert_eq!(client.option_reply(), (OPTION_GO, REPLY_ACK, vec![]));
        client
    }

    fn option(&mut self, option: u32, data: &[u8]) {
        let mut bytes = OPTION_MAGIC.to_be_bytes().to_vec();
        bytes.extend(option.to_be_bytes());
        bytes.extend((data.len() as u32).to_be_bytes());
        bytes.extend(data);
        self.0.write_all(&bytes).unwrap();
    }

    fn option_reply(&mut self) -> (u32, u32, Vec<u8>) {
        assert_eq!(read_u64(&mut self.0).unwrap(), OPTION_REPLY_MAGIC);
        let mut word = || read_u32(&mut self.0).unwrap();
        let (option, reply, length) = (word(), word(), word());
        let mut data = vec![0; length as usize];
        self.0.read_exact(&mut data).unwrap();
        (option, reply, data)
    }

    fn send(&mut self, kind: u16, flags: u16, offset: u64, length: u32, data: &[u8]) {
        let mut bytes = REQUEST_MAGIC.to_be_bytes().to_vec();
        bytes.extend(flags.to_be_bytes());
        bytes.extend(kind.to_be_bytes());
        bytes.extend(99u64.to_be_bytes());
        bytes.extend(offset.to_be_bytes());
        bytes.extend(length.to_be_bytes());
        bytes.extend(data);
        self.0.write_all(&bytes).unwrap();
    }

    /// Sends a request and returns the error of its reply.
    fn request(&mut self, kind: u16, flags: u16, offset: u64, length: u32, data: &[u8]) -> u32 {
        self.send(kind, flags, offset, length, data);
        assert_eq!(read_u32(&mut self.0).unwrap(), REPLY_MAGIC);
        let error = read_u32(&mut self.0).unwrap();
        assert_eq!(read_u64(&mut self.0).unwrap(), 99);
        error
    }
}

fn server(scratch: &Scratch, cache: WriteCache) -> DriveServer {
    let image = scratch.join("image");
    std::fs::write(&image, vec![0; SIZE as usize]).unwrap();
    let drive = CachedDrive::open(&image, cache, 3).unwrap();
    DriveServer::start("test", drive, scratch.join("socket")).unwrap()
}

/// Number of blocks on the medium that are not zero.
fn written(scratch: &Scratch) -> usize {
    let data = std::fs::read(scratch.join("image")).unwrap();
    data.chunks(512).filter(|block| block.iter().any(|byte| *byte != 0)).count()
}

#[test]
fn a_killed_client_loses_only_what_it_had_not_flushed() {
    let scratch = Scratch::new().unwrap();
    let server = server(&scratch, WriteCache::Volatile);
    let mut client = Client::connect(&server);
    assert_eq!(client.request(WRITE, 0, 0, 16384, &[5; 16384]), 0);
    assert_eq!(client.request(FLUSH, 0, 0, 0, &[]), 0);
    assert_eq!(client.request(WRITE, 0, 16384, 16384, &[6; 16384]), 0);
    assert_eq!(client.request(READ, 0, 16384, 512, &[]), 0);
    let mut data = [0; 512];
    client.0.read_exact(&mut data).unwrap();
    assert_eq!(data, [6; 512]);
    // It is killed in the middle of a write, of which nothing may reach the medium.
    client.send(WRITE, 0, 32768, 4096, &[7; 100]);
    drop(client);
    let counts = server.end().unwrap();
    assert_eq!(counts.flushes, 1);
    assert!(counts.lost > 0 && counts.lost < 32, "{counts:?}");
    assert_eq!(written(&scratch), 64 - counts.lost as usize);
}

#[test]
fn a_client_that_disconnects_loses_nothing() {
    let scratch = Scratch::new().unwrap();
    let server = server(&scratch, WriteCache::Lying);
    let mut client = Client::connect(&server);
    assert_eq!(client.request(WRITE, FUA, 0, 512, &[5; 512]), 0);
    assert_eq!(client.request(WRITE_ZEROES, 0, 512, 512, &[]), 0);
    client.send(DISCONNECT, 0, 0, 0, &[]);
    assert_eq!(server.end().unwrap().lost, 0);
    assert_eq!(written(&scratch), 1);
}

#[test]
fn wrong_requests_have_an_error() {
    let scratch = Scratch::new().unwrap();
    let server = server(&scratch, WriteCache::Volatile);
    let mut client = Client::connect(&server);
    assert_eq!(client.request(READ, 0, SIZE, 512, &[]), EINVAL);
    assert_eq!(client.request(WRITE, 0, 100, 512, &[1; 512]), EINVAL);
    assert_eq!(client.request(17, 0, 0, 512, &[]), EINVAL);
    drop(client);
    server.end().unwrap();
}

#[test]
fn a_server_without_a_client_ends() {
    let scratch = Scratch::new().unwrap();
    assert_eq!(server(&scratch, WriteCache::Volatile).end().unwrap(), DriveCounts::default());
}
