#!/usr/bin/env node
// The worker of the third architecture: fifty loops pop, store and read. As published they share one connection to
// Redis, and nobody acknowledges: what was popped dies with this process.
'use strict';
const http = require('node:http');
const { createClient } = require('redis');
const { connect, storeAndRead, metrics } = require('./store');

const LOOPS = 50;
const POP_SECONDS = 1;

const pops = createClient({ url: process.env.REDIS });
// A second connection: the first is held by a pop that waits.
const looks = pops.duplicate();
for (const client of [pops, looks]) client.on('error', (error) => { throw error; });

let pending = 0;
let done = 0;
let failed = 0;

async function work() {
  for (;;) {
    const popped = await pops.brPop('numbers', POP_SECONDS);
    if (!popped) continue;
    pending += 1;
    try {
      await storeAndRead(JSON.parse(popped.element).number);
      done += 1;
    } catch {
      // As published: the list has forgotten it.
      failed += 1;
    }
    pending -= 1;
  }
}

const server = http.createServer(async (request, response) => {
  const length = await looks.lLen('numbers');
  response.setHeader('content-type', 'text/plain');
  response.end(metrics({
    list_queue_length: length,
    worker_pending: pending,
    worker_done_total: done,
    worker_failed_total: failed,
  }));
});

async function start() {
  await Promise.all([connect(), pops.connect(), looks.connect()]);
  for (let loop = 0; loop < LOOPS; loop += 1) work();
  server.listen(Number(process.env.PORT), '127.0.0.1', () => console.log('listening'));
}

start();
process.on('SIGTERM', () => process.exit(0));
