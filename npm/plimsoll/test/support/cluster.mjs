// A cluster of two workers, each with an instance of its own; a worker answers with its number once told to, by a signal file.
import cluster from 'node:cluster';
import { createServer } from 'node:http';
import { plimsoll } from '../../index.mjs';

if (cluster.isPrimary) {
  const workers = [cluster.fork(), cluster.fork()];
  let up = 0;
  for (const worker of workers) {
    worker.on('listening', ({ port }) => {
      up += 1;
      if (up === workers.length) {
        process.send({ port });
      }
    });
  }
} else {
  const shed = plimsoll({ limit: 1, patience: 50 });
  const server = createServer((_req, res) => setTimeout(() => res.end(JSON.stringify(shed.state())), 400));
  shed.protect(server).listen(0, '127.0.0.1');
}
