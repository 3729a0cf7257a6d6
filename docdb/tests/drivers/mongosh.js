// What a person types into mongosh, by hand: npx mongosh@2.12.0 --quiet URI --file mongosh.js
// It prints answers to look at; the last line is "mongosh: all asked".
const port = db.getSiblingDB('mongosh_tour');
port.dropDatabase();
print(db.version(), port.hello().isWritablePrimary);
printjson(port.ships.insertMany([{ _id: 1, tons: 10 }, { _id: 2, tons: 20 }]));
printjson(port.ships.find({ tons: { $gt: 10 } }).toArray());
printjson(port.ships.updateOne({ _id: 1 }, { $set: { name: 'Aurora' }, $inc: { tons: 1 } }));
printjson(port.ships.findOneAndUpdate({ _id: 2 }, { $unset: { tons: '' } }, { returnDocument: 'after' }));
print(port.ships.createIndex({ name: 1 }, { unique: true, sparse: true }));
printjson(port.ships.getIndexes());
printjson(port.ships.find({ name: 'Aurora' }).explain().queryPlanner.winningPlan);
printjson(port.ships.aggregate([{ $group: { _id: null, tons: { $sum: '$tons' }, n: { $sum: 1 } } }]).toArray());
print(port.ships.countDocuments(), port.ships.estimatedDocumentCount(), port.getCollectionNames());
print(port.stats().objects, port.ships.stats().count, db.serverStatus().ok);
for (const wrong of [() => port.ships.insertOne({ _id: 1 }), () => port.ships.find({ a: { $sail: 1 } }).toArray(), () => port.runCommand({ weighAnchor: 1 })]) {
  try {
    wrong();
    print('NOT REFUSED', wrong);
  } catch (error) {
    print('refused:', error.code, error.codeName ?? error.name, error.message);
  }
}
printjson(port.ships.deleteMany({}));
print(port.dropDatabase().ok, 'mongosh: all asked');
