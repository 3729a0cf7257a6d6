//! Real lines of the kernel's files, and hostile ones.

use proptest::prelude::*;

use super::*;

const STAT: &str = "4711 (a) (b c) S 1 4711 4711 0 -1 4194560 100 0 7 0 250 50 0 0 20 0 3 0 9876 \
                    1000000 321 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0";

#[test]
fn a_name_with_parentheses_does_not_shift_the_fields() {
    let read = stat(STAT).unwrap();
    assert_eq!(read.name, "a) (b c");
    assert_eq!((read.state, read.parent, read.major_faults), ('S', 1, 7));
    assert_eq!((read.run_ticks, read.start_ticks), (300, 9876));
    assert_eq!(read.resident_pages, 321);
}

#[test]
fn a_cut_line_is_none_and_not_a_guess() {
    for cut in 0..STAT.len() - 130 {
        let _ = stat(STAT.get(..cut).unwrap());
    }
    assert_eq!(stat("4711 (x"), None);
    assert_eq!(stat("4711 (x) S 1 2"), None);
    assert_eq!(stat(&STAT.replace(" 250 ", " -250 ")), None);
    let wrapped = STAT.replace(" 250 ", " 18446744073709551615 ");
    assert_eq!(stat(&wrapped), None, "a sum that does not fit");
}

#[test]
fn small_files() {
    assert_eq!(
        schedstat("178696878 9725336 358\n"),
        Some((178_696_878, 9_725_336))
    );
    assert_eq!(schedstat("178696878"), None);
    let status = "Name:\tx\nCpus_allowed_list:\t0-1,4\nvoluntary_ctxt_switches:\t335\n";
    assert_eq!(number_field(status, "voluntary_ctxt_switches"), Some(335));
    assert_eq!(
        field(status, "Cpus_allowed_list").and_then(core_numbers),
        Some([0, 1, 4].into())
    );
    assert_eq!(core_numbers("0-1,8"), Some([0, 1, 8].into()));
    assert_eq!(core_numbers("3-1"), None);
    assert_eq!(core_numbers("0-4294967295"), None, "no such kernel");
    assert_eq!(core_numbers(""), None);
    let limits = "Limit  Soft  Hard\nMax open files            1024                 20000                files\n";
    assert_eq!(open_files_max(limits), Some(1024));
    assert_eq!(
        open_files_max("Max open files  unlimited unlimited files"),
        None
    );
}

#[test]
fn unix_sockets_by_who_asked_for_the_connection() {
    let line = |rest: &str| {
        unix_line(&format!(
            "0000000000000000: 00000003 00000000 00000000 {rest}"
        ))
    };
    let out = |inode, is_out| Some(UnixLine { inode, is_out });
    assert_eq!(line("0001 03  1127"), out(1127, true));
    assert_eq!(line("0005 03 7"), out(7, true));
    assert_eq!(
        line("0001 03 30448 /run/db.sock"),
        out(30448, false),
        "accepted"
    );
    assert_eq!(
        line("0001 01 30447 /run/db.sock"),
        out(30447, false),
        "listens"
    );
    assert_eq!(line("0002 03 5"), out(5, false), "a log takes datagrams");
    assert_eq!(
        unix_line("Num       RefCount Protocol Flags    Type St Inode Path"),
        None
    );
}

#[test]
fn pressure_and_host() {
    let text = "some avg10=0.00 avg60=0.00 avg300=0.00 total=123\nfull avg10=0.00 total=45\n";
    assert_eq!(pressure_total(text, "some"), Some(123));
    assert_eq!(pressure_total(text, "full"), Some(45));
    assert_eq!(pressure_total("some avg10=0.00", "some"), None);
    let cores = core_ticks("cpu  9 9 9 9\ncpu0 1 2 3 4 5 6 7 8 9 9\ncpu1 x\nintr 5\n");
    assert_eq!(
        cores[0],
        CoreTicks {
            idle: 9,
            steal: 8,
            total: 36
        }
    );
    assert_eq!(cores[1], CoreTicks::default());
    assert_eq!(cores.len(), 2);
}

#[test]
fn tables_of_names_and_values() {
    let text =
        "TcpExt: SyncookiesSent ListenOverflows ListenDrops\nTcpExt: 0 7 9\nIpExt: A\nIpExt: 1\n";
    assert_eq!(paired_counter(text, "TcpExt", "ListenDrops"), Some(9));
    assert_eq!(paired_counter(text, "TcpExt", "Nothing"), None);
    assert_eq!(
        paired_counter("TcpExt: A B\nTcpExt: 1", "TcpExt", "B"),
        None
    );
    assert_eq!(
        keyed("nr_periods 5\nnr_throttled 2\n", "nr_throttled"),
        Some(2)
    );
    assert_eq!(keyed("nr_throttled_more 2\n", "nr_throttled"), None);
}

#[test]
fn control_groups_of_both_versions() {
    let text = "9:name=systemd:/\n5:cpu,cpuacct:/lt/app\n0::/user.slice\nbroken\n1:cpu\n";
    let paths = cgroup_paths(text);
    assert_eq!(paths[1], (vec!["cpu", "cpuacct"], "/lt/app"));
    assert_eq!(paths[2], (vec![], "/user.slice"));
    assert_eq!(paths.len(), 3);
    let mounts = cgroup_mounts(
        "30 25 0:27 / /sys/fs/cgroup/cpu rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct\n\
         31 25 0:28 /box /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n\
         32 25 0:29 / /proc rw - proc proc rw\nnonsense\n",
    );
    assert_eq!(mounts.len(), 2);
    assert!(mounts[0].controllers.iter().any(|c| c == "cpu"));
    assert_eq!(
        (mounts[1].root.as_str(), mounts[1].controllers.len()),
        ("/box", 0)
    );
}

#[test]
fn thread_states() {
    for (state, wchan, expected) in [
        ('R', "0", ThreadState::Running),
        ('D', "", ThreadState::Disk),
        ('S', "futex_do_wait", ThreadState::Futex),
        ('S', "ep_poll", ThreadState::Poll),
        ('S', "hrtimer_nanosleep", ThreadState::Timer),
        ('S', "jbd2_log_wait_commit", ThreadState::Disk),
        ('S', "wait_woken", ThreadState::Socket),
        ('S', "0", ThreadState::Asleep),
        ('Z', "", ThreadState::Asleep),
    ] {
        assert_eq!(thread_state(state, wchan), expected, "{state} {wchan}");
    }
}

#[test]
fn sockets() {
    let line = "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000003 00:00000000 00000000  1000        0 51397 1 0000000000000000 100 0 0 10 0";
    let read = tcp_line(line).unwrap();
    assert_eq!(
        (read.local_port, read.state, read.receive_queue),
        (8080, 10, 3)
    );
    assert_eq!((read.user, read.inode), (1000, 51397));
    assert_eq!(
        tcp_line("  sl  local_address rem_address   st tx_queue rx_queue"),
        None
    );
    assert_eq!(socket_inode("socket:[51397]"), Some(51397));
    assert_eq!(socket_inode("pipe:[51397]"), None);
    assert_eq!(socket_inode("socket:[-1]"), None);
}

proptest! {
    /// Whatever a file holds, nothing panics.
    #[test]
    fn no_parser_panics(text in "\\PC{0,200}|[0-9 :()\\-,=\n]{0,200}") {
        let _ = (stat(&text), schedstat(&text), core_numbers(&text), unix_line(&text), open_files_max(&text));
        let _ = (pressure_total(&text, "some"), core_ticks(&text), keyed(&text, "a"));
        let _ = (paired_counter(&text, "TcpExt", "A"), cgroup_paths(&text), cgroup_mounts(&text));
        let _ = (tcp_line(&text), socket_inode(&text), number_field(&text, ""));
    }
}
