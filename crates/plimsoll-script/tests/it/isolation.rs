//! Virtual users share an engine and nothing else.

use plimsoll_script::http::HttpResult;
use plimsoll_script::{End, Resumption, Suspension};

use crate::rig::{Rig, iteration};

/// Starts a function and gives back what it wants first.
fn start(vu: &mut plimsoll_script::Vu, index: u64) -> Suspension {
    vu.resume(Resumption::Start(iteration("default", index)))
}

#[test]
fn interleaved_virtual_users_keep_their_variables_and_stacks() {
    let rig = Rig::of_text(
        "import { sleep } from 'k6'; let calls = 0;
         function deep(n) { if (n === 0) { sleep(1); return 1; } return 1 + deep(n - 1); }
         export default function () { calls++; console.log(`${__VU}:${calls}:${deep(__VU * 3)}`); }",
    );
    let mut vus: Vec<_> = (1..=20).map(|id| rig.vu(id)).collect();
    for round in 0..3 {
        for (index, vu) in vus.iter_mut().enumerate() {
            let mut iteration = iteration("default", round);
            iteration.vu_in_test = index as u64 + 1;
            assert!(matches!(
                vu.resume(Resumption::Start(iteration)),
                Suspension::Sleep(_)
            ));
        }
        // In another order than they went to sleep.
        for index in (0..20).map(|index| (index * 7) % 20) {
            let end = vus[index].resume(Resumption::Slept);
            assert!(matches!(end, Suspension::Done(End::Ok { .. })), "{end:?}");
        }
    }
    let mut lines = rig.host.console_lines();
    lines.sort();
    let mut expected: Vec<String> = (1..=20)
        .flat_map(|vu| (1..=3).map(move |call| format!("{vu}:{call}:{}", vu * 3 + 1)))
        .collect();
    expected.sort();
    assert_eq!(lines, expected);
}

#[test]
fn an_exception_keeps_its_own_stack_while_others_sleep() {
    let rig = Rig::of_text(
        "import { sleep } from 'k6';
         function inner() { sleep(1); throw new Error('mine'); }
         export default function () { inner(); }",
    );
    let (mut one, mut two) = (rig.vu(1), rig.vu(2));
    assert!(matches!(start(&mut one, 0), Suspension::Sleep(_)));
    assert!(matches!(start(&mut two, 0), Suspension::Sleep(_)));
    for vu in [&mut one, &mut two] {
        let Suspension::Done(End::Exception(exception)) = vu.resume(Resumption::Slept) else {
            panic!("no exception");
        };
        assert_eq!(&*exception.message, "Error: mine");
        let frames: Vec<&str> = exception.stack.lines().map(str::trim).collect();
        assert_eq!(frames.len(), 2, "{frames:?}");
        assert!(
            frames[0].starts_with("at inner (file:///test/main.js:2:"),
            "{frames:?}"
        );
        assert!(frames[1].contains("main.js:3:"), "{frames:?}");
    }
}

#[test]
fn dropping_a_virtual_user_that_waits_leaves_the_others_alone() {
    let rig = Rig::of_text(
        "import http from 'k6/http';
         export default function () { try { http.get('http://a.test/'); } finally { http.get('http://b.test/'); } console.log('end'); }",
    );
    let (mut one, mut two) = (rig.vu(1), rig.vu(2));
    assert!(matches!(start(&mut one, 0), Suspension::Http(_)));
    assert!(matches!(start(&mut two, 0), Suspension::Http(_)));
    drop(one);
    let answered = || {
        Resumption::Http(vec![HttpResult {
            status: 200,
            ..HttpResult::default()
        }])
    };
    assert!(matches!(two.resume(answered()), Suspension::Http(_)));
    assert!(matches!(
        two.resume(answered()),
        Suspension::Done(End::Ok { .. })
    ));
    assert_eq!(rig.host.console_lines(), ["end"]);
}

#[test]
fn a_stop_cannot_be_caught() {
    let rig = Rig::of_text(
        "import { sleep } from 'k6';
         export default function () { for (;;) { try { sleep(1); } catch (e) { console.log('caught'); } } }",
    );
    let mut vu = rig.vu(1);
    assert!(matches!(start(&mut vu, 0), Suspension::Sleep(_)));
    assert!(matches!(
        vu.resume(Resumption::Stop),
        Suspension::Done(End::Interrupted)
    ));
    assert!(rig.host.console_lines().is_empty());
    assert!(
        matches!(start(&mut vu, 1), Suspension::Sleep(_)),
        "it runs again"
    );
}

#[test]
fn promises_of_one_virtual_user_run_in_no_other() {
    let rig = Rig::of_text(
        "import { sleep } from 'k6';
         export default async function () {
             const later = (async () => { await null; console.log(`${__VU} job`); })();
             sleep(1); console.log(`${__VU} slept`); await later; console.log(`${__VU} end`);
         }",
    );
    assert!(rig.program.uses_promises());
    let (mut one, mut two) = (rig.vu(1), rig.vu(2));
    let mut second = iteration("default", 0);
    second.vu_in_test = 2;
    assert!(matches!(start(&mut one, 0), Suspension::Sleep(_)));
    assert!(matches!(
        two.resume(Resumption::Start(second)),
        Suspension::Sleep(_)
    ));
    assert!(matches!(
        two.resume(Resumption::Slept),
        Suspension::Done(End::Ok { .. })
    ));
    assert!(matches!(
        one.resume(Resumption::Slept),
        Suspension::Done(End::Ok { .. })
    ));
    let lines = rig.host.console_lines();
    assert_eq!(
        lines,
        ["2 slept", "2 job", "2 end", "1 slept", "1 job", "1 end"]
    );
}

/// What each of three virtual users logs in one iteration, after all have run their init code.
fn lines_of_three(script: &str) -> Vec<String> {
    let rig = Rig::of_text(script);
    assert_eq!(rig.program.own_context_because(), None, "they share");
    let mut vus: Vec<_> = (1..=3).map(|id| rig.vu(id)).collect();
    for vu in &mut vus {
        rig.run(vu, iteration("default", 0));
    }
    rig.host.console_lines()
}

#[test]
fn virtual_users_that_share_a_context_share_no_variable() {
    let lines = lines_of_three(
        "let count = 0; const seen = []; class Own { static made = 0; } const own = () => {}; const again = /a/g;
         export default function () {
           count += 1; seen.push(count); Own.made += 1; own.calls = (own.calls ?? 0) + 1; again.test('a');
           __ENV.NAME += '!';
           console.log(count, seen.length, Own.made, own.calls, again.lastIndex, __ENV.NAME);
         }",
    );
    assert_eq!(lines, ["1 1 1 1 1 value!"; 3]);
}

#[test]
fn tags_and_metadata_belong_to_one_virtual_user() {
    let lines = lines_of_three(
        "import exec from 'k6/execution';
         export default function () {
           console.log(exec.vu.metrics.tags.a, exec.vu.metrics.metadata.b, exec.vu.tags === exec.vu.metrics.tags);
           exec.vu.metrics.tags.a = 'set'; exec.vu.metrics.metadata.b = 'set';
         }",
    );
    assert_eq!(lines, ["undefined undefined true"; 3]);
}

#[test]
fn shared_objects_cannot_be_changed_by_later_code() {
    let lines = lines_of_three(
        "import http, { get } from 'k6/http'; import { check } from 'k6'; import exec from 'k6/execution';
         const attempts = [
           () => { globalThis.leak = 1; }, () => { Math.random = () => 4; }, () => { http.get = null; },
           () => { get.leak = 1; }, () => { check.leak = 1; }, () => { exec.test.leak = 1; }, () => { console.log = null; },
           () => { Array.from = null; }, () => { JSON.leak = 1; }, () => { delete globalThis.Map; },
           () => { Object.defineProperty(Object, 'keys', { value: null }); }, () => { Symbol.leak = 1; },
           () => { exec.vu.metrics = {}; }, () => { String.raw.leak = 1; }, () => { new URL('http://a/').constructor.leak = 1; },
         ];
         export default function () {
           const refused = attempts.filter((attempt) => { try { attempt(); return false; } catch (e) { return e instanceof TypeError; } });
           console.log(attempts.length - refused.length, typeof leak, Math.max(1, 2));
         }",
    );
    assert_eq!(lines, ["0 undefined 2"; 3]);
}

#[test]
fn what_scripts_inherit_from_shared_objects_they_may_replace_on_their_own() {
    let lines = lines_of_three(
        "class Problem extends Error { constructor(text) { super(text); this.name = 'Problem'; } }
         export default function () {
           const own = { toString: null }; own.toString = () => 'mine'; own.valueOf = () => 5;
           const list = [1]; list.map = () => 'list'; const made = function () {}; made.call = 1;
           console.log(String(new Problem('x')), `${own}`, own + 1, list.map(), made.call);
         }",
    );
    assert_eq!(lines, ["Problem: x mine 6 list 1"; 3]);
}

#[test]
fn a_change_of_a_shared_object_says_where_it_would_work() {
    let rig = Rig::of_text("export default function () { globalThis.total = 1; }");
    let mut vu = rig.vu(1);
    let End::Exception(exception) = rig.run(&mut vu, iteration("default", 0)) else {
        panic!("no exception");
    };
    assert!(exception.message.contains("init code"), "{exception:?}");
}

#[test]
fn a_native_gets_every_argument() {
    let rig = Rig::of_text(
        "export default function () { console.log(1, 2, 3, 4, 5, 6, 7, 8); console.log(...Array.from({ length: 300 }, (_, i) => i)); }",
    );
    let mut one = rig.vu(1);
    assert!(matches!(
        start(&mut one, 0),
        Suspension::Done(End::Ok { .. })
    ));
    let lines = rig.host.console_lines();
    assert_eq!(lines[0], "1 2 3 4 5 6 7 8");
    assert_eq!(lines[1].split(' ').count(), 300);
    assert!(lines[1].ends_with(" 298 299"), "{}", lines[1]);
}
