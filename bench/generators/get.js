// One GET and one check per iteration: what most scripts are made of.
import http from 'k6/http';
import { check } from 'k6';

export const options = { noConnectionReuse: false, summaryTrendStats: ['p(99)'] };

export default function () {
  const answer = http.get(__ENV.URL);
  check(answer, { 'status is 200': (r) => r.status === 200 });
}
