// A server of HTTP/2 with HTTP/1.1 as fallback, or of HTTP/1.1 alone: node server.mjs CERTIFICATE KEY [http1]
//
// It answers with what it saw, as JSON: the connection's number, the stream's, the protocol, headers and body bytes.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureServer } from 'node:http2';
import { createServer } from 'node:https';

const [certificate, key, only] = process.argv.slice(2);
const files = { cert: readFileSync(certificate), key: readFileSync(key) };
const server = only === 'http1' ? createServer(files) : createSecureServer({ ...files, allowHTTP1: true });

let connections = 0;
let running = 0;
const seen = { runningMax: 0, resets: [] };

server.on('secureConnection', (socket) => {
  connections += 1;
  socket.number = connections;
});

function answer(request, response, body) {
  const [, what, number] = request.url.split('?')[0].split('/');
  const session = request.stream?.session;
  const saw = {
    connection: request.socket.number,
    stream: request.stream?.id,
    version: request.httpVersion,
    method: request.method,
    headers: request.headers,
    length: body.length,
    hash: createHash('sha256').update(body).digest('hex'),
  };
  const send = () => response.end(request.method === 'HEAD' ? undefined : JSON.stringify({ ...saw, ...seen }));
  response.setHeader('x-served-by', 'node');
  response.setHeader('set-cookie', ['a=1', 'b=2']);
  switch (what) {
    case 'status':
      response.statusCode = Number(number);
      return send();
    case 'redirect':
      response.writeHead(302, { location: '/landed' });
      return response.end();
    case 'large':
      return response.end(Buffer.alloc(Number(number), 'x'));
    case 'slow':
      return setTimeout(send, Number(number));
    case 'hang':
      return undefined;
    case 'reset':
      return request.stream.close(Number(number));
    case 'declared':
      // Four bytes of body, whatever is said of their number.
      request.stream.respond({ ':status': 200, 'content-length': number });
      return request.stream.end(request.method === 'HEAD' ? undefined : 'some');
    case 'unchanged':
      request.stream.respond({ ':status': 304, 'content-length': number }, { endStream: true });
      return undefined;
    case 'trailers':
      response.addTrailers({ 'x-end': '1' });
      return send();
    case 'early':
      response.writeEarlyHints({ link: '</style.css>; rel=preload' });
      return send();
    case 'leave':
      send();
      return session?.close();
    case 'turn-away':
      // Not looked at, so says the number of the last stream that was.
      session.goaway(Number(number), 0);
      return setTimeout(() => session.destroy(), 20);
    case 'drop':
      return request.socket.destroy();
    default:
      return send();
  }
}

server.on('request', (request, response) => {
  running += 1;
  seen.runningMax = Math.max(seen.runningMax, running);
  response.on('close', () => {
    running -= 1;
    if (request.stream?.rstCode) seen.resets.push(request.stream.rstCode);
  });
  const parts = [];
  request.on('error', () => {});
  request.stream?.on('error', () => {});
  request.on('data', (part) => parts.push(part));
  request.on('end', () => answer(request, response, Buffer.concat(parts)));
});
server.on('sessionError', () => {});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
