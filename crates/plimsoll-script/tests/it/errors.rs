//! Scripts that cannot run say why, where and what to do; scripts that go wild are ended.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use plimsoll_core::ending::Cause;
use plimsoll_script::{End, Host, Limits, Memory, Resumption, Runtime, Settings, Suspension};

use crate::rig::{Contexts, Recorder, Rig, iteration, load};

/// Most mistakes.
const INIT: Cause = Cause::InitException;

fn refusal(files: &[(&str, &str)]) -> (String, Cause) {
    let mut sources = Memory::default();
    for (path, text) in files {
        sources = sources.with(*path, *text);
    }
    let host = Rc::new(Recorder::default());
    let error = load(
        Rc::new(sources),
        "/t/main.js",
        &Settings::default(),
        &host,
        Contexts::Shared,
    )
    .unwrap_err();
    (error.to_string(), error.cause())
}

/// k6 has them, so a script that caught the refusal would test something else.
#[test]
fn what_k6_alone_has_is_refused_though_it_is_caught() {
    for (text, parts) in [
        (
            "let ws; try { ws = require('k6/ws') } catch (e) {} export default () => {}",
            ["main.js:1", "k6/ws", "not supported yet"],
        ),
        (
            "try { await import('k6/browser') } catch (e) {} export default () => {}",
            ["main.js:1", "k6/browser", "browsers are not driven"],
        ),
        (
            "let _; try { _ = require('https://cdn.test/a/lodash.js') } catch (e) {} export default () => {}",
            ["main.js:1", "https://cdn.test/a/lodash.js", "./lodash.js"],
        ),
        (
            "const get = (url) => { try { return require(url) } catch (e) { return {} } };
             const name = 'papaparse'; const csv = get(`https://jslib.k6.io/${name}/5.1.1/index.js`);
             export default () => {}",
            ["main.js", "jslib.k6.io/papaparse/5.1.1", "download the file"],
        ),
        (
            "try { await import('http://cdn.test/b.js') } catch (e) {} export default () => {}",
            ["main.js:1", "http://cdn.test/b.js", "not fetched"],
        ),
    ] {
        let (message, cause) = refusal(&[("/t/main.js", text)]);
        assert_eq!(cause, INIT, "{message}");
        for part in parts {
            assert!(message.contains(part), "{part} in {message}");
        }
    }
}

#[test]
fn errors_name_place_and_fix() {
    type Case<'a> = (&'a [(&'a str, &'a str)], Cause, &'a [&'a str]);
    let cases: &[Case<'_>] = &[
        (&[], Cause::Missing, &["/t/main.js", "cannot read"]),
        (&[("/t/main.js", "let a = ;\n")], INIT, &["/t/main.js:1:"]),
        (
            &[("/t/main.js", "\n\n  throw new Error('in init');")],
            INIT,
            &["/t/main.js:3:", "in init"],
        ),
        (
            &[("/t/main.js", "\nimport './gone.js';")],
            INIT,
            &["/t/main.js:2:8", "gone.js", "paths start from"],
        ),
        (
            &[("/t/main.js", "import './lib';"), ("/t/lib.js", "")],
            INIT,
            &["full file name", "\"./lib.js\""],
        ),
        (
            &[("/t/main.js", "import _ from 'lodash';")],
            INIT,
            &["node_modules"],
        ),
        (
            &[("/t/main.js", "import sql from 'k6/x/sql';")],
            INIT,
            &["main.js:1:17", "extensions"],
        ),
        (
            &[("/t/main.js", "import './a.js';"), ("/t/a.js", "x y")],
            INIT,
            &["/t/a.js:1:"],
        ),
        (
            &[(
                "/t/main.js",
                "import http from 'k6/http'; http.get('http://a.test');",
            )],
            INIT,
            &["init code"],
        ),
        (
            &[("/t/main.js", "import { nope } from 'k6/http';")],
            INIT,
            &["nope"],
        ),
        (&[("/t/main.js", "open('./gone.txt')")], INIT, &["gone.txt"]),
        (
            &[(
                "/t/main.js",
                "import { Trend } from 'k6/metrics'; new Trend('a');",
            )],
            INIT,
            &["`a`", "2 to 128"],
        ),
    ];
    for (files, cause, words) in cases {
        let (message, found) = refusal(files);
        assert_eq!(found, *cause, "{message}");
        for word in *words {
            assert!(message.contains(word), "{message:?} lacks {word:?}");
        }
    }
}

#[test]
fn a_missing_function_is_named_with_the_ones_there_are() {
    let rig = Rig::of_text("export function other() {}");
    let error = rig.program.require_function("default").unwrap_err();
    assert_eq!(error.cause(), Cause::InvalidOptions);
    let text = error.to_string();
    assert!(
        text.contains("it exports: other") && text.contains("export default function"),
        "{text}"
    );
    assert_eq!(rig.program.require_function("other"), Ok(()));
}

const ENDLESS: &str = "let caught = 0;
    export default function () { for (;;) { try { for (;;) {} } catch (e) { caught++; } } }
    export function after() { return caught; }";

fn rig_with(limits: Limits, text: &str) -> Rig {
    let sources = Rc::new(Memory::default().with("/t/main.js", text));
    let settings = Settings {
        limits,
        ..Settings::default()
    };
    Rig::of_files(sources, "/t/main.js", &settings, Contexts::Shared)
        .unwrap_or_else(|(error, _)| panic!("{error}"))
}

#[test]
fn an_endless_loop_ends_at_its_budget_and_cannot_catch_that() {
    let limits = Limits {
        ticks: 100,
        ..Limits::default()
    };
    let rig = rig_with(limits, ENDLESS);
    let mut vu = rig.vu(1);
    assert_eq!(rig.run(&mut vu, iteration("default", 0)), End::Interrupted);
    let mut after = iteration("after", 1);
    after.wants_return = true;
    let returned = Some("0".into());
    assert_eq!(rig.run(&mut vu, after), End::Ok { returned });
}

#[test]
fn the_stop_flag_ends_a_loop_from_another_thread() {
    let sources = Rc::new(Memory::default().with("/t/main.js", ENDLESS));
    let host = Rc::new(Recorder::default());
    let program = Arc::new(
        load(
            sources,
            "/t/main.js",
            &Settings::default(),
            &host,
            Contexts::Shared,
        )
        .unwrap(),
    );
    let stop = Arc::new(AtomicBool::new(false));
    let runtime = Runtime::new(
        &program,
        Settings::default(),
        host as Rc<dyn Host>,
        Arc::clone(&stop),
    )
    .unwrap();
    let mut vu = runtime.vu(1).unwrap();
    let setter = std::thread::spawn(move || stop.store(true, Ordering::Relaxed));
    let suspension = vu.resume(Resumption::Start(iteration("default", 0)));
    assert!(
        matches!(suspension, Suspension::Done(End::Interrupted)),
        "{suspension:?}"
    );
    setter.join().unwrap();
}

#[test]
fn memory_beyond_the_limit_ends_the_iteration_and_only_that() {
    let limits = Limits {
        memory_bytes: 8 << 20,
        ..Limits::default()
    };
    let rig = rig_with(
        limits,
        "export default function () { const all = []; for (;;) { all.push(new Uint8Array(65536)); } }
         export function small() { return 'fits'; }",
    );
    let (mut one, mut two) = (rig.vu(1), rig.vu(2));
    let End::Exception(exception) = rig.run(&mut one, iteration("default", 0)) else {
        panic!("it went on");
    };
    assert!(exception.message.contains("out of memory"), "{exception:?}");
    assert!(exception.message.contains("8 MiB"), "{exception:?}");
    for vu in [&mut one, &mut two] {
        assert!(matches!(rig.run(vu, iteration("small", 1)), End::Ok { .. }));
    }
}

#[test]
fn endless_recursion_is_an_exception() {
    let rig = Rig::of_text("function f() { return f() + 1; } export default function () { f(); }");
    let mut vu = rig.vu(1);
    let End::Exception(exception) = rig.run(&mut vu, iteration("default", 0)) else {
        panic!("it went on");
    };
    assert!(exception.message.contains("call stack"), "{exception:?}");
    assert!(matches!(
        rig.run(&mut vu, iteration("default", 1)),
        End::Exception(_)
    ));
}

#[test]
fn an_exception_is_logged_with_its_stack() {
    let rig = Rig::of_text("export default function () {\n  null.x;\n}");
    let mut vu = rig.vu(1);
    assert!(matches!(
        rig.run(&mut vu, iteration("default", 0)),
        End::Exception(_)
    ));
    let lines = rig.host.lines.borrow();
    let (_, source, message) = lines.last().unwrap();
    assert_eq!(*source, Some("stacktrace"));
    assert!(
        message.starts_with("TypeError: ") && message.contains("file:///test/main.js:2:"),
        "{message}"
    );
}
