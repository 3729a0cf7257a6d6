/* { "does": "a refused connection is status 0 with error and code", "warnings": ["connection refused"], "console": ["0 1212 dial: connection refused 0"], "tags": {"http_reqs": [{"status": "0", "error_code": "1212", "error": "dial: connection refused", "expected_response": "false", "proto": null}]} } */
import http from 'k6/http';
export default function () {
  const res = http.get('http://refused.test/');
  console.log(res.status, res.error_code, res.error, res.timings.duration === 12 ? 0 : 1);
}
