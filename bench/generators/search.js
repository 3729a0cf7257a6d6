// A single-threaded Node service whose requests cost a few milliseconds of real work: the bench's target.
'use strict';

const crypto = require('node:crypto');
const http = require('node:http');

const rounds = Number(process.env.ROUNDS || 6);
let served = 0;

// What services do all day: build objects, sort them, serialise, hash.
function work() {
  let digest = '';
  for (let round = 0; round < rounds; round++) {
    const items = [];
    for (let index = 0; index < 400; index++) {
      items.push({ id: index, price: (index * 7919) % 1000, name: `item ${index} ${digest}` });
    }
    items.sort((a, b) => a.price - b.price);
    digest = crypto.createHash('sha256').update(JSON.stringify(items)).digest('hex');
  }
  return digest;
}

const server = http.createServer((request, response) => {
  if (request.url === '/served') {
    response.end(String(served));
    return;
  }
  served += 1;
  response.end(work());
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
