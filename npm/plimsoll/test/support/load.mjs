// An open-loop load over kept connections: requests start on time whatever the answers take. Small, because it shares the
// machine with the server that it loads.
import { connect } from 'node:net';
import { performance } from 'node:perf_hooks';

/** One connection; answers must have a Content-Length. */
class Connection {
  constructor(port, free) {
    this.text = '';
    this.started = undefined;
    this.socket = connect(port, '127.0.0.1');
    this.socket.setNoDelay(true);
    this.socket.setEncoding('latin1');
    this.socket.on('data', (text) => {
      this.text += text;
      const end = this.text.indexOf('\r\n\r\n');
      if (end < 0) {
        return;
      }
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(this.text)?.[1] ?? 0);
      if (this.text.length < end + 4 + length) {
        return;
      }
      const answer = { status: Number(this.text.slice(9, 12)), head: this.text.slice(0, end), ms: performance.now() - this.started };
      this.text = '';
      this.started = undefined;
      const done = this.done;
      free(this);
      done(answer);
    });
    this.socket.on('error', () => {});
    this.socket.on('close', () => this.done?.({ status: 0, head: '', ms: 0 }));
  }

  send(path, started, done) {
    this.started = started;
    this.done = done;
    this.socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
  }
}

/**
 * Loads `path` at `rate` per second for `seconds`; calls `heard` with every answer ({ status, head, ms }). Resolves with
 * the number of requests that were started when that time is over.
 */
export function openLoad({ port, path = '/', rate, seconds, heard, connections = 2_000, fresh = false }) {
  const idle = [];
  let open = 0;
  let started = 0;
  const begin = performance.now();
  const all = new Set();
  const free = (connection) => {
    if (fresh) {
      connection.done = undefined;
      connection.socket.destroy();
      all.delete(connection);
      open -= 1;
    } else {
      idle.push(connection);
    }
  };
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      const now = performance.now();
      const due = Math.min(Math.floor(((now - begin) / 1e3) * rate), Math.ceil(rate * seconds));
      while (started < due) {
        let connection = idle.pop();
        if (connection === undefined && open < connections) {
          connection = new Connection(port, free);
          all.add(connection);
          open += 1;
        }
        if (connection === undefined) {
          break;
        }
        connection.send(path, begin + (started * 1e3) / rate, heard);
        started += 1;
      }
      if (now - begin >= seconds * 1e3) {
        clearInterval(timer);
        for (const connection of all) {
          connection.done = undefined;
          connection.socket.destroy();
        }
        resolve(started);
      }
    }, 1);
  });
}
