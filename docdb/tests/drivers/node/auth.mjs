// SCRAM-SHA-256 against a server that was started with users.
import assert from 'node:assert/strict';
import { fails, same, suite, testWithUsers, withClient } from '../harness.mjs';

suite('node auth');

/** The URI without its user, and with another password. */
const anonymous = (uri) => uri.replace(/\/\/[^@]*@/, '//');
const wrong = (uri) => uri.replace(/\/\/([^:]*):[^@]*@/, '//$1:not-it@');

testWithUsers('the right password works', ({ authUri, database }) =>
  withClient(authUri, { authMechanism: 'SCRAM-SHA-256' }, async (client) => {
    await client.db(database).collection('ships').insertOne({ _id: 1 });
    same(await client.db(database).collection('ships').findOne(), { _id: 1 });
    const status = await client.db('admin').command({ connectionStatus: 1 });
    assert.equal(status.authInfo.authenticatedUsers.length, 1);
    await client.db(database).dropDatabase();
  }));

testWithUsers('the driver finds the mechanism by itself', ({ authUri }) =>
  withClient(authUri, {}, async (client) => same((await client.db('admin').command({ ping: 1 })).ok, 1)));

testWithUsers('a wrong password is code 18', ({ authUri }) =>
  withClient(wrong(authUri), {}, (client) => fails(18, () => client.db('admin').command({ ping: 1 }))));

testWithUsers('without a login reads and writes are code 13', ({ authUri, database }) =>
  withClient(anonymous(authUri), {}, async (client) => {
    const collection = client.db(database).collection('ships');
    await fails(13, () => collection.insertOne({ _id: 1 }));
    await fails(13, () => collection.find().toArray());
    await fails(13, () => client.db(database).dropDatabase());
  }));

testWithUsers('hello and ping need no login', ({ authUri }) =>
  withClient(anonymous(authUri), {}, async (client) => {
    same((await client.db('admin').command({ hello: 1 })).isWritablePrimary, true);
  }));

/** A client of a user that may manage the users of `database`, and nothing else. */
const asKeeper = async (client, authUri, database, body) => {
  const db = client.db(database);
  await db.command({ createUser: 'keeper', pwd: 'keys', roles: ['userAdmin'] });
  const uri = authUri.replace(/\/\/[^@]*@/, '//keeper:keys@');
  try {
    await withClient(uri, { authSource: database }, (keeper) => body(keeper.db(database)));
  } finally {
    for (const { user } of (await db.command({ usersInfo: 1 })).users) await db.command({ dropUser: user });
  }
};

testWithUsers('who keeps the users of one database grants nothing on another', ({ authUri, database }) =>
  withClient(authUri, {}, (root) => asKeeper(root, authUri, database, async (db) => {
    await db.command({ createUser: 'reader', pwd: 'r', roles: ['read'] });
    for (const role of ['root', 'readWriteAnyDatabase', 'userAdmin']) {
      const roles = [{ role, db: 'admin' }];
      await fails(13, () => db.command({ createUser: 'climber', pwd: 'c', roles }));
      await fails(13, () => db.command({ updateUser: 'keeper', roles }));
    }
    const { users } = await db.command({ usersInfo: 1 });
    same(users.map(({ user }) => user).sort(), ['keeper', 'reader']);
  })));

testWithUsers('a password that is no string changes nothing', ({ authUri, database }) =>
  withClient(authUri, {}, (root) => asKeeper(root, authUri, database, async (db) => {
    await fails(14, () => db.command({ updateUser: 'keeper', pwd: 5 }));
    await withClient(authUri.replace(/\/\/[^@]*@/, '//keeper:keys@'), { authSource: database }, (again) =>
      again.db(database).command({ connectionStatus: 1 }));
  })));
