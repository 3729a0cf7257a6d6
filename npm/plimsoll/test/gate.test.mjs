// What one instance does with requests of a real server: permits come back whatever clients do, work keeps its context, and
// it says of itself what is so.
import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { createServer } from 'node:http';
import { connect as connect2, createServer as createServer2 } from 'node:http2';
import { connect } from 'node:net';
import { after, test } from 'node:test';
import Koa from 'koa';
import { plimsoll } from '../index.mjs';
import { until, Work } from './support/work.mjs';

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const EXPECTS = 'POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n';
const LOAD = 'endpoint-load-metrics';

async function listening(server) {
  if (!server.listening) {
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  }
  after(() => (server.closeAllConnections?.(), server.close()));
  return { port: server.address().port, url: `http://127.0.0.1:${server.address().port}/` };
}

/** A protected server that answers when told to. */
async function held(options) {
  const shed = plimsoll(options);
  after(() => shed.close());
  const work = new Work();
  const server = shed.protect(createServer((req, res) => work.begin(() => res.end(req.url))));
  return { shed, work, server, ...(await listening(server)) };
}

/** A connection that has sent this, and what came back so far. */
async function sent(port, text) {
  const socket = connect(port, '127.0.0.1');
  const client = { socket, answer: '' };
  socket.on('data', (data) => (client.answer += data));
  socket.on('error', () => {});
  await new Promise((resolve) => socket.write(text, resolve));
  return client;
}

test('pipelined requests of a client that leaves give their permits back', async () => {
  const { shed, work, port } = await held({ limit: 8 });
  const { socket } = await sent(port, GET.repeat(5));
  await until(() => shed.state().inFlight === 5);
  assert.equal(work.seen, 5);
  socket.destroy();
  await until(() => shed.state().inFlight === 0);
  assert.equal(shed.state().leftCount, 5);
});

test('pipelined requests behind the last answer of a connection give their permits back', async () => {
  const work = new Work();
  const shed = plimsoll({ limit: 8 });
  const server = createServer((_req, res) => work.begin(() => res.writeHead(200, { connection: 'close' }).end()));
  const { port } = await listening(shed.protect(server));
  await sent(port, GET.repeat(3));
  await until(() => work.waiting.length === 3);
  work.waiting.shift()();
  await until(() => shed.state().inFlight === 0);
  assert.deepEqual([shed.state().servedCount, shed.state().leftCount], [1, 2]);
  shed.close();
});

test('pipelined requests that are answered in turn are served, and leave nothing behind', async () => {
  const { shed, work, port } = await held({ limit: 8 });
  const { socket } = await sent(port, GET.repeat(5));
  await until(() => work.waiting.length === 5);
  work.end();
  await until(() => shed.state().servedCount === 5);
  socket.destroy();
  const next = await sent(port, GET);
  await until(() => work.waiting.length === 1);
  assert.deepEqual([shed.state().inFlight, shed.state().leftCount], [1, 0]);
  next.socket.destroy();
});

test('Koa: the middleware of a pipelined request that was refused ends when its client leaves', async () => {
  const shed = plimsoll({ limit: 1, patience: 20 });
  const work = new Work();
  let begun = 0;
  let over = 0;
  const app = new Koa();
  app.use((_context, next) => {
    begun += 1;
    return next().finally(() => (over += 1));
  });
  app.use(shed.koa());
  app.use(() => new Promise((resolve) => work.begin(resolve)));
  const { port } = await listening(createServer(app.callback()));
  const { socket } = await sent(port, GET.repeat(2));
  await until(() => begun === 2 && shed.state().refusedCount.waited === 1);
  socket.destroy();
  await until(() => over === 1);
  work.end();
  await until(() => over === 2);
  shed.close();
});

test('a client that left before its request reached the middleware holds no permit', async () => {
  const shed = plimsoll({ limit: 1 });
  const work = new Work();
  let done = 0;
  let left = 0;
  const middleware = shed.express();
  const server = createServer((req, res) => {
    res.once('close', () => (left += 1));
    work.begin(() => middleware(req, res, () => (done += 1)));
  });
  const { port } = await listening(server);
  const { socket } = await sent(port, GET);
  await until(() => work.waiting.length === 1);
  socket.destroy();
  await until(() => left === 1);
  work.end();
  assert.deepEqual([shed.state().inFlight, done], [0, 0]);
  shed.close();
});

test('node:http2: clients that leave are counted as such, those of a HEAD too', async () => {
  const shed = plimsoll({ limit: 4 });
  const work = new Work();
  const { port } = await listening(shed.protect(createServer2((_req, res) => work.begin(() => res.end()))));
  const session = connect2(`http://127.0.0.1:${port}`);
  const streams = ['GET', 'HEAD'].map((method) => session.request({ ':path': '/', ':method': method }));
  streams.forEach((stream) => stream.on('error', () => {}));
  await until(() => shed.state().inFlight === 2);
  streams.forEach((stream) => stream.close(8));
  await until(() => shed.state().inFlight === 0);
  assert.deepEqual([shed.state().servedCount, shed.state().leftCount], [0, 2]);
  session.close();
  shed.close();
});

test('work that starts later runs in the async context of its own request', async () => {
  const shed = plimsoll({ limit: 2, patience: 5_000 });
  const contexts = new AsyncLocalStorage();
  const work = new Work();
  const middleware = shed.express();
  const handler = (res) => {
    res.setHeader('x-context', String(contexts.getStore()));
    work.begin(() => res.end());
  };
  const server = createServer((req, res) => contexts.run(req.url, () => middleware(req, res, () => handler(res))));
  const { url } = await listening(server);
  shed.gate.isLoopBusy = true;
  const paths = Array.from({ length: 8 }, (_, at) => `/${at}`);
  const answers = paths.map((path) => fetch(new URL(path, url)));
  for (let round = 0; round < 4; round += 1) {
    await until(() => work.waiting.length === 2);
    work.waiting.splice(0).forEach((answer) => contexts.run('another', answer));
  }
  const seen = (await Promise.all(answers)).map((answer) => answer.headers.get('x-context'));
  assert.deepEqual(seen, paths);
  shed.close();
});

test('full while the loop refuses, and empty again when idle, although nothing passes the time on', async (t) => {
  const { shed, work, url } = await held({ limit: 1, patience: 20 });
  shed.gate.shedder.pass = 0.9;
  assert.equal(shed.saturation, 100);
  shed.gate.shedder.pass = 1;
  const first = fetch(url);
  await until(() => work.waiting.length === 1);
  await until(() => shed.saturation > 30);
  await fetch(url);
  work.end();
  await first;
  await until(() => shed.state().inFlight === 0);
  assert.ok(shed.saturation > 30, `${shed.saturation}`);
  const clock = performance.now.bind(performance);
  t.mock.method(performance, 'now', () => clock() + 20_000);
  assert.equal(shed.saturation, 0);
});

test('balancers are told of the fullest instance that an answer went through, on every answer', async () => {
  const outer = plimsoll({ name: 'outer', skip: (req) => req.url === '/health' });
  const inner = plimsoll({ name: 'inner', limit: 1, patience: 20 });
  const silent = plimsoll({ name: 'silent', dryRun: true });
  const work = new Work();
  const [within, dry] = [inner.express(), silent.express()];
  const server = createServer((req, res) => {
    if (req.url === '/held') {
      within(req, res, () => work.begin(() => res.end()));
    } else if (req.url === '/dry') {
      dry(req, res, () => res.end());
    } else {
      res.end();
    }
  });
  const { url } = await listening(outer.protect(server));
  const load = async (path) => (await fetch(new URL(path, url))).headers.get(LOAD);
  outer.gate.shedder.pass = 0.5;
  // No window of the idle loop takes that back.
  outer.gate.shedder.see = () => {};
  outer.gate.shedder.passes = () => true;
  const first = fetch(new URL('held', url));
  await until(() => work.waiting.length === 1);
  const full = 'TEXT application_utilization=1';
  assert.equal(await load('held'), full, 'a refusal of the inner one');
  assert.equal(await load('health'), full, 'a skipped request');
  assert.equal(await load('dry'), full);
  work.end();
  assert.equal((await first).headers.get(LOAD), full, 'an answer');
  [outer, inner, silent].forEach((shed) => shed.close());
});

test('a closed instance refuses nobody because of the loop, and who waits is still decided', async () => {
  const { shed, work, url } = await held({ limit: 1, patience: 100 });
  const first = fetch(url);
  await until(() => work.waiting.length === 1);
  const second = fetch(url);
  await until(() => shed.state().waiting === 1);
  shed.gate.shedder.pass = 0.05;
  shed.gate.isLoopBusy = true;
  shed.close();
  assert.equal(shed.state().passRatio, 1);
  assert.equal(shed.gate.isLoopBusy, false);
  assert.equal((await second).status, 503);
  work.end();
  assert.equal((await first).status, 200);
});

test('a dry run refuses and delays nobody, and counts each that would be refused once', async () => {
  const { shed, work, url } = await held({ limit: 1, patience: 60_000, dryRun: true });
  const all = [fetch(url), fetch(url), fetch(url)];
  await until(() => work.waiting.length === 3);
  assert.equal(shed.state().waiting, 2, 'would wait');
  work.end();
  for (const answer of await Promise.all(all)) {
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get(LOAD), null);
  }
  await until(() => shed.state().inFlight === 0);
  const { arrivedCount, leftCount, wouldRefuseCount, waiting } = shed.state();
  assert.deepEqual([arrivedCount, leftCount, wouldRefuseCount, waiting], [3, 0, 0, 0]);
});

test('a dry run counts those that it would refuse, by the loop or because they waited, and none as refused', async () => {
  const { shed, work, url } = await held({ limit: 1, patience: 20, dryRun: true });
  const all = [fetch(url), fetch(url), fetch(url)];
  await until(() => work.waiting.length === 3 && shed.state().wouldRefuseCount === 2);
  shed.gate.shedder.passes = () => false;
  all.push(fetch(url));
  await until(() => work.waiting.length === 4);
  const { arrivedCount, refusedCount, wouldRefuseCount } = shed.state();
  assert.deepEqual([arrivedCount, wouldRefuseCount], [4, 3]);
  assert.deepEqual(refusedCount, { full: 0, waited: 0, late: 0 });
  work.end();
  assert.deepEqual((await Promise.all(all)).map((answer) => answer.status), [200, 200, 200, 200]);
  await until(() => shed.state().inFlight === 0);
});

test('a request that expects something else than 100 Continue goes through the gate', async () => {
  const { shed, work, server, port, url } = await held({ limit: 1, patience: 20 });
  let asked = 0;
  server.on('checkExpectation', (_req, res) => ((asked += 1), res.end()));
  const first = fetch(url);
  await until(() => work.waiting.length === 1);
  const client = await sent(port, 'GET / HTTP/1.1\r\nHost: a\r\nExpect: cake\r\n\r\n');
  await until(() => client.answer.includes('\r\n\r\n'));
  assert.match(client.answer, /^HTTP\/1\.1 503 /);
  assert.equal(asked, 0);
  client.socket.destroy();
  work.end();
  await first;
  const second = await sent(port, 'GET / HTTP/1.1\r\nHost: a\r\nExpect: cake\r\n\r\n');
  await until(() => second.answer.includes('\r\n\r\n'));
  assert.match(second.answer, /^HTTP\/1\.1 200 /);
  assert.equal(shed.state().refusedCount.waited, 1);
  second.socket.destroy();
});

test('of two instances on one server, both may refuse before a body is invited', async () => {
  const { shed, work, server, port, url } = await held({ limit: 1, patience: 20 });
  const second = plimsoll({ name: 'second' });
  second.protect(server);
  const first = fetch(url);
  await until(() => work.waiting.length === 1);
  const refused = await sent(port, EXPECTS);
  await until(() => refused.answer.includes('\r\n\r\n'));
  assert.match(refused.answer, /^HTTP\/1\.1 503 /);
  work.end();
  await first;
  const invited = await sent(port, EXPECTS);
  await until(() => work.waiting.length === 1);
  work.end();
  await until(() => invited.answer.includes(' 200 '));
  assert.match(invited.answer, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK/);
  await until(() => shed.state().inFlight === 0 && second.state().inFlight === 0);
  [refused, invited].forEach(({ socket }) => socket.destroy());
  second.close();
});

test('slots follow a wall clock that was set anew', (t) => {
  const shed = plimsoll();
  const before = shed.gate.rule.wallAhead;
  const clock = Date.now;
  t.mock.method(Date, 'now', () => clock() + 3_600_000);
  shed.gate.look({ utilisation: 0, late: 0, collected: 0 });
  assert.ok(shed.gate.rule.wallAhead - before > 3_000_000);
  shed.close();
});
