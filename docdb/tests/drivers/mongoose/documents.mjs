// Documents of mongoose: saved, found, changed, validated, populated.
import assert from 'node:assert/strict';
import { same } from '../harness.mjs';

export function documents(test) {
  test('create, findById and save change only what changed', async ({ connection, Schema }) => {
    const Ship = connection.model('Ship', new Schema({ name: String, tons: Number, tags: [String] }));
    const made = await Ship.create({ name: 'Aurora', tons: 5, tags: ['a'] });
    assert.equal(made.__v, 0);
    const found = await Ship.findById(made._id);
    found.tons = 6;
    found.tags.push('b');
    await found.save();
    const again = await Ship.findById(made.id).lean();
    same([again.tons, again.tags], [6, ['a', 'b']]);
  });

  test('validation stops a save before the server', async ({ connection, Schema }) => {
    const Ship = connection.model('Ship', new Schema({ name: { type: String, required: true, minlength: 3 }, tons: { type: Number, min: 0 } }));
    await assert.rejects(() => Ship.create({ name: 'A', tons: -1 }), (error) => error.name === 'ValidationError' && !!error.errors.tons);
    assert.equal(await Ship.countDocuments(), 0);
  });

  test('lean gives plain objects, select and sort and limit work', async ({ connection, Schema }) => {
    const Ship = connection.model('Ship', new Schema({ name: String, n: Number }));
    await Ship.insertMany([{ name: 'a', n: 1 }, { name: 'b', n: 3 }, { name: 'c', n: 2 }]);
    const found = await Ship.find({ n: { $gt: 1 } }).sort('-n').select('name -_id').limit(2).lean();
    same(found, [{ name: 'b' }, { name: 'c' }]);
  });

  test('timestamps are set and updated', async ({ connection, Schema }) => {
    const Ship = connection.model('Ship', new Schema({ n: Number }, { timestamps: true }));
    const made = await Ship.create({ n: 1 });
    assert.ok(made.createdAt instanceof Date);
    await new Promise((resolve) => { setTimeout(resolve, 5); });
    await Ship.updateOne({ _id: made._id }, { n: 2 });
    const found = await Ship.findById(made._id);
    assert.ok(found.updatedAt > found.createdAt);
    assert.equal(Number(found.createdAt), Number(made.createdAt));
  });

  test('a stale array change is a VersionError', async ({ connection, Schema }) => {
    const Ship = connection.model('Ship', new Schema({ list: [Number] }));
    const { _id } = await Ship.create({ list: [1, 2, 3] });
    const [one, two] = [await Ship.findById(_id), await Ship.findById(_id)];
    one.list.pull(1);
    await one.save();
    two.list.set(2, 9);
    await assert.rejects(() => two.save(), { name: 'VersionError' });
  });

  test('optimisticConcurrency refuses the second writer', async ({ connection, Schema }) => {
    const Ship = connection.model('Ship', new Schema({ n: Number }, { optimisticConcurrency: true }));
    const { _id } = await Ship.create({ n: 1 });
    const [one, two] = [await Ship.findById(_id), await Ship.findById(_id)];
    one.n = 2;
    await one.save();
    two.n = 3;
    await assert.rejects(() => two.save(), { name: 'VersionError' });
  });

  test('populate follows references, one, many and virtual', async ({ connection, Schema }) => {
    const Port = connection.model('Port', new Schema({ name: String }));
    const shipSchema = new Schema({ name: String, home: { type: Schema.Types.ObjectId, ref: 'Port' }, calls: [{ type: Schema.Types.ObjectId, ref: 'Port' }] });
    const Ship = connection.model('Ship', shipSchema);
    const [turku, visby] = await Port.create([{ name: 'Turku' }, { name: 'Visby' }]);
    await Ship.create({ name: 'Aurora', home: turku, calls: [visby, turku] });
    const found = await Ship.findOne().populate('home').populate({ path: 'calls', select: 'name -_id' }).lean();
    assert.equal(found.home.name, 'Turku');
    same(found.calls, [{ name: 'Visby' }, { name: 'Turku' }]);
  });

  test('a virtual populate counts and finds', async ({ connection, Schema }) => {
    const portSchema = new Schema({ name: String });
    portSchema.virtual('ships', { ref: 'Ship', localField: '_id', foreignField: 'home' });
    portSchema.virtual('shipCount', { ref: 'Ship', localField: '_id', foreignField: 'home', count: true });
    const Port = connection.model('Port', portSchema);
    const Ship = connection.model('Ship', new Schema({ home: Schema.Types.ObjectId }));
    const port = await Port.create({ name: 'Turku' });
    await Ship.insertMany([{ home: port._id }, { home: port._id }]);
    const found = await Port.findOne().populate('ships').populate('shipCount');
    same([found.ships.length, found.shipCount], [2, 2]);
  });

  test('findOneAndUpdate with upsert, new and setDefaultsOnInsert', async ({ connection, Schema }) => {
    const Ship = connection.model('Ship', new Schema({ name: String, tons: { type: Number, default: 7 }, n: Number }));
    const made = await Ship.findOneAndUpdate({ name: 'a' }, { $inc: { n: 1 } }, { upsert: true, returnDocument: 'after', setDefaultsOnInsert: true });
    same([made.tons, made.n], [7, 1]);
    const changed = await Ship.findOneAndUpdate({ name: 'a' }, { $inc: { n: 1 } }, { returnDocument: 'after' });
    same([changed.n, await Ship.countDocuments()], [2, 1]);
    const gone = await Ship.findByIdAndDelete(made._id);
    assert.equal(gone.name, 'a');
  });

  test('subdocuments: push, id, remove, positional update', async ({ connection, Schema }) => {
    const Ship = connection.model('Ship', new Schema({ crew: [new Schema({ name: String, rank: Number })] }));
    const ship = await Ship.create({ crew: [{ name: 'a', rank: 1 }] });
    ship.crew.push({ name: 'b', rank: 2 });
    await ship.save();
    ship.crew.id(ship.crew[0]._id).rank = 9;
    await ship.save();
    await Ship.updateOne({ _id: ship._id, 'crew.name': 'b' }, { $set: { 'crew.$.rank': 5 } });
    const found = await Ship.findById(ship._id).lean();
    same(found.crew.map((one) => one.rank), [9, 5]);
    ship.crew.pull(ship.crew[0]._id);
    await ship.save();
    assert.equal((await Ship.findById(ship._id)).crew.length, 1);
  });

  test('maps, mixed, decimals, buffers and UUIDs survive', async ({ connection, mongoose, Schema }) => {
    const Ship = connection.model('Ship', new Schema({
      marks: { type: Map, of: Number }, any: Schema.Types.Mixed, price: Schema.Types.Decimal128, raw: Buffer, key: Schema.Types.UUID, big: BigInt,
    }));
    const made = await Ship.create({
      marks: { a: 1 }, any: { x: [1, { y: 2 }] }, price: '12.50', raw: Buffer.from('abc'), key: '00112233-4455-6677-8899-aabbccddeeff', big: 9_007_199_254_740_993n,
    });
    const found = await Ship.findById(made._id);
    same([found.marks.get('a'), found.any, String(found.price), found.raw.toString(), String(found.key), String(found.big)],
      [1, { x: [1, { y: 2 }] }, '12.50', 'abc', '00112233-4455-6677-8899-aabbccddeeff', '9007199254740993']);
    found.marks.set('b', 2);
    await found.save();
    same((await Ship.findOne().lean()).marks, { a: 1, b: 2 });
    assert.ok(mongoose.isValidObjectId(found.id));
  });

  test('insertMany ordered false reports and keeps the good ones', async ({ connection, Schema }) => {
    const Ship = connection.model('Ship', new Schema({ _id: Number, n: Number }));
    const error = await Ship.insertMany([{ _id: 1 }, { _id: 1 }, { _id: 2 }], { ordered: false }).then(() => null, (thrown) => thrown);
    assert.equal(error.code, 11000);
    assert.equal(error.writeErrors.length, 1);
    assert.equal(await Ship.countDocuments(), 2);
    const mixed = await Ship.insertMany([{ _id: 3 }, { _id: 4, n: 'no number' }], { ordered: false, rawResult: true });
    same([mixed.insertedCount, mixed.mongoose.validationErrors.length], [1, 1]);
  });

  test('bulkSave and bulkWrite', async ({ connection, Schema }) => {
    const Ship = connection.model('Ship', new Schema({ _id: Number, n: Number }));
    const list = [new Ship({ _id: 1, n: 1 }), new Ship({ _id: 2, n: 2 })];
    await Ship.bulkSave(list);
    list[0].n = 10;
    await Ship.bulkSave(list);
    const result = await Ship.bulkWrite([{ updateOne: { filter: { _id: 2 }, update: { n: 20 } } }, { insertOne: { document: { _id: 3, n: 3 } } }, { deleteOne: { filter: { _id: 9 } } }]);
    same([result.modifiedCount, result.insertedCount, result.deletedCount], [1, 1, 0]);
    same((await Ship.find().sort('_id').lean()).map((one) => one.n), [10, 20, 3]);
  });

  test('aggregate, distinct, exists and estimatedDocumentCount', async ({ connection, Schema }) => {
    const Ship = connection.model('Ship', new Schema({ flag: String, tons: Number }));
    await Ship.insertMany([{ flag: 'fi', tons: 1 }, { flag: 'fi', tons: 2 }, { flag: 'se', tons: 3 }]);
    same(await Ship.aggregate().match({ tons: { $gt: 0 } }).group({ _id: '$flag', tons: { $sum: '$tons' } }).sort('_id'), [{ _id: 'fi', tons: 3 }, { _id: 'se', tons: 3 }]);
    same((await Ship.distinct('flag')).sort(), ['fi', 'se']);
    assert.ok(await Ship.exists({ flag: 'se' }));
    assert.equal(await Ship.exists({ flag: 'no' }), null);
    assert.equal(await Ship.estimatedDocumentCount(), 3);
  });

  test('a query cursor and for await over 250 documents', async ({ connection, Schema }) => {
    const Ship = connection.model('Ship', new Schema({ n: Number }));
    await Ship.insertMany(Array.from({ length: 250 }, (_, n) => ({ n })));
    let sum = 0;
    for await (const ship of Ship.find().sort('n').batchSize(30)) sum += ship.n;
    assert.equal(sum, (249 * 250) / 2);
    let count = 0;
    await Ship.find().cursor({ batchSize: 50 }).eachAsync(() => { count += 1; }, { parallel: 5 });
    assert.equal(count, 250);
  });

  test('castings in filters: ObjectId text, numbers, dates, $in, $or', async ({ connection, Schema }) => {
    const Ship = connection.model('Ship', new Schema({ n: Number, at: Date }));
    const made = await Ship.create({ n: 5, at: '2024-01-01' });
    assert.ok(await Ship.findOne({ _id: String(made._id), n: '5', at: { $lte: '2024-01-02' } }));
    assert.ok(await Ship.findOne({ $or: [{ n: { $in: ['5', '6'] } }] }));
    await assert.rejects(() => Ship.findOne({ n: 'five' }), { name: 'CastError' });
  });

  test('transactions are refused with an error', async ({ connection, Schema }) => {
    const Ship = connection.model('Ship', new Schema({ n: Number }));
    await Ship.createCollection();
    await assert.rejects(() => connection.transaction(async (session) => { await Ship.create([{ n: 1 }], { session }); }));
    assert.equal(await Ship.countDocuments(), 0);
  });

  test('a session over several operations', async ({ connection, Schema }) => {
    const Ship = connection.model('Ship', new Schema({ n: Number }));
    const session = await connection.startSession();
    await Ship.create([{ n: 1 }], { session });
    const found = await Ship.findOne({}).session(session);
    found.n = 2;
    await found.save();
    await session.endSession();
    assert.equal((await Ship.findOne()).n, 2);
  });

  test('orFail, updateMany, deleteMany and replaceOne', async ({ connection, Schema }) => {
    const Ship = connection.model('Ship', new Schema({ n: Number, m: Number }));
    await assert.rejects(() => Ship.findOne({ n: 1 }).orFail(), { name: 'DocumentNotFoundError' });
    await Ship.insertMany([{ n: 1 }, { n: 1 }, { n: 2 }]);
    same((await Ship.updateMany({ n: 1 }, { m: 5 })).modifiedCount, 2);
    same((await Ship.replaceOne({ n: 2 }, { m: 9 })).modifiedCount, 1);
    same((await Ship.deleteMany({ m: 5 })).deletedCount, 2);
  });
}
