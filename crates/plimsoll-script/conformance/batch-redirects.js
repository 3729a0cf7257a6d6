/* { "does": "redirects inside a batch are followed together", "requests": ["GET /redirect/1", "GET /text", "GET /redirect/0"], "console": ["200 200"] } */
import http from 'k6/http';
export default function () {
  const got = http.batch(['http://h.test/redirect/1', 'http://h.test/text']);
  console.log(got[0].status, got[1].status);
}
