/* { "does": "a URL stays as it was written, in tags, in the answer and on the wire", "requests": ["GET /", "GET /a/../b"], "console": ["http://h.test http://h.test", "http://h.test/a/../b"], "tags": { "http_reqs": [{ "url": "http://h.test", "name": "http://h.test" }, { "url": "http://h.test/a/../b" }] } } */
import http from 'k6/http';
export default function () {
  const answer = http.get('http://h.test');
  console.log(answer.url, answer.request.url);
  console.log(http.get('http://h.test/a/../b').url);
}
