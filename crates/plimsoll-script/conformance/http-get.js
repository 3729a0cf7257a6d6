/* { "does": "a GET gives status, body and timings, and counts one request", "k6": "times",
     "requests": ["GET /get?x=1"], "checks": {"is 200": [1, 0], "fails": [0, 1]},
     "metrics": {"http_reqs": [1], "http_req_duration": [12], "http_req_failed": [0], "checks": [1, 0]},
     "console": ["200 200 OK http://h.test/get?x=1#frag", "12 1 2 3 4 5", "true 0 HTTP/1.1 127.0.0.1 80"] } */
import http from 'k6/http';
import { check } from 'k6';
export default function () {
  const res = http.get('http://h.test/get?x=1#frag');
  check(res, { 'is 200': (r) => r.status === 200, fails: () => false });
  console.log(res.status, res.status_text, res.url);
  const t = res.timings;
  console.log(t.duration, t.blocked, t.connecting, t.sending, t.waiting, t.receiving);
  console.log(res.error === '', res.error_code, res.proto, res.remote_ip, res.remote_port);
}
