//! A browser that a test drives: Chromium, over the pipe of its DevTools protocol.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// How long the browser may take for an answer. Tests share the machine.
const LIMIT: Duration = Duration::from_secs(180);

/// A browser with one page.
pub(crate) struct Browser {
    child: Child,
    input: ChildStdin,
    messages: Receiver<Value>,
    /// Number of the last command.
    last: u64,
    session: Option<String>,
}

/// How a page is shown.
#[derive(Clone, Copy)]
pub(crate) struct Look {
    /// Width of the window in pixels.
    pub(crate) width: u32,
    pub(crate) dark: bool,
    /// As on paper.
    pub(crate) print: bool,
}

/// The browser's command, if it is installed.
fn command() -> Option<&'static str> {
    let works = |name: &&str| {
        let quiet = Command::new(name)
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        quiet.is_ok_and(|status| status.success())
    };
    ["chromium", "chromium-browser", "google-chrome"].into_iter().find(works)
}

impl Browser {
    /// Starts a browser that keeps its files below `directory`. `None`, with a message, if none is installed.
    pub(crate) fn start(directory: &Path) -> Option<Browser> {
        let Some(program) = command() else {
            eprintln!("skipped: this test needs Chromium (apt install chromium)");
            return None;
        };
        // The browser reads commands from descriptor 3 and writes answers to descriptor 4.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>/dev/null", program])
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"])
            .args(["--no-first-run", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", directory.join("profile").display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the browser starts");
        let input = child.stdin.take().expect("standard input is a pipe");
        let mut answers = BufReader::new(child.stdout.take().expect("standard output is a pipe"));
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            while answers.read_until(0, &mut bytes).is_ok_and(|n| n > 0) {
                bytes.pop();
                let message = serde_json::from_slice(&bytes).expect("the browser speaks JSON");
                if sender.send(message).is_err() {
                    return;
                }
                bytes.clear();
            }
        });
        let mut browser = Browser { child, input, messages, last: 0, session: None };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.call("Target.attachToTarget", attach);
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        Some(browser)
    }

    /// Sends a command and waits for its result. Events are ignored.
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let mut message = json!({"id": self.last, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.input.write_all(&bytes).expect("the browser runs");
        let end = Instant::now() + LIMIT;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let answer = self.messages.recv_timeout(left);
            let mut answer =
                answer.unwrap_or_else(|_| panic!("no answer to {method} within {LIMIT:?}"));
            if answer["id"] == self.last {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].take();
            }
        }
    }

    /// The value of a JavaScript expression.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true});
        let mut answer = self.call("Runtime.evaluate", params);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].take()
    }

    /// Waits until an expression is true.
    pub(crate) fn wait(&mut self, expression: &str) {
        let begin = Instant::now();
        while self.evaluate(expression) != json!(true) {
            assert!(begin.elapsed() < LIMIT, "not true within {LIMIT:?}: {expression}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Opens a file. Its whole page is within the window, so that all charts are drawn.
    pub(crate) fn open(&mut self, file: &Path, look: Look) {
        let scheme = if look.dark { "dark" } else { "light" };
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        let media = if look.print { "print" } else { "screen" };
        self.call("Emulation.setEmulatedMedia", json!({"media": media, "features": features}));
        self.resize(look.width, 1000);
        self.call("Page.navigate", json!({"url": format!("file://{}", file.display())}));
        self.wait(&format!(
            "document.readyState === 'complete' && location.pathname.endsWith({})",
            json!(file.file_name().map(|name| name.to_string_lossy().into_owned()))
        ));
        let height = self.evaluate("document.documentElement.scrollHeight").as_u64();
        self.resize(look.width, height.and_then(|h| u32::try_from(h).ok()).unwrap_or(1000));
    }

    /// Gives the window another size.
    pub(crate) fn resize(&mut self, width: u32, height: u32) {
        let size =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// A picture of the window, PNG.
    pub(crate) fn picture(&mut self) -> Vec<u8> {
        let size = "[innerWidth, document.documentElement.scrollHeight]";
        let size = self.evaluate(size);
        let clip = json!({"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1});
        let params = json!({"format": "png", "captureBeyondViewport": true, "clip": clip});
        decoded(&self.call("Page.captureScreenshot", params))
    }

    /// The page on paper, PDF.
    #[allow(dead_code)]
    pub(crate) fn paper(&mut self) -> Vec<u8> {
        let params = json!({"printBackground": false, "preferCSSPageSize": true});
        decoded(&self.call("Page.printToPDF", params))
    }

    /// Presses and releases a key.
    #[allow(dead_code)]
    pub(crate) fn key(&mut self, key: &str) {
        let code = match key {
            "Tab" => 9,
            "Enter" => 13,
            "ArrowLeft" => 37,
            "ArrowRight" => 39,
            _ => 0,
        };
        let mut press = json!({"type": "keyDown", "key": key, "windowsVirtualKeyCode": code});
        match key {
            "Enter" => press["text"] = json!("\r"),
            _ if key.chars().count() == 1 => press["text"] = json!(key),
            _ => {}
        }
        self.call("Input.dispatchKeyEvent", press);
        let release = json!({"type": "keyUp", "key": key, "windowsVirtualKeyCode": code});
        self.call("Input.dispatchKeyEvent", release);
    }

    /// Moves, presses or releases the pointer: `mouseMoved`, `mousePressed`, `mouseReleased`.
    #[allow(dead_code)]
    pub(crate) fn pointer(&mut self, what: &str, (x, y): (f64, f64), clicks: u32) {
        let held = u32::from(what != "mouseReleased" && clicks > 0);
        let button = if clicks > 0 { "left" } else { "none" };
        let event = json!({
            "type": what, "x": x, "y": y, "button": button, "buttons": held, "clickCount": clicks,
        });
        self.call("Input.dispatchMouseEvent", event);
    }
}

fn decoded(answer: &Value) -> Vec<u8> {
    STANDARD.decode(answer["data"].as_str().unwrap_or_default()).expect("it is base64")
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Its own end also ends its other processes.
        self.last += 1;
        let message = json!({"id": self.last, "method": "Browser.close"}).to_string() + "\0";
        let _ = self.input.write_all(message.as_bytes());
        for _ in 0..200 {
            if self.child.try_wait().is_ok_and(|status| status.is_some()) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
