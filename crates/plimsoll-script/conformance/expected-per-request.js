/* { "does": "a request can have a callback of its own, null switches the question off", "metrics": {"http_req_failed": [0, 1], "http_reqs": [1, 1, 1]}, "tags": {"http_reqs": [{"expected_response": "true"}, {"expected_response": null}, {"expected_response": "false"}]} } */
import http from 'k6/http';
export default function () {
  http.get('http://h.test/status/404', { responseCallback: http.expectedStatuses(404) });
  http.get('http://h.test/status/404', { responseCallback: null });
  http.get('http://h.test/status/404');
}
