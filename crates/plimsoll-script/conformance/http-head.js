/* { "does": "HEAD has no body", "console": ["200 0"] } */
import http from 'k6/http';
export default function () {
  const res = http.head('http://h.test/a');
  console.log(res.status, res.body.length);
}
