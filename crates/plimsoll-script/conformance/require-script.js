/* { "own_context": "not an ES module", "does": "a whole script may be of the require kind", "console": ["200 inner"], "options": {"vus": 1}, "functions": ["default"] } */
const http = require('k6/http');
const inner = require('./data/inner.js');
exports.options = { vus: 1 };
exports.default = function () {
  console.log(http.get('http://h.test/').status, inner.name);
};
