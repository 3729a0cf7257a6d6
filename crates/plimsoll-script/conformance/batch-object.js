/* { "does": "a batch by name answers by name", "k6": "k6 gives the keys in any order", "console": ["200 404 b,a"] } */
import http from 'k6/http';
export default function () {
  const got = http.batch({ b: 'http://h.test/', a: { method: 'GET', url: 'http://h.test/status/404' } });
  console.log(got.b.status, got.a.status, Object.keys(got).join());
}
