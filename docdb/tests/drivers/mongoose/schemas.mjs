// Schemas of mongoose: indexes, discriminators, hooks, plugins, collections.
import assert from 'node:assert/strict';
import { same } from '../harness.mjs';

export function schemas(test) {
  test('unique from the schema: init builds it and a duplicate is 11000', async ({ connection, Schema }) => {
    const Ship = connection.model('Ship', new Schema({ mail: { type: String, unique: true } }));
    await Ship.init();
    await Ship.create({ mail: 'a@x' });
    await assert.rejects(() => Ship.create({ mail: 'a@x' }), (error) => error.code === 11000 && error.keyPattern.mail === 1 && error.keyValue.mail === 'a@x');
  });

  test('syncIndexes drops the old, makes the new and is then content', async ({ connection, Schema }) => {
    const schema = new Schema({ a: Number, b: Number, at: Date }, { autoIndex: false });
    schema.index({ a: 1, b: -1 });
    schema.index({ at: 1 }, { expireAfterSeconds: 3600 });
    schema.index({ b: 1 }, { unique: true, sparse: true, name: 'bee' });
    schema.index({ a: -1 }, { partialFilterExpression: { b: { $gt: 1 } } });
    const Ship = connection.model('Ship', schema);
    await Ship.createCollection();
    await Ship.collection.createIndex({ old: 1 });
    same(await Ship.syncIndexes(), ['old_1']);
    same(await Ship.syncIndexes(), []);
    same((await Ship.listIndexes()).map((one) => one.name).sort(), ['_id_', 'a_-1', 'a_1_b_-1', 'at_1', 'bee']);
    same(await Ship.diffIndexes(), { toDrop: [], toCreate: [] });
  });

  test('syncIndexes sees a changed option', async ({ connection, Schema }) => {
    const Ship = connection.model('Ship', new Schema({ at: Date }, { autoIndex: false }).index({ at: 1 }, { expireAfterSeconds: 60 }));
    await Ship.createCollection();
    await Ship.collection.createIndex({ at: 1 }, { expireAfterSeconds: 30 });
    same(await Ship.syncIndexes(), ['at_1']);
    assert.equal((await Ship.listIndexes()).find((one) => one.name === 'at_1').expireAfterSeconds, 60);
  });

  test('discriminators share a collection and find their own', async ({ connection, Schema }) => {
    const Vessel = connection.model('Vessel', new Schema({ name: String }, { discriminatorKey: 'kind' }));
    const Tug = Vessel.discriminator('Tug', new Schema({ pull: Number }));
    const Ferry = Vessel.discriminator('Ferry', new Schema({ seats: Number }));
    await Tug.create({ name: 't', pull: 5 });
    await Ferry.create({ name: 'f', seats: 50 });
    same((await Vessel.find().sort('name')).map((one) => [one.kind, one.constructor.modelName]), [['Ferry', 'Ferry'], ['Tug', 'Tug']]);
    assert.equal(await Tug.countDocuments(), 1);
    assert.equal((await Ferry.findOne()).seats, 50);
  });

  test('pre and post hooks of save, updateOne and find run', async ({ connection, Schema }) => {
    const log = [];
    const schema = new Schema({ n: Number, slug: String });
    schema.pre('save', async function slug() { this.slug = `n${this.n}`; log.push('pre save'); });
    schema.post('save', () => { log.push('post save'); });
    schema.pre('updateOne', async function bump() { this.set({ slug: 'changed' }); });
    schema.post('find', (found) => { log.push(`found ${found.length}`); });
    const Ship = connection.model('Ship', schema);
    const made = await Ship.create({ n: 4 });
    assert.equal((await Ship.findById(made._id)).slug, 'n4');
    await Ship.updateOne({ _id: made._id }, { n: 5 });
    same((await Ship.find()).map((one) => [one.n, one.slug]), [[5, 'changed']]);
    same(log, ['pre save', 'post save', 'found 1']);
  });

  test('virtuals, methods, statics and query helpers', async ({ connection, Schema }) => {
    const schema = new Schema({ a: Number, b: Number }, {
      virtuals: { sum: { get() { return this.a + this.b; } } },
      methods: { async double() { this.a *= 2; return this.save(); } },
      statics: { big() { return this.find({ a: { $gt: 5 } }); } },
      query: { small() { return this.where({ a: { $lte: 5 } }); } },
    });
    const Ship = connection.model('Ship', schema);
    const ship = await Ship.create({ a: 4, b: 1 });
    assert.equal(ship.sum, 5);
    await ship.double();
    same([(await Ship.big()).length, (await Ship.find().small()).length], [1, 0]);
  });

  test('another name for the collection, no version key, no _id in subdocuments', async ({ connection, Schema, db }) => {
    const Ship = connection.model('Ship', new Schema({ parts: [new Schema({ n: Number }, { _id: false })] }, { collection: 'fleet', versionKey: false }));
    const made = await Ship.create({ parts: [{ n: 1 }] });
    const { _id, ...rest } = await db.collection('fleet').findOne();
    same([String(_id), rest], [made.id, { parts: [{ n: 1 }] }]);
  });

  test('createCollection, listCollections, dropCollection through the connection', async ({ connection }) => {
    await connection.createCollection('one');
    same((await connection.listCollections()).map((each) => each.name), ['one']);
    await connection.dropCollection('one');
    same((await connection.listCollections()).length, 0);
  });

  test('useDb reaches another database on the same connection', async ({ connection, Schema, client, database }) => {
    const other = connection.useDb(`${database}_other`);
    const Ship = other.model('Ship', new Schema({ n: Number }));
    await Ship.create({ n: 1 });
    assert.equal(await client.db(`${database}_other`).collection('ships').countDocuments(), 1);
    await other.dropDatabase();
  });

  test('strict drops unknown fields, minimize drops empty objects', async ({ connection, Schema, db }) => {
    const Ship = connection.model('Ship', new Schema({ n: Number, o: {} }));
    await Ship.create({ n: 1, o: {}, more: 2 });
    assert.deepEqual(Object.keys(await db.collection('ships').findOne()).sort(), ['__v', '_id', 'n']);
  });

  test('setting undefined unsets on save', async ({ connection, Schema, db }) => {
    const Ship = connection.model('Ship', new Schema({ a: Number, b: Number }));
    const ship = await Ship.create({ a: 1, b: 2 });
    ship.a = undefined;
    await ship.save();
    same(Object.keys(await db.collection('ships').findOne()), ['_id', 'b', '__v']);
  });

  test('buffered operations wait for the connection', async ({ mongoose, Schema, uri, database }) => {
    const connection = mongoose.createConnection(uri, { dbName: database });
    const Ship = connection.model('Ship', new Schema({ n: Number }));
    await Ship.create({ n: 1 });
    assert.equal(await Ship.countDocuments(), 1);
    await connection.close();
  });

  test('explain tells whether an index is used', async ({ connection, Schema }) => {
    const Ship = connection.model('Ship', new Schema({ n: { type: Number, index: true } }));
    await Ship.init();
    await Ship.create({ n: 1 });
    assert.match(JSON.stringify(await Ship.find({ n: 1 }).explain()), /IXSCAN/);
  });
}
