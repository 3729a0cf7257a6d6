/* { "does": "a digest challenge is answered with a second request", "k6": "k6 quotes qop, which the canned server does not take", "requests": ["GET /digest-auth", "GET /digest-auth"], "console": ["200 in"], "metrics": {"http_reqs": [1, 1], "http_req_failed": [0, 0]} } */
import http from 'k6/http';
export default function () {
  const res = http.get('http://user:secret@h.test/digest-auth', { auth: 'digest' });
  console.log(res.status, res.body);
}
