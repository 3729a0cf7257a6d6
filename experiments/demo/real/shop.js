// The shop on Express: one thread that looks an item up, awaits the stock service and builds a page.
'use strict';
const http = require('node:http');
const { monitorEventLoopDelay } = require('node:perf_hooks');
const express = require('express');

// Processor time that a page spends comparing items, in milliseconds; Express and the request to the
// stock service add about one more.
const CPU_MS = 1.5;
const RELATED = 8;
const stock = { host: '127.0.0.1', port: Number(process.env.STOCK), path: '/' };
const agent = new http.Agent({ keepAlive: true });

const items = Array.from({ length: 512 }, (_, id) => ({
  name: `item ${id}`,
  price_cents: 100 + ((id * 7919) % 50000),
  weight_grams: 10 + ((id * 104729) % 20000),
}));

function distance(a, b) {
  return Math.abs(a.price_cents - b.price_cents) + Math.abs(a.weight_grams - b.weight_grams);
}

// Compares an item with `count` others, going round the catalogue, and keeps the closest.
function related(id, count) {
  const nearest = [];
  for (let step = 1; step <= count; step += 1) {
    const other = items[(id + step) % items.length];
    const far = distance(items[id], other);
    if (nearest.length < RELATED || far < nearest[RELATED - 1].far) {
      nearest.push({ far, other });
      nearest.sort((a, b) => a.far - b.far);
      nearest.length = Math.min(nearest.length, RELATED);
    }
  }
  return nearest.map((found) => found.other);
}

// How many comparisons take CPU_MS on this machine: processor time, not time on the clock.
function calibrate() {
  const each = 20000;
  let rate = 0;
  for (let round = 0; round < 12; round += 1) {
    const before = process.cpuUsage();
    for (let id = 0; id < 10; id += 1) related(id, each);
    const used = process.cpuUsage(before);
    rate = Math.max(rate, (10 * each) / ((used.user + used.system) / 1000));
  }
  return Math.round(rate * CPU_MS);
}

function awaitStock() {
  return new Promise((resolve, reject) => {
    const request = http.get({ ...stock, agent }, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (part) => { text += part; });
      answer.on('end', () => resolve(JSON.parse(text)));
    });
    request.on('error', reject);
  });
}

const comparisons = calibrate();
const orders = [];
const app = express();
app.disable('x-powered-by');
app.use(express.json());

app.get('/items/:id', async (request, response) => {
  const id = Number(request.params.id);
  const item = items[id];
  if (!item) {
    response.status(404).send('no such item\n');
    return;
  }
  const { in_stock: inStock } = await awaitStock();
  response.json({ item, in_stock: inStock, related: related(id, comparisons) });
});

// What an exporter of Node's own figures would show, under the names that it uses.
const delay = monitorEventLoopDelay({ resolution: 10 });
delay.enable();
app.get('/metrics', (request, response) => {
  const seconds = (delay.percentile(99) / 1e9).toFixed(6);
  delay.reset();
  response.type('text/plain').send(`nodejs_eventloop_lag_seconds ${seconds}\n`);
});

app.get('/cart', (request, response) => {
  const cart = items.slice(0, 3);
  response.json({ items: cart, total_cents: cart.reduce((sum, item) => sum + item.price_cents, 0) });
});

app.post('/orders', (request, response) => {
  const { item, quantity } = request.body ?? {};
  if (!items[item] || !(quantity >= 1 && quantity <= 100)) {
    response.status(400).send('an order is {"item": NUMBER, "quantity": 1 to 100}\n');
    return;
  }
  orders.push({ item, quantity });
  response.status(201).json({ order: orders.length - 1 });
});

app.listen(Number(process.env.PORT), '127.0.0.1', (error) => {
  if (error) throw error;
  console.log(`listening; a page compares ${comparisons} times`);
});
process.on('SIGTERM', () => process.exit(0));
