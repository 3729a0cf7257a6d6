// Runs the Node suites against any server: node run.mjs URI [--only TEXT] [--suite NAME]… [--auth-uri URI] [--list]
import { parseArgs } from 'node:util';
import { run } from './harness.mjs';
import './node/connection.mjs';
import './node/crud.mjs';
import './node/filters.mjs';
import './node/updates.mjs';
import './node/find-and-modify.mjs';
import './node/bulk.mjs';
import './node/cursors.mjs';
import './node/aggregate.mjs';
import './node/indexes.mjs';
import './node/catalogue.mjs';
import './node/values.mjs';
import './node/limits.mjs';
import './node/sessions.mjs';
import './node/auth.mjs';
import './node/tools.mjs';
import './mongoose/suite.mjs';
import './crud/suite.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: 'string' },
    suite: { type: 'string', multiple: true, default: [] },
    'auth-uri': { type: 'string' },
    list: { type: 'boolean', default: false },
  },
});
if (positionals.length !== 1 && !values.list) {
  console.error('usage: node run.mjs URI [--only TEXT] [--suite NAME]… [--auth-uri URI] [--list]');
  process.exit(2);
}
const passed = await run({
  uri: positionals[0], authUri: values['auth-uri'], only: values.only, suites: values.suite, list: values.list,
});
process.exit(passed ? 0 : 1);
