// What the published test did, for plimsoll run and for k6 itself:
//   plimsoll run load.js -e BASE=http://127.0.0.1:3000       k6 run -e BASE=http://127.0.0.1:3000 load.js
// The experiment plays the same stages from its own file, where they can be shortened and scaled.
import http from 'k6/http';
import { check, sleep } from 'k6';
import { Counter } from 'k6/metrics';

const status500 = new Counter('http_500_errors');
const status503 = new Counter('http_503_errors');

export const options = {
  stages: [
    { duration: '20s', target: 100 },
    { duration: '20s', target: 500 },
    { duration: '20s', target: 1000 },
    { duration: '20s', target: 2000 },
  ],
  thresholds: { http_req_duration: ['p(95)<1000'] },
};

export default function () {
  const answer = http.get(`${__ENV.BASE}/`);
  if (answer.status === 500) status500.add(1);
  if (answer.status === 503) status503.add(1);
  check(answer, { 'status is 200': (r) => r.status === 200 });
  sleep(0.01);
}
