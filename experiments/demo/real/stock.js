// The stock service: answers after a while that varies, without holding a core. If it did not vary, the shop's event
// loop would send its requests in bunches and get their answers in bunches, which no real service does to it.
'use strict';
const http = require('node:http');

// In milliseconds, evenly between the two.
const ANSWER_LEAST = 50;
const ANSWER_MOST = 110;

const server = http.createServer((request, response) => {
  setTimeout(() => {
    response.setHeader('content-type', 'application/json');
    response.end('{"in_stock":true}');
  }, ANSWER_LEAST + Math.random() * (ANSWER_MOST - ANSWER_LEAST));
});
// The shop keeps its connections; a server that closes idle ones would fail its requests.
server.keepAliveTimeout = 0;
server.listen(Number(process.env.PORT), '127.0.0.1', () => console.log('listening'));
process.on('SIGTERM', () => process.exit(0));
