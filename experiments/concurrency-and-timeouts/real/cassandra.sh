#!/usr/bin/env bash
# Becomes one node of Apache Cassandra, run from its jars, with all of its files in a folder that is given.
# usage: cassandra.sh ADDRESS PORT FOLDER [NODES]
# It answers at ADDRESS:PORT when it says "Startup complete". With NODES it is one of a ring at 127.0.0.1, 127.0.0.2 and so on, all
# with the same PORT; each begins with an equal part of the ring, so they may be started in any order after the first.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
address=$1
port=$2
folder=$(mkdir -p "$3" && cd "$3" && pwd)
nodes=${4:-1}
seed=$address
ring=
if [ "$nodes" -gt 1 ]; then
  number=${address##*.}
  seed=127.0.0.1
  # The ring goes from -2^63 to 2^63 - 1; Bash counts to the same bounds.
  ring="initial_token: \"$(((number - 1) * (9223372036854775807 / nodes) * 2 - 9223372036854775807))\""
fi

jamm=$(compgen -G "$here/lib/jamm-*.jar") || { echo "cassandra.sh: no jars in $here/lib; install them with: make real" >&2; exit 1; }
# Between nodes, and for its management on this host alone.
storage=$((port < 60000 ? port + 1000 : port - 1000))
management=$((storage + 1 + ${address##*.}))
cat > "$folder/cassandra.yaml" <<YAML
cluster_name: plimsoll
num_tokens: 1
$ring
auto_bootstrap: false
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
listen_address: $address
rpc_address: $address
storage_port: $storage
ssl_storage_port: $((storage + 1))
native_transport_port: $port
endpoint_snitch: SimpleSnitch
seed_provider: [ { class_name: org.apache.cassandra.locator.SimpleSeedProvider, parameters: [ { seeds: "$seed:$storage" } ] } ]
data_file_directories: [$folder/data]
commitlog_directory: $folder/commitlog
saved_caches_directory: $folder/caches
hints_directory: $folder/hints
cdc_raw_directory: $folder/cdc
commitlog_sync: periodic
commitlog_sync_period: 10000ms
auto_snapshot: false
concurrent_reads: 16
concurrent_writes: 16
memtable_heap_space: 128MiB
memtable_offheap_space: 64MiB
YAML
exec java -Xms512m -Xmx512m -XX:+UseSerialGC -Xss256k "@$here/jvm17.options" "-javaagent:$jamm" \
  "-Dcassandra.config=file://$folder/cassandra.yaml" "-Dcassandra.storagedir=$folder/storage" -Dcassandra-foreground=yes \
  "-Dcassandra.jmx.local.port=$management" -Dcassandra.skip_wait_for_gossip_to_settle=0 -Dcassandra.ring_delay_ms=1 \
  "-Dlogback.configurationFile=file://$here/logback.xml" -cp "$here/lib/*" org.apache.cassandra.service.CassandraDaemon
