// Goodput of the five-step server at 1x to 10x of its measured capacity with each protection, interleaved, beside the
// ceiling that the cost of a refusal sets. usage: node bench/overload.mjs [--runs 5] [--seconds 8] [--load 1,2,5,10]
import { spawn, execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
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
  const server = spawn(process.execPath, [APP], { env: { ...process.env, PORT: String(PORT), ...env } });
  const ended = new Promise((resolve) => server.once('exit', resolve));
  try {
    await new Promise((resolve, reject) => {
      server.stdout.once('data', resolve);
      server.stderr.on('data', (text) => reject(new Error(String(text))));
    });
    return await measure();
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

async function cpu() {
  const used = await (await fetch(`${URL_}/-/cpu`)).json();
  return used.user + used.system;
}

/** Microseconds of processor time per attempt of a closed load, after a warm-up, and the rate. */
async function cost(connections) {
  await load('-c', String(connections), '-z', '2s');
  const before = await cpu();
  const summary = await load('-c', String(connections), '-z', `${given.seconds}s`);
  return { micros: ((await cpu()) - before) / summary.attempts_count, goodput: summary.goodput_per_s };
}

const median = (all) => [...all].sort((one, other) => one - other)[Math.floor(all.length / 2)];
const rows = new Map();
const note = (key, value) => rows.set(key, [...(rows.get(key) ?? []), value]);

for (let run = 1; run <= Number(given.runs); run += 1) {
  const work = await withServer({ PROTECTION: 'none' }, () => cost(4));
  const refusal = await withServer({ PROTECTION: 'plimsoll', LIMIT: '1' }, () => {
    fetch(`${URL_}/hold`).catch(() => {});
    return sleep(200).then(() => cost(32));
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
      const summary = await withServer({ PROTECTION: name }, () => load('-q', rate, '-z', `${given.seconds}s`));
      note(`${name} ${times}`, (100 * summary.goodput_per_s) / work.goodput);
      note(`p99 ${name} ${times}`, (summary.service_time_ns?.p99 ?? NaN) / 1e6);
    }
  }
}

console.log(`\n${cpus()[0].model}, ${cpus().length} processors; ${given.runs} runs of ${given.seconds} s; % of the capacity of the same run: median / worst`);
console.log(`a request ${median(rows.get('request')).toFixed(0)} us, a refusal ${median(rows.get('refusal')).toFixed(1)} us of processor time\n`);
console.log(`| load | ceiling | ${PROTECTIONS.join(' | ')} |\n|---|---|${PROTECTIONS.map(() => '---|').join('')}`);
for (const times of LOADS) {
  const cells = PROTECTIONS.map((name) => rows.get(`${name} ${times}`));
  const shown = cells.map((all) => `${median(all).toFixed(1)} / ${Math.min(...all).toFixed(1)}`);
  console.log(`| ${times}x | ${median(rows.get(`ceiling ${times}`)).toFixed(1)} | ${shown.join(' | ')} |`);
}
