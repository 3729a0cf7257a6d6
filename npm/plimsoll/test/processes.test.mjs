// Workers of a cluster and threads: each limits for itself, says who it is, and looks at its own loop.
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';

test('each worker of a cluster has a limit of its own', async () => {
  const primary = fork(fileURLToPath(new URL('support/cluster.mjs', import.meta.url)));
  try {
    const [{ port }] = await once(primary, 'message');
    const answers = await Promise.all(Array.from({ length: 6 }, () => fetch(`http://127.0.0.1:${port}/`)));
    const good = answers.filter((answer) => answer.status === 200);
    assert.equal(good.length, 2, 'one of each worker');
    const states = await Promise.all(good.map((answer) => answer.json()));
    assert.deepEqual(states.map((state) => state.worker).sort(), [1, 2]);
    assert.equal(answers.filter((answer) => answer.status === 503).length, 4);
  } finally {
    primary.kill();
  }
});

test('a busy thread does not make another one look late', async () => {
  const code = `
    const { parentPort } = require('node:worker_threads');
    const { plimsoll } = require('plimsoll');
    const shed = plimsoll();
    const end = Date.now() + 700;
    setTimeout(() => { while (Date.now() < end); }, 20);
    setTimeout(() => { parentPort.postMessage(shed.state()); process.exit(); }, 1000);
  `;
  const { plimsoll } = await import('../index.mjs');
  const here = plimsoll();
  const worker = new Worker(code, { eval: true });
  const [there] = await once(worker, 'message');
  assert.ok(there.thread > 0);
  assert.equal(here.state().thread, 0);
  assert.ok(here.lag() < 400, `late by ${here.lag()} ms here`);
  here.close();
});

test('an instance keeps no process alive', async () => {
  const child = fork(fileURLToPath(new URL('support/idle.mjs', import.meta.url)));
  const [code] = await once(child, 'exit');
  assert.equal(code, 0);
});
