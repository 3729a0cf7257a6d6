/* { "does": "a request can ask to throw, and what it throws can be caught", "console": ["true", "200"] } */
import http from 'k6/http';
export default function () {
  try { http.get('http://refused.test/', { throw: true }); } catch (e) { console.log(String(e).includes('refused')); }
  console.log(http.get('http://h.test/status/200', { throw: true }).status);
}
