// Makes a user with all rights on a server that has none yet: node make-user.mjs URI NAME PASSWORD
import { connect } from './harness.mjs';

const [uri, name, password] = process.argv.slice(2);
const client = connect(uri);
await client.db('admin').command({ createUser: name, pwd: password, roles: ['root'] });
await client.close();
