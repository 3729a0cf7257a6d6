// The stock service: answers after a while, without holding a core.
'use strict';
const http = require('node:http');

const ANSWER_MS = 80;

const server = http.createServer((request, response) => {
  setTimeout(() => {
    response.setHeader('content-type', 'application/json');
    response.end('{"in_stock":true}');
  }, ANSWER_MS);
});
// The shop keeps its connections; a server that closes idle ones would fail its requests.
server.keepAliveTimeout = 0;
server.listen(Number(process.env.PORT), '127.0.0.1', () => console.log('listening'));
process.on('SIGTERM', () => process.exit(0));
