// One GET and a pause of a second: what a person's browser does, and mostly nothing.
import http from 'k6/http';
import { sleep } from 'k6';

export const options = { summaryTrendStats: ['p(99)'] };

export default function () {
  http.get(__ENV.URL);
  sleep(1);
}
