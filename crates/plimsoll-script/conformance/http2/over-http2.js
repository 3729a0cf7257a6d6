/* { "does": "calls over HTTP/2 look as in k6: protocol, status, headers, body, phases, counts; batches, HEAD, bodies both ways",
     "iterations": 2 } */
import http from 'k6/http';
import { check } from 'k6';

export const options = {
  thresholds: { 'http_reqs{proto:HTTP/2.0}': ['count==26'], 'http_reqs{tls_version:tls1.3}': ['count==26'] },
};

const phases = ['blocked', 'connecting', 'tls_handshaking', 'sending', 'waiting', 'receiving', 'duration'];

function show(what, r) {
  check(r, { 'has every phase': () => phases.every((name) => r.timings[name] >= 0) });
  console.log(what, r.status, r.status_text, r.proto, r.tls_version, r.error_code, r.body && r.body.length);
}

export default function () {
  const first = http.get('https://h.test/get?x=1#frag', { headers: { 'User-Agent': 'same', 'X-Trace': 'V', Connection: 'keep-alive' } });
  show('get', first);
  const seen = first.json().headers;
  console.log(first.url, seen['x-trace'], seen.connection, seen['content-length'], first.headers['Content-Type']);
  check(first, { 'the first handshake is there once': (r) => (r.timings.tls_handshaking > 0) === (__ITER === 0) });
  for (const status of [200, 204, 304, 404, 429, 500, 503]) {
    show(`status ${status}`, http.get(`https://h.test/status/${status}`));
  }
  show('head', http.head('https://h.test/json'));
  const sent = http.post('https://h.test/post', 'abcdefghij'.repeat(20000));
  console.log(sent.status, sent.json().body.length, sent.json().headers['content-length'], sent.body.length > 200000);
  const batch = http.batch([1, 2, 3].map((at) => ['GET', `https://h.test/anything/${at}`]));
  console.log(batch.map((r) => `${r.status} ${r.proto} ${r.json().url.split('/').pop()}`).join(', '));
}
