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

/** Good answers per second in which the server was not kept from its processor; and the share of time in which it was. */
async function goodput(pid, flags) {
  // As warm as the server was whose capacity was measured.
  await load('-c', '4', '-z', '2s');
  const before = waited(pid);
  const begin = performance.now();
  const summary = await load(...flags);
  const kept = (waited(pid) - before) / (performance.now() - begin);
  note('kept from its processor', kept);
  return summary.goodput_per_s / (1 - kept);
}

async function cpu() {
  const used = await (await fetch(`${URL_}/-/cpu`)).json();
  return used.user + used.system;
}

/** Microseconds of processor time per attempt of a closed load, after a warm-up, and the rate. */
async function cost(pid, connections) {
  await load('-c', String(connections), '-z', '2s');
  const before = [await cpu(), waited(pid), performance.now()];
  const summary = await load('-c', String(connections), '-z', `${given.seconds}s`);
  const free = 1 - (waited(pid) - before[1]) / (performance.now() - before[2]);
  return { micros: ((await cpu()) - before[0]) / summary.attempts_count, goodput: summary.goodput_per_s / free };
}

const median = (all) => [...all].sort((one, other) => one - other)[Math.floor(all.length / 2)];
const rows = new Map();
const note = (key, value) => rows.set(key, [...(rows.get(key) ?? []), value]);

for (let run = 1; run <= Number(given.runs); run += 1) {
  const work = await withServer({ PROTECTION: 'none' }, (pid) => cost(pid, 4));
  const refusal = await withServer({ PROTECTION: 'plimsoll', LIMIT: '1' }, (pid) => {
    fetch(`${URL_}/hold`).catch(() => {});
    // Two connections: so many refusals meet in a turn of the loop beyond capacity, too. Many at once would cost half.
    return sleep(200).then(() => cost(pid, 2));
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
      const flags = ['-q', rate, '-z', `${given.seconds}s`];
      const good = await withServer({ PROTECTION: name }, (pid) => goodput(pid, flags));
      note(`${name} ${times}`, (100 * good) / work.goodput);
      console.log(`  ${times}x ${name}: ${good.toFixed(1)}/s`);
    }
  }
}

console.log(`\n${cpus()[0].model}, ${cpus().length} processors; ${given.runs} runs of ${given.seconds} s; % of the capacity of the same run: median / worst`);
console.log(`a request ${median(rows.get('request')).toFixed(0)} us, a refusal ${median(rows.get('refusal')).toFixed(1)} us of processor time; the servers were kept from theirs for ${(100 * median(rows.get('kept from its processor'))).toFixed(0)} % of the time (median)\n`);
console.log(`| load | ceiling | ${PROTECTIONS.join(' | ')} |\n|---|---|${PROTECTIONS.map(() => '---|').join('')}`);
for (const times of LOADS) {
  const cells = PROTECTIONS.map((name) => rows.get(`${name} ${times}`));
  const shown = cells.map((all) => `${median(all).toFixed(1)} / ${Math.min(...all).toFixed(1)}`);
  console.log(`| ${times}x | ${median(rows.get(`ceiling ${times}`)).toFixed(1)} | ${shown.join(' | ')} |`);
}
