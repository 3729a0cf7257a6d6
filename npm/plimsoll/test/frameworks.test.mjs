// Real servers of each framework over real sockets: a refused request reaches none of them, the rest is as without us.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { createServer, request as httpRequest } from 'node:http';
import { connect as connect2, createServer as createServer2 } from 'node:http2';
import { connect } from 'node:net';
import { after, test } from 'node:test';
import express from 'express';
import express4 from 'express4';
import fastify from 'fastify';
import Koa from 'koa';
import { plimsoll } from '../index.mjs';
import { until, Work } from './support/work.mjs';

const servers = [];
after(() => servers.forEach((server) => server.closeAllConnections() ?? server.close()));

const listening = (server) => {
  servers.push(server);
  return new Promise((resolve) => (server.listening ? resolve(server) : server.once('listening', () => resolve(server))));
};

/** How each framework is protected: `first` counts what reached the framework's own first step. */
const FRAMEWORKS = {
  'node:http': async (shed, work, first) =>
    shed.protect(
      createServer((_req, res) => {
        first();
        work.begin(() => res.end('done'));
      }).listen(0, '127.0.0.1'),
    ),
  'Express 4': async (shed, work, first) => {
    const app = express4();
    app.use((_req, _res, next) => (first(), next()));
    app.get('/', (_req, res) => work.begin(() => res.send('done')));
    return shed.protect(app.listen(0, '127.0.0.1'));
  },
  'Express 5': async (shed, work, first) => {
    const app = express();
    app.use((_req, _res, next) => (first(), next()));
    app.get('/', (_req, res) => work.begin(() => res.send('done')));
    return shed.protect(app.listen(0, '127.0.0.1'));
  },
  'Fastify 5': async (shed, work, first) => {
    const app = fastify();
    app.register(shed.fastify);
    app.addHook('onRequest', (_request, _reply, next) => (first(), next()));
    app.get('/', (_request, reply) => void work.begin(() => reply.send('done')));
    await app.listen({ port: 0, host: '127.0.0.1' });
    return app.server;
  },
  Koa: async (shed, work, first) => {
    const app = new Koa();
    app.use(async (context) => {
      first();
      await new Promise((resolve) => work.begin(resolve));
      context.body = 'done';
    });
    return shed.protect(app.listen(0, '127.0.0.1'));
  },
};

/** The same as middleware of the framework. */
const MIDDLEWARE = {
  'Express 4': async (shed, work) => {
    const app = express4();
    app.use(shed.express());
    app.get('/', (_req, res) => work.begin(() => res.send('done')));
    return app.listen(0, '127.0.0.1');
  },
  'Express 5': async (shed, work) => {
    const app = express();
    app.use(shed.express());
    app.get('/', (_req, res) => work.begin(() => res.send('done')));
    return app.listen(0, '127.0.0.1');
  },
  Koa: async (shed, work) => {
    const app = new Koa();
    app.use(shed.koa());
    app.use(async (context) => {
      await new Promise((resolve) => work.begin(resolve));
      context.body = 'done';
    });
    return app.listen(0, '127.0.0.1');
  },
};

async function started(make, options, first = () => {}) {
  const shed = plimsoll(options);
  const work = new Work();
  const server = await listening(await make(shed, work, first));
  after(() => shed.close());
  const url = `http://127.0.0.1:${server.address().port}/`;
  return { shed, work, server, url, port: server.address().port };
}

/** Holds all permits, checks a refusal, and that all is well afterwards. */
async function refusesAndRecovers({ shed, work, url }, limit) {
  const held = Array.from({ length: limit }, () => fetch(url));
  await until(() => work.waiting.length === limit);
  const refused = await fetch(url);
  assert.equal(refused.status, 503);
  assert.ok(Number(refused.headers.get('retry-after')) >= 1);
  assert.equal(refused.headers.get('cache-control'), 'no-store');
  assert.equal(refused.headers.get('x-plimsoll'), 'waited');
  assert.match(refused.headers.get('endpoint-load-metrics'), /^TEXT application_utilization=[\d.]+$/);
  assert.match(await refused.text(), /more is asked/);
  assert.equal(work.seen, limit, 'a refused request reached the handler');
  work.end();
  for (const answer of await Promise.all(held)) {
    assert.equal(answer.status, 200);
    assert.equal(await answer.text(), 'done');
    assert.match(answer.headers.get('endpoint-load-metrics'), /^TEXT application_utilization=/);
  }
  const again = fetch(url);
  await until(() => work.waiting.length === 1);
  work.end();
  assert.equal((await again).status, 200);
  await until(() => shed.state().inFlight === 0);
  assert.equal(shed.state().servedCount, limit + 1);
  assert.equal(shed.state().refusedCount.waited, 1);
}

for (const [name, make] of Object.entries(FRAMEWORKS)) {
  test(`${name}: refused before the framework, and well afterwards`, async () => {
    let first = 0;
    const one = await started(make, { limit: 2, patience: 30 }, () => (first += 1));
    await refusesAndRecovers(one, 2);
    assert.equal(first, 3, 'a refused request reached the framework');
  });
}

for (const [name, make] of Object.entries(MIDDLEWARE)) {
  test(`${name}: as middleware`, async () => {
    await refusesAndRecovers(await started(make, { limit: 2, patience: 30 }), 2);
  });
}

test('Fastify on localhost: all of its addresses are protected', async () => {
  const shed = plimsoll({ limit: 1, patience: 30 });
  const app = fastify();
  app.register(shed.fastify);
  const work = new Work();
  app.get('/', (_request, reply) => void work.begin(() => reply.send('done')));
  await app.listen({ port: 0, host: 'localhost' });
  const held = app.addresses().map(({ address, family, port }) =>
    fetch(`http://${family === 'IPv6' ? `[${address}]` : address}:${port}/`).then((answer) => answer.status),
  );
  await until(() => shed.state().arrivedCount === held.length);
  await new Promise((resolve) => setTimeout(resolve, 60));
  work.end();
  const statuses = (await Promise.all(held)).sort();
  assert.deepEqual(statuses, [200, ...Array.from({ length: held.length - 1 }, () => 503)]);
  await app.close();
  shed.close();
});

test('node:http2: streams of one connection are limited, refused without closing it, and counted as served', async () => {
  const shed = plimsoll({ limit: 1, patience: 30 });
  const work = new Work();
  const server = shed.protect(createServer2((_req, res) => work.begin(() => res.end('done'))).listen(0, '127.0.0.1'));
  await new Promise((resolve) => server.once('listening', resolve));
  const session = connect2(`http://127.0.0.1:${server.address().port}`);
  const get = () =>
    new Promise((resolve, reject) => {
      const stream = session.request({ ':path': '/' });
      stream.on('response', (headers) => (stream.resume(), resolve(headers)));
      stream.on('error', reject);
    });
  const held = get();
  await until(() => work.waiting.length === 1);
  const refused = await get();
  assert.equal(refused[':status'], 503);
  assert.ok(Number(refused['retry-after']) >= 1);
  work.end();
  assert.equal((await held)[':status'], 200);
  await until(() => shed.state().inFlight === 0);
  assert.equal(shed.state().servedCount, 1);
  session.close();
  server.close();
  shed.close();
});

test('who waits is let in when a permit comes back, the critical first', async () => {
  const one = await started(FRAMEWORKS['node:http'], { limit: 1, patience: 2_000, priority: 'X-Class' });
  const get = (word) => fetch(one.url, { headers: { 'x-class': word } });
  const order = [];
  const held = get('default');
  await until(() => one.work.waiting.length === 1);
  const background = get('background').then(() => order.push('background'));
  await until(() => one.shed.state().waiting === 1);
  const critical = get('critical').then(() => order.push('critical'));
  await until(() => one.shed.state().waiting === 2);
  for (let count = 0; count < 3; count += 1) {
    await until(() => one.work.waiting.length === 1);
    one.work.end();
  }
  await Promise.all([held, background, critical]);
  assert.deepEqual(order, ['critical', 'background']);
});

test('a priority may be a function, and what is skipped is neither refused nor counted', async () => {
  const seen = [];
  const one = await started(FRAMEWORKS['node:http'], {
    limit: 1,
    patience: 30,
    priority: (req) => (seen.push(req.url), 'critical'),
    skip: (req) => req.url === '/health',
  });
  const held = fetch(one.url);
  await until(() => one.work.waiting.length === 1);
  const health = fetch(`${one.url}health`);
  await until(() => one.work.waiting.length === 2);
  one.work.end();
  assert.equal((await health).status, 200);
  await held;
  assert.deepEqual(seen, ['/']);
  assert.equal(one.shed.state().arrivedCount, 1);
});

test('instances are independent of each other, also on one server', async () => {
  const outer = plimsoll({ limit: 5, name: 'outer' });
  const inner = plimsoll({ limit: 1, patience: 20, name: 'inner' });
  const work = new Work();
  const app = express();
  app.use('/slow', inner.express());
  app.get('/slow', (_req, res) => work.begin(() => res.send('slow')));
  app.get('/fast', (_req, res) => res.send('fast'));
  const server = await listening(outer.protect(app.listen(0, '127.0.0.1')));
  const url = `http://127.0.0.1:${server.address().port}`;
  const held = fetch(`${url}/slow`);
  await until(() => work.waiting.length === 1);
  assert.equal((await fetch(`${url}/slow`)).status, 503);
  assert.equal((await fetch(`${url}/fast`)).status, 200);
  work.end();
  assert.equal((await held).status, 200);
  assert.match(inner.metrics(), /plimsoll_node_requests_total\{name="inner",worker="0",thread="0",outcome="refused_waited"\} 1\n/);
  assert.equal(outer.state().refusedCount.waited, 0);
  outer.close();
  inner.close();
});

/** Writes text to a server and gives what comes back until it closes or is quiet. */
function raw(port, text, quiet = 300) {
  return new Promise((resolve) => {
    let answer = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    let timer = setTimeout(() => socket.destroy(), quiet);
    socket.on('data', (data) => {
      answer += data;
      clearTimeout(timer);
      timer = setTimeout(() => socket.destroy(), quiet);
    });
    let ended = false;
    socket.on('end', () => (ended = true));
    socket.on('close', () => (clearTimeout(timer), resolve({ answer, ended })));
    socket.on('error', () => {});
  });
}

test('a refusal keeps the connection after a small body, closes it after a long one, and invites no body', async () => {
  const one = await started(FRAMEWORKS['node:http'], { limit: 1, patience: 20 });
  const held = fetch(one.url);
  await until(() => one.work.waiting.length === 1);
  const get = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
  const small = await raw(one.port, `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello${get}`);
  assert.equal(small.answer.match(/HTTP\/1\.1 503/g).length, 2, 'the second request on the connection was not answered');
  assert.equal(small.ended, false);
  const long = await raw(one.port, 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nhello');
  assert.match(long.answer, /^HTTP\/1\.1 503 [^]*\r\nConnection: close\r\n/);
  assert.equal(long.ended, true);
  const expects = await raw(one.port, 'POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n');
  assert.match(expects.answer, /^HTTP\/1\.1 503 /);
  const head = await raw(one.port, 'HEAD / HTTP/1.1\r\nHost: a\r\n\r\n');
  assert.ok(head.answer.startsWith('HTTP/1.1 503') && head.answer.endsWith('\r\n\r\n'));
  one.work.end();
  await held;
  const invited = raw(one.port, 'POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n');
  await until(() => one.work.waiting.length === 1);
  one.work.end();
  assert.match((await invited).answer, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK/);
});

test('clients that leave, waiting or let in, give their place back', async () => {
  const one = await started(FRAMEWORKS['node:http'], { limit: 2, patience: 5_000 });
  for (let round = 0; round < 50; round += 1) {
    const aborts = Array.from({ length: 6 }, () => {
      const request = httpRequest(one.url);
      request.on('error', () => {});
      request.end();
      return request;
    });
    await until(() => one.shed.state().arrivedCount === 6 * (round + 1));
    aborts.forEach((request) => request.destroy());
    await until(() => one.shed.state().inFlight === 0 && one.shed.state().waiting === 0);
  }
  const { leftCount, arrivedCount } = one.shed.state();
  assert.equal(leftCount, arrivedCount);
  assert.ok(one.work.seen <= 100, 'worked for clients that had left');
});

test('the same module by import and require', () => {
  const required = createRequire(import.meta.url)('plimsoll');
  assert.equal(required.plimsoll, plimsoll);
  assert.equal(required.default, plimsoll);
});

test('what is no server is refused with a sentence', () => {
  assert.throws(() => plimsoll().protect(express()), /protect needs a server/);
});
