/* { "does": "batch takes URLs, arrays and objects, and answers in their order", "requests": ["GET /1", "POST /2", "PUT /3"], "console": ["3 http://h.test/1 b POST c"], "slept_ms": 0 } */
import http from 'k6/http';
export default function () {
  const got = http.batch(['http://h.test/1', ['POST', 'http://h.test/2', 'b'], { method: 'PUT', url: 'http://h.test/3', body: 'c' }]);
  console.log(got.length, got[0].url, got[1].json('body'), got[1].json('method'), got[2].json('body'));
}
