/* { "does": "a response has its members, so that a copy has them too", "console": ["true clickLink html json submitForm", "200 true", "200 200 OK", "7 200"] } */
import http from 'k6/http';
export default function () {
  const res = http.get('http://h.test/get');
  const keys = Object.keys(res);
  const all = ['status', 'body', 'headers', 'timings', 'url', 'error', 'error_code', 'request', 'cookies', 'proto'];
  console.log(all.every((name) => keys.includes(name)), keys.slice(-4).join(' '));
  const copy = { ...res };
  console.log(copy.status, copy.body === res.body);
  const { status, ...rest } = res;
  console.log(status, rest.status_text);
  res.status = 7;
  console.log(res.status, copy.status);
}
