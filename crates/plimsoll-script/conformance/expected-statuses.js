/* { "does": "expectedStatuses takes statuses and ranges", "metrics": {"http_req_failed": [0, 0, 1]} } */
import http from 'k6/http';
http.setResponseCallback(http.expectedStatuses(200, { min: 400, max: 404 }));
export default function () {
  for (const status of [200, 404, 500]) http.get(`http://h.test/status/${status}`);
}
