//! The order of setup, scenarios and teardown.

use plimsoll_base::clock::Clock;

use super::*;
use crate::args::ScriptSource;
use crate::script::load::load;

/// What scripts said.
#[derive(Default)]
struct Hearing(Vec<String>);

impl Watcher for Hearing {
    fn log(&mut self, line: &LogLine) {
        self.0.push(line.message.to_string());
    }

    fn samples(&mut self, _: &Store, _: &[Sample]) {}

    fn tick(&mut self, _: &Tick<'_>) -> bool {
        true
    }
}

/// What was said, in one line, and how it ended.
fn played(setup: &str) -> (String, Option<Cause>) {
    let name = format!("plimsoll-play-{}.js", std::process::id());
    let path = std::env::temp_dir().join(name);
    let text = format!(
        "import exec from 'k6/execution'; import {{ sleep }} from 'k6';
         export const options = {{ iterations: 1, setupTimeout: '1s' }};
         export function setup() {{ {setup} }}
         export default function () {{ console.log('played'); }}
         export function teardown() {{ console.log('torn down'); }}"
    );
    std::fs::write(&path, text).unwrap();
    let source = ScriptSource {
        script: path.display().to_string(),
        ..ScriptSource::default()
    };
    let loaded = load(&source, 1, &Arc::default()).unwrap();
    std::fs::remove_file(&path).unwrap();
    let script = Arc::clone(&loaded.script);
    let mut runner =
        ScriptRunner::start(script, Clock::start(), Arc::default(), Hearing::default()).unwrap();
    let mut ending = Ending::default();
    run(&loaded, &mut runner, &mut ending, |_| false).unwrap();
    let said = &runner.watcher().0;
    let said = said.iter().filter(|line| !line.contains("Error"));
    let said: Vec<&str> = said.map(String::as_str).collect();
    (said.join(", "), ending.cause())
}

/// It ran on data that was not there, and its exceptions hid that of setup.
#[test]
fn what_failed_to_set_up_is_not_torn_down() {
    assert_eq!(played(""), ("played, torn down".to_owned(), None));
    let none = String::new;
    assert_eq!(
        played("throw new Error('no');"),
        (none(), Some(Cause::HookException))
    );
    assert_eq!(played("sleep(60);"), (none(), Some(Cause::SetupTimeout)));
    assert_eq!(
        played("exec.test.abort('no');"),
        (none(), Some(Cause::Aborted))
    );
}
