/* { "does": "after the limit the redirect itself is the answer, with a warning", "settings": {"max_redirects": 1}, "warnings": ["stopped after 1 redirects"], "console": ["302"], "requests": ["GET /redirect/3", "GET /redirect/2"] } */
import http from 'k6/http';
export default function () {
  console.log(http.get('http://h.test/redirect/3').status);
}
