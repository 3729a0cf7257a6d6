/* { "does": "redirects: 0 follows none and does not warn", "console": ["302 /redirect/0"], "requests": ["GET /redirect/1"] } */
import http from 'k6/http';
export default function () {
  const res = http.get('http://h.test/redirect/1', { redirects: 0 });
  console.log(res.status, res.headers.Location);
}
