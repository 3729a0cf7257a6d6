/* { "does": "http.url keeps varying URLs under one name", "requests": ["GET /a/5/b/x"], "tags": {"http_reqs": [{"name": "http://h.test/a/${}/b/${}", "url": "http://h.test/a/${}/b/${}"}]} } */
import http from 'k6/http';
export default function () {
  http.get(http.url`http://h.test/a/${5}/b/${'x'}`);
}
