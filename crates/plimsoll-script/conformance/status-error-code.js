/* { "does": "statuses from 400 on have an error code and are not expected", "console": ["1404 1503 0"], "metrics": {"http_req_failed": [1, 1, 0]}, "tags": {"http_reqs": [{"error_code": "1404", "expected_response": "false", "error": null}, {"error_code": "1503"}, {"error_code": null}]} } */
import http from 'k6/http';
export default function () {
  const of = (status) => http.get(`http://h.test/status/${status}`, { tags: { name: 'x' } }).error_code;
  console.log(of(404), of(503), of(204));
}
