/* { "does": "a bad URL is a failed request, not an exception", "requests": [], "warnings": ["Request Failed"], "console": ["0 1000 true null"], "metrics": {"http_reqs": [1], "http_req_failed": [1]} } */
import http from 'k6/http';
export default function () {
  const res = http.get('nope');
  console.log(res.status, res.error_code, res.error.includes('unsupported protocol scheme'), res.body);
}
