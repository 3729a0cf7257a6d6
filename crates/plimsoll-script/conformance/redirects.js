/* { "does": "redirects are followed; each hop is a request of its own", "requests": ["GET /redirect/2", "GET /redirect/1", "GET /redirect/0"], "console": ["200 http://h.test/redirect/0"], "metrics": {"http_reqs": [1, 1, 1]}, "tags": {"http_reqs": [{"status": "302", "name": "http://h.test/redirect/2"}, {"status": "302", "name": "http://h.test/redirect/1"}, {"status": "200"}]} } */
import http from 'k6/http';
export default function () {
  const res = http.get('http://h.test/redirect/2');
  console.log(res.status, res.url);
}
