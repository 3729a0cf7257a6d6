//! What an experiment file may say: every key once, with its type, an example and its meaning. The reader, the check of
//! unknown keys and the tables of `docs/lab.md` follow from it.

use std::collections::BTreeMap;

use plimsoll_core::keys::Section;
use plimsoll_core::section;

use super::Setting;

pub(super) const SECTIONS: [&Section; 8] = [
    &File::SECTION,
    &TierSpec::SECTION,
    &VariantSpec::SECTION,
    &TestSpec::SECTION,
    &StageSpec::SECTION,
    &ObjectivesSpec::SECTION,
    &RepeatSpec::SECTION,
    &PublishedSpec::SECTION,
];

section! {
    #[serde(default)]
    File = "the top of the file" {
        /// one line for tables and reports; the folder's name unless given
        title: Option<String> = "\"Two servers or one\"",
        /// a tier, in a table of its own
        tiers = "[tiers.app]",
        /// what is compared, in the order of the file; without any there is one, `base`
        variants = "[variants.A]",
        /// the load, the same for every variant
        test = "[test]",
        /// what the service must keep
        objectives: Option<ObjectivesSpec> = "[objectives]",
        /// how often each variant is run
        repeat: RepeatSpec = "[repeat]",
        /// the variants that `--quick` plays; all unless given
        quick: Option<Vec<String>> = "[\"A\", \"2A\"]",
        /// somebody else's figures of the same, for the report to show beside these
        published: Option<PublishedSpec> = "[published]",
    }
}

section! {
    #[serde(default)]
    TierSpec = "[tiers.NAME]" {
        /// program to start: on the PATH, or with a `/` a path from the file's folder
        command: Option<String> = "\"node\"",
        /// an embedded service instead of a command: a name of `plimsoll serve --list`, `docdb`, or `guard`, whose
        /// `--upstream` stands in `args`
        embedded: Option<String> = "\"shop-app\"",
        /// parameters of the embedded service: numbers, or limits of the tier
        set: BTreeMap<String, Setting> = "{ slots = \"${limits.slots}\" }",
        /// arguments, with placeholders
        args: Option<Vec<String>> = "[\"--upstream\", \"${app.address}\"]",
        /// how many processes of it are started; 1 unless given
        instances: Option<u32> = "2",
        /// cores that each instance may use, 0.05 at least; without it the tier is not confined
        cpu: Option<f64> = "0.5",
        /// memory that each instance may use; needs a writable control group
        memory: Option<String> = "\"256MiB\"",
        /// a fixed port of the first instance, the next ones follow; a free one unless given
        port: Option<u16> = "8080",
        /// `tcp` (a connection is accepted, and an embedded service says that it listens), `http PATH` (an answer of
        /// 200 to 399) or `line TEXT` (its output has it); `tcp` unless given
        ready: Option<String> = "\"http /health\"",
        /// longest wait for that; 30s unless given
        ready_within: Option<String> = "\"30s\"",
        /// environment, besides that of plimsoll, with placeholders
        env: BTreeMap<String, String> = "{ PORT = \"${port}\" }",
        /// files put into `${dir}` before the start, their placeholders filled
        files: BTreeMap<String, String> = "{ \"nginx.conf\" = \"real/nginx.conf\" }",
        /// tiers that must be ready first, besides those in placeholders
        needs: Option<Vec<String>> = "[\"db\"]",
        /// what each instance takes at once: slots (per_request of them a request), pool, queue, connections; gate 10
        /// holds what was in flight against it, and `--confirm` moves those that a placeholder uses
        limits: BTreeMap<String, f64> = "{ slots = 1024, per_request = 2 }",
        /// what to sample besides its processes, as after --watch
        watch: Option<Vec<String>> = "[\"metrics:http://${address}/metrics\"]",
        /// programs on the PATH, and with a `/` files from the file's folder, without which it cannot start; looked
        /// for before anything does
        requires: Option<Vec<String>> = "[\"node\", \"real/node_modules/express\"]",
        /// the command that installs its `command` and what it `requires`, for the message when one is missing
        install: Option<String> = "\"npm ci --prefix ${folder}/real\"",
        /// so long into the load its first instance is killed (SIGKILL) and started again
        kill_at: Option<String> = "\"40s\"",
        /// so long into the load its first instance is stopped (SIGSTOP): its connections stay, and nothing answers
        stop_at: Option<String> = "\"10s\"",
        /// with `stop_at`: when it goes on (SIGCONT); it stays stopped until the end of the run unless given
        continue_at: Option<String> = "\"12s\"",
        /// so long into the load its first instance is killed (SIGKILL) and not started again
        end_at: Option<String> = "\"10s\"",
        /// what the tier is when a confirming experiment puts a stub in its place: any of these keys, only what
        /// differs
        stub: Option<Box<Self>> = "{ set = { cpu = 0.1 } }",
        /// play the `stub` instead of the tier
        stubbed: Option<bool> = "true",
    }
}

section! {
    #[serde(default)]
    VariantSpec = "[variants.NAME]" {
        /// the variant that this one is made from and compared with; the first one unless given
        base: Option<String> = "\"2A\"",
        /// what it is, so that a sentence can name it; a detail after a comma
        about: String = "\"two servers behind a proxy\"",
        /// left out, with a remark, where a program of its tiers is not installed
        optional: bool = "true",
        /// tiers that it does not start
        without: Vec<String> = "[\"proxy\"]",
        /// keys of tiers that differ, or tiers of its own
        tiers = "[variants.2A.tiers.app]",
        /// keys of the test that differ
        test = "[variants.2A.test]",
    }
}

section! {
    #[serde(default)]
    TestSpec = "[test]" {
        /// a k6 script; or
        script: Option<String> = "\"test.js\"",
        /// a workload file, in which `${db.address}` stands for the address of a tier; or
        workload: Option<String> = "\"workload.toml\"",
        /// with `workload`: keys of its file that differ
        with: BTreeMap<String, toml::Value> = "{ databases = 6, workers = 10 }",
        /// the one URL that is requested
        url: Option<String> = "\"http://${proxy.address}/\"",
        /// method of the request
        method: Option<String> = "\"GET\"",
        /// headers of the request
        headers: BTreeMap<String, String> = "{ accept = \"text/html\" }",
        /// body of the request
        body: Option<String> = "\"{}\"",
        /// arrival rate, independent of the answers; `2x` is twice the capacity of the variant in `times_of`
        rate: Option<String> = "\"200/s\"",
        /// arrival rate that changes evenly over the duration; `1x..10x` with `times_of`
        ramp: Option<String> = "\"100/s..2000/s\"",
        /// closed load: each connection sends its next request when the last is answered; with `rate`, `ramp` or
        /// `find` the most that may be open
        connections: Option<u32> = "64",
        /// the variant whose capacity is `1x`: what it carries in 10 s before the first run, each connection sending its
        /// next request when the last is answered
        times_of: Option<String> = "\"unprotected\"",
        /// the connections for that; 4 unless given
        times_connections: Option<u32> = "8",
        /// a search for the capacity at the objectives, as `plimsoll find` does, instead of a set load
        find: Option<bool> = "true",
        /// with `find`: time for the search, at least 150s; 4m unless given
        within: Option<String> = "\"150s\"",
        /// closed load of virtual users, as stages of k6: a script is made of them, which finds its address in
        /// `__ENV.URL`
        stages: Option<Vec<StageSpec>> = "[{ target = 100, duration = \"20s\" }]",
        /// with `stages`: pause of a virtual user after each answer
        think: Option<String> = "\"10ms\"",
        /// how long; of a script or stages that is their own affair
        duration: Option<String> = "\"30s\"",
        /// requests, or iterations of a script, before what is measured; 0 for none
        warm_up: Option<u64> = "1000",
        /// longest wait for a complete answer, from the intended start
        timeout: Option<String> = "\"10s\"",
        /// what a script finds in `__ENV`, with placeholders
        env: BTreeMap<String, String> = "{ BASE = \"http://${proxy.address}\" }",
        /// do not verify certificates
        insecure: Option<bool> = "true",
        /// speak HTTP/2 (over http without asking first); with `stages` or a script: false offers the server HTTP/1.1
        /// alone, true counts answers over HTTP/1.1 as failed checks of `stages`; unless given a URL is loaded over
        /// HTTP/1.1, and scripts speak what the server prefers
        h2: Option<bool> = "true",
        /// with `h2` and a URL: requests at once on one connection
        streams: Option<u32> = "16",
        /// cores kept free for the load generator; 1 unless given
        cpu: Option<f64> = "0.5",
        /// seed of all randomness, the same in every run; drawn anew for every repetition unless given
        seed: Option<u64> = "7",
        /// collections in which every good or accepted answer leaves one document: counted before and after the load;
        /// gate 12 holds them against the answers
        stored: Option<Vec<String>> = "[\"mongodb://${db.address}/shop.orders\"]",
        /// gauges of what was accepted and is not done; after the load the lab waits until they are 0
        backlog: Option<Vec<String>> = "[\"http://${list.address}/metrics#list_queue_length\"]",
        /// counters of what was taken in, also where the answer never arrived: what is lost is counted from them
        taken: Option<Vec<String>> = "[\"http://${list.address}/metrics#list_pushed_total\"]",
        /// longest wait for that; 60s unless given
        drain_within: Option<String> = "\"60s\"",
    }
}

section! {
    StageSpec = "stages of [test]" {
        /// virtual users at the end of the stage
        target: u32 = "100",
        /// length of the stage
        duration: String = "\"20s\"",
    }
}

section! {
    ObjectivesSpec = "[objectives]" {
        /// the objectives, as after --slo
        slo: String = "\"p99<250ms,errors<0.1%\"",
    }
}

section! {
    #[serde(default)]
    RepeatSpec = "[repeat]" {
        /// runs of each variant, interleaved; 3 unless given
        runs: Option<u32> = "6",
        /// pause between two runs; none unless given
        pause: Option<String> = "\"1s\"",
    }
}

section! {
    PublishedSpec = "[published]" {
        /// whose figures they are, and where they were read
        source: String = "\"Hilaiel 2013, node-toobusy\"",
        /// what is not the same there, in sentences
        differs: Option<String> = "\"Its clients waited for as long as it took.\"",
        /// headings of the columns, with their units
        columns: Vec<String> = "[\"attempts/s\", \"latency s\"]",
        /// numbers, as many in each row as there are columns
        rows: Vec<Vec<f64>> = "[[200, 0.9], [400, 4.0]]",
    }
}

impl TierSpec {
    /// Its stub in its place; `None` if it has none.
    pub(super) fn in_stub(&self) -> Option<Self> {
        let stub = self.stub.as_deref()?;
        Some(Self {
            stub: None,
            stubbed: Some(true),
            ..stub.clone()
        })
    }
}
