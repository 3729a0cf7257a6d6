// What applications do through mongoose, once with version 8 and once with 9.
import mongoose8 from 'mongoose8';
import mongoose9 from 'mongoose9';
import { suite, test } from '../harness.mjs';
import { documents } from './documents.mjs';
import { schemas } from './schemas.mjs';

for (const [version, mongoose] of [['8', mongoose8], ['9', mongoose9]]) {
  suite(`mongoose ${version}`);

  /** A case with a connection of its own to the case's database. */
  const withConnection = (name, body) => test(name, async (given) => {
    const connection = await mongoose.createConnection(given.uri, { dbName: given.database, serverSelectionTimeoutMS: 5_000 }).asPromise();
    try {
      await body({ connection, mongoose, Schema: mongoose.Schema, ...given });
    } finally {
      await connection.close();
    }
  });

  documents(withConnection);
  schemas(withConnection);
}
