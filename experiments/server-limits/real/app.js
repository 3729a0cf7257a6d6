#!/usr/bin/env node
// The status service of the server-limits test on Express and MongoDB's driver: once a second it reads its documents
// into an object, and a request only serialises that object.
'use strict';
const { monitorEventLoopDelay } = require('node:perf_hooks');
const { setTimeout: sleep } = require('node:timers/promises');
const express = require('express');
const { MongoClient } = require('mongodb');

// The published page: 8 sites, the last 30 minutes of each in 60 points, about 31 KB.
const SITES = 8;
const POINTS = 60;
const POINT_EVERY_MS = 30_000;
const REFRESH_EVERY_MS = 1000;
const DUPLICATE_KEY = 11000;
// Every request that waits is a connection that is not accepted yet. Node's own 511 would refuse the others, and the queue
// would be what is measured.
const BACKLOG = 4096;
// The line that was changed: the string is made once a second instead of once a request.
const PRESERIALISED = process.env.PRESERIALISED === '1';

const delay = monitorEventLoopDelay({ resolution: 10 });
delay.enable();
const points = new MongoClient(process.env.DB).db().collection('points');
const count = { points: 0, refreshes: 0, failures: 0 };
let page;
let text;

// What a prober would have left behind, under fixed _ids: an instance that starts second finds it there.
async function seed() {
  const start = Date.now() - POINTS * POINT_EVERY_MS;
  const documents = Array.from({ length: SITES * POINTS }, (_, id) => ({
    _id: id,
    site: Math.floor(id / POINTS),
    at: new Date(start + (id % POINTS) * POINT_EVERY_MS),
    status: 200,
    // Any spread will do: a fixed one makes every run's page the same length.
    response_ms: 100 + (id * 7919 % 9000) / 10,
  }));
  try {
    await points.insertMany(documents, { ordered: false });
  } catch (error) {
    const others = [error.writeErrors ?? error].flat().filter(({ code }) => code !== DUPLICATE_KEY);
    if (others.length > 0) throw error;
  }
}

async function refresh() {
  const sites = [];
  const documents = await points.find().sort({ _id: 1 }).toArray();
  for (const { site, at, status, response_ms: responseMs } of documents) {
    sites[site] ??= { name: `site ${site + 1}`, url: `https://site-${site + 1}.example/`, points: [] };
    sites[site].points.push({ at, status, responseMs });
  }
  page = { sites };
  if (PRESERIALISED) text = JSON.stringify(page);
  count.points = documents.length;
  count.refreshes += 1;
}

async function refreshForEver() {
  for (;;) {
    await sleep(REFRESH_EVERY_MS);
    // The page of before stays; the counter tells.
    await refresh().catch(() => { count.failures += 1; });
  }
}

const app = express();
app.disable('x-powered-by');

app.get('/', (request, response) => {
  if (PRESERIALISED) response.type('json').send(text);
  else response.json(page);
});

app.get('/metrics', (request, response) => {
  const lag = delay.percentile(99) / 1e9;
  delay.reset();
  const series = {
    nodejs_eventloop_lag_seconds: lag.toFixed(6),
    status_points: count.points,
    status_refreshes_total: count.refreshes,
    status_refresh_failures_total: count.failures,
  };
  const kind = (name) => (name.endsWith('_total') ? 'counter' : 'gauge');
  const lines = Object.entries(series).map(([name, value]) => `# TYPE ${name} ${kind(name)}\n${name} ${value}\n`);
  response.type('text/plain').send(lines.join(''));
});

async function start() {
  await seed();
  await refresh();
  refreshForEver();
  app.listen(Number(process.env.PORT), '127.0.0.1', BACKLOG, (error) => {
    if (error) throw error;
    console.log('listening');
  });
}

start();
process.on('SIGTERM', () => process.exit(0));
