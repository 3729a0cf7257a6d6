#!/usr/bin/env node
// Services of one Node process for bench/guard/live.py: `node services.js KIND PORT`.
'use strict';

const { pbkdf2Sync } = require('node:crypto');
const http = require('node:http');
const { performance } = require('node:perf_hooks');

// Whoever is not accepted yet waits in the kernel.
const BACKLOG = 2048;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** So many at once; the others wait, as long as it takes. SIGUSR2 takes half of the places away, and gives them back the next time. */
function pool(size) {
  const waiting = [];
  let places = size;
  let isHalved = false;
  const next = () => {
    while (places > 0 && waiting.length > 0) {
      places -= 1;
      waiting.shift()();
    }
  };
  process.on('SIGUSR2', () => {
    isHalved = !isHalved;
    // Fewer than none are left until as many are given back.
    places += isHalved ? -size / 2 : size / 2;
    next();
  });
  return async (work) => {
    await new Promise((resolve) => {
      waiting.push(resolve);
      next();
    });
    try {
      await work();
    } finally {
      places += 1;
      next();
    }
  };
}

const KINDS = {
  // Every request takes the only thread for 5 ms on the clock: as much on any machine, however fast it is at the moment.
  cpu: () => async () => {
    for (const end = performance.now() + 5; performance.now() < end; ) {
      pbkdf2Sync('secret', 'salt', 50, 32, 'sha256');
    }
  },
  // A little computing, then one of eight connections to a database that answers in 20 ms.
  pool: () => {
    const connection = pool(8);
    return async () => {
      pbkdf2Sync('secret', 'salt', 300, 32, 'sha256');
      await connection(() => sleep(20));
    };
  },
  // Eight workers; one request in twenty is sixty times as much work as the others.
  mixed: () => {
    const worker = pool(8);
    let count = 0;
    return () => worker(() => sleep(++count % 20 === 0 ? 300 : 5));
  },
};

const [kind, port] = process.argv.slice(2);
if (!Object.hasOwn(KINDS, kind)) {
  console.error(`services.js: no kind ${kind}; there are ${Object.keys(KINDS).join(', ')}`);
  process.exit(2);
}
const work = KINDS[kind]();
http
  .createServer(async (_request, response) => {
    await work();
    response.end('done\n');
  })
  .listen(Number(port), '127.0.0.1', BACKLOG);
