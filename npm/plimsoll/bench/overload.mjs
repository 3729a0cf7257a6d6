// Goodput of the five-step server at 1x to 10x of its measured capacity with each protection, interleaved, beside the
// ceiling that the cost of a refusal sets. usage: node bench/overload.mjs [--runs 5] [--seconds 8] [--load 1,2,5,10]
import { spawn, execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const BINARY = process.env.PLIMSOLL ?? join(ROOT, 'target/release/plimsoll');
const APP = join(ROOT, 'experiments/wont-melt/real/app.js');
const PORT = Number(process.env.PORT ?? 3996);
const URL_ = `http://127.0.0.1:${PORT}`;
const { values: given } = parseArgs({
  options: {
    runs: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '8' },
    load: { type: 'string', default: '1,2,5,10' },
    only: { type: 'string', default: 'none,toobusy,under-pressure,plimsoll' },
  },
});
const LOADS = given.load.split(',').map(Number);
const PROTECTIONS = given.only.split(',');

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** A fresh server for one measurement. */
async function withServer(env, measure) {
  const server = spawn(process.execPath, [APP], { env: { ...process.env, PORT: String(PORT), STEP_ROUNDS: '5500', ...env } });
  const ended = new Promise((resolve) => server.once('exit', resolve));
  try {
    await new Promise((resolve, reject) => {
      server.stdout.once('data', resolve);
      server.stderr.on('data', (text) => reject(new Error(String(text))));
    });
    return await measure(server.pid);
  } finally {
    server.kill('SIGKILL');
    await ended;
  }
}

/** The summary of one load. */
async function load(...flags) {
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-bench-'));
  try {
    const record = join(folder, 'run.plimsoll.jsonl');
    const words = ['run', `${URL_}/`, ...flags, '--timeout', '1s', '--quiet', '--format', 'json', '-o', record];
    const done = await promisify(execFile)(BINARY, words).catch((error) => error);
    return JSON.parse(done.stdout);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Milliseconds that the server waited for a processor that others had; 0 where the kernel does not say. */
function waited(pid) {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}

async function cpu() {
  let answer = await fetch(`${URL_}/-/cpu`);
  // under-pressure refuses this, too, until it sees that the load is over.
  for (let left = 200; !answer.ok; left -= 1) {
    if (left === 0) {
      throw new Error(`${URL_}/-/cpu answers ${answer.status} although nothing asks for anything else`);
    }
    await answer.arrayBuffer();
    await sleep(50);
    answer = await fetch(`${URL_}/-/cpu`);
  }
  const { user, system, computed } = await answer.json();
  return { micros: user + system, computed };
}

/** What came of a load: good answers per second in which the server was not kept from its processor, the share of time in which it
 * was, and microseconds of processor time for an attempt and for one step of the work. That is always the same: it says how fast the
 * processor was. */
async function played(pid, flags) {
  // Every server is as warm as the one whose capacity is measured.
  await load('-c', '4', '-z', '2s');
  const before = { ...(await cpu()), waited: waited(pid), at: performance.now() };
  const summary = await load(...flags);
  // Before the rest is asked for, which may take a while.
  const end = { waited: waited(pid), at: performance.now() };
  const after = await cpu();
  const kept = (end.waited - before.waited) / (end.at - before.at);
  const steps = after.computed.steps - before.computed.steps;
  return {
    kept,
    goodput: summary.goodput_per_s / (1 - kept),
    micros: (after.micros - before.micros) / summary.attempts_count,
    step: (after.computed.micros - before.computed.micros) / steps,
  };
}

const median = (all) => [...all].sort((one, other) => one - other)[Math.floor(all.length / 2)];
const rows = new Map();
const note = (key, value) => rows.set(key, [...(rows.get(key) ?? []), value]);

for (let run = 1; run <= Number(given.runs); run += 1) {
  const seconds = `${given.seconds}s`;
  const work = await withServer({ PROTECTION: 'none' }, (pid) => played(pid, ['-c', '4', '-z', seconds]));
  const refusal = await withServer({ PROTECTION: 'plimsoll', LIMIT: '1' }, (pid) => {
    fetch(`${URL_}/hold`).catch(() => {});
    // Two connections: so many refusals meet in a turn of the loop beyond capacity, too. Many at once would cost half.
    return sleep(200).then(() => played(pid, ['-c', '2', '-z', seconds]));
  });
  note('request', work.micros);
  note('refusal', refusal.micros);
  const rho = refusal.micros / work.micros;
  console.log(`run ${run}: capacity ${work.goodput.toFixed(1)}/s, ${work.micros.toFixed(0)} us a request, ${refusal.micros.toFixed(1)} us a refusal`);
  for (const times of LOADS) {
    const ceiling = (1 - Math.max(times - 1, 0) * rho / (1 - rho)) * 100;
    note(`ceiling ${times}`, Math.min(ceiling, 100));
    const order = PROTECTIONS.map((name) => [Math.random(), name]).sort().map(([, name]) => name);
    for (const name of order) {
      const rate = (times * work.goodput).toFixed(1);
      const under = await withServer({ PROTECTION: name }, (pid) => played(pid, ['-q', rate, '-z', seconds]));
      // A busy generator beside it makes a processor slower that shares its core with the other: that is no loss of goodput.
      const slower = under.step / work.step;
      const good = under.goodput * slower;
      note('kept from its processor', under.kept);
      note('slower', slower);
      note(`${name} ${times}`, (100 * good) / work.goodput);
      console.log(`  ${times}x ${name}: ${under.goodput.toFixed(1)}/s, a step takes ${slower.toFixed(2)} times as long: ${good.toFixed(1)}/s`);
    }
  }
}

console.log(`\n${cpus()[0].model}, ${cpus().length} processors; ${given.runs} runs of ${given.seconds} s; % of the capacity of the same run: median / worst`);
console.log(`a request ${median(rows.get('request')).toFixed(0)} us, a refusal ${median(rows.get('refusal')).toFixed(1)} us of processor time; the servers were kept from theirs for ${(100 * median(rows.get('kept from its processor'))).toFixed(0)} % of the time, and theirs was ${median(rows.get('slower')).toFixed(2)} times as slow as when capacity was measured (medians; ${Math.min(...rows.get('slower')).toFixed(2)} to ${Math.max(...rows.get('slower')).toFixed(2)})\n`);
console.log(`| load | ceiling | ${PROTECTIONS.join(' | ')} |\n|---|---|${PROTECTIONS.map(() => '---|').join('')}`);
for (const times of LOADS) {
  const cells = PROTECTIONS.map((name) => rows.get(`${name} ${times}`));
  const shown = cells.map((all) => `${median(all).toFixed(1)} / ${Math.min(...all).toFixed(1)}`);
  console.log(`| ${times}x | ${median(rows.get(`ceiling ${times}`)).toFixed(1)} | ${shown.join(' | ')} |`);
}
