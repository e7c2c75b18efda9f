//! The client's side of the fixed newstyle handshake.

use super::{Export, ExportFlags, Fields, NbdError, shown};

const NBDMAGIC: u64 = 0x4e42_444d_4147_4943;
const IHAVEOPT: u64 = 0x4948_4156_454f_5054;
const OLDSTYLE: u64 = 0x0000_4202_8186_1253;
const OPTION_REPLY: u64 = 0x0003_e889_0455_65a9;

/// Flags of the handshake.
const FIXED_NEWSTYLE: u16 = 1;
const NO_ZEROES: u16 = 2;

/// Options.
const EXPORT_NAME: u32 = 1;
const ABORT: u32 = 2;
const STARTTLS: u32 = 5;
const INFO: u32 = 6;
const GO: u32 = 7;
const STRUCTURED_REPLY: u32 = 8;

/// Types of replies to options. Errors have the highest bit.
const ACK: u32 = 1;
const INFORMATION: u32 = 3;
const IS_ERROR: u32 = 1 << 31;
const UNSUPPORTED: u32 = IS_ERROR + 1;
const TLS_REQUIRED: u32 = IS_ERROR + 5;
const UNKNOWN: u32 = IS_ERROR + 6;

/// Types of information.
const INFO_EXPORT: u16 = 0;
const INFO_BLOCK_SIZE: u16 = 3;

/// Maximum length of a reply to an option that a client accepts, in bytes.
const MAX_REPLY: u32 = 64 << 10;

/// Maximum length of the name of an export, in bytes.
pub const MAX_NAME: usize = 4096;

/// What the client wants to do with the export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Goal {
    Use,
    /// Learn about it and end the connection.
    Ask,
}

/// What the client has to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HandshakeStep {
    /// Send these bytes, then receive.
    Send(Vec<u8>),
    /// Receive more bytes.
    Receive,
    /// Begin TLS on the connection. Then continue without bytes: the rest of the connection is encrypted.
    StartTls,
    /// Send these bytes, which may be none. The handshake is complete: if the export is to be used, requests follow.
    Done(Vec<u8>, Export),
}

/// What the client waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Greeting,
    /// Waits for the answer to the wish for TLS.
    StartTls,
    /// TLS has begun, and nothing has been sent.
    Encrypted,
    StructuredReply,
    Go,
    ExportName,
    End,
}

/// A handshake. It does no I/O: the caller sends and receives.
#[derive(Debug, Clone)]
pub struct Handshake {
    name: String,
    goal: Goal,
    /// The client wants TLS.
    tls: bool,
    state: State,
    received: Vec<u8>,
    no_zeroes: bool,
    export: Export,
    /// The server has described the export.
    described: bool,
}

impl Handshake {
    /// A handshake for the export of this name.
    ///
    /// # Errors
    ///
    /// The name is longer than [`MAX_NAME`].
    pub fn new(name: &str, goal: Goal) -> Result<Self, NbdError> {
        if name.len() > MAX_NAME {
            return Err(NbdError::Broken("the name of an export has at most 4096 bytes"));
        }
        let export = Export {
            size: 0,
            flags: ExportFlags(0),
            smallest_block: 1,
            largest_block: Export::USUAL_MAX_BLOCK,
            structured: false,
        };
        Ok(Handshake {
            name: name.to_owned(),
            goal,
            tls: false,
            state: State::Greeting,
            received: Vec::new(),
            no_zeroes: false,
            export,
            described: false,
        })
    }

    /// A handshake that begins with TLS ([`HandshakeStep::StartTls`]). A server without TLS is an error.
    #[must_use]
    pub fn with_tls(self) -> Self {
        Handshake { tls: true, ..self }
    }

    /// Takes bytes from the server, however they are split, and says what to do.
    ///
    /// # Errors
    ///
    /// The server breaks the protocol, or refuses the export.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<HandshakeStep, NbdError> {
        self.received.extend_from_slice(bytes);
        loop {
            let (used, step) = match self.state {
                State::Greeting => self.greeting()?,
                State::StartTls | State::StructuredReply | State::Go => self.option_reply()?,
                State::Encrypted => {
                    self.state = State::StructuredReply;
                    let mut out = Vec::new();
                    push_option(&mut out, STRUCTURED_REPLY, &[]);
                    (0, Some(HandshakeStep::Send(out)))
                }
                State::ExportName => self.old_export()?,
                State::End => {
                    return Err(NbdError::Broken("the server sends data without a request"));
                }
            };
            self.received.drain(..used);
            match step {
                Some(step) => return Ok(step),
                None if used == 0 => return Ok(HandshakeStep::Receive),
                None => {}
            }
        }
    }

    fn greeting(&mut self) -> Result<(usize, Option<HandshakeStep>), NbdError> {
        let mut fields = Fields(&self.received);
        let wrong = || NbdError::NoServer(shown(&self.received[..self.received.len().min(16)]));
        let Some(magic) = fields.u64() else {
            let front = &NBDMAGIC.to_be_bytes()[..self.received.len()];
            return if front == self.received { Ok((0, None)) } else { Err(wrong()) };
        };
        if magic != NBDMAGIC {
            return Err(wrong());
        }
        let Some(style) = fields.u64() else { return Ok((0, None)) };
        if style == OLDSTYLE {
            return Err(NbdError::Oldstyle);
        }
        if style != IHAVEOPT {
            return Err(wrong());
        }
        let Some(flags) = fields.u16() else { return Ok((0, None)) };
        self.no_zeroes = flags & NO_ZEROES != 0;
        let mine = u32::from(flags & (FIXED_NEWSTYLE | NO_ZEROES));
        let mut out = mine.to_be_bytes().to_vec();
        if self.tls {
            if flags & FIXED_NEWSTYLE == 0 {
                return Err(NbdError::NoTls(String::new()));
            }
            self.state = State::StartTls;
            push_option(&mut out, STARTTLS, &[]);
        } else if flags & FIXED_NEWSTYLE != 0 {
            self.state = State::StructuredReply;
            push_option(&mut out, STRUCTURED_REPLY, &[]);
        } else {
            self.ask_by_name(&mut out);
        }
        Ok((18, Some(HandshakeStep::Send(out))))
    }

    fn ask_by_name(&mut self, out: &mut Vec<u8>) {
        self.state = State::ExportName;
        push_option(out, EXPORT_NAME, self.name.as_bytes());
    }

    /// Which option the client waits for an answer to.
    fn option(&self) -> u32 {
        match (self.state, self.goal) {
            (State::StartTls, _) => STARTTLS,
            (State::StructuredReply, _) => STRUCTURED_REPLY,
            (_, Goal::Use) => GO,
            (_, Goal::Ask) => INFO,
        }
    }

    fn option_reply(&mut self) -> Result<(usize, Option<HandshakeStep>), NbdError> {
        let mut fields = Fields(&self.received);
        let (Some(magic), Some(option)) = (fields.u64(), fields.u32()) else {
            return Ok((0, None));
        };
        let (Some(kind), Some(len)) = (fields.u32(), fields.u32()) else { return Ok((0, None)) };
        if magic != OPTION_REPLY || option != self.option() {
            return Err(NbdError::Broken("a reply to an option does not fit the option"));
        }
        if len > MAX_REPLY {
            return Err(NbdError::Broken("a reply to an option is longer than 64 KiB"));
        }
        let Some(data) = fields.bytes(len as usize) else { return Ok((0, None)) };
        let used = 20 + len as usize;
        if self.state == State::StartTls {
            return match kind {
                // Bytes from before the encryption could come from anybody.
                ACK if self.received.len() > used => {
                    Err(NbdError::Broken("the server sends data before TLS begins"))
                }
                ACK => {
                    self.state = State::Encrypted;
                    Ok((used, Some(HandshakeStep::StartTls)))
                }
                _ => Err(NbdError::NoTls(shown(data))),
            };
        }
        if self.state == State::StructuredReply {
            if kind == TLS_REQUIRED {
                return Err(NbdError::TlsRequired(shown(data)));
            }
            self.export.structured = kind == ACK;
            self.state = State::Go;
            return Ok((used, Some(HandshakeStep::Send(self.go()))));
        }
        match kind {
            INFORMATION => {
                let data = data.to_vec();
                self.information(&data)?;
                Ok((used, None))
            }
            ACK if self.described => {
                self.state = State::End;
                let mut out = Vec::new();
                if self.goal == Goal::Ask {
                    push_option(&mut out, ABORT, &[]);
                }
                Ok((used, Some(HandshakeStep::Done(out, self.export))))
            }
            ACK => Err(NbdError::Broken("the server does not describe the export")),
            UNSUPPORTED => {
                let mut out = Vec::new();
                self.ask_by_name(&mut out);
                Ok((used, Some(HandshakeStep::Send(out))))
            }
            _ => Err(self.refused(kind, data)),
        }
    }

    /// The option that asks for the export.
    fn go(&self) -> Vec<u8> {
        let mut data = (self.name.len() as u32).to_be_bytes().to_vec();
        data.extend_from_slice(self.name.as_bytes());
        data.extend_from_slice(&1u16.to_be_bytes());
        data.extend_from_slice(&INFO_BLOCK_SIZE.to_be_bytes());
        let mut out = Vec::new();
        push_option(&mut out, self.option(), &data);
        out
    }

    fn information(&mut self, data: &[u8]) -> Result<(), NbdError> {
        let short = NbdError::Broken("information about the export is too short");
        let mut fields = Fields(data);
        match fields.u16().ok_or_else(|| short.clone())? {
            INFO_EXPORT => {
                let (size, flags) = (fields.u64(), fields.u16());
                let (Some(size), Some(flags)) = (size, flags) else { return Err(short) };
                self.describe(size, flags)?;
            }
            INFO_BLOCK_SIZE => {
                let (least, _usual, most) = (fields.u32(), fields.u32(), fields.u32());
                let (Some(least), Some(most)) = (least, most) else { return Err(short) };
                if least == 0 || !least.is_power_of_two() || most < least {
                    return Err(NbdError::Broken("the block sizes of the export are impossible"));
                }
                self.export.smallest_block = least;
                self.export.largest_block = most;
            }
            _ => {}
        }
        Ok(())
    }

    fn describe(&mut self, size: u64, flags: u16) -> Result<(), NbdError> {
        if size > i64::MAX as u64 {
            return Err(NbdError::Broken("the export is larger than 8 EiB"));
        }
        (self.export.size, self.export.flags) = (size, ExportFlags(flags));
        self.described = true;
        Ok(())
    }

    /// Reads the answer of a server without `NBD_OPT_GO`.
    fn old_export(&mut self) -> Result<(usize, Option<HandshakeStep>), NbdError> {
        let len = if self.no_zeroes { 10 } else { 134 };
        if self.received.len() < len {
            return Ok((0, None));
        }
        let mut fields = Fields(&self.received);
        let (Some(size), Some(flags)) = (fields.u64(), fields.u16()) else { return Ok((0, None)) };
        self.describe(size, flags)?;
        self.state = State::End;
        // A client that only asks ends the connection: there is a request for that.
        Ok((len, Some(HandshakeStep::Done(Vec::new(), self.export))))
    }

    fn refused(&self, kind: u32, data: &[u8]) -> NbdError {
        let said = shown(data);
        match kind {
            UNKNOWN => NbdError::UnknownExport { name: self.name.clone(), said },
            TLS_REQUIRED => NbdError::TlsRequired(said),
            _ if kind & IS_ERROR == 0 => {
                NbdError::Broken("the reply to an option has an unknown type")
            }
            _ => {
                let what = match kind - IS_ERROR {
                    2 => "a policy forbids it",
                    3 => "the request is invalid",
                    4 => "its platform does not support it",
                    7 => "it shuts down",
                    8 => "it wants a client that obeys its block sizes",
                    9 => "the request is too big",
                    _ => "it does not say why",
                };
                NbdError::Refused { what, said }
            }
        }
    }
}

/// Appends an option.
fn push_option(out: &mut Vec<u8>, option: u32, data: &[u8]) {
    out.extend_from_slice(&IHAVEOPT.to_be_bytes());
    out.extend_from_slice(&option.to_be_bytes());
    out.extend_from_slice(&(data.len() as u32).to_be_bytes());
    out.extend_from_slice(data);
}
