// A small Node service with one injected limit: a lock of promises, a pool of connections, a tier behind, the event loop.
//
// usage: node service.js lock|workers|pool|front|loop|tier NUMBER MILLISECONDS [TIER]
'use strict';

const crypto = require('node:crypto');
const http = require('node:http');

const [kind, numberText, millisecondsText, tier] = process.argv.slice(2);
const number = Number(numberText);
const milliseconds = Number(millisecondsText);

const sleep = () => new Promise((resolve) => setTimeout(resolve, milliseconds));

// As many at a time as `number` says; the others wait in the order in which they came.
function permits() {
  let free = number;
  const waiting = [];
  return {
    take: () => (free > 0 ? void (free -= 1) : new Promise((resolve) => waiting.push(resolve))),
    give: () => {
      if (waiting.length > 0) waiting.shift()();
      else free += 1;
    },
  };
}

function limited() {
  const { take, give } = permits();
  return async (request, response) => {
    await take();
    await sleep();
    give();
    response.end('done\n');
  };
}

// Every request asks the tier behind, over as many connections as `number` says; 0 is no bound.
function front() {
  const agent = new http.Agent({ keepAlive: true, maxSockets: number || Infinity });
  return (request, response) => {
    const asked = http.get(tier, { agent }, (answer) => answer.pipe(response));
    asked.on('error', (error) => response.writeHead(502).end(error.message));
  };
}

// Burns the one thread that there is.
function loop() {
  return (request, response) => {
    const end = process.cpuUsage();
    let digest = '';
    const used = () => {
      const { user, system } = process.cpuUsage(end);
      return (user + system) / 1000;
    };
    while (used() < milliseconds) {
      for (let round = 0; round < 50; round++) digest = crypto.createHash('sha256').update(digest).digest('hex');
    }
    response.end(digest);
  };
}

const kinds = { lock: limited, workers: limited, tier: limited, pool: front, front, loop };
const server = http.createServer(kinds[kind]());
server.keepAliveTimeout = 600_000;
server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () => {
  console.log(`http://127.0.0.1:${server.address().port}/`);
});
