/* { "does": "each verb sends its method", "requests": ["GET /a", "HEAD /a", "POST /a", "PUT /a", "PATCH /a", "DELETE /a", "OPTIONS /a", "TRACE /a"] } */
import http from 'k6/http';
export default function () {
  const url = 'http://h.test/a';
  http.get(url); http.head(url); http.post(url); http.put(url, 'x'); http.patch(url, 'x'); http.del(url);
  http.options(url); http.request('trace', url);
}
