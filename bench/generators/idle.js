// A virtual user that waits: two helper libraries, a little state of its own, one request in sixty seconds.
// The libraries are files that vus.py writes beside a copy of this one: k6 would fetch published ones.
import http from 'k6/http';
import { sleep } from 'k6';
import { helper0 as pick } from './first.js';
import { helper1 as name } from './second.js';

const pages = ['/', '/items', '/cart'].map((path) => `${__ENV.URL}${path}`);

export default function () {
  sleep(60);
  http.get(pages[pick(name('page').length) % pages.length]);
}
