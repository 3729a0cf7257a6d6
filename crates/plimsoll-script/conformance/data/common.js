// A module of the require kind.
const inner = require('./inner.js');
module.exports = {
  add: (a, b) => a + b,
  twice(n) { return 2 * n; },
  inner: inner.name,
};
