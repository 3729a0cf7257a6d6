//! Scripts over HTTP/2 against Node's server, which offers both protocols. What is expected is what k6 2.2.0 did there.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::support::{Folder, command, finished};

/// Node's server, ended with the test.
struct Node {
    child: Child,
    port: u16,
    folder: Folder,
}

impl Node {
    fn start(arguments: &[&str]) -> Self {
        let folder = Folder::new();
        let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        std::fs::write(folder.file("own.pem"), own.cert.pem()).unwrap();
        std::fs::write(folder.file("own.key"), own.signing_key.serialize_pem()).unwrap();
        let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/http2/server.mjs");
        let mut child = Command::new("node")
            .arg(server)
            .args([folder.file("own.pem"), folder.file("own.key")])
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .expect("node starts; `make test` installs it");
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let port = line.trim().parse().unwrap();
        Self {
            child,
            port,
            folder,
        }
    }

    /// What a script says on its console; `body` is its default function, which knows `url` and `show`.
    fn said(&self, options: &str, body: &str, variables: &[(&str, &str)]) -> Vec<String> {
        let text = format!(
            "import http from 'k6/http';
             import hashes from 'k6/crypto';
             export const options = {{ insecureSkipTLSVerify: true, {options} }};
             const url = (path) => `https://127.0.0.1:{port}/${{path}}`;
             const show = (r) => console.log(`said ${{r.status}} ${{r.proto}} ${{r.error_code}}`);
             export default function () {{ {body} }}",
            port = self.port
        );
        let script = self.folder.file("script.js");
        std::fs::write(&script, text).unwrap();
        let mut run = command(&self.folder, &["run", "--no-record", "--quiet", &script]);
        run.env_remove("GODEBUG").envs(variables.iter().copied());
        let (code, out, err) = finished(&run.output().unwrap());
        assert_eq!(code, 0, "{out}{err}");
        let lines = err.lines().filter_map(|line| line.split_once("said "));
        let lines: Vec<String> = lines
            .map(|(_, rest)| rest.split("\" source=").next().unwrap_or(rest).to_owned())
            .collect();
        assert!(!lines.is_empty(), "the script said nothing: {out}{err}");
        lines
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}

#[test]
fn an_answer_over_http_2_looks_as_in_k6() {
    let node = Node::start(&[]);
    let said = node.said(
        "thresholds: { 'http_reqs{proto:HTTP/2.0}': ['count==3'], 'http_reqs{tls_version:tls1.3}': ['count==3'] }",
        "const first = http.get(url('get'));
         console.log(`said ${first.status} ${first.status_text} ${first.proto} ${first.tls_version}`);
         console.log(`said ${first.headers['X-Served-By']} ${first.headers['Set-Cookie']} ${first.cookies.a[0].value}`);
         console.log(`said ${first.timings.connecting > 0} ${first.timings.tls_handshaking > 0} ${first.timings.waiting > 0}`);
         const missing = http.get(url('status/404'), { headers: { 'X-Trace': 'V', Connection: 'keep-alive', Host: 'shop.test' } });
         console.log(`said ${missing.status_text} ${missing.timings.connecting} ${missing.timings.tls_handshaking} ${missing.error_code}`);
         const seen = missing.json().headers;
         console.log(`said ${seen[':authority']} ${seen['x-trace']} ${seen.connection} ${seen.cookie}`);
         console.log(`said ${http.head(url('head')).body.length}`);",
        &[],
    );
    assert_eq!(
        said,
        [
            "200 200 OK HTTP/2.0 tls1.3",
            "node a=1, b=2 1",
            "true true true",
            "404 Not Found 0 0 1404",
            "shop.test V undefined a=1; b=2",
            "0",
        ]
    );
}

#[test]
fn a_batch_shares_one_connection() {
    let node = Node::start(&[]);
    let said = node.said(
        "iterations: 2, batchPerHost: 10",
        "const all = http.batch(Array.from({ length: 10 }, (_, at) => ['GET', url(`slow/100?${at}`)])).map((r) => r.json());
         const streams = new Set(all.map((one) => one.stream));
         console.log(`said ${all.every((one) => one.connection === 1)} ${streams.size} ${Math.max(...all.map((one) => one.runningMax))}`);",
        &[],
    );
    assert_eq!(said, ["true 10 10", "true 10 10"]);
}

#[test]
fn connections_end_when_they_are_told_to() {
    let node = Node::start(&[]);
    let body = "const all = [0, 1].map(() => http.get(url('get')).json().connection);
                console.log(`said ${all.join(' ')}`);";
    let said = node.said("iterations: 2, noConnectionReuse: true", body, &[]);
    assert_eq!(said, ["1 2", "3 4"]);
    let said = node.said("iterations: 2, noVUConnectionReuse: true", body, &[]);
    assert_eq!(said, ["5 5", "6 6"]);
    let said = node.said(
        "",
        "const number = (headers) => http.get(url('get'), { headers }).json().connection;
         console.log(`said ${number({})} ${number({ Connection: 'close' })} ${number({})}`);",
        &[],
    );
    assert_eq!(said, ["7 7 8"]);
}

#[test]
fn a_stream_that_times_out_is_reset_and_its_connection_stays() {
    let node = Node::start(&[]);
    let said = node.said(
        "",
        "const before = http.get(url('get')).json().connection;
         show(http.get(url('hang'), { timeout: '200ms' }));
         const after = http.get(url('get')).json();
         console.log(`said ${before} ${after.connection} ${after.resets}`);",
        &[],
    );
    // 8 is CANCEL.
    assert_eq!(said, ["0  1050", "1 1 8"]);
}

#[test]
// A stream that is refused (7) was tried again before.
fn what_a_server_says_of_a_failure_is_the_code() {
    let node = Node::start(&[]);
    let said = node.said(
        "",
        "for (const code of [0, 2, 7, 11]) show(http.get(url(`reset/${code}`)));
         const last = http.get(url('reset/8'));
         console.log(`said ${last.error}`);
         show(http.get(url('get')));
         show(http.get(url('turn-away/11')));
         const dropped = http.get(url('drop'));
         console.log(`said ${dropped.status} ${dropped.error_code > 0}`);
         console.log(`said ${http.get(url('get'), { headers: { Upgrade: 'h2c' } }).error}`);
         show(http.get(url('get')));",
        &[],
    );
    assert_eq!(
        said,
        [
            "0  1631",
            "0  1633",
            "0  1638",
            "0  1642",
            "http2: stream error with http2 ErrCode CANCEL",
            "200 HTTP/2.0 0",
            "0  1622",
            "0 true",
            r#"invalid Upgrade request header: [\"h2c\"]"#,
            "200 HTTP/2.0 0",
        ]
    );
}

#[test]
fn a_server_that_leaves_loses_no_request() {
    let node = Node::start(&[]);
    let said = node.said(
        "batchPerHost: 20",
        "let failed = 0, most = 0;
         for (let round = 0; round < 20; round += 1) {
           const all = http.batch(Array.from({ length: 8 }, (_, at) => url(at === 3 ? 'leave' : 'get')));
           failed += all.filter((r) => r.status !== 200).length;
           most = Math.max(most, ...all.map((r) => r.json().connection));
         }
         console.log(`said ${failed} ${most >= 20}`);",
        &[],
    );
    assert_eq!(said, ["0 true"]);
}

#[test]
fn bodies_go_both_ways_whole() {
    let node = Node::start(&[]);
    let said = node.said(
        "",
        "const text = 'abcdefghij'.repeat(100000);
         const { length, hash } = http.post(url('post'), text).json();
         console.log(`said ${length} ${hash === hashes.sha256(text, 'hex')}`);
         // More than TLS takes at once, and less than all windows.
         const sizes = [60000, 66000, 100000, 200000].map((size) => http.post(url('post'), 'x'.repeat(size)).json().length);
         console.log(`said ${sizes.join(' ')}`);
         console.log(`said ${http.get(url('large/3000000')).body.length}`);
         console.log(`said ${http.post(url('post')).json().headers['content-length']}`);
         const discarded = http.get(url('large/3000000'), { responseType: 'none' });
         console.log(`said ${discarded.status} ${discarded.body}`);
         const landed = http.get(url('redirect'));
         console.log(`said ${landed.url.endsWith('/landed')} ${landed.proto}`);
         for (const path of ['trailers', 'early']) console.log(`said ${http.get(url(path)).headers['X-Served-By']}`);",
        &[],
    );
    assert_eq!(
        said,
        [
            "1000000 true",
            "60000 66000 100000 200000",
            "3000000",
            "0",
            "200 null",
            "true HTTP/2.0",
            "node",
            "node"
        ]
    );
}

#[test]
// k6 takes a length that is no number (the last two of the first line).
fn a_body_that_is_not_as_long_as_declared_is_an_error() {
    let node = Node::start(&[]);
    let said = node.said(
        "thresholds: { http_req_failed: ['rate==0.6'] }",
        "const codes = (paths) => paths.map((path) => { const r = http.get(url(path)); return `${r.status}/${r.error_code}`; }).join(' ');
         console.log(`said ${codes(['declared/4', 'declared/9', 'declared/3', 'declared/0', 'declared/x', 'declared/'])}`);
         const short = http.get(url('declared/9'), { responseType: 'none' });
         console.log(`said ${short.status} ${short.error}`);
         const head = http.head(url('declared/9'));
         console.log(`said ${head.status} ${head.headers['Content-Length']} ${head.body.length}`);
         show(http.get(url('unchanged/9')));
         show(http.get(url('get')));",
        &[],
    );
    assert_eq!(
        said,
        [
            "200/0 0/1000 0/1000 0/1000 0/1000 0/1000",
            "0 the server ended the stream 5 bytes short of its content-length",
            "200 9 0",
            "304 HTTP/2.0 0",
            "200 HTTP/2.0 0",
        ]
    );
}

#[test]
fn without_http_2_on_either_side_it_is_http_1() {
    let batch = "const all = http.batch(Array.from({ length: 6 }, () => ['GET', url('slow/50')]));
                 console.log(`said ${all.map((r) => r.proto + r.status).join(' ')}`);
                 console.log(`said ${new Set(all.map((r) => r.json().connection)).size} ${http.get(url('get')).tls_version}`);";
    let six = ["HTTP/1.1200"; 6].join(" ");
    let node = Node::start(&[]);
    let said = node.said("", batch, &[("GODEBUG", "madvdontneed=1,http2client=0")]);
    assert_eq!(said, [&*six, "6 tls1.3"]);
    let node = Node::start(&["http1"]);
    let said = node.said("", batch, &[]);
    assert_eq!(said, [&*six, "6 tls1.3"]);
}
