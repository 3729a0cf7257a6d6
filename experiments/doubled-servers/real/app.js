#!/usr/bin/env node
// The application of the doubled-servers test on Express and mongoose: a request stores a random number, reads any one
// document, and tells how long that took and which host it was.
'use strict';
const os = require('node:os');
const { monitorEventLoopDelay } = require('node:perf_hooks');
const express = require('express');
const { connect, storeAndRead, metrics } = require('./store');

const delay = monitorEventLoopDelay({ resolution: 10 });
delay.enable();

const app = express();
app.disable('x-powered-by');

app.get('/', async (request, response) => {
  const begun = performance.now();
  await storeAndRead(Math.random());
  response.json({ latency_ms: performance.now() - begun, host: os.hostname() });
});

app.get('/metrics', (request, response) => {
  const lag = delay.percentile(99) / 1e9;
  delay.reset();
  response.type('text/plain').send(metrics({ nodejs_eventloop_lag_seconds: lag.toFixed(6) }));
});

// Four arguments make it the handler of errors; without it each would be printed with its stack.
app.use((error, request, response, next) => { // eslint-disable-line no-unused-vars
  response.status(500).type('text/plain').send(`${error.message}\n`);
});

connect().then(() => {
  app.listen(Number(process.env.PORT), '127.0.0.1', (error) => {
    if (error) throw error;
    console.log('listening');
  });
});
process.on('SIGTERM', () => process.exit(0));
