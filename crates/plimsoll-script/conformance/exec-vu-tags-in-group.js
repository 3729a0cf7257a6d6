/* { "does": "tags set on the virtual user stay for its later iterations", "iterations": 2,
     "tags": {"http_reqs": [{"step": null}, {"step": "1"}, {"step": "1"}, {"step": "2"}]} } */
import http from 'k6/http';
import exec from 'k6/execution';
export default function () {
  http.get('http://h.test/');
  exec.vu.metrics.tags.step = exec.vu.iterationInInstance + 1;
  http.get('http://h.test/');
}
