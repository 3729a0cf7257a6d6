// A virtual user that waits: two helper libraries, a little state of its own, one request in sixty seconds.
import http from 'k6/http';
import { sleep } from 'k6';
import { randomIntBetween } from 'https://jslib.k6.io/k6-utils/1.4.0/index.js';
import { URL } from 'https://jslib.k6.io/url/1.0.0/index.js';

const pages = ['/', '/items', '/cart'].map((path) => new URL(path, __ENV.URL).toString());

export default function () {
  sleep(60);
  http.get(pages[randomIntBetween(0, pages.length - 1)]);
}
