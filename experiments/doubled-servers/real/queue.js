#!/usr/bin/env node
// The third architecture of the doubled-servers test: a request is pushed to a list of Redis and answered with 202.
'use strict';
const express = require('express');
const { createClient } = require('redis');

const redis = createClient({ url: process.env.REDIS });
// Redis is started first and never ended: an error of its connection ends this process with its message.
redis.on('error', (error) => { throw error; });

let pushed = 0;
const app = express();
app.disable('x-powered-by');

app.get('/', async (request, response) => {
  await redis.lPush('numbers', JSON.stringify({ number: Math.random(), asked_at: Date.now() }));
  pushed += 1;
  response.status(202).json({ accepted: true });
});

app.get('/metrics', (request, response) => {
  response.type('text/plain').send(`# TYPE queue_pushed_total counter\nqueue_pushed_total ${pushed}\n`);
});

app.use((error, request, response, next) => { // eslint-disable-line no-unused-vars
  response.status(500).type('text/plain').send(`${error.message}\n`);
});

redis.connect().then(() => {
  app.listen(Number(process.env.PORT), '127.0.0.1', (error) => {
    if (error) throw error;
    console.log('listening');
  });
});
process.on('SIGTERM', () => process.exit(0));
