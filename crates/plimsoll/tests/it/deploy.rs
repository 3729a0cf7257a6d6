//! The files of `docs/deploy`: what they start is started, and the sidecar's manifest has only keys that Kubernetes knows.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::support::Folder;

const SETTINGS: &str = "/etc/plimsoll/guard.toml";

fn read(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/deploy");
    std::fs::read_to_string(PathBuf::from(folder).join(name)).unwrap()
}

/// What they start, with these settings in the place of the file, is checked by the guard itself.
fn check(words: &[&str], settings: &str) -> String {
    let folder = Folder::new();
    let file = folder.file("guard.toml");
    std::fs::write(&file, settings).unwrap();
    let words = words.iter().map(|word| {
        if *word == SETTINGS {
            file.as_str()
        } else {
            *word
        }
    });
    let output = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .args(words)
        .arg("--check")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    String::from_utf8(output.stdout).unwrap()
}

/// The values of a key of the service, in their section.
fn unit(section: &str, key: &str) -> Vec<String> {
    values("plimsoll-guard.service", section, key)
}

fn values(file: &str, section: &str, key: &str) -> Vec<String> {
    let (mut within, mut values) = (String::new(), Vec::new());
    for line in read(file).lines() {
        if let Some(name) = line.strip_prefix('[') {
            name.trim_end_matches(']').clone_into(&mut within);
        } else if let Some((found, value)) = line.split_once('=')
            && !line.starts_with('#')
            && (found, within.as_str()) == (key, section)
        {
            values.push(value.to_owned());
        }
    }
    values
}

#[test]
fn the_unit_starts_a_guard_and_reloads_it() {
    let start = unit("Service", "ExecStart");
    let [start] = &start[..] else {
        panic!("one start: {start:?}");
    };
    let words: Vec<&str> = start.split(' ').collect();
    assert_eq!(words[0], "/usr/local/bin/plimsoll");
    let checked = check(&words[1..], &read("guard.toml"));
    // Every address: of both families where the host has both.
    let every = ["[::]:8080", "0.0.0.0:8080"];
    assert!(every.iter().any(|it| checked.contains(it)), "{checked}");
    assert_eq!(
        unit("Service", "ExecStartPre")[0],
        format!("{start} --check")
    );
    assert_eq!(unit("Service", "ExecReload"), ["/bin/kill -HUP $MAINPID"]);
    // The guard's own end comes before systemd's.
    let stop: u32 = unit("Service", "TimeoutStopSec")[0]
        .trim_end_matches('s')
        .parse()
        .unwrap();
    assert!(stop > 20 && read("guard.toml").contains("drain = \"20s\""));
}

/// One for each listener, at the same port; and systemd gives a service the sockets of the unit that has its name.
#[test]
fn the_socket_is_for_the_listeners_of_the_settings() {
    let socket = |section, key| values("plimsoll-guard.socket", section, key);
    let [port] = &socket("Socket", "ListenStream")[..] else {
        panic!("one listener");
    };
    let settings = read("guard.toml");
    assert!(
        settings.contains(&format!("\nlisten = \":{port}\"\n")),
        "{settings}"
    );
    assert_eq!(socket("Install", "WantedBy"), ["sockets.target"]);
    assert!(socket("Socket", "Accept").is_empty() && socket("Socket", "Service").is_empty());
}

#[test]
fn the_container_starts_a_guard() {
    let file = read("Containerfile");
    let list = |word: &str| -> Vec<String> {
        let line = file.lines().find_map(|line| line.strip_prefix(word));
        serde_json::from_str(line.unwrap()).unwrap()
    };
    let all = [list("ENTRYPOINT "), list("CMD ")].concat();
    let words: Vec<&str> = all.iter().map(String::as_str).collect();
    assert_eq!(words[0], "/usr/local/bin/plimsoll");
    check(&words[1..], &read("guard.toml"));
    assert!(file.contains("\nSTOPSIGNAL SIGTERM\n") && file.contains("\nUSER 65532"));
}

type Texts = BTreeMap<String, String>;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Meta {
    name: Option<String>,
    #[serde(default)]
    labels: Texts,
    #[serde(default)]
    #[expect(dead_code, reason = "it is its type that is checked")]
    annotations: Texts,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Object<S> {
    api_version: String,
    #[expect(dead_code, reason = "it is looked at before")]
    kind: String,
    metadata: Meta,
    spec: S,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ConfigMap {
    api_version: String,
    #[expect(dead_code, reason = "it is looked at before")]
    kind: String,
    metadata: Meta,
    data: Texts,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Deployment {
    replicas: u32,
    selector: Selector,
    template: Template,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Selector {
    match_labels: Texts,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Template {
    metadata: Meta,
    spec: Pod,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Pod {
    termination_grace_period_seconds: u64,
    containers: Vec<Container>,
    volumes: Vec<Volume>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "of some it is the type that is checked")]
struct Container {
    name: String,
    image: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: Vec<Variable>,
    #[serde(default)]
    ports: Vec<Port>,
    readiness_probe: Option<Probe>,
    lifecycle: Option<Lifecycle>,
    resources: Option<Resources>,
    security_context: Option<Security>,
    #[serde(default)]
    volume_mounts: Vec<Mount>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "it is their types that are checked")]
struct Variable {
    name: String,
    value: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Port {
    name: String,
    container_port: u16,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Probe {
    http_get: HttpGet,
    period_seconds: u32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct HttpGet {
    path: String,
    port: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Lifecycle {
    pre_stop: PreStop,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PreStop {
    sleep: Sleep,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sleep {
    seconds: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "it is their types that are checked")]
struct Resources {
    requests: Texts,
    limits: Texts,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "it is their types that are checked")]
struct Security {
    allow_privilege_escalation: bool,
    read_only_root_filesystem: bool,
    run_as_non_root: bool,
    run_as_user: u32,
    capabilities: BTreeMap<String, Vec<String>>,
    seccomp_profile: Texts,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "of some it is the type that is checked")]
struct Mount {
    name: String,
    #[serde(rename = "mountPath")]
    path: String,
    read_only: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Volume {
    name: String,
    config_map: Texts,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Service {
    selector: Texts,
    ports: Vec<ServicePort>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "of some it is the type that is checked")]
struct ServicePort {
    name: String,
    port: u16,
    target_port: String,
}

/// The object of a kind.
fn object<T: DeserializeOwned>(manifest: &str, kind: &str) -> T {
    let of_kind = format!("kind: {kind}\n");
    let mut parts = manifest.split("\n---\n");
    let part = parts.find(|part| part.contains(&of_kind)).unwrap();
    serde_saphyr::from_str(part).unwrap()
}

#[test]
fn the_sidecar_fits_together() {
    let manifest = read("kubernetes-sidecar.yaml");
    let settings: ConfigMap = object(&manifest, "ConfigMap");
    let deployment: Object<Deployment> = object(&manifest, "Deployment");
    let service: Object<Service> = object(&manifest, "Service");
    assert_eq!(
        (settings.api_version.as_str(), service.api_version.as_str()),
        ("v1", "v1")
    );
    assert_eq!(deployment.api_version, "apps/v1");
    let spec = deployment.spec;
    assert!(spec.replicas > 0);
    assert_eq!(spec.selector.match_labels, spec.template.metadata.labels);
    assert_eq!(service.spec.selector, spec.template.metadata.labels);
    assert_eq!(service.metadata.name, deployment.metadata.name);
    let pod = spec.template.spec;
    let guard = pod
        .containers
        .iter()
        .find(|container| container.name == "guard")
        .unwrap();
    let words: Vec<&str> = guard.args.iter().map(String::as_str).collect();
    let told = &settings.data["guard.toml"];
    check(&[&["guard"][..], &words[..]].concat(), told);
    // It is asked for the same as in the settings beside it, but for comments.
    let file = read("guard.toml");
    let bare = |text: &str| -> Vec<String> {
        let lines = text
            .lines()
            .filter(|line| !line.starts_with('#') && !line.is_empty());
        lines.map(str::to_owned).collect()
    };
    assert_eq!(bare(told), bare(&file));
    for port in &guard.ports {
        assert!(
            told.contains(&format!(":{}\"", port.container_port)),
            "{}",
            port.name
        );
    }
    let probe = guard.readiness_probe.as_ref().unwrap();
    assert_eq!(
        (probe.http_get.path.as_str(), probe.http_get.port.as_str()),
        ("/ready", "admin")
    );
    assert!(probe.period_seconds > 0);
    let has_port = |name: &str| guard.ports.iter().any(|port| port.name == name);
    assert!(has_port("admin") && has_port(&service.spec.ports[0].target_port));
    // The service outlives the guard, which goes on for its pause and its drain; and the pod both.
    let pause = |container: &Container| {
        let lifecycle = container.lifecycle.as_ref();
        lifecycle.map(|lifecycle| lifecycle.pre_stop.sleep.seconds)
    };
    let drain = told.lines().find_map(|line| {
        let seconds = line.strip_prefix("drain = \"")?.strip_suffix("s\"")?;
        seconds.parse::<u64>().ok()
    });
    let ends = pause(guard).unwrap() + drain.unwrap();
    let service = pod.containers.iter().find(|one| one.name == "shop");
    let service = pause(service.unwrap()).unwrap();
    assert!(service >= ends, "{service} {ends}");
    assert!(pod.termination_grace_period_seconds > service);
    let mount = &guard.volume_mounts[0];
    assert!(SETTINGS.starts_with(&mount.path));
    let volume = pod
        .volumes
        .iter()
        .find(|volume| volume.name == mount.name)
        .unwrap();
    assert_eq!(
        Some(&volume.config_map["name"]),
        settings.metadata.name.as_ref()
    );
}
