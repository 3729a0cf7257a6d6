/* { "does": "a check may look at every member of a response and gives one truth for all of them",
     "checks": {"status": [1, 0], "body": [1, 0], "header": [1, 0], "time": [1, 0], "url": [1, 0]}, "console": ["true"] } */
import http from 'k6/http';
import { check } from 'k6';
export default function () {
  const res = http.get('http://h.test/json');
  console.log(check(res, {
    status: (r) => r.status === 200,
    body: (r) => r.body.includes('Ann'),
    header: (r) => r.headers['Content-Type'] === 'application/json',
    time: (r) => r.timings.duration >= 0 && r.timings.duration < 60000,
    url: (r) => r.url === 'http://h.test/json',
  }));
}
