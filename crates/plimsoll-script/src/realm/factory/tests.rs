//! Modules as functions: places stay, and what could reach others is refused.

use super::*;

fn text_of(module: &str) -> String {
    from_module(module).unwrap().text
}

#[test]
fn imports_become_parameters_and_exports_the_result() {
    let made = from_module(
        "import http, { get as fetch } from 'k6/http';\nimport * as all from './a.js';\nimport './b.js';\n\
         export const [one, { two }] = all.list, three = 3;\nexport { one as uno };\nexport function f() {}\n",
    )
    .unwrap();
    assert_eq!(made.imports, ["k6/http", "./a.js", "./b.js"]);
    assert_eq!(
        made.text,
        "(function($m0,$m1,$m2){\"use strict\";const {default:http}=$m0;const {\"get\":fetch}=$m0;const all=$m1;let $m;\
         \x20                                            \n                              \n                \n\
         \x20      const [one, { two }] = all.list, three = 3;\n                      \n       function f() {}\n\
         \n;return {__proto__:null,\"one\":one,\"two\":two,\"three\":three,\"uno\":one,\"f\":f}})"
    );
}

#[test]
fn a_default_export_keeps_its_place_and_gets_its_name() {
    let made = text_of("export default function () { return 1 }\nlet after = 2");
    assert!(
        made.contains("let $m;$m={default:   function () { return 1 }};\nlet after = 2"),
        "{made}"
    );
    assert!(text_of("export default class Named {}").contains("               class Named {}"));
    assert!(text_of("const a = 1\nexport default (a, 2)").contains("$m={default:   (a, 2)};"));
}

#[test]
fn what_other_modules_export_is_handed_on() {
    let made = text_of(
        "export * from './a.js'; export * as b from './b.js'; export { c as d, default } from './a.js';",
    );
    assert!(
        made.ends_with(
            "{__proto__:null,...(({default:_,...rest})=>rest)($m0),\"b\":$m1,\"d\":$m0[\"c\"],\"default\":$m0[\"default\"]}})"
        ),
        "{made}"
    );
}

#[test]
fn our_names_are_never_the_scripts() {
    let made = text_of("const $m = 1, $m$ = 2; export default $m + $m$;");
    assert!(made.contains("$m$$={default:"), "{made}");
}

#[test]
fn the_first_line_says_by_how_much_it_moved() {
    let made = from_module("throw 1").unwrap();
    assert_eq!(made.text.find("throw"), Some(made.shift as usize));
}

#[test]
fn what_could_reach_other_virtual_users_is_refused() {
    for (module, why) in [
        ("export default () => { undeclared = 1 }", "undeclared"),
        ("export default () => eval('1')", "eval"),
        ("export default () => new Function('1')", "Function"),
        ("export default () => require('./a.js')", "require"),
        ("Array.prototype.last = 1", "prototype"),
        ("const { prototype: p } = Array", "prototype"),
        ("const p = Array['prototype']", "prototype"),
        ("const p = Array[`prototype`]", "prototype"),
        ("const p = [].__proto__", "__proto__"),
        ("Object.getPrototypeOf([]).x = 1", "getPrototypeOf"),
        ("(() => 1).constructor('return 1')()", "constructor"),
        ("Error.stackTraceLimit = 1", "stackTraceLimit"),
        ("console.log(import.meta)", "import.meta"),
        (
            "export let count = 0; export const add = () => { count += 1 }",
            "count",
        ),
        ("let count = 0; count++; export { count as total }", "count"),
        ("export default 1 +", "understood"),
    ] {
        let refused = from_module(module).expect_err(module);
        assert!(refused.contains(why), "{module}: {refused}");
    }
}

#[test]
fn names_of_the_scripts_own_are_not_mistaken() {
    for module in [
        "function evaluate(eval1) { return eval1 } export default evaluate",
        "const Function1 = 1; export default class { constructor() { this.constructor.name } }",
        "let count = 0; export default () => { count += 1 }",
        "const require = (x) => x; export default require(1)",
    ] {
        from_module(module).unwrap_or_else(|why| panic!("{module}: {why}"));
    }
}
