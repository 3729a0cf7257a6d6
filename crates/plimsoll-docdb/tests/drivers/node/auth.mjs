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
