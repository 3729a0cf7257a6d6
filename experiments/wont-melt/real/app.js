#!/usr/bin/env node
// The server of the published study: an answer takes five steps of 1 ms of computing each, so that it carries 200 a second.
// PROTECTION says who refuses what is beyond that: none, plimsoll, toobusy, under-pressure (as its README sets it).
'use strict';

const { pbkdf2Sync } = require('node:crypto');
const { performance } = require('node:perf_hooks');
const fastify = require('fastify');

const STEPS = 5;
const STEP_MS = 1;
// So many rounds of hashing instead of 1 ms on the clock: the same work, however much of a processor others take.
const STEP_ROUNDS = Number(process.env.STEP_ROUNDS ?? 0);
// The published server asked for so many places for connections that wait.
const BACKLOG = 2048;

/** Steps with a fixed number of rounds, and microseconds of processor time in them: how fast the processor was. */
const computed = { steps: 0, micros: 0 };

function compute() {
  if (STEP_ROUNDS > 0) {
    const before = process.cpuUsage();
    pbkdf2Sync('secret', 'salt', STEP_ROUNDS, 32, 'sha256');
    const used = process.cpuUsage(before);
    computed.steps += 1;
    computed.micros += used.user + used.system;
    return;
  }
  const end = performance.now() + STEP_MS;
  while (performance.now() < end);
}

/** One step in each of so many turns of the loop, as calls to other services would spread them. */
function steps(left, done) {
  compute();
  if (left > 1) {
    setImmediate(steps, left - 1, done);
  } else {
    done();
  }
}

const PROTECTIONS = {
  none: () => {},
  plimsoll: (app) => {
    const { plimsoll } = require('../../../npm/plimsoll');
    // LIMIT is for measuring what a refusal costs: a limit of 1 whose permit is held refuses everybody else.
    const limit = process.env.LIMIT === undefined ? {} : { limit: Number(process.env.LIMIT) };
    const shed = plimsoll({ ...limit, skip: (req) => req.url.startsWith('/-/') });
    app.register(shed.fastify);
    app.get('/-/metrics', (_request, reply) => reply.type('text/plain; version=0.0.4').send(shed.metrics()));
  },
  toobusy: (app) => {
    const toobusy = require('toobusy-js');
    app.addHook('onRequest', (request, reply, next) => {
      if (!request.raw.url.startsWith('/-/') && toobusy()) {
        reply.code(503).send('too busy\n');
      } else {
        next();
      }
    });
  },
  'under-pressure': (app) => {
    app.register(require('@fastify/under-pressure'), { maxEventLoopDelay: 1000, maxEventLoopUtilization: 0.98 });
  },
};

const name = process.env.PROTECTION ?? 'none';
const protection = PROTECTIONS[name];
if (protection === undefined) {
  console.error(`PROTECTION=${name} is unknown; there are ${Object.keys(PROTECTIONS).join(', ')}`);
  process.exit(2);
}
const app = fastify();
protection(app);
app.get('/', (_request, reply) => {
  steps(STEPS, () => reply.send('done\n'));
});
// Never answered: it holds a permit.
app.get('/hold', () => new Promise(() => {}));
app.get('/-/cpu', (_request, reply) => reply.send({ ...process.cpuUsage(), computed }));
app.listen({ port: Number(process.env.PORT ?? 3000), host: '127.0.0.1', backlog: BACKLOG }, (error, address) => {
  if (error) {
    throw error;
  }
  console.log(`${name} on ${address}`);
});
