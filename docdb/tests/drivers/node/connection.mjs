// Connecting, the first commands, and what a driver learns from them.
import assert from 'node:assert/strict';
import net from 'node:net';
import { BSON, MongoClient } from 'mongodb';
import { fails, same, suite, test, withClient } from '../harness.mjs';

suite('node connection');

test('ping answers ok as a double', async ({ db }) => {
  const answer = await db.command({ ping: 1 }, { promoteValues: false });
  assert.equal(answer.ok._bsontype, 'Double');
  assert.equal(answer.ok.valueOf(), 1);
});

test('hello announces limits, sessions and a wire version that drivers accept', async ({ db }) => {
  const hello = await db.admin().command({ hello: 1 });
  assert.equal(hello.isWritablePrimary, true);
  assert.equal(hello.maxBsonObjectSize, 16_777_216);
  assert.equal(hello.maxMessageSizeBytes, 48_000_000);
  assert.equal(hello.maxWriteBatchSize, 100_000);
  assert.ok(hello.maxWireVersion >= 21, `maxWireVersion ${hello.maxWireVersion}`);
  assert.equal(hello.minWireVersion, 0);
  assert.ok(hello.localTime instanceof Date);
  assert.equal(typeof hello.connectionId, 'number');
  assert.equal(hello.readOnly, false);
  assert.equal(hello.setName, undefined);
});

test('isMaster still answers under its old name', async ({ db }) => {
  const answer = await db.admin().command({ isMaster: 1 });
  assert.equal(answer.ismaster, true);
});

test('buildInfo names a version with its parts', async ({ db }) => {
  const info = await db.admin().command({ buildInfo: 1 });
  assert.match(info.version, /^\d+\.\d+\.\d+/);
  assert.equal(info.versionArray.length, 4);
  assert.equal(info.maxBsonObjectSize, 16_777_216);
});

test('an unknown command is code 59 and names itself', async ({ db }) => {
  const error = await fails(59, () => db.command({ weighAnchor: 1 }));
  assert.equal(error.codeName, 'CommandNotFound');
  assert.match(error.message, /weighAnchor/);
});

test('a command that MongoDB has and this server has not is an error, never ok', async ({ db }) => {
  await assert.rejects(() => db.admin().command({ replSetGetStatus: 1 }), (error) => typeof error.code === 'number');
});

test('an unknown field of a command is code 40415', async ({ db }) => {
  await fails(40415, () => db.command({ find: 'ships', sails: 3 }));
});

test('connectionStatus without users shows nobody', async ({ db }) => {
  const answer = await db.command({ connectionStatus: 1 });
  same(answer.authInfo.authenticatedUsers, []);
});

test('serverStatus has what monitors read', async ({ db }) => {
  const status = await db.admin().command({ serverStatus: 1 });
  assert.ok(status.uptime >= 0);
  assert.ok(status.connections.current >= 1);
  assert.equal(typeof status.version, 'string');
});

test('20 clients at once each ping and close', async ({ uri, database }) => {
  const answers = await Promise.all(Array.from({ length: 20 }, () =>
    withClient(uri, {}, (client) => client.db(database).command({ ping: 1 }))));
  assert.equal(answers.filter((answer) => answer.ok === 1).length, 20);
});

test('a client that closed can connect again', async ({ uri, database }) => {
  const client = new MongoClient(uri);
  await client.connect();
  await client.close();
  await client.connect();
  same((await client.db(database).command({ ping: 1 })).ok, 1);
  await client.close();
});

for (const compressor of ['snappy', 'zlib']) {
  test(`messages compressed with ${compressor} pass both ways`, ({ uri, database }) =>
    withClient(uri, { compressors: [compressor] }, async (client) => {
      const collection = client.db(database).collection('squeezed');
      const cargo = 'coal '.repeat(2_000);
      await collection.insertMany(Array.from({ length: 50 }, (_, index) => ({ _id: index, cargo })));
      const found = await collection.find({}).toArray();
      assert.equal(found.length, 50);
      assert.ok(found.every((one) => one.cargo === cargo));
    }));
}

test('the first handshake may be OP_QUERY and is answered with OP_REPLY', async ({ uri }) => {
  const { hostname, port } = new URL(uri.replace(/^mongodb/, 'http'));
  const answer = await exchange(hostname, Number(port), opQuery('admin.$cmd', { isMaster: 1, helloOk: true }));
  assert.equal(answer.readInt32LE(12), 1, 'opcode of the reply');
  assert.equal(answer.readInt32LE(8), 77, 'the reply names the request');
  const document = BSON.deserialize(answer.subarray(36));
  assert.equal(document.ok, 1);
  assert.equal(document.helloOk, true);
});

function opQuery(namespace, document) {
  const head = Buffer.alloc(16 + 4);
  const limits = Buffer.alloc(8);
  limits.writeInt32LE(-1, 4);
  const message = Buffer.concat([head, Buffer.from(`${namespace}\0`), limits, BSON.serialize(document)]);
  message.writeInt32LE(message.length, 0);
  message.writeInt32LE(77, 4);
  message.writeInt32LE(2004, 12);
  return message;
}

/** Sends one message and resolves with the first whole answer. */
function exchange(host, port, message) {
  return new Promise((resolve, reject) => {
    let received = Buffer.alloc(0);
    const socket = net.connect(port, host, () => socket.write(message));
    socket.on('error', reject);
    socket.on('end', () => reject(new Error('the server closed the connection')));
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      if (received.length >= 4 && received.length >= received.readInt32LE(0)) {
        socket.removeAllListeners('end');
        socket.destroy();
        resolve(received);
      }
    });
  });
}
