// A server that computes some milliseconds per request, as a process of its own. argv: the kind of protection. Says its port.
import { pbkdf2Sync } from 'node:crypto';
import { createServer } from 'node:http';
import { plimsoll } from '../../index.mjs';

const kind = process.argv[2];
const shed = plimsoll({ priority: 'x-class', skip: (req) => req.url.startsWith('/-/'), ...(kind === 'refuse' ? { limit: 1 } : {}) });
const server = createServer((req, res) => {
  if (req.url === '/-/used') {
    const { user, system } = process.cpuUsage();
    res.end(JSON.stringify({ micros: user + system, ...shed.state() }));
    return;
  }
  if (req.url === '/hold') {
    return;
  }
  if (kind === 'later') {
    res.end('taken\n');
    setTimeout(compute, 10);
    return;
  }
  compute();
  res.end('done\n');
});

function compute() {
  // So much processor time, however long others had the processor meanwhile.
  pbkdf2Sync('secret', 'salt', 30_000, 32, 'sha256');
}

if (kind !== 'none') {
  shed.protect(server);
}
server.listen(0, '127.0.0.1', 2_048, () => process.stdout.write(`${server.address().port} ${process.pid}\n`));
