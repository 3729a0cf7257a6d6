//! The page in the documentation says what the table says.

use crate::support::serve_to_end;

#[test]
fn the_page_is_the_one_that_the_command_prints() {
    let page = include_str!("../../../../docs/serve.md");
    let printed = serve_to_end(&["--list", "--markdown"]);
    assert!(
        String::from_utf8(printed.stdout).unwrap() == page,
        "print it again: plimsoll serve --list --markdown > docs/serve.md"
    );
}
