//! When a load of virtual users is a ramp.

use super::*;

/// Virtual users leave while their last iterations end: that is no ramp, and its percentiles are worth quoting.
#[test]
fn users_who_leave_at_the_end_make_no_ramp() {
    let vary = |users: &[u32]| {
        let window = |vus: &u32| Window {
            vus: Some(*vus),
            ..Window::default()
        };
        let windows: Vec<Window> = users.iter().map(window).collect();
        users_vary(windows.iter())
    };
    assert!(!vary(&[10, 10, 10, 10, 10, 10, 10, 10, 6, 1]));
    assert!(!vary(&[10, 10, 9, 8, 7, 10]));
    assert!(vary(&[10, 10, 10, 10, 8, 6, 4, 2, 1]), "a ramp down");
    assert!(vary(&[2, 10, 10, 10, 10, 10, 10, 10, 10, 3]), "a ramp up");
    assert!(vary(&[10, 10, 1, 10, 10, 10, 10, 10, 10, 10]), "a dip");
    assert!(!vary(&[10]) && !vary(&[]));
}
