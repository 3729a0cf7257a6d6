//! Log lines as nginx writes them, as nobody should, and a file that is cut and rotated.

use std::fs;
use std::io::Write;

use proptest::prelude::*;

use super::*;

fn parsed(line: &str) -> Option<ProxySample> {
    let mut sample = ProxySample::default();
    parse_log_line(line, &mut sample).then_some(sample)
}

#[test]
fn a_plain_line() {
    let sample = parsed("rt=0.012 urt=0.010 uct=0.001 us=200 st=200").unwrap();
    assert_eq!(sample.request_time.mean(), Some(Nanos::from_millis(12)));
    assert_eq!(sample.upstream_time.mean(), Some(Nanos::from_millis(10)));
    assert_eq!(
        sample.upstream_connect_time.mean(),
        Some(Nanos::from_millis(1))
    );
    assert_eq!((sample.requests, sample.status[&2]), (1, 1));
    assert_eq!(sample.upstream_unreached, 0);
}

#[test]
fn an_upstream_never_reached() {
    let sample = parsed("rt=0.000 urt=- uct=- us=- st=500").unwrap();
    assert_eq!((sample.upstream_unreached, sample.status[&5]), (1, 1));
    assert!(sample.upstream_time.is_empty());
}

#[test]
fn lists_of_retries_are_summed_and_the_last_status_counts() {
    let sample = parsed("rt=1.5 urt=0.010, 0.020 : 0.005 uct=0.001, -, 0.002 us=502, 200 st=200");
    let sample = sample.unwrap();
    assert_eq!(sample.upstream_time.mean(), Some(Nanos::from_millis(35)));
    assert_eq!(
        sample.upstream_connect_time.mean(),
        Some(Nanos::from_millis(3))
    );
    let unreached = parsed("rt=1.5 urt=0.010, - uct=0.001, - us=502, - st=502").unwrap();
    assert_eq!(unreached.upstream_unreached, 1);
}

#[test]
fn inside_another_format() {
    let line = r#"127.0.0.1 - - [x] "GET /a?rt=9&urt=9 HTTP/1.1" 200 5 "-" "curl" rt=0.5 urt="0.4" uct="-" us="200" st=200"#;
    let sample = parsed(line).unwrap();
    assert_eq!(sample.request_time.mean(), Some(Nanos::from_millis(500)));
    assert_eq!(sample.upstream_time.mean(), Some(Nanos::from_millis(400)));
}

#[test]
fn lines_without_the_fields_are_not_requests() {
    for line in [
        "",
        "GET / 200",
        "rt= st=200",
        "rt=0.1",
        "rt=nan st=200",
        "rt=0.1 st=70000",
        "xrt=1 xst=200",
    ] {
        assert_eq!(parsed(line), None, "{line}");
    }
}

#[test]
fn a_tail_survives_torn_lines_truncation_and_rotation() {
    let folder = std::env::temp_dir().join(format!("plimsoll-log-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("access.log");
    let good = "rt=0.1 urt=0.1 uct=0 us=200 st=200\n";
    fs::write(&path, good).unwrap();
    let mut tail = LogTail::open_at_end(&path).unwrap();
    let requests = |tail: &mut LogTail| tail.read_new().map(|(s, u)| (s.requests, u)).unwrap();
    assert_eq!(
        requests(&mut tail),
        (0, 0),
        "what was there before is not ours"
    );
    let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
    write!(file, "{good}rt=0.1 us=2").unwrap();
    assert_eq!(requests(&mut tail), (1, 0));
    writeln!(file, "00 st=200\nnoise").unwrap();
    assert_eq!(requests(&mut tail), (1, 1), "a torn line is whole later");
    fs::write(&path, good).unwrap();
    assert_eq!(requests(&mut tail), (1, 0), "truncated in place");
    fs::rename(&path, folder.join("access.log.1")).unwrap();
    fs::write(&path, good.repeat(3)).unwrap();
    assert_eq!(requests(&mut tail), (3, 0), "rotated");
    fs::remove_dir_all(&folder).unwrap();
}

proptest! {
    #[test]
    fn no_line_panics(line in "\\PC{0,120}|(rt|urt|us|st|=|-|,| |[0-9.]){0,60}") {
        let _ = parsed(&line);
    }
}
